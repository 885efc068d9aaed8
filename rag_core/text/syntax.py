"""Finds what a format writes around the words of people: keys and quotes of records (JSON Lines), fields of
references (BibTeX), days in exported chats.

Syntax is furniture: it can be found by words, but is neither embedded nor shown in a snippet.

Without its syntax, a message in a record is more similar to a question about it (cosine of minilm 0.34
instead of 0.22). So are a chat (0.36, not 0.24) and a reference (0.53, not 0.46; all in
`benchmarks/mixed.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from rag_core.text import bibtex
from rag_core.text.numbers import Span

_RECORD = re.compile(r"^\{.*\}[ \t]*$", re.M)
_QUOTE = re.compile(r'\\.|"')  # or an escaped character
_COLON = re.compile(r"[ \t]*:")
_ESCAPED_END = re.compile(r"\\[nrt]")
_WORD = re.compile(r"[^\W\d_]{2,}+")
_SENTENCE = 4  # minimum number of words of a sentence

_READ_FIELDS = frozenset(
    "title subtitle booktitle abstract author editor year date journal journaltitle keywords note annote"
    " publisher series school institution howpublished".split()
)

_DAY = re.compile(r"^\d{4}-\d\d-\d\d \([A-Z][a-z]+, \d{1,2} [A-Z][a-z]+ \d{4}\)\n?", re.M)


def _of_records(text: str) -> Iterator[Span]:
    """Yield the syntax of JSON Lines records, if one of a record's values may be a sentence. Everything is
    syntax except names and values of several words."""
    for record in _RECORD.finditer(text):
        words = [
            (start, end, len(_WORD.findall(text, start, end))) for start, end in _values(text, *record.span())
        ]
        if not any(count >= _SENTENCE for *_, count in words):
            continue
        at = record.start()
        for start, end, count in words:
            if count < 2 and not text[start].isupper():  # a single word in lower case is no name
                continue
            yield at, start - 1  # the quote before the value stays, to separate words
            for line_end in _ESCAPED_END.finditer(text, start, end):
                yield line_end.start() + 1, line_end.end()
            at = end
        yield at, record.end()


def _values(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the strings of a record that are values, without their quotes."""
    quotes = [quote.start() for quote in _QUOTE.finditer(text, start, end) if quote[0] == '"']
    for first, last in zip(quotes[::2], quotes[1::2], strict=False):
        if not _COLON.match(text, last + 1, end):
            yield first + 1, last


def _of_references(text: str) -> Iterator[Span]:
    """Yield the entry types, keys and fields of BibTeX, except the values of fields that people read."""
    for entry in bibtex.bib_entries(text):
        place = entry.start
        for field in entry.fields:
            if field.name not in _READ_FIELDS:
                continue
            gap = field.start - 1  # between two values a sign stays, to separate words: a line break, or else
            if place > entry.start:
                gap = next((at for sign in "\n " if (at := text.find(sign, place, gap)) >= 0), gap)
                yield place, gap
                place = gap + 1
            yield place, field.start
            place = field.end
        yield place, entry.end


def _of_chats(text: str) -> Iterator[Span]:
    """The days, which are headings, in a chat as `extract/chats.py` writes it."""
    for day in _DAY.finditer(text):
        yield day.span()


SYNTAX: Mapping[str, Callable[[str], Iterator[Span]]] = MappingProxyType(
    {"json": _of_records, "bibtex": _of_references, "text": _of_chats}
)
"""File type → function that yields the spans of syntax in a text of that type, in order and disjoint."""
