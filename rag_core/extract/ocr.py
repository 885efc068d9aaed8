"""The text in pictures, by Tesseract or RapidOCR. What was read once is cached."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from PIL.Image import Image

Engine = Literal["tesseract", "rapidocr"]

LEAST_SIDE = 40
"""Pictures with a shorter side (pixels) are icons and rules."""
_LONGEST_SIDE = 4000  # pixels; larger ones are scaled down
_LIMIT_S = 45
_MOST_LANGUAGES = 4


def find_engine(setting: str) -> Engine | None:
    """The engine for a setting of ``ocr``, None if it is not installed; ``auto`` takes Tesseract, else
    RapidOCR."""
    if setting in ("auto", "tesseract") and shutil.which("tesseract"):
        return "tesseract"
    return "rapidocr" if setting in ("auto", "rapidocr") and find_spec("rapidocr") else None


class Reader:
    """Reads the text in pictures with an engine; without one it finds none.

    ``folder`` keeps each text by the hash of its picture. ``on_read`` is called after each picture, which may
    take seconds.
    """

    def __init__(self, engine: Engine | None, folder: Path | None, on_read: Callable[[], None]) -> None:
        self.engine = engine
        self._folder = folder
        self._on_read = on_read

    def text(self, picture: Image) -> str:
        """The text of a picture, '' for a tiny one."""
        if self.engine is None or min(picture.size) < LEAST_SIDE:
            return ""
        picture = picture.convert("RGB")
        picture.thumbnail((_LONGEST_SIDE, _LONGEST_SIDE))
        digest = hashlib.sha256(f"{self.engine} {picture.size} ".encode() + picture.tobytes()).hexdigest()
        kept = self._folder / digest[:2] / f"{digest}.txt" if self._folder else None
        if kept:
            with suppress(OSError, UnicodeDecodeError):
                text = kept.read_text("utf-8")
                self._on_read()
                return text
        try:
            text = _tesseract(picture) if self.engine == "tesseract" else _rapidocr(picture)
        except subprocess.SubprocessError:  # it failed or took too long: the document is read without it
            return ""
        self._on_read()
        if kept:
            kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            written = kept.with_suffix(f".{os.getpid()}")
            written.write_text(text, "utf-8")
            written.replace(kept)
        return text


def _tesseract(picture: Image) -> str:
    packed = io.BytesIO()
    picture.save(packed, "PNG", compress_level=1)
    languages = ["-l", "+".join(_languages())] if _languages() else []
    done = subprocess.run(
        ["tesseract", "stdin", "stdout", *languages],
        input=packed.getvalue(),
        capture_output=True,
        timeout=_LIMIT_S,
        check=True,
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},
    )
    return done.stdout.decode("utf-8", "replace").strip()


@cache
def _languages() -> tuple[str, ...]:
    """The languages that Tesseract has; none where they are so many that its default is better."""
    listed = subprocess.run(
        ["tesseract", "--list-langs"], capture_output=True, text=True, timeout=10, check=True
    )
    found = tuple(each for each in listed.stdout.split()[1:] if each.isalpha() and each not in ("osd", "equ"))
    return found if len(found) <= _MOST_LANGUAGES else ()


def _rapidocr(picture: Image) -> str:
    import numpy as np

    found = _rapidocr_engine()(np.asarray(picture)[:, :, ::-1])  # it takes BGR, as OpenCV does
    return "\n".join(found.txts or ())


@cache
def _rapidocr_engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "error", "EngineConfig.onnxruntime.intra_op_num_threads": 1})


reader = Reader(None, None, lambda: None)
"""The reader of this process; the worker replaces it."""
