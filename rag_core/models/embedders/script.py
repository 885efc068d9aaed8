"""The script of a text: a model that learnt one sees noise in another."""

from __future__ import annotations

import re
from string import ascii_letters

_LETTERS = re.compile(r"[^\W\d_]")
_LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]")
_ASCII_LETTERS = ascii_letters.encode()


def is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin."""
    if text.isascii():
        return True
    plain = text.encode("ascii", "ignore")
    if len(plain) - len(plain.translate(None, _ASCII_LETTERS)) >= len(text) - len(plain):
        return True  # even if all others were letters
    letters = len(_LETTERS.findall(text))
    return 2 * len(_LATIN.findall(text)) >= letters
