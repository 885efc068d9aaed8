"""A passage as people read it: blocks of clean text, without the marks of Markdown, HTML and JSON.

Offsets stay those of the passage. Marks are skipped when the shown text is put together; the passage itself
is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal

from rag_core.search.snippet import best_window, highlight, holding_none, shown_pieces
from rag_core.text.inline import Mark, instead
from rag_core.text.markup import Line, read_markup
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.text.other_markup import marks_of_language
from rag_core.text.shown import LIKE_JSON, json_marks
from rag_core.types import Hit, Query

EXTRACT_LENGTH = 150
"""Characters of an extract, which are two lines of a card."""

BlockKind = Literal["text", "heading", "item", "row", "quote", "code"]
Span = tuple[int, int]
Piece = tuple[str, bool]
"""A text, and whether it matches the query."""

_PROSE = LIGHT_MARKUP.union(
    "markdown text html pdf word slides sheet ebook evernote mail picture archive".split()
)
_ENDS = ".!?:;,…。！？："
_COLUMN = 30
"""Minimum characters of a line of a PDF that may end at the edge of its column."""
_WITH_TABLES = frozenset({"word", "slides"})


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item, table row, quotation or block of code, as pieces of plain text. Tabs
    separate the cells of a table row."""

    kind: BlockKind
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """The whole text of the block."""
        return "".join(piece for piece, _ in self.pieces)


def shown_text(hit: Hit) -> tuple[Block, ...]:
    """Return a hit's passage as clean blocks with the query's words marked. The result is empty if the
    passage has no text."""
    return clean(hit.content, hit.document.file_type, hit.spans, hit.hidden)


