"""A passage as people read it: blocks of clean text, without the marks of Markdown, HTML and JSON.

Offsets stay those of the passage: marks are left out when its text is put together, never taken from it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Literal

from rag_core.search.snippet import apart, best_window, highlight, instead
from rag_core.types import Hit, Query

EXTRACT_LENGTH = 150
"""Characters of an extract: two lines of a card."""

BlockKind = Literal["text", "heading", "item", "row", "quote", "code"]
Span = tuple[int, int]
Piece = tuple[str, bool]
"""A text, and whether it is one of the words searched for."""

_PROSE = frozenset(
    "markdown text rst html org asciidoc pdf word slides sheet ebook evernote mail picture archive".split()
)
_ENDS = ".!?:;,…。！？："
_COLUMN = 30
"""Characters of a line of a PDF from which on it may end at the edge of its column."""
_WITH_TABLES = frozenset({"word", "slides"})
_LIKE_JSON = frozenset({"json", "jsonl", "notebook", "csv"})


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, heading, list item, table row, quotation or block of code, as pieces of plain text. Tabs
    separate the cells of a table row."""

    kind: BlockKind
    pieces: tuple[Piece, ...]

    @property
    def text(self) -> str:
        """All of its text."""
        return "".join(piece for piece, _ in self.pieces)


def shown_text(hit: Hit) -> tuple[Block, ...]:
    """Return a hit's passage as clean blocks with the query's words marked; empty if it has no text."""
    return clean(hit.content, hit.document.file_type, hit.spans, hit.hidden)


