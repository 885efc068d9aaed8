"""Escapes of text formats → the characters that they stand for. Lines stay where they are."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator
from pathlib import PurePosixPath

_HEX = re.compile(
    r"(?<!\\)((?:\\\\)*)\\u(?:([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})|([0-9a-fA-F]{4}))"
)
_ENTITY = re.compile(r"&(?:#\d{2,7}|#[xX][0-9a-fA-F]{2,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
}
"""The accent command of TeX → the combining character."""

_LETTERS = {
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "aa": "å",
    "AA": "Å",
    "o": "ø",
    "O": "Ø",
    "l": "ł",
    "L": "Ł",
    "i": "ı",
    "j": "ȷ",
    "dh": "ð",
    "th": "þ",
}
"""The command of TeX → the letter that it sets."""

_ACCENT = re.compile(
    r"""(?<!\\)(\{?)\\(?:([`'^~=."])[ \t]{0,3}|([urHvdck])(?:[ \t]{1,3}|(?=\{)))"""
    r"""(?:\{\\?([A-Za-z])\}|\\([ij])(?![A-Za-z])|([A-Za-z]))(\}?)"""
)
_LETTER = re.compile(
    r"(?<!\\)(?:\{\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|i|j|dh|th)\}|"
    r"\\(ss|ae|AE|oe|OE|aa|AA|o|O|l|L|dh|th)(?:\{\}|[ \t]|(?![A-Za-z])))"
)


_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[@-Z^_])")
"""A code that sets colours, moves the cursor or names the window of a terminal."""

_TAGS = "sub|sup|b|i|u|s|em|strong|mark|small|kbd|ins|del"
_TAG_IN_WORD = re.compile(
    rf"(?<=\w)<({_TAGS})>(?=\w)([^<>\n]{{1,40}})</\1>|(?<!\w)<({_TAGS})>(?=\w)([^<>\s]{{1,40}})</\3>(?=\w)"
)
_SIGNS_IN_WORD = re.compile(
    r"(?<=[^\W\d_])(\*{1,3}|~~|==)(?=[^\W_])([^\s*~=<>\[\]`]{1,40})\1"
    r"|(?<![\w*~=\\])(\*{1,3}|~~|==)(?=[^\W_])([^\s*~=<>\[\]`]{1,40})\3(?=[^\W\d_])"
)
_FENCE = re.compile(r"[ \t>]*(?:`{3}|~{3})")


def shown(text: str, kind: str, path: PurePosixPath) -> str:
    """``text`` of a file of the type ``kind`` with the characters that its escapes stand for, without codes
    of terminals and without markup inside words. Escapes of ASCII characters stay: they mean something to
    the format."""
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    if kind == "markdown" and (_TAG_IN_WORD.search(text) or _SIGNS_IN_WORD.search(text)):
        text = "\n".join(_whole_words(text.split("\n")))
    return _unescaped(text, kind, path)


def _whole_words(lines: list[str]) -> Iterator[str]:
    """Lines of Markdown in which ``H<sub>2</sub>O`` and ``**w**ord`` are one word each; code stays."""
    is_code = False
    for line in lines:
        is_code ^= bool(_FENCE.match(line))
        if is_code or "`" in line or line.startswith(("    ", "\t")):
            yield line
            continue
        line = _TAG_IN_WORD.sub(lambda match: match[2] or match[4], line)
        yield _SIGNS_IN_WORD.sub(lambda match: match[2] or match[4], line)


def _unescaped(text: str, kind: str, path: PurePosixPath) -> str:
    if "\\" in text:
        if kind == "json" or path.suffix.lower() == ".properties":
            return _HEX.sub(_of_hex, text)
        if kind in ("latex", "bibtex"):
            return _LETTER.sub(lambda match: _LETTERS[match[1] or match[2]], _ACCENT.sub(_of_accent, text))
    if "&" in text and kind in ("xml", "markdown"):
        return _ENTITY.sub(_of_entity, text)
    return text


def _of_hex(match: re.Match[str]) -> str:
    if match[4]:
        char = chr(int(match[4], 16))
    else:
        pair = bytes.fromhex(match[2] + match[3])
        char = pair.decode("utf-16-be")
    return match[1] + char if _is_shown(char) else match[0]


def _of_entity(match: re.Match[str]) -> str:
    char = html.unescape(match[0])
    return char if _is_shown(char) else match[0]


def _is_shown(char: str) -> bool:
    """Whether it is beyond ASCII and no control, line end or half a character."""
    return all(each > "\x7f" and unicodedata.category(each) not in ("Cc", "Cs", "Zl", "Zp") for each in char)


def _of_accent(match: re.Match[str]) -> str:
    """The letter with its accent; braces around both go, one that belongs to something else stays."""
    letter = match[4] or match[5] or match[6]
    accent = _ACCENTS[match[2] or match[3]]
    char = unicodedata.normalize("NFC", letter + accent)
    if len(char) > 1:
        return match[0]
    return char if match[1] and match[7] else match[1] + char + match[7]