def excerpt_of(blocks: Sequence[Block], length: int = EXTRACT_LENGTH) -> tuple[Piece, ...]:
    """Return the part of ``blocks`` with the most telling matches: about ``length`` characters on one line.

    "…" at an end stands for text that was cut off. " · " joins two blocks if the first does not end with a
    punctuation mark. Headings are left out if there is other text.
    """
    text, spans = _on_one_line([block for block in blocks if block.kind != "heading"] or blocks)
    start, end = best_window(text, tuple(spans), length)
    first = next((marked for marked, _ in spans if marked >= start), start)
    if first - start > length // 3:  # near the end of the text; a narrow card shows fewer characters
        start = text.rfind(" ", 0, first - length // 6) + 1
    start = start if start > length // 8 else 0
    pieces = list(shown_pieces(text, spans, (start, end), ()))
    if start:
        pieces.insert(0, ("… ", False))
    if end < len(text):
        pieces.append((" …", False))
    return tuple(piece for piece in pieces if piece[0])


def with_marks(text: str, query: Query) -> tuple[Piece, ...]:
    """Cut a text, such as a title, into pieces and mark the pieces that match the query."""
    spans = highlight(text, query.terms.loose, query.phrases)
    return tuple(shown_pieces(text, spans, (0, len(text)), ()))


def _on_one_line(blocks: Sequence[Block]) -> tuple[str, list[Span]]:
    """Join blocks into one line. Return the line and the spans of its marked pieces. Dots separate blocks
    that are not sentences."""
    text, spans = "", []
    for block in blocks:
        text = text.rstrip()
        between = " " if not text or text[-1] in _ENDS else " · "
        for piece, is_marked in ((between, False), *block.pieces):
            piece = re.sub(r"\s+", " ", piece)
            piece = piece.lstrip() if not text or text.endswith(" ") else piece
            if is_marked:
                spans.append((len(text), len(text) + len(piece)))
            text += piece
    return text.rstrip(), spans


# A whole result page is drawn again after every typed key.
@lru_cache(maxsize=512)
def clean(
    text: str, file_type: str, spans: tuple[Span, ...], hidden: tuple[Span, ...] = ()
) -> tuple[Block, ...]:
    """Cut a text of this type into clean blocks, with ``spans`` marked and ``hidden`` spans left out. Both
    are (start, end) offsets in ``text``."""
    blocks = tuple(_blocks(_Passage(text, file_type, hidden), spans))
    if spans and not any(is_marked for block in blocks for _, is_marked in block.pieces):
        # the words are in an address or a comment
        blocks = tuple(_blocks(_Passage(text, file_type, hidden, spans), spans))
    return blocks or tuple(_blocks(_Passage(text, "", ()), spans))


# --- what is not shown ----------------------------------------------------------------

_ONLY_CODE = re.compile(r"(?<!`)(`+)[^`\n]+\1[ \t]*")
_ITEM = re.compile(r"(?:[-+•]|[*#]{1,6}|(?P<number>\d{1,3}[.)]))[ \t]+(?=\S)")
_CELLS = re.compile(r"(?<![ \t])[ \t]*\|[ \t]*")


class _Passage:
    """A passage with the parts of it that are not shown. ``hidden`` are spans to leave out. Markup is shown
    if one of the spans ``kept`` begins or ends in it."""

    def __init__(self, text: str, file_type: str, hidden: Iterable[Span], kept: Sequence[Span] = ()) -> None:
        self.text, self.file_type = text, file_type
        self.lines: Sequence[Line] = ()
        gap = " " if file_type in LIKE_JSON else ""  # between two values
        marks = [
            Mark(start, end, instead(text[start:end]) or gap) for start, end in holding_none(hidden, kept)
        ]
        if file_type == "markdown":
            markup = read_markup(text, kept)
            self.lines = markup.lines
            marks += _without(markup.marks, kept)
        elif file_type in LIKE_JSON:
            marks += _without(json_marks(text), kept)
        elif file_type in LIGHT_MARKUP:
            marks += _without(marks_of_language(text, file_type), kept)
        self.marks = sorted(marks)

    def pieces(self, start: int, end: int, spans: Sequence[Span]) -> list[Piece]:
        """Return the passage from ``start`` to ``end`` as it is shown, cut at ``spans``, such as the words of
        the query."""
        return list(shown_pieces(self.text, spans, (start, end), self.marks))


def _without(marks: Iterable[Mark], kept: Sequence[Span]) -> list[Mark]:
    """Return the marks in which none of the spans ``kept`` begins or ends."""
    return [mark for mark in marks if not kept or holding_none([(mark.start, mark.end)], kept)]


# --- what is shown --------------------------------------------------------------------


def _blocks(passage: _Passage, spans: Sequence[Span]) -> Iterator[Block]:
    """Return the blocks of a text. Neighbouring lines of a paragraph, quotation or code are one block. In a
    PDF only lines that continue after the end of a column are joined."""
    kind, pieces, width = None, [], 0
    is_pdf = passage.file_type == "pdf"
    for line_kind, line in _lines(passage, spans):
        goes_on, width = width >= _COLUMN or not is_pdf, sum(len(piece) for piece, _ in line)
        if line_kind in ("text", "quote", "code") and line_kind == kind and goes_on:
            pieces += (" " if is_pdf else "\n", False), *line
            continue
        if kind is not None and pieces:
            yield Block(kind, _joined(pieces))
        kind, pieces = line_kind, line
    if kind is not None and pieces:
        yield Block(kind, _joined(pieces))


def _joined(pieces: Iterable[Piece]) -> tuple[Piece, ...]:
    groups = groupby(pieces, key=lambda piece: piece[1])
    return tuple(("".join([text for text, _ in group]), is_marked) for is_marked, group in groups)


def _lines(passage: _Passage, spans: Sequence[Span]) -> Iterator[tuple[BlockKind | None, list[Piece]]]:
    """Return the kind and the pieces of each line; the kind is None if the line has nothing to show."""
    if passage.file_type == "markdown":
        for line in passage.lines:
            yield _line_of_note(passage, line, spans)
        return
    start = 0
    is_prose = passage.file_type in _PROSE or passage.file_type in LIKE_JSON or not passage.file_type
    for written in passage.text.splitlines(keepends=True):
        pieces = passage.pieces(start, start + len(written.rstrip()), spans)
        start += len(written)
        if not is_prose:
            yield "code", pieces or [("", False)]
        elif passage.file_type in LIGHT_MARKUP:
            yield _line_of_language(passage, start - len(written), start, spans)
        elif passage.file_type in _WITH_TABLES and " | " in written:
            yield _shown("row", pieces)
        else:
            yield _shown("text", pieces)


def _line_of_language(
    passage: _Passage, start: int, end: int, spans: Sequence[Span]
) -> tuple[BlockKind | None, list[Piece]]:
    """Return the kind and the pieces of a line of light markup: an item without its sign, unless that is a
    number, or a row without its outer bars."""
    line = passage.text[start:end]
    begins = len(line) - len(line.lstrip())
    first, last = start + begins, start + len(line.rstrip())
    if line[begins : begins + 1] == "|":
        if not line.strip("|+-=:! \t\r\n"):  # it only separates rows
            return None, []
        cells = line.strip()[1:].removesuffix("|")
        first += 1 + len(cells) - len(cells.lstrip())
        return _shown("row", passage.pieces(first, first + len(cells.strip()), spans))
    item = _ITEM.match(line, begins)
    if item and not (passage.file_type == "org" and line[0] == "*"):  # a heading
        return _shown("item", passage.pieces(first if item["number"] else start + item.end(), last, spans))
    return _shown("text", passage.pieces(start, last, spans))


def _line_of_note(
    passage: _Passage, line: Line, spans: Sequence[Span]
) -> tuple[BlockKind | None, list[Piece]]:
    """Return the kind and the pieces of a line of Markdown."""
    if line.kind == "nothing":
        return None, []
    pieces = passage.pieces(line.first, line.end, spans)
    if line.kind == "code":
        return "code", pieces or [("", False)]
    if line.kind == "text" and _ONLY_CODE.fullmatch(passage.text, line.first, line.end):
        return _shown("code", pieces)
    return _shown(line.kind, pieces)


def _shown(kind: BlockKind, pieces: list[Piece]) -> tuple[BlockKind | None, list[Piece]]:
    """Return the kind and the pieces of a line, with tabs between cells; None if it shows nothing."""
    if kind == "row":
        pieces = [(_CELLS.sub("\t", piece), is_marked) for piece, is_marked in pieces]
    return (kind, pieces) if "".join([piece for piece, _ in pieces]).strip() else (None, [])
