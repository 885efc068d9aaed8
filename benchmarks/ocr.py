"""How much of a page do Tesseract and RapidOCR read? Ten made-up pages, plain, rotated and compressed.

    python -m benchmarks.ocr [--engines tesseract,rapidocr] [--pages 10] [--json]

The pages are A4 at 150 dpi in several fonts, from 8 to 19 points, every fourth light on dark. Each is read as
it is, rotated by 2° and as JPEG of quality 40. Recall is the share of the words on a page that were read
exactly, whatever their case and order. The bars: 0.97 as it is, 0.85 for the others.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import mean

from PIL import Image, ImageDraw, ImageFont

from rag_core.extract import ocr

FONTS = ("LiberationSerif-Regular", "DejaVuSans", "LiberationSans-Regular", "DejaVuSerif")
PIXELS = (17, 22, 28, 34, 40)  # of a line of text: 8 to 19 points
PAGE = 1240, 1754
MARGIN = 90
WORD = re.compile(r"[A-Za-z]{2,14}")


def font(name: str, size: int) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """A font of this computer, or Pillow's own."""
    try:
        return ImageFont.truetype(f"{name}.ttf", size)
    except OSError:
        return ImageFont.load_default(size)


def page(number: int, words: list[str], chance: random.Random) -> tuple[Image.Image, list[str]]:
    """A page of text, and the words on it."""
    dark = number % 4 == 3
    paper, ink = ("#1e1e1e", "#dddddd") if dark else ("white", "#202020")
    size = PIXELS[number % len(PIXELS)]
    letters = font(FONTS[number % len(FONTS)], size)
    image = Image.new("RGB", PAGE, paper)
    draw, text = ImageDraw.Draw(image), list[str]()
    for top in range(MARGIN, PAGE[1] - MARGIN, int(size * 1.5)):
        line: list[str] = []
        while draw.textlength(" ".join([*line, "wwwwww"]), letters) < PAGE[0] - 2 * MARGIN:
            line.append(chance.choice(words))
        draw.text((MARGIN, top), " ".join(line), fill=ink, font=letters)
        text += line
    return image, text


def variants(image: Image.Image) -> dict[str, Image.Image]:
    packed = io.BytesIO()
    image.save(packed, "JPEG", quality=40)
    paper = image.getpixel((0, 0))
    return {
        "plain": image,
        "rotated": image.rotate(2, Image.Resampling.BICUBIC, expand=True, fillcolor=paper),
        "JPEG 40": Image.open(packed),
    }


def recall(read: str, wanted: list[str]) -> float:
    """The share of the words that were read, each as often as it is there."""
    found, there = (Counter(word.lower() for word in some) for some in (WORD.findall(read), wanted))
    return (found & there).total() / there.total()


def measure(engine: str, pages: int) -> dict[str, object]:
    """Recall by variant, the worst page of each, and seconds a page."""
    reader = ocr.Reader(None, lambda: None)
    reader.begin(engine)
    docs = Path(__file__).resolve().parents[1] / "docs"
    words = WORD.findall("\n".join(sorted(each.read_text("utf-8") for each in docs.glob("*.md"))))
    chance = random.Random(7)
    found: defaultdict[str, list[float]] = defaultdict(list)
    began = time.perf_counter()
    for number in range(pages):
        image, text = page(number, words, chance)
        for name, variant in variants(image).items():
            found[name].append(recall(reader.text(f"{number} {name}", variant.copy), text))
            print(engine, number, name, round(found[name][-1], 3), file=sys.stderr)
    seconds = (time.perf_counter() - began) / (3 * pages)
    recalls = {name: {"mean": round(mean(r), 3), "worst": round(min(r), 3)} for name, r in found.items()}
    return {"recall": recalls, "seconds_a_page": round(seconds, 2)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--engines", default="tesseract,rapidocr")
    parser.add_argument("--pages", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    found = {each: measure(each, given.pages) for each in given.engines.split(",") if ocr.find_engine(each)}
    if given.json:
        print(json.dumps(found, indent=1))
    else:
        for engine, figures in found.items():
            print(engine, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
