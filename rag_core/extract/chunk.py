"""Splits segments into passages of a size that an embedder can read. Each passage is an exact span of the
document.

LangChain's ``RecursiveCharacterTextSplitter`` decides where to split. Without its overlap and stripping, the
joined pieces equal the text, so offsets are sums. Overlap and trimming are done here.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from rag_core.errors import InvalidInput
from rag_core.extract.chunkers import cut_by, find_chunker
from rag_core.extract.filetypes import LANGUAGES
from rag_core.text import prose
from rag_core.text.markup_languages import LIGHT_MARKUP
from rag_core.text.numbers import Span
from rag_core.text.tokens import estimate_tokens
from rag_core.types import DATA, DESCRIPTION, ChunkSpec, Extracted, Passage, Segment, TitleSource

if TYPE_CHECKING:
    from langchain_text_splitters import RecursiveCharacterTextSplitter

CHUNK_SIZES: dict[str, tuple[int, int]] = {
    "markdown": (1000, 200),
    "python": (1500, 200),
    "typescript": (1500, 200),
    "javascript": (1500, 200),
    "java": (2000, 300),
    "kotlin": (1500, 200),
    "go": (1500, 200),
    "rust": (1500, 200),
    "yaml": (500, 100),
    "json": (500, 0),
    "text": (1000, 200),
}
"""File type → (size, overlap) in characters. All other types use the values of text."""

RECORD = 2
"""A JSON Lines record, such as a message, is split only if it is longer than this multiple of a passage."""

_APART = frozenset(
    {
        "page",
        "slide",
        "row",
        "rows",
        "chapter",
        "message",
        "attachment",
        "picture",
        "event",
        "contact",
        "bookmark",
    }
)
_BEGINS_WITH_TITLE = frozenset({"event", "contact", "bookmark"})
SMALL = 50
"""A section with fewer characters is joined with the next one."""

PREFIX_LIMIT = 200
"""Maximum number of columns of title and headings before a passage. A wide character takes two columns."""

_FULL_SIZE_TOKENS = 320
"""The sizes above apply to embedders that read at least this many tokens, about 1000 characters of English
prose."""

_MIN_TOKENS = 16
_SPECIAL_TOKENS = 2
_CAUTION = 1.25
"""Factor on estimates if no exact token counter is available."""
_SLACK = 1.1
"""Text is split this factor shorter than its average token density allows, so that few parts must be halved
again."""
_WINDOW = 65_536
_LEAST_SIZE = 40

_MAY_BE_MINIFIED = frozenset({"javascript", "typescript", "css"})
_PROSE = LIGHT_MARKUP | {"markdown", "text", "html", "latex", "subtitles"}
_SENTENCES = (r"(?<=[。！？；])", r"(?<=[.!?])[ ]")
_BOUNDARIES = ("\n\n", "\n", "。", "！", "？", ". ", "; ", "，", "、", " ")
"""Where a passage with too many tokens is split, best first. If there is none, it is split between
characters."""
_OVERLAP_BOUNDARIES = ("\n", "。", ". ", " ")  # an overlap starts after one of these
_WINDOW_BOUNDARIES = ("\n\n", "\n", " ")

TokenCounter = Callable[[str], int]


def chunk_spec(
    max_tokens: int,
    for_all: tuple[int, int] | None = None,
    by_type: Mapping[str, tuple[int, int] | tuple[int, int, str]] = MappingProxyType({}),
) -> ChunkSpec:
    """Return the passage sizes for an embedder that reads ``max_tokens`` tokens. The default is
    `CHUNK_SIZES`, scaled down if necessary: 256 tokens give 800 characters of text with an overlap of 160.

    Args:
        max_tokens: The number of tokens that the embedder reads.
        for_all: (size, overlap) that replaces the defaults for all types. It is not scaled.
        by_type: File type → (size, overlap) or (size, overlap, chunker), which takes precedence. It is not
            scaled.

    Raises:
        InvalidInput: No installed package brings the chunker, or ``max_tokens`` is too small.

    """
    if max_tokens < _MIN_TOKENS:
        raise InvalidInput(
            f"'max_tokens' is {max_tokens}, too few to embed a passage.",
            f"Use an embedder that reads at least {_MIN_TOKENS} tokens.",
        )
    factor = min(1.0, max_tokens / _FULL_SIZE_TOKENS)
    sizes, chunkers = {}, {}
    for kind, (size, overlap) in CHUNK_SIZES.items():
        sizes[kind] = for_all or (round(size * factor), round(overlap * factor))
    for kind, (size, overlap, *named) in by_type.items():
        sizes[kind] = size, overlap
        for name in map(str, named):
            find_chunker(name)
            chunkers[kind] = name
    return ChunkSpec(max_tokens, sizes, chunkers)


def cut(extracted: Extracted, spec: ChunkSpec, count_tokens: TokenCounter | None) -> list[Passage]:
    """Split a document into passages, in order: ``extracted.text[start:end] == passage.text``.

    No passage crosses a segment, except that sections of fewer than 50 characters are joined with the next
    one. With its prefix (title and headings), a passage has at most ``spec.max_tokens`` tokens.

    ``count_tokens`` returns the number of tokens of a text, including special ones. If it is None, a cautious
    estimate decides.

    Of a large block of base64 only the first passage is kept. A document without text gives one empty
    passage, so that it can be found by name.
    """
    size, overlap = spec.sizes.get(extracted.file_type, spec.sizes["text"])
    cutter = _Cutter(extracted, size, overlap, spec.max_tokens, count_tokens)
    of_records = replace(cutter, size=RECORD * size)
    if chunker := spec.chunkers.get(extracted.file_type):
        groups = [[segment] for segment in cut_by(chunker, extracted, size, overlap)]
        cutter = of_records = replace(cutter, size=max(1, len(extracted.text)))
    else:
        groups = _joined(extracted.text, extracted.segments, size)
    blocks = prose.blocks(extracted.text)
    labeller = _Labeller(extracted)
    passages: list[Passage] = []
    for group in groups:
        group_cutter = of_records if group[-1].anchor_type == "record" else cutter
        passages += labeller.passages(group, group_cutter.of_group(group, blocks, size))
    return passages or [_of_names(extracted)]


def _of_names(extracted: Extracted) -> Passage:
    """Return the empty passage of a document without text. Its prefix holds the aliases, and the title if
    that is not the file name."""
    names = (() if extracted.title_from == "file name" else (extracted.title,)) + extracted.aliases
    prefix = _narrow("\n".join(names), PREFIX_LIMIT)
    return Passage("", 0, 0, 1, 1, (), "title", "", prefix=prefix)


class _Labeller:
    """Turns spans of a document's text into passages with their lines, headings and anchor. The spans must be
    in order, because lines are counted along the way."""

    def __init__(self, document: Extracted) -> None:
        text = document.text
        self._document = document
        self._minified = prose.minified(text) if document.file_type in _MAY_BE_MINIFIED else []
        self._newline = "\n" if "\n" in text or "\r" not in text else "\r"
        self._offset = 0
        self._line = 1  #: Line number at the offset.

    def passages(self, group: Sequence[Segment], spans: Sequence[Span]) -> list[Passage]:
        """Return the passages of the segments of ``group``, which were split at ``spans``."""
        text = self._document.text
        passages = []
        for number, (start, end) in enumerate(spans, 1):
            spanned = [segment for segment in group if segment.start < end and start < segment.end]
            label = spanned[0] if len(spanned) == 1 else _label(text, spanned)
            self._line += text.count(self._newline, self._offset, start)
            self._offset = start
            passage = Passage(
                text=text[start:end],
                start=start,
                end=end,
                start_line=self._line,
                end_line=self._line + text.count(self._newline, start, end),
                heading_path=label.heading_path,
                anchor_type=DATA if _is_data(text, self._minified, start, end) else label.anchor_type,
                anchor_ref=label.anchor_ref,
                split_part=number if len(spans) > 1 else 0,
                prefix=self._prefix(label, text[start:end]),
                headings=_headings(label),
            )
            passages.append(passage)
        return passages

    def _prefix(self, label: Segment, text: str) -> str:
        """Return ``title > headings``. If a part begins with its title, such as an event, only the headings
        above it are returned."""
        if label.anchor_type in _BEGINS_WITH_TITLE and text.startswith(label.heading_path[-1:]):
            return prefix_of("", "file name", label.heading_path[:-1])
        return prefix_of(self._document.title, self._document.title_from, label.heading_path)


def _headings(label: Segment) -> str:
    """Return the headings in one line, with their levels in Markdown notation."""
    if not label.levels:
        return " > ".join(label.heading_path)
    marked = zip(label.levels, label.heading_path, strict=False)
    return " > ".join(f"{'#' * level} {heading}" for level, heading in marked)


def _is_data(text: str, minified: list[Span], start: int, end: int) -> bool:
    """Whether most of a passage is machine data: base64, ``data:`` URIs or minified code."""
    passage = text[start:end]
    is_code = minified and prose.is_dense(passage)
    length = 0
    for begin, stop in _within(minified, start, end) if is_code else prose.runs(passage):
        length += stop - begin
    return 2 * length > end - start


def _within(spans: list[Span], start: int, end: int) -> Iterator[Span]:
    """Yield the parts of ``spans`` that lie between two offsets. The spans must be in order."""
    following = bisect_right(spans, start, key=lambda span: span[1])
    for first, last in islice(spans, following, None):
        if first >= end:
            return
        yield max(first, start), min(last, end)


def prefix_of(title: str, title_from: TitleSource, heading_path: tuple[str, ...]) -> str:
    """Return ``title > headings`` in at most 200 columns. If it is longer, the middle headings are dropped
    first.

    The title is left out if it is only the file name or comes from a section, or if it repeats the first
    heading.
    """
    parts = list(heading_path)
    is_given = title_from in ("front matter", "heading") and title
    if is_given and not (parts and parts[0].casefold() == title.casefold()):
        parts.insert(0, title)
    while len(parts) > 2 and _columns(" > ".join(parts)) > PREFIX_LIMIT:
        del parts[1]
    if _columns(" > ".join(parts)) > PREFIX_LIMIT:
        parts = [_narrow(part, PREFIX_LIMIT // len(parts) - 3) for part in parts]
    return " > ".join(filter(None, parts))


def _columns(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(char > "\u024f" for char in text)


def _narrow(text: str, columns: int) -> str:
    text = text[:columns]
    while _columns(text) > columns:
        text = text[:-1]
    return text.rstrip()


def _joined(text: str, segments: tuple[Segment, ...], size: int) -> list[list[Segment]]:
    """Return the segments in groups. Small segments are grouped with the next one, the last one with the one
    before."""
    joined: list[list[Segment]] = []
    held: list[Segment] = []
    for segment in segments:
        # Small text may begin a segment if both fit, or if the segment is split anyway.
        fits = held and (segment.end - held[0].start <= size or segment.end - segment.start > size)
        if held and not (fits and _touch(text, held[-1], segment)):
            joined.append(held)
            held = []
        held = [*held, segment]
        if len(text[held[0].start : segment.end].strip()) >= SMALL:
            joined.append(held)
            held = []
    if not held:
        return joined
    if joined and held[-1].end - joined[-1][0].start <= size and _touch(text, joined[-1][-1], held[0]):
        held = [*joined.pop(), *held]
    return [*joined, held]


def _label(text: str, spanned: list[Segment]) -> Segment:
    """Return the segment that labels a passage across several segments: their common ancestor, or the first
    of them.

    Text before any heading does not count. Nor does a heading directly above the next one, without text
    between them.
    """
    named = [each for each in spanned if each.heading_path] or spanned[:1]
    while len(named) > 1:
        path, following = named[0].heading_path, named[1].heading_path
        is_above = len(path) < len(following) and path == following[: len(path)]
        if not is_above or len(text[named[0].start : named[0].end].strip().splitlines()) > 1:
            break
        del named[0]
    first = named[0]
    depth = 0
    while len({each.heading_path[: depth + 1] for each in named}) == 1 and depth < len(first.heading_path):
        depth += 1
    shared = first.heading_path[:depth]
    if not shared or shared == first.heading_path:
        return first
    ref = ".".join(shared) if first.anchor_type == "definition" else shared[-1]
    return replace(first, heading_path=shared, anchor_ref=ref, levels=first.levels[: len(shared)])


def _touch(text: str, before: Segment, behind: Segment) -> bool:
    """Whether two segments may share a passage. They must be adjacent without left-out text between them.
    They must not be different pages, slides or other parts, because their anchors would be lost. And neither
    may describe a picture."""
    if DESCRIPTION in (*before.heading_path[-1:], *behind.heading_path[-1:]):
        return False
    one, other = (before.anchor_type, before.anchor_ref), (behind.anchor_type, behind.anchor_ref)
    are_apart = one != other and not _APART.isdisjoint((before.anchor_type, behind.anchor_type))
    if before.anchor_type == "row" and before.heading_path != behind.heading_path:  # the comment of a row
        return False
    return not are_apart and not text[before.end : behind.start].strip()


@dataclass(frozen=True, slots=True)
class _Cutter:
    """Splits the segments of one document."""

    document: Extracted
    size: int
    overlap: int
    max_tokens: int
    count: TokenCounter | None

    def of_group(self, group: Sequence[Segment], blocks: list[Span], kept: int) -> list[Span]:
        """Return the passages of segments that belong together. Of each of the base64 ``blocks`` only the
        first ``kept`` characters are used."""
        title, title_from = self.document.title, self.document.title_from
        prefix = max([prefix_of(title, title_from, segment.heading_path) for segment in group], key=len)
        spans: list[Span] = []
        start, end = group[0].start, group[-1].end
        for first, last in _within(blocks, start, end):
            spans += self.spans(prefix, start, first)
            spans += self.spans(prefix, first, min(last, first + kept))
            start = last
        return spans + self.spans(prefix, start, end)

    def spans(self, prefix: str, start: int, end: int) -> list[Span]:
        """Return the passages of a span in order, without blank lines around them, and with room for
        ``prefix``."""
        start, end = self._trimmed(start, end)
        if start == end:
            return []
        if end - start <= self.size and self._fits(prefix, start, end):
            return [(start, end)]
        text = self.document.text
        size = self._size(prefix, text[start : min(end, start + _WINDOW)])
        overlap = min(size // 2, self.overlap * size // self.size)
        spans: list[Span] = []
        for begin, stop in self._pieces(start, end, size, overlap):
            earliest = max(begin - overlap, stop - size, spans[-1][0] + 1 if spans else start)
            lead = _behind(text.find, _OVERLAP_BOUNDARIES, earliest, begin, begin - 1) or begin
            for part in self._fitting(prefix, lead, begin, stop):
                first, last = self._trimmed(*part)
                if first < last:
                    spans.append((first, last))
        return spans

    def _size(self, prefix: str, sample: str) -> int:
        """Return the number of characters that fit next to ``prefix``. The text is assumed to have as many
        tokens per character as ``sample``: 800 Chinese characters are 800 tokens."""
        room = max(self.max_tokens // 4, self.max_tokens - _SPECIAL_TOKENS - estimate_tokens(prefix))
        size = int(room * len(sample) / max(1.0, _SLACK * estimate_tokens(sample)))
        return max(_LEAST_SIZE, min(self.size, size))

    def _pieces(self, start: int, end: int, size: int, overlap: int) -> list[Span]:
        """Return a gapless partition into pieces that have at most ``size`` characters including the overlap.
        Small pieces are joined with the previous one if there is room."""
        text = self.document.text
        pieces: list[Span] = []
        while start < end:
            stop = end
            if end - start > _WINDOW:  # LangChain builds lists of single characters
                high = start + _WINDOW
                stop = _behind(text.rfind, _WINDOW_BOUNDARIES, start + _WINDOW // 2, high, high) or high
            for piece in _split(text[start:stop], self.document.file_type, max(_LEAST_SIZE, size - overlap)):
                at, start = start, start + len(piece)
                before, behind = pieces[-1] if pieces else (at, at)
                is_small = min(behind - before, len(piece)) < max(SMALL, overlap)
                if pieces and is_small and start - before <= size:
                    pieces[-1] = before, start
                else:
                    pieces.append((at, start))
        return pieces

    def _fits(self, prefix: str, start: int, end: int) -> bool:
        """Whether prefix and text are within the token limit. Tokens are counted only if the estimate is near
        the limit."""
        limit = self.max_tokens
        if len(prefix) + 1 + end - start + _SPECIAL_TOKENS <= limit:
            return True
        embedded = f"{prefix}\n{self.document.text[start:end]}"
        estimate = estimate_tokens(embedded) + _SPECIAL_TOKENS
        if self.count is None:
            return _CAUTION * estimate <= limit
        if not 0.6 * limit < estimate < 2 * limit:
            return estimate <= limit
        return self.count(embedded) <= limit

    def _fitting(self, prefix: str, lead: int, start: int, end: int) -> list[Span]:
        """Return the span with the overlap from ``lead`` on. If it has too many tokens, return it without the
        overlap, halved at its best boundaries until each part fits."""
        if end - lead <= 1 or self._fits(prefix, lead, end):
            return [(lead, end)]
        fitting: list[Span] = []
        todo = [(start, end)]
        while todo:
            start, end = todo.pop()
            if end - start <= 1 or self._fits(prefix, start, end):
                fitting.append((start, end))
            else:
                quarter = (end - start) // 4
                low, high = start + max(1, quarter), end - quarter
                middle = _behind(self.document.text.rfind, _BOUNDARIES, low, high, end - 1)
                middle = middle or (start + end) // 2
                todo += [(middle, end), (start, middle)]
        return fitting

    def _trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return the span without blank lines around it and spaces after it. The first line keeps its
        indentation."""
        text = self.document.text
        part = text[start:end]
        body = part.lstrip()
        if not body:
            return start, start
        first = start + len(part) - len(body)
        newline = max(text.rfind("\n", start, first), text.rfind("\r", start, first))
        if newline < 0 and start and text[start - 1] not in "\r\n":
            return first, start + len(part.rstrip())  # within a line, spaces are no indentation
        return max(start, newline + 1), start + len(part.rstrip())


