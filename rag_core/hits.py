"""A document, a passage found in it, and how every interface shows both.

A new field is declared here and filled in where its value is known: `store.listing.as_documents` for a
document, `search.show` for a hit.

JSON has every field under its name, except fields marked `INNER`, which no interface shows. CSV and the views
of a hit show only fields with a `fact`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from pathlib import PurePosixPath
from typing import Any, Literal

from rag_core.anchors import anchor_in_words

PrivateBy = Literal["note", "rule"]

INNER = {"inner": True}
"""The metadata of a field that no interface shows."""


View = Literal["brief", "table", "whole"]


@dataclass(frozen=True, slots=True)
class Fact:
    """How people see a field of a hit or a document."""

    label: str
    text: Callable[[Any], str]  #: Writes the value; returns '' if there is nothing to show.
    views: tuple[View, ...]  #: The views of a hit that show this field.


def fact(
    label: str, text: Callable[[Any], str] = str, views: tuple[View, ...] = ("table", "whole")
) -> dict[str, Any]:
    """Return the metadata for a dataclass field that is shown to people: its label, the function that writes
    its value, and the views of a hit that show it."""
    return {"fact": Fact(label, text, views)}


def _count(number: int) -> str:
    return f"{number:,}" if number else ""


def _number(digits: int) -> Callable[[float | None], str]:
    return lambda number: "" if number is None else f"{number:.{digits}f}"


@dataclass(frozen=True, slots=True)
class Document:
    """A document as last indexed: one file of a source, or one part of a file with many documents, such as a
    message of a mailbox. ``date_from`` says where the date is from: ``'front matter'`` or ``'file'``."""

    store: str = field(metadata=INNER)  # as the hit says it
    id: int = field(metadata=INNER)
    path: str = field(metadata=INNER)
    folder: str
    file_type: str = field(metadata=fact("Type"))
    title: str
    tags: tuple[str, ...] = field(metadata=fact("Tags", lambda tags: " ".join(f"#{tag}" for tag in tags)))
    date: str = field(metadata=fact("Date", lambda date: date[:10]))
    private: bool = field(metadata=INNER)
    state: str = field(metadata=INNER)
    reason: str = field(metadata=INNER)
    chunks: int = field(metadata=INNER)
    size: int = field(metadata=INNER)
    file_hash: str
    indexed_at: str
    root: str = field(metadata=INNER)
    path_in_source: str = field(metadata=INNER)
    private_by: tuple[PrivateBy, ...] = field(default=(), metadata=INNER)
    date_from: str = field(default="", metadata=INNER)
    #: The name of this part in its file; '' for a whole file.
    part: str = ""
    #: Number of documents in this file; 0 for most files, and for a part.
    part_count: int = field(default=0, metadata=INNER)

    @property
    def address(self) -> str:
        """The name that requests use for this document: the path of its file. A part of a file has ``#`` and
        the name of the part after the path."""
        return f"{self.path}#{self.part}" if self.part else self.path

    @property
    def absolute_path(self) -> str:
        """The path of the file on this machine; '' for a guest, who may not know the folder."""
        return str(PurePosixPath(self.root) / self.path_in_source) if self.root else ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk found by a query, with its document."""

    rank: int
    score: float  #: Calibrated relevance, 0 to 1.
    relevant: bool  #: Whether the hit fits the query well enough.
    #: Cosine as measured; None if unknown.
    similarity: float | None = field(metadata=fact("Similarity", _number(3), ("whole",)))
    #: Higher is better; None if unknown.
    bm25: float | None = field(metadata=fact("BM25", _number(2), ("whole",)))
    reasons: tuple[str, ...]
    store: str = field(metadata=fact("Store"))
    key: str
    chunk_index: int
    content: str
    spans: tuple[tuple[int, int], ...]  #: The (start, end) offsets in ``content`` to highlight.
    snippet: tuple[int, int] = field(metadata=INNER)
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    anchor_type: str
    anchor_ref: str
    split_part: int  #: Number of this part within its section, from 1; 0 for a whole section.
    document: Document = field(metadata=INNER)
    #: Paths of other documents that contain this passage.
    copies: tuple[str, ...] = field(
        default=(), metadata=fact("Also in", ", ".join, ("brief", "table", "whole"))
    )
    #: Number of other passages of the document that fit, a lower bound. `Searching.others` returns them.
    more: int = field(
        default=0,
        metadata=fact("Other passages", _count, ("brief", "table", "whole")),
    )
    #: Offsets of text that is not shown, such as HTML tags and footers.
    hidden: tuple[tuple[int, int], ...] = field(default=(), metadata=INNER)
    #: The other names of a document without text.
    aliases: tuple[str, ...] = field(default=(), metadata=INNER)
    headings: str = field(default="", metadata=INNER)  #: The headings above it in one line.
    #: Share of the query's words in its document, 0 to 1; 1 if the query is its name, None if it cannot fit.
    words_share: float | None = field(default=1.0, metadata=INNER)
    #: The tags, aliases and front matter of its document, as words.
    aside: str = field(default="", metadata=INNER)

    @property
    def anchor(self) -> str | None:
        """Where the passage is in its document, such as ``page 3``; '' if no place is known, None for a file
        that people read by line numbers."""
        return anchor_in_words(self.document.file_type, self.anchor_type, self.anchor_ref)


SEEN = tuple(each.name for of in (Hit, Document) for each in fields(of) if "fact" in each.metadata)
"""The fields that people see."""


def facts(hit: Hit, view: View = "whole") -> dict[str, str]:
    """Return what a view shows of a hit and its document besides the text, as label → value; '' for a fact
    without a value."""
    shown: dict[str, str] = {}
    for value in (hit.document, hit):
        for part in fields(value):
            told: Fact | None = part.metadata.get("fact")
            if told and view in told.views:
                shown[told.label] = told.text(getattr(value, part.name))
    return shown
