"""A document as it is read: its passages in order, its links, and the documents near to it in meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_core.hits import Document

LinkType = Literal["wikilink", "embed", "markdown"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of several chunks of a document in reading order: the one that was asked for, or one near it."""

    key: str
    content: str
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    is_hit: bool  #: Whether it is the chunk that was asked for.
    repeats: int  #: Number of characters at the beginning of ``content`` that end the chunk before.
    shown: tuple[int, int]  #: (start, end) of the part of ``content`` to show among the others.
    split_part: int  #: As in `Passage`, like ``headings``.
    headings: str = ""
    anchor: str | None = None  #: Where it is in words; None where lines say it.
    start: int = 0  #: Offset in the document.


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A link between two documents. ``path`` is that of the other one; None if there is none that the viewer
    may see."""

    type: LinkType
    target: str
    heading: str
    label: str
    path: str | None
    title: str | None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A document in a file that holds many."""

    address: str  #: What it is asked for with, see `Document.address`.
    title: str
    date: str  #: An ISO date, or ''.


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document as it was indexed, with its passages and links."""

    document: Document
    chunks: tuple[Neighbour, ...]  #: In reading order.
    links_out: tuple[DocumentLink, ...]  #: Its links to others.
    links_in: tuple[DocumentLink, ...]  #: The links of others to it.
    aliases: tuple[str, ...]
    warnings: tuple[str, ...]
    is_dated: bool = False  #: Whether its text or name has its date.
    properties: tuple[tuple[str, str], ...] = ()  #: What else its front matter says.
    next_key: str | None = None  #: The first chunk that was asked for and did not fit.
    parts: tuple[FilePart, ...] = ()  #: The newest documents that it holds, if it is a file of many.
    newer: FilePart | None = None  #: For a part of a file: the one that was written next.
    older: FilePart | None = None  #: Likewise, the one written before.


@dataclass(frozen=True, slots=True)
class Similar:
    """A document similar in meaning to another one or to a text, with its nearest passage."""

    document: Document
    similarity: float  #: The cosine.
    relevant: bool  #: Whether it is as near as neighbouring passages are, not as unrelated ones.
    key: str
    content: str
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    is_linked: bool = False  #: Whether one of the two documents links to the other.
