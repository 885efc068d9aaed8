"""A document for reading: its passages in order, its links, and documents of similar meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_core.hits import Document

LinkType = Literal["wikilink", "embed", "markdown"]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One of several chunks of a document in reading order: the requested one, or one near it."""

    key: str
    content: str
    start_line: int
    end_line: int
    heading_path: tuple[str, ...]
    is_hit: bool  #: Whether this is the requested chunk.
    repeats: int  #: Number of first characters of ``content`` that repeat the end of the chunk before.
    shown: tuple[int, int]  #: (start, end) of the part of ``content`` to show among the others.
    split_part: int  #: Number of this part within its section, from 1; 0 for a whole one.
    headings: str = ""  #: The headings above it in one line.
    anchor: str | None = None  #: Where the chunk is, in words; None if line numbers say it.
    start: int = 0  #: Offset in the document.


@dataclass(frozen=True, slots=True)
class DocumentLink:
    """A link between two documents. ``path`` and ``title`` are the other document's; None if it does not
    exist or the viewer may not see it."""

    type: LinkType
    target: str
    heading: str
    label: str
    path: str | None
    title: str | None


@dataclass(frozen=True, slots=True)
class FilePart:
    """A document in a file that holds many, such as a message of a mailbox."""

    address: str  #: The name that requests use for it, see `Document.address`.
    title: str
    date: str  #: An ISO date, or ''.


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document as it was indexed, with its passages and links."""

    document: Document
    chunks: tuple[Neighbour, ...]  #: In reading order.
    links_out: tuple[DocumentLink, ...]  #: Links from this document to others.
    links_in: tuple[DocumentLink, ...]  #: Links from other documents to this one.
    aliases: tuple[str, ...]
    warnings: tuple[str, ...]
    is_dated: bool = False  #: Whether the date is from the document's text or name.
    properties: tuple[tuple[str, str], ...] = ()  #: Other properties from its front matter.
    next_key: str | None = None  #: The first requested chunk that did not fit; None if all did.
    parts: tuple[FilePart, ...] = ()  #: The newest documents in this file, if it has many.
    newer: FilePart | None = None  #: For a part of a file: the next newer part.
    older: FilePart | None = None  #: For a part of a file: the next older part.


@dataclass(frozen=True, slots=True)
class Similar:
    """A document similar in meaning to another one or to a text, with its nearest passage."""

    document: Document
    similarity: float  #: The cosine.
    relevant: bool  #: Whether the passages are as similar as neighbouring passages usually are.
    key: str
    content: str
    heading_path: tuple[str, ...]
    start_line: int
    end_line: int
    is_linked: bool = False  #: Whether one of the two documents links to the other.
