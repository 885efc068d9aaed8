"""The script of a text: a model that learnt one sees noise in another."""

from __future__ import annotations

import re

_LETTERS = re.compile(r"[^\W\d_]")
_LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]")


def is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin."""
    letters = len(_LETTERS.findall(text))
    return 2 * len(_LATIN.findall(text)) >= letters