def _behind(
    find: Callable[[str, int, int], int], boundaries: tuple[str, ...], low: int, high: int, most: int
) -> int:
    """Return the offset after the first kind of boundary found between two offsets, at most ``most``, or 0 if
    there is none."""
    for boundary in boundaries:
        found = find(boundary, low, high)
        if found >= 0 and found + len(boundary) <= most:
            return found + len(boundary)
    return 0


def _split(text: str, file_type: str, size: int) -> list[str]:
    """Split ``text`` into consecutive pieces of at most ``size`` characters, at the separators of the
    language."""
    if len(text) <= size:
        return [text]
    if re.search(r"\s", text) or not text.isascii():
        pieces = _splitter(file_type, size).split_text(text)
        if sum(map(len, pieces)) == len(text):  # a separator that contains a group repeats text
            return pieces
    return [text[at : at + size] for at in range(0, len(text), size)]


@lru_cache(maxsize=256)
def _splitter(file_type: str, size: int) -> RecursiveCharacterTextSplitter:
    from langchain_text_splitters import Language, RecursiveCharacterTextSplitter

    separators: list[str] = []
    if name := LANGUAGES.get(file_type):
        separators = RecursiveCharacterTextSplitter.get_separators_for_language(Language(name))
    special = [separator for separator in separators if separator not in {"", " ", "\n", "\n\n"}]
    sentences = _SENTENCES if file_type in _PROSE else ()
    return RecursiveCharacterTextSplitter(
        separators=[*special, "\n\n", "\n", *sentences, " ", ""],
        is_separator_regex=True,
        keep_separator=True,
        chunk_size=size,
        chunk_overlap=0,
        strip_whitespace=False,
    )