def excerpt_of(blocks: Sequence[Block], length: int = EXTRACT_LENGTH) -> tuple[Piece, ...]:
    """Return about ``length`` characters on one line: the part of ``blocks`` with the most telling matches.
    Dots separate parts that are not sentences; headings are left out if there is other text."""
    text, spans = _on_one_line([block for block in blocks if block.kind != "heading"] or blocks)
    start, end = best_window(text, tuple(spans), length)
    first = next((marked for marked, _ in spans if marked >= start), start)
    if first - start > length // 3:  # near the end of the text; a narrow card shows fewer characters
        start = text.rfind(" ", 0, first - length // 6) + 1
    start = start if start > length // 8 else 0
    pieces = list(_cut(text, start, end, spans, ()))
    if start:
        pieces.insert(0, ("… ", False))
    if end < len(text):
        pieces.append((" …", False))
    return tuple(piece for piece in pieces if piece[0])


def with_marks(text: str, query: Query) -> tuple[Piece, ...]:
    """Cut a text, such as a title, into pieces, of which those that match the query are marked."""
    spans = highlight(text, query.terms.loose, query.phrases)
    return tuple(_cut(text, 0, len(text), spans, ()))


def _on_one_line(blocks: Sequence[Block]) -> tuple[str, list[Span]]:
    """Join blocks into one line. Return it, and the spans of its marked pieces. Dots separate blocks that are
    not sentences."""
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


# A whole result page is shown again with every key that is typed.
@lru_cache(maxsize=512)
def clean(
    text: str, file_type: str, spans: tuple[Span, ...], hidden: tuple[Span, ...] = ()
) -> tuple[Block, ...]:
    """Cut a text of this type into clean blocks, with ``spans`` marked and the ``hidden`` ones left out. Both
    are (start, end) offsets in ``text``."""
    marks = _Marks(text, file_type, hidden)
    blocks = tuple(_blocks(marks, spans))
    if spans and not any(is_marked for block in blocks for _, is_marked in block.pieces):
        blocks = tuple(
            _blocks(_Marks(text, file_type, hidden, spans), spans)
        )  # the words stand in an address or a comment
    return blocks or tuple(_blocks(_Marks(text, "", ()), spans))


# --- what is not shown ----------------------------------------------------------------

_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})")
_WHOLE = re.compile(
    r"\A---[ \t]*\n.*?\n---[ \t]*(?:\n|\Z)"  # front matter
    r"|<!--.*?(?:-->|\Z)|%%.*?(?:%%|\Z)",  # comments
    re.S,
)
_BEGINNING = re.compile(
    r"[ \t]*(?:(?P<quote>>[ \t>]*(?:\[![\w-]+\][+-]?[ \t]*)?)"
    r"|(?P<item>(?:[-*+]|\d{1,3}[.)])[ \t]+(?:\[.\][ \t]+)?))?(?P<heading>\#{1,6}[ \t]+)?"
)
# A rule, the underline of a heading, the line between the head and the body of a table, where a link leads.
_NOTHING = re.compile(r"[-=*_|:+ \t]*\Z|[ \t]*\[[^\]\n]+\]:[ \t]")
_ADDRESS = r"\((?:[^()\s]|\([^()\s]*\))*(?:[ \t]+\"[^\"\n]*\")?\)"
_CODE = re.compile(r"(?<!`)(`+)(?!`)([^\n]+?)(?<!`)\1(?!`)")
_ONLY_CODE = re.compile(r"(?<!`)(`+)[^`\n]+\1[ \t]*")
_INLINE = tuple(  # what is left out stands in groups; where there is none, all of it
    re.compile(pattern)
    for pattern in (
        rf"!\[[^\[\]\n]*\](?:{_ADDRESS}|\[[^\[\]\n]*\])|!\[\[[^\[\]\n]*\]\]",
        r"\[\^[^\[\]\n]+\]|(?<=\s)\^[\w-]+$",
        r"(\[\[(?:[^\[\]|\n]*\|)?)[^\[\]|\n]*(\]\])",
        rf"(\[)[^\[\]\n]*(\]{_ADDRESS})",
        r"(\[)[^\[\]\n]+(\]\[[^\[\]\n]*\])",
        r"(<)(?:https?://|mailto:)[^<>\s]+(>)",
        r"(\*\*)(?=\S)(?:[^\n]+?)(?<=\S)(\*\*)",
        r"(?<!\w)(__)(?=\S)(?:[^\n]+?)(?<=\S)(__)(?!\w)",
        r"(~~)(?=\S)(?:[^\n]+?)(?<=\S)(~~)",
        r"(==)(?=\S)(?:[^\n]+?)(?<=\S)(==)",
        r"(?<![*\w])(\*)(?=[^\s*])(?:[^*\n]+?)(?<=[^\s*])(\*)(?!\*)",
        r"(?<!\w)(_)(?=[^\s_])(?:[^_\n]+?)(?<=[^\s_])(_)(?!\w)",
        r"(\\)[!-/:-@\[-`{-~]",
    )
)
_CELLS = re.compile(r"(?<![ \t])[ \t]*\|[ \t]*")
_OF_JSON = re.compile(
    r'\]\([^()\s"]*\)|":(?=\S)|"?,"|",(?=\S)|\\[nrt]|\\(?=["\\/])|(?<!\\)"|[{}\[\]]|,(?=\s*$)', re.M
)
_BLANK = "\0"


class _Marks:
    """Finds the Markdown syntax of a text. ``hidden`` are its spans to leave out, sorted and disjoint; syntax
    that contains one of the spans ``kept`` is not among them."""

    def __init__(self, text: str, file_type: str, hidden: Iterable[Span], kept: Sequence[Span] = ()) -> None:
        self.text, self.file_type, self._kept = text, file_type, kept
        marks = list(hidden)
        if file_type == "markdown":
            marks += [match.span() for match in _WHOLE.finditer(text)]
        elif file_type in _LIKE_JSON:
            marks += [match.span() for match in _OF_JSON.finditer(text)]
        self.hidden = apart(marks, kept)

    def of_line(self, start: int, end: int) -> list[Span]:
        """Return the spans to leave out of one line of Markdown, besides ``hidden``."""
        line = self.text[start:end]
        if self.file_type != "markdown" or not re.search(r"[\[\]*_~=`\\<^]", line):
            return []
        marks: list[Span] = []
        for match in _CODE.finditer(line):
            marks += (match.start(), match.start(2)), (match.end(2), match.end())
            line = line[: match.start()] + _BLANK * (match.end() - match.start()) + line[match.end() :]
        for pattern in _INLINE:
            for match in list(pattern.finditer(line)):
                groups = [match.span(number + 1) for number, group in enumerate(match.groups()) if group]
                for first, last in groups or [match.span()]:
                    marks.append((first, last))
                    line = line[:first] + _BLANK * (last - first) + line[last:]
        return apart([(start + first, start + last) for first, last in marks], self._kept)


