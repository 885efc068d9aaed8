"""Pronunciations of words (ruby, furigana). The base stays in the text, and its readings become additional
terms."""

from __future__ import annotations

import re

from rag_core.text.inline import TAG
from rag_core.text.markup import opaque

_KANA = "\u3040-\u30ff・ー"
_KANJI = "[々〆〇ヶ\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
_AOZORA = re.compile(
    rf"(?:[｜|](?P<marked>[^｜|《》\n]{{1,40}})|(?P<kanji>(?<!{_KANJI}){_KANJI}+))"
    rf"《(?P<reading>[{_KANA} 　]{{1,40}})》"
)
_ENDING = re.compile("(?![はがのをにでともへやよねだ])[\u3041-\u3096]{1,5}")
"""Kana that end a word after its ruby, unless a particle follows them."""
_LONGEST_ENDING = 5
_ELEMENT = re.compile(r"<ruby\b[^<>\n]{0,200}>((?:(?!</?ruby\b)[^\n]|\n(?!\n)){1,2000})</ruby>", re.I)
_BRACKETS = re.compile(r"<rp>[^<>\n]{0,20}(?:</rp>)?", re.I)
_READING = re.compile(r"<(/?)rt\b[^<>]{0,200}>", re.I)
_OF_RUBY = re.compile(r"</?(?:rb|rt|rtc|rp|ruby)\b[^<>]{0,200}>", re.I)
_NOTE = re.compile(r"［＃[^［］\n]{1,200}］")


class Readings:
    """Collects words with their readings. The parts of a word, such as 東 and 京, are joined."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], None] = {}
        self._base = self._reading = ""

    def add(self, base: str, reading: str) -> None:
        """Add the next part of a word. Parts belong to the same word until `end` is called."""
        base, reading = "".join(base.split()), "".join(reading.split())
        if base and reading:
            self._base += base
            self._reading += reading
        else:
            self.end()

    def end(self, text: str = "") -> None:
        """End the word. ``text`` is the text after it without ruby. The beginning of that text may belong to
        the word: 食べる."""
        if self._base:
            ending = _ENDING.match(text)
            added = ending[0] if ending else ""
            self._pairs[self._base + added, self._reading + added] = None
        self._base = self._reading = ""

    def lines(self) -> list[str]:
        """End the current word, and return a line for each different word: the word, a space and its
        pronunciation (``東京 とうきょう``)."""
        self.end()
        return [f"{base} {reading}" for base, reading in self._pairs]


def without_aozora(text: str) -> tuple[str, list[str]]:
    """Return a text without ruby, then a line for each word with its reading.

    The ruby is that of Aozora Bunko (吾輩《わがはい》, ｜東《とう》). Line numbers stay the same. A text
    without such ruby is returned unchanged.
    """
    if "《" not in text or not _AOZORA.search(text):
        return text, []
    readings = Readings()
    pieces: list[str] = []
    end = 0
    for match in _AOZORA.finditer(text):
        if match.start() > end:
            readings.end(text[end : match.start()])
        base = match["marked"] or match["kanji"]
        readings.add(base, match["reading"])
        pieces += text[end : match.start()], base
        end = match.end()
    readings.end(text[end : end + _LONGEST_ENDING])
    pieces.append(text[end:])
    return _NOTE.sub("", "".join(pieces)), readings.lines()


def without_elements(text: str) -> tuple[str, list[str]]:
    """Return a note without HTML ruby (``<ruby>東<rt>とう</rt></ruby>``), then a line for each word with its
    reading. Code and notes without ruby stay unchanged."""
    if "<ruby" not in text.lower():
        return text, []
    code = [(place.start, place.end) for place in opaque(text)]
    readings = Readings()
    pieces: list[str] = []
    end = 0
    for match in _ELEMENT.finditer(text):
        if any(first < match.end() and match.start() < last for first, last in code):
            continue
        if match.start() > end:
            readings.end(text[end : match.start()])
        pieces += text[end : match.start()], _base(_BRACKETS.sub("", match[1]), readings)
        end = match.end()
    readings.end(text[end : end + _LONGEST_ENDING])
    return "".join([*pieces, text[end:]]), readings.lines()


def _base(inside: str, readings: Readings) -> str:
    """Return the base of a ruby, and collect the readings of its parts."""
    bases: list[str] = []
    parts: list[tuple[str, str]] = []  # a base and its reading
    is_reading, end = False, 0
    for tag in (*_READING.finditer(inside), None):
        text = _OF_RUBY.sub("", inside[end : tag.start() if tag else len(inside)])
        plain = "".join(TAG.sub("", text).split())
        if not is_reading:
            bases.append(text.strip())
        if is_reading and parts:
            parts[-1] = parts[-1][0], parts[-1][1] + plain
        elif plain and not is_reading:
            parts.append((plain, ""))
        is_reading, end = (not tag[1], tag.end()) if tag else (False, end)
    for base, reading in parts:
        readings.add(base, reading)
    return "".join(bases)
