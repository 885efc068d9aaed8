"""Builds the text of a document from its parts: pages, slides, rows, paragraphs under headings. The builder
records the offsets of each part."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Any

from rag_core.errors import ExtractError
from rag_core.types import DESCRIPTION, Extracted, Segment

MOST_TEXT = 16_000_000
"""Maximum number of characters kept of one document, about a shelf of novels."""

DESCRIBED = "=== What the picture shows ==="
"""The line between the text in a picture and a model's description of the picture."""
_INNERMOST = 100  # the level of a heading below all others
_MOST_WARNINGS = 5
_ONLY_BEGINNING = "This document is longer than {:,} characters; searches find only its beginning."
_MORE_PARTS = "{:,} more of its parts could not be read."
_SAID_WITH_A_VOWEL = frozenset("AEFHILMNORSX")  # an XLSX, but a PDF
_UNWANTED = re.compile("[\u00ad\0-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LINE_ENDS = re.compile("\r\n?|\x0b|\x0c|\x85|\u2028|\u2029")


def one_line(text: str, most: int = 200) -> str:
    """Return ``text`` in one line of at most ``most`` characters, for titles, headings and anchors."""
    return " ".join(_UNWANTED.sub("", text).split())[:most].rstrip()


def needs_password(path: PurePosixPath) -> ExtractError:
    """Return the error for a file that cannot be opened without its password."""
    return ExtractError(f"{path.name!r} needs a password.", "Save a copy without the password to search it.")


def damaged(path: PurePosixPath, data: bytes) -> ExtractError:
    """Return the error for a file that its reader cannot read, because it is empty, damaged, or not of the
    format that its suffix names."""
    advice = "Open it in its own program and save it again, or get another copy."
    if not data:
        return ExtractError(f"{path.name!r} is empty.", advice)
    kind = path.suffix[1:].upper()
    article = "an" if kind[:1] in _SAID_WITH_A_VOWEL else "a"
    return ExtractError(f"{path.name!r} is damaged or not {article} {kind}.", advice)


class Builder:
    """The growing text of a document, with a segment for each part and each heading in a part."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._segments: list[Segment] = []
        self._start = 0
        self._headings: list[tuple[int, str]] = []
        self._place: tuple[str, str] | None = None
        self.opening = ""
        """The heading at the beginning of the document; '' if it begins with something else."""
        self.is_full = False
        """Whether the document has MOST_TEXT characters, so that further text is left out."""
        self.private = False
        """Whether a part of the document says that it is private."""
        self.notes: list[str] = []
        """Sentences about how the document was read, such as a guessed encoding."""

    def begin(self, anchor_type: str, anchor_ref: object, *heading_path: str, gap: str = "\n\n") -> None:
        """Begin a part of the document. Page 3 has the ``anchor_type`` ``page`` and the ``anchor_ref`` 3.
        ``heading_path`` are the headings above it, outermost first. ``gap`` is put between the part and the
        text before it."""
        self._close(gap)
        self._place = anchor_type, one_line(str(anchor_ref))
        self._headings = list(enumerate(filter(None, map(one_line, heading_path)), -len(heading_path)))

    def heading(self, level: int, text: str) -> None:
        """Begin a section with the heading ``text``. ``level`` 1 is the outermost. The sections of this level
        and of deeper ones end. An empty heading changes nothing."""
        if not (name := one_line(text)):
            return
        self._close()
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, name))
        if not self._pieces:
            self.opening = name
        self.add(text)

    def add(self, text: str, gap: str = "\n\n") -> None:
        """Add text to the current section, with ``gap`` between it and the text before it; by default it is a
        paragraph. Blank text, and text that would make the document too long, is left out."""
        text = _UNWANTED.sub("", _LINE_ENDS.sub("\n", text)).strip("\n").rstrip()
        if not text.strip():
            return
        if self._length > self._start:
            text = gap + text
        self.is_full = self.is_full or self._length + len(text) > MOST_TEXT
        if self.is_full:
            return
        self._pieces.append(text)
        self._length += len(text)

    def add_lines(self, heading: str, lines: Iterable[str]) -> None:
        """Add lines that belong to the whole document under a heading, such as links or readings."""
        self.begin("heading", heading, heading)
        for line in lines:
            self.add(line, gap="\n")

    def add_seen(self, text: str) -> None:
        """Add the text that was read in a picture. A model's description, which follows the line `DESCRIBED`
        in it, becomes a separate segment in the same part."""
        transcribed, _, described = text.partition(DESCRIBED)
        self.add(transcribed)
        if described.strip():
            self._close()
            headings = self._headings
            self._headings = [*headings, (_INNERMOST, DESCRIPTION)]
            self.add(described)
            self._close()
            self._headings = headings

    def _close(self, gap: str = "\n\n") -> None:
        """End the segment and its paragraph. ``gap`` is put before the text that follows."""
        if self._length > self._start:
            path = tuple(name for _, name in self._headings)
            place = self._place or (("heading", path[-1]) if path else ("text", ""))
            self._segments.append(Segment(self._start, self._length, path, *place))
            self._pieces.append(gap)
            self._length += len(gap)
            self._start = self._length

    def document(
        self, file_type: str, name: str, title: str = "", warnings: Sequence[str] = (), **more: Any
    ) -> Extracted:
        """Return the document. If ``title`` is '', its title is the file's ``name``. ``warnings`` has a
        sentence for each part that could not be read; the first five are kept. ``more`` are other fields of
        `Extracted`."""
        self._close()
        cut = [_ONLY_BEGINNING.format(MOST_TEXT)] if self.is_full else []
        rest = [_MORE_PARTS.format(len(warnings) - _MOST_WARNINGS)] if len(warnings) > _MOST_WARNINGS else []
        title = one_line(title)
        text = "".join(self._pieces).rstrip("\n")
        return Extracted(
            text=text,
            file_type=file_type,
            encoding="",
            title=title or name,
            title_from="heading" if title else "file name",
            segments=tuple(self._segments),
            private=self.private,
            warnings=(*cut, *warnings[:_MOST_WARNINGS], *rest, *dict.fromkeys(self.notes)),
            in_part=bool(cut or warnings),
            **more,
        )