# --- what is shown --------------------------------------------------------------------


def _blocks(marks: _Marks, spans: Sequence[Span]) -> Iterator[Block]:
    """Return the blocks of a text. Neighbouring lines of a paragraph, quotation or code are one block; in a
    PDF only lines that continue across the end of a column are."""
    kind, pieces, width = None, [], 0
    is_pdf = marks.file_type == "pdf"
    for line_kind, line in _lines(marks, spans):
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


def _lines(marks: _Marks, spans: Sequence[Span]) -> Iterator[tuple[BlockKind | None, list[Piece]]]:
    """Return the kind and the pieces of each line; the kind is None if the line has nothing to show."""
    text, start, fence = marks.text, 0, ""
    is_prose = marks.file_type in _PROSE or marks.file_type in _LIKE_JSON or not marks.file_type
    for line in text.splitlines(keepends=True):
        end = start + len(line.rstrip())
        opened = _FENCE.match(text, start, end) if marks.file_type == "markdown" else None
        if opened and opened[1].startswith(fence):
            fence = "" if fence else opened[1]
        elif fence or not is_prose:
            pieces = list(_cut(text, start, end, spans, marks.hidden))
            yield "code", pieces or [("", False)]
        else:
            yield _prose_line(marks, line, start, spans)
        start += len(line)


def _prose_line(
    marks: _Marks, line: str, start: int, spans: Sequence[Span]
) -> tuple[BlockKind | None, list[Piece]]:
    """Return the kind and the pieces of a line of prose; the kind is None if the line has nothing to show."""
    text, end = marks.text, start + len(line.rstrip())
    kind, first = _kind(text, start, end) if marks.file_type == "markdown" else ("text", start)
    if first is None:
        return None, []
    if marks.file_type == "markdown":
        if kind == "text" and _ONLY_CODE.fullmatch(text, first, end):
            kind = "code"
        if text.startswith("|", first):
            kind, first, end = "row", first + 1, end - (1 if text.endswith("|", first + 1, end) else 0)
    elif marks.file_type in _WITH_TABLES and " | " in line:
        kind = "row"
    pieces = list(_cut(text, first, end, spans, sorted([*marks.hidden, *marks.of_line(first, end)])))
    if kind == "row":
        pieces = [(_CELLS.sub("\t", piece), is_marked) for piece, is_marked in pieces]
    return (kind, pieces) if "".join([piece for piece, _ in pieces]).strip() else (None, [])


def _kind(text: str, start: int, end: int) -> tuple[BlockKind, int | None]:
    """Return the kind of a line of Markdown, and the offset where its text begins (None if it has no
    text)."""
    begun = _BEGINNING.match(text, start, end)
    marks = begun.groupdict() if begun else {}
    if _NOTHING.match(text, start, end):
        return "text", None
    kinds: tuple[BlockKind, ...] = ("heading", "item", "quote")
    return next((kind for kind in kinds if marks.get(kind)), "text"), begun.end() if begun else start


def _cut(text: str, start: int, end: int, spans: Iterable[Span], hidden: Iterable[Span]) -> Iterator[Piece]:
    """Return ``text[start:end]`` without the ``hidden`` spans, cut into pieces that are either inside or
    outside of ``spans``."""
    position = start
    for first, last in sorted(hidden):
        if last <= position or first >= end:
            continue
        yield from _pieces(text, position, max(first, position), spans)
        if first >= position and (put := _put(text[first:last])):
            yield put, False
        position = min(last, end)
    yield from _pieces(text, position, end, spans)


def _put(mark: str) -> str:
    if len(mark) > 1 and mark[0] in "<&":
        return instead(mark)
    if mark in ("\\n", "\\r", "\\t"):
        return "\n" if mark == "\\n" else " "
    return {'":': ": ", '",': ", ", ',"': ", ", '","': ", "}.get(mark, "")


def _pieces(text: str, start: int, end: int, spans: Iterable[Span]) -> Iterator[Piece]:
    for first, last in spans:
        first, last = max(first, start), min(last, end)
        if first < last:
            if start < first:
                yield text[start:first], False
            yield text[first:last], True
            start = last
    if start < end:
        yield text[start:end], False
