"""Reads the text in pictures with Tesseract, a program on this computer."""

from __future__ import annotations

import io
import os
import subprocess
from functools import cache
from typing import TYPE_CHECKING

from rag_core import system

if TYPE_CHECKING:
    from PIL.Image import Image

_LIMIT_S = 250  # maximum seconds for one picture, which has low priority
_MOST_LANGUAGES = 4


class Tesseract:
    """The reader of pictures ``tesseract`` in the table `providers.PICTURE_READERS`. Its `read` raises
    SubprocessError if the program fails or takes too long."""

    @staticmethod
    def is_installed() -> bool:
        return system.find_program("tesseract") is not None

    @staticmethod
    def read(picture: Image) -> str:
        packed = io.BytesIO()
        picture.save(packed, "PNG", compress_level=1)
        languages = ["-l", "+".join(_languages())] if _languages() else []
        done = subprocess.run(
            [_program(), "stdin", "stdout", *languages],
            input=packed.getvalue(),
            capture_output=True,
            timeout=_LIMIT_S,
            check=True,
            env={**os.environ, "OMP_THREAD_LIMIT": "1"},
            creationflags=system.NO_WINDOW,
        )
        return done.stdout.decode("utf-8", "replace").strip()


def _program() -> str:
    return system.find_program("tesseract") or "tesseract"


@cache
def _languages() -> tuple[str, ...]:
    """Return the languages that Tesseract has, or () if there are so many that its default is better."""
    listed = subprocess.run(
        [_program(), "--list-langs"],
        capture_output=True,
        encoding="utf-8",
        timeout=10,
        check=True,
        creationflags=system.NO_WINDOW,
    )
    found = tuple(each for each in listed.stdout.split()[1:] if each.isalpha() and each not in ("osd", "equ"))
    return found if len(found) <= _MOST_LANGUAGES else ()
