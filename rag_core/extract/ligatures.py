"""Ligatures in PDFs that are stored as other characters, or as none → their letters."""

from __future__ import annotations

import re
from ctypes import create_string_buffer

from pypdfium2 import PdfTextPage
from pypdfium2.raw import FPDFText_GetFontInfo, FPDFText_GetUnicode

_LETTERS = ("ff", "fi", "fl", "ffi", "ffl")
_SPELLED = {
    **dict(zip("\x0b\x0c\r\x0e\x0f", _LETTERS, strict=True)),  # TeX's first encoding (OT1)
    **dict(zip("\x1b\x1c\x1d\x1e\x1f", _LETTERS, strict=True)),  # TeX's second encoding (T1)
    **dict(zip("\ufb00\ufb01\ufb02\ufb03\ufb04", _LETTERS, strict=True)),
    "\u21b5": "ff",  # macOS writes it for the glyph "ff"
}
_IN_A_WORD = re.compile(
    r"(?<![^\W\d_])[\x0b\x0c\x0e\x0f\x1b-\x1f](?=[^\W\d_A-Z])|(?<=[^\W\d_])(?:[\x0b\x0c\x0e\x0f\x1b-\x1f]"
    r"|\r(?=[^\W\d_A-Z])|\u21b5(?=-?[^\W\d_A-Z]))|[\ufb00-\ufb04]"
)
_MARK = "\ufffe"  # PDFium writes it for a character without a code, and for the hyphen of a broken word
_LOST = re.compile(r"(?<=[^\W\d_])\0(?=[^\W\d_A-Z])")
_WORD = re.compile(r"[\w\u21b5]+")
_VOWEL = re.compile(r"[aeiouy]")
_FONT_OF_TEX = re.compile(rb"(?:[A-Z]{6}\+)?(?:CM|SF|LM|EC)[A-Za-z]+\d")
"""Names of fonts that have no ligatures but the five with "ff", "fi" and "fl"."""
_LONGEST_NAME = 80
_NEAR = 40  # number of characters that may belong to the same word


def with_letters(text: str, page: PdfTextPage) -> str:
    """Return the ``text`` of a page with its ligatures as letters, also those that macOS stores without a
    character if they are in one of TeX's own fonts."""
    if _MARK in page.get_text_range():
        whole = _whole_words(page)
        text = _WORD.sub(lambda match: whole.get(match[0], match[0]), text)
    return spelled(text)


def spelled(text: str) -> str:
    """Return ``text`` with the characters that stand for a ligature as letters. A sign for the Enter key that
    is not inside a word stays."""
    return _IN_A_WORD.sub(lambda match: _SPELLED[match[0]], text)


def _whole_words(page: PdfTextPage) -> dict[str, str]:
    """Return the words that lack a ligature: the word as it is shown → the whole word."""
    written = "".join([chr(FPDFText_GetUnicode(page, index)) for index in range(page.count_chars())])
    found: dict[str, str] = {}
    for match in _LOST.finditer(written):
        place = match.start()
        if _FONT_OF_TEX.match(_font(page, place)):
            before = re.split(r"[^\w\u21b5]", written[max(0, place - _NEAR) : place])[-1]
            after = re.split(r"[^\w\u21b5\x02]", written[place + 1 : place + _NEAR], maxsplit=1)[0]
            ligature = "ffl" if _VOWEL.match(after) else "ffi"  # "affluent" and "official"
            found[before + after] = before + ligature + after
    return found


def _font(page: PdfTextPage, index: int) -> bytes:
    name = create_string_buffer(_LONGEST_NAME)
    FPDFText_GetFontInfo(page, index, name, _LONGEST_NAME, None)
    return name.value
