"""A look at a picture tells whether OCR is worth its time: no text is lost, and photos cost nothing."""

from __future__ import annotations

import io
import random
from pathlib import PurePosixPath

import pytest
from PIL import Image, ImageDraw, ImageFont

from rag_core.extract import ocr, pictures
from rag_core.extract.glance import factor, may_hold_text
from rag_core.extract.tesseract import Tesseract

WIDE = (1600, 1200)


def written(
    words: str,
    height: int,
    *,
    size: tuple[int, int] = WIDE,
    level: int = 0,
    ground: int = 255,
    angle: int = 0,
) -> Image.Image:
    """``words`` in letters of this height on an even ground, turned by ``angle``."""
    font = ImageFont.load_default(height)
    _, _, width, bottom = font.getbbox(words)
    ink = Image.new("L", (round(width) + 8, round(bottom) + 8), 0)
    ImageDraw.Draw(ink).text((4, 4), words, fill=255, font=font)
    ink = ink.rotate(angle, expand=True, resample=Image.Resampling.BICUBIC)
    picture = Image.new("L", size, ground)
    picture.paste(level, (40, 30), ink)
    return picture.convert("RGB")


def photo(size: tuple[int, int], seed: int, noise: float = 0.2) -> Image.Image:
    """Colours that run into each other, with the noise of a camera."""
    chance = random.Random(seed)
    corners = Image.new("RGB", (4, 3))
    corners.putdata([tuple(chance.randrange(256) for _ in range(3)) for _ in range(12)])
    grain = Image.effect_noise(size, 40).convert("RGB")
    return Image.blend(corners.resize(size, Image.Resampling.BICUBIC), grain, noise)


def jpeg(picture: Image.Image, quality: int = 85) -> bytes:
    made = io.BytesIO()
    picture.save(made, "JPEG", quality=quality)
    return made.getvalue()


@pytest.mark.parametrize("height", [11, 16, 24, 48, 96, 200, 400])
@pytest.mark.parametrize("angle", [0, 2, -7, 15, 45, 90, 180])
def test_one_word_of_any_size_and_turn_is_seen(height: int, angle: int) -> None:
    assert may_hold_text(written("harbour", height, angle=angle, size=(2000, 2000)))


@pytest.mark.parametrize(("level", "ground"), [(200, 255), (90, 0), (255, 20), (20, 90), (130, 170)])
def test_faint_and_light_text_is_seen(level: int, ground: int) -> None:
    assert may_hold_text(written("The harbour opens", 18, level=level, ground=ground))


@pytest.mark.parametrize("quality", [40, 75])
@pytest.mark.parametrize("dots_an_inch", [150, 200, 300])
def test_a_line_of_eight_points_on_a_scanned_page_is_seen(dots_an_inch: int, quality: int) -> None:
    size = (round(8.27 * dots_an_inch), round(11.7 * dots_an_inch))
    page = written("The harbour opens again at seven", round(8 * dots_an_inch / 72), size=size)
    page = Image.blend(page, Image.effect_noise(size, 30).convert("RGB"), 0.1)
    assert may_hold_text(Image.open(io.BytesIO(jpeg(page, quality))))


def test_a_word_on_a_screenshot_is_seen() -> None:
    assert may_hold_text(written("gate", 13, size=(2560, 1440), level=90, ground=245))
    assert may_hold_text(written("gate", 13, size=(1920, 1080), level=200, ground=30))


@pytest.mark.parametrize("height", [60, 120, 300])
@pytest.mark.parametrize("angle", [0, 12, 90])
def test_a_sign_on_a_photo_is_seen(height: int, angle: int) -> None:
    scene = photo((4000, 3000), height)
    scene.paste(written("STATION", height, size=(1700, 1700), angle=angle), (900, 700))
    assert may_hold_text(scene)


def test_a_small_picture_is_always_read() -> None:
    assert may_hold_text(Image.new("RGB", (400, 45), "white"))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("size", "noise"), [((2000, 1500), 0.2), ((4000, 3000), 0.2), ((4000, 3000), 0.0)])
def test_a_photo_of_smooth_surfaces_is_not_read(seed: int, size: tuple[int, int], noise: float) -> None:
    assert not may_hold_text(photo(size, seed, noise))


def test_photos_are_looked_at_in_a_smaller_copy() -> None:
    assert [factor(size) for size in ((1920, 1080), (2560, 1440), (4000, 3000), (8000, 6000))] == [1, 1, 4, 8]


def test_no_engine_reads_a_photo_without_text(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[tuple[int, int]] = []

    def read(picture: Image.Image) -> str:
        sizes.append(picture.size)
        return "STATION"

    reader = ocr.Reader(None, lambda: None)
    monkeypatch.setattr(ocr, "reader", reader)
    monkeypatch.setattr(ocr, "find_engine", lambda _: "tesseract")
    monkeypatch.setattr(Tesseract, "read", read)
    scene = photo((4000, 3000), 1)
    for text, calls in (("", 0), ("STATION", 1)):
        reader.begin("auto")
        assert pictures.read(jpeg(scene), PurePosixPath("a.jpg")).text.strip() == text
        assert (len(sizes), reader.left, reader.waits) == (calls, set(), "")
        scene.paste(written("STATION", 300, size=(1700, 700)), (900, 700))


def test_a_photo_without_text_is_not_looked_at_twice(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    looks: list[int] = []

    def look(_: Image.Image) -> bool:
        looks.append(1)
        return False

    reader = ocr.Reader(tmp_path_factory.mktemp("ocr"), lambda: None)
    monkeypatch.setattr(ocr, "reader", reader)
    monkeypatch.setattr(ocr, "find_engine", lambda _: "tesseract")
    monkeypatch.setattr(ocr, "may_hold_text", look)
    data = jpeg(photo((400, 300), 1))
    for _ in range(2):
        reader.begin("auto", data)
        assert pictures.read(data, PurePosixPath("a.jpg")).warnings == (pictures.NO_TEXT,)
        reader.end(data)
    assert len(looks) == 1
