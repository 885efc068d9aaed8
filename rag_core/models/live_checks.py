"""Live checks of the models in the settings `reranker` and `ocr`. No note is sent: the texts and the picture
are made up here."""

from __future__ import annotations

import io
import math
import time
from contextlib import closing
from pathlib import Path, PurePosixPath

from rag_core.errors import EmbedderError, ExtractError, ModelMissing
from rag_core.extract import Worker, extract
from rag_core.extract.ocr import find_engine, read_by_server
from rag_core.installation import install_line
from rag_core.models.addresses import destination
from rag_core.models.check import Found, written
from rag_core.models.ocr import OcrOptions
from rag_core.models.registry import open_ocr
from rag_core.models.rerank import RerankerOptions, open_reranker

_QUERY = "How long does green tea keep?"
_PASSAGES = ("Green tea keeps for six months. " * 25, "The boat has a red sail. " * 25) * 8
_IN_A_SEARCH = 50
_WORD = "Heron"
_WITHIN_S = 4.0


def check_reranker(options: RerankerOptions, config_file: Path | None) -> Found:
    """Live check: whether the reranker scores some passages, and is fast enough once it is open."""
    if not options.name:
        step = written("reranker", "onnx:ORG/NAME", config_file)
        return Found("not set up", "No reranker is chosen, so the hits keep their order.", step)
    try:
        opened = open_reranker(options)
        began = time.monotonic()
        opened.scores(_QUERY, _PASSAGES, began + _WITHIN_S)
    except TimeoutError:
        sentence = f"{options.name!r} did not score {len(_PASSAGES)} passages within {_WITHIN_S:g} seconds."
        return Found("unreachable", sentence, "Check again in a moment, or choose a smaller reranker.")
    except EmbedderError as error:
        missing = isinstance(error, ModelMissing) or not options.server
        return Found("not set up" if missing else "unreachable", error.message, error.next_step)
    needs_s = (time.monotonic() - began) * _IN_A_SEARCH / len(_PASSAGES)
    sentence = (
        f"{options.name!r} takes about {needs_s * 1000:.0f} ms for the {_IN_A_SEARCH} hits of a search."
        f" It may take {options.budget_s * 1000:.0f} ms."
    )
    step = ""
    if needs_s > options.budget_s:
        enough = math.ceil(needs_s * 2) * 1000
        step = f"Set `rerank_budget_ms` to {enough}, or choose a smaller reranker. Otherwise it is not used."
    return Found("ready", sentence, step)


def check_ocr(setting: str, options: OcrOptions) -> Found:
    """Live check: whether the OCR chosen in the setting `ocr` reads a word in a picture."""
    remote, engine = open_ocr(setting, options), find_engine(setting)
    goes = destination(remote.server if remote else "")
    if setting == "off":
        return Found("not set up", "Pictures and scans are not read.", "Set `ocr` to `auto`.", goes=goes)
    if engine is None:
        sentence = f"No program that reads pictures is installed (`ocr: {setting}`)."
        step = f"Install Tesseract, or run {install_line('ocr')}."
        return Found("not set up", sentence, step, goes=goes)
    chosen = f"`auto` chose {engine}; it" if setting == "auto" else engine
    began, wrong = time.monotonic(), ""
    if remote:
        text, waits, note = read_by_server(remote, _picture(), lambda: True)
        wrong = waits or note
    else:
        try:
            with closing(Worker(_WITHIN_S, ocr=setting)) as worker:
                text = extract(_picture(), PurePosixPath("test.png"), worker).text
        except ExtractError as error:
            text, wrong = "", error.message
    if _WORD.lower() in text.lower():
        took_s = time.monotonic() - began
        return Found("ready", f"{chosen} reads a test picture in {took_s:.1f} s.", goes=goes)
    sentence = f"{chosen} did not read the word in a test picture. {wrong}".rstrip()
    step = "Check that it has the data for English, or choose another as `ocr`."
    return Found("unreachable" if remote else "not set up", sentence, step, goes=goes)


def _picture() -> bytes:
    """Draw a PNG with one word."""
    from PIL import Image, ImageDraw, ImageFont

    image, packed = Image.new("RGB", (400, 140), "white"), io.BytesIO()
    ImageDraw.Draw(image).text((60, 40), _WORD, fill="black", font=ImageFont.load_default(48))
    image.save(packed, "PNG")
    return packed.getvalue()
