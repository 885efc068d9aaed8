"""Furniture: the parts of a text that a template or a program wrote, such as footers, badges and comments.

The *shape* of a line is the line with each address, link target and number in it replaced by a fixed sign.

A line is furniture if its shape occurs in more than `LEAST` documents of a store, and in more than the share
`SHARE` of them.

These are always furniture: HTML comments, Obsidian's ``%%`` comments, quotes of earlier mails, and the syntax
that a format puts around words (`text/syntax.py`).

These never are, because people search for them: headings, code, lists of links, lines with wikilinks, and
lines of fewer than three words (an address counts as one).

If two thirds of a vault are furniture, embedding without it takes a third of the time.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

from rag_core.text.mail_history import history
from rag_core.text.markup import opaque
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.text.numbers import Span
from rag_core.text.syntax import SYNTAX

FILE_TYPES = LIGHT_MARKUP.union("markdown html text mail pdf word ebook evernote".split())
"""File types whose lines are compared. In code and data, repeated lines have a meaning."""

LEAST, SHARE = 20, 0.02
_SHAPES_REMEMBERED = 4096  # enough, because a repeated line returns soon

ALL: str = "[]"
"""The value of `kept_spans` for a passage that is all furniture."""
NAMES_ALONE: str = "[[0, 0]]"
"""The value of `kept_spans` for a passage that keeps no text, but by whose title, path and tags its document
is found."""

# A search is several times as fast if each branch of the pattern begins with one of a few characters.
_ADDRESS = re.compile(
    r"""(?:http(?<=\bhttp)s?|ftp(?<=\bftp)|mailto(?<=\bmailto)|file(?<=\bfile)|obsidian(?<=\bobsidian)):"""
    r"""[^\s<>()\[\]"']+|\]\([^()\n]*\)"""
)
_DIGITS = re.compile(r"\d+")
_THREE_WORDS = re.compile(r"(?<![^\W\d_])[^\W\d_]++(?:[\W\d_]++[^\W\d_]++){2}")
_LINK_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[[^\]]*\]\([^()]*\)\s*")
_NO_PROSE = ("#", " #", "  ", "\t")  # headings and indented code


@dataclass(frozen=True, slots=True)
class Layout:
    """The parts of a document that may be furniture."""

    #: Spans that are always furniture: comments, quoted mail and a format's syntax.
    comments: tuple[Span, ...]
    #: (start, end, shape) of each line that is furniture if its shape is repeated.
    lines: tuple[tuple[int, int, int], ...]
    shapes: frozenset[int] = frozenset()  #: Shapes of the lines: hashes, as signed 64-bit numbers.

    def furniture(self, repeated: Set[int]) -> list[Span]:
        """Return the spans that are furniture, in order and disjoint: the comments, and the lines with a
        shape in ``repeated``."""
        found: list[Span] = []
        lines = [(start, end) for start, end, shape in self.lines if shape in repeated]
        for start, end in sorted([*self.comments, *lines]):
            if found and start <= found[-1][1]:
                start, end = found[-1][0], max(end, found.pop()[1])
            found.append((start, end))
        return found


def layout(file_type: str, passages: Iterable[tuple[int, str]]) -> Layout | None:
    """Find the layout of a document from its passages, given as (start, text) in order. Returns None if its
    type has no furniture."""
    if file_type not in FILE_TYPES and file_type not in SYNTAX:
        return None
    parts: list[str] = []
    at = 0
    for start, part in passages:  # puts each character at its offset
        parts += "\n" * (start - at), part[max(0, at - start) :]
        at = max(at, start + len(part))
    text = "".join(parts)
    comments: list[Span] = []
    code: list[Span] = []
    for kind, first, last in opaque(text) if file_type == "markdown" else ():
        if kind == "fence":
            code.append((first, last))
        elif kind == "comment":
            comments.append((first, last))
    if file_type == "mail":
        comments = history(text)
    elif file_type in SYNTAX:
        comments = [*SYNTAX[file_type](text)]
    lines = tuple(_lines(text, code)) if file_type in FILE_TYPES else ()
    return Layout(tuple(comments), lines, frozenset(shape for _, _, shape in lines))


def _lines(text: str, code: Sequence[Span]) -> Iterable[tuple[int, int, int]]:
    """Yield (start, end, shape) of each line that may be furniture. Lines in ``code`` are left out."""
    shaped = text
    if "://" in text or "](" in text or "mailto:" in text:
        shaped = _ADDRESS.sub("] URL ", text)
    shaped = _DIGITS.sub("0", shaped)
    fences = iter([*code, (len(text) + 1, len(text) + 1)])
    fence = next(fences)
    end = -1
    for line, shape in zip(text.split("\n"), shaped.split("\n"), strict=True):
        start, end = end + 1, end + 1 + len(line)
        if not line:
            continue
        while fence[1] <= start and fence[0] <= len(text):
            fence = next(fences)
        if line.startswith(_NO_PROSE) or "[[" in line or start >= fence[0]:
            continue
        number = _number(shape)
        if number is not None and not ("](" in line and _LINK_ITEM.fullmatch(line)):
            yield start, min(end + 1, len(text)), number


@lru_cache(_SHAPES_REMEMBERED)
def _number(shape: str) -> int | None:
    """Return a shape as a signed 64-bit number, or None if it has fewer than three words."""
    if not _THREE_WORDS.search(shape):
        return None
    digest = blake2b(shape.strip().encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def kept_spans(furniture: Sequence[Span], passages: Sequence[tuple[int, str]]) -> list[str | None]:
    """Return for each passage its spans to keep, as JSON (``[[start, end]]``); None keeps everything.
    ``passages`` are (start, text). If all passages are furniture, the first one is `NAMES_ALONE`, so that it
    keeps the document's names."""
    kept_spans: list[str | None] = []
    for start, text in passages:
        hidden: list[Span] = []
        for first, last in furniture[bisect_right(furniture, start, key=lambda span: span[1]) :]:
            if first >= start + len(text):
                break
            hidden.append((max(first, start) - start, min(last, start + len(text)) - start))
        parts = between(hidden, len(text))
        is_all = hidden and not any(text[first:last].strip() for first, last in parts)
        kept_spans.append(ALL if is_all else json.dumps(parts) if hidden else None)
    if kept_spans and all(each == ALL for each in kept_spans):
        kept_spans[0] = NAMES_ALONE
    return kept_spans


def between(spans: Iterable[Span], length: int) -> list[Span]:
    """Return the gaps between the given spans in a text of ``length`` characters. ``spans`` must be in
    order."""
    found: list[Span] = []
    at = 0
    for start, end in spans:
        if at < start:
            found.append((at, start))
        at = end
    return [*found, (at, length)] if at < length else found


def kept_text(text: str, written: str | None) -> str:
    """Return a passage without its furniture. ``written`` is its value from `kept_spans`."""
    return text if written is None else "".join(text[a:b] for a, b in json.loads(written)).strip()


def hidden(text: str, written: str | None) -> list[Span]:
    """Return the spans of a passage that are furniture. ``written`` is its value from `kept_spans`."""
    return [] if written is None else between(map(tuple, json.loads(written)), len(text))
