"""Exported browser bookmarks (the Netscape format). Each bookmark becomes a document of its own, under the
names of its folders and dated with the day on which it was added."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from rag_core.extract.building import Builder, one_line
from rag_core.files.slices import Sliced, find_all
from rag_core.types import Extracted

if TYPE_CHECKING:
    from lxml.etree import _Element

BOOKMARKS = ".bookmarks"
"""Suffix that is added to the name of an export of bookmarks, so that it is read as many documents."""
ONE_BOOKMARK = ".bookmark.html"
"""Suffix of a bookmark as a separate file."""
_FIRST = '<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<META HTTP-EQUIV="Content-Type" CONTENT="charset=UTF-8">\n'
_IS_BOOKMARKS = re.compile(r"\s{0,100}<!DOCTYPE NETSCAPE-Bookmark-file-1>", re.I)
_TOKEN = re.compile(
    rb"<DT>\s{0,20}<H3(?:\s[^<>]{0,2000})?>(?P<folder>[^<]{0,500})|<H1(?:\s[^<>]{0,500})?>(?P<top>[^<]{0,500})"
    rb"|<DT>\s{0,20}<(?P<link>A)\s|<DL>|<(?P<end>/)DL>",
    re.I,
)
_LONGEST_TOKEN = 3000
_ADDRESS = re.compile(rb'\sHREF="([^"]{1,5000})"', re.I)
_ADDED = re.compile(rb'\sADD_DATE="(\d{1,20})"', re.I)
_LATEST_S = 2**33  # the year 2242


class BookmarkSpan(NamedTuple):
    """The place of a bookmark in a file, its address ('' if unknown) and the time when it was added.
    ``before`` is the markup of its folders, to put before its bytes in a separate file."""

    start: int
    end: int
    before: bytes
    address: bytes
    time: datetime | None


def are_bookmarks(markup: str) -> bool:
    """Whether a page that begins with ``markup`` is an export of bookmarks."""
    return _IS_BOOKMARKS.match(markup) is not None


def bookmark_spans(data: Sliced) -> Iterator[BookmarkSpan]:
    """Yield each bookmark of a file, in order."""
    folders: list[bytes] = []
    named = b""
    start = -1
    for place, written in find_all(data, _TOKEN, _LONGEST_TOKEN):
        if start >= 0:
            yield _span(data, start, place, folders)
            start = -1
        match = _TOKEN.match(written + b" ")
        if match is None:
            continue
        if match["link"]:
            start = place
        elif match["end"]:
            del folders[-1:]
        elif match["folder"] is not None or match["top"] is not None:
            named = match["folder"] or match["top"] or b""
        else:
            folders.append(named)
            named = b""
    if start >= 0:
        yield _span(data, start, len(data), folders)


def _span(data: Sliced, start: int, end: int, folders: list[bytes]) -> BookmarkSpan:
    written = data[start:end]
    address, added = _ADDRESS.search(written), _ADDED.search(written)
    before = _FIRST.encode() + b"".join(b"<DT><H3>" + name + b"</H3>\n<DL><p>\n" for name in folders if name)
    return BookmarkSpan(start, end, before, address[1] if address else b"", _time(added[1] if added else b""))


def _time(written: bytes | str) -> datetime | None:
    """Return the time when a bookmark was added. It is written in seconds since 1970, in some exports in
    milliseconds or microseconds."""
    number = int(written or 0)
    while number > _LATEST_S:
        number //= 1000
    with suppress(ValueError, OverflowError, OSError):
        return datetime.fromtimestamp(number, UTC) if number else None
    return None


def read_bookmarks(root: _Element, name: str) -> Extracted:
    """Return a document with a section for each bookmark: its title and address, under the names of its
    folders. If there is only one bookmark, the document has its title and day."""
    builder, tags, folders = Builder(), list[str](), list[str]()
    depth = 0
    links: list[tuple[str, str | None]] = []
    from lxml import etree  # only now: it is slow to import

    for event, element in etree.iterwalk(root, events=("start", "end")):
        if element.tag == "dl":
            depth += 1 if event == "start" else -1
        elif event == "start" and element.tag in ("h1", "h3"):
            folders = [*folders[:depth], one_line("".join(element.itertext()))]
        elif event == "start" and element.tag == "a" and element.get("href"):
            title = one_line("".join(element.itertext()))
            folders = folders[:depth]
            builder.begin("bookmark", title, *folders, title)
            builder.add("\n".join(filter(None, (title, element.get("href")))))
            tags += [tag.strip() for tag in element.get("tags", "").split(",") if tag.strip()]
            links.append((title, element.get("add_date")))
        elif event == "start" and element.tag == "dd":
            builder.add(element.text or "", gap="\n")
    title, added = one_line(root.findtext(".//title") or ""), None
    if len(links) == 1:
        title, written = links[0][0] or title, links[0][1] or ""
        added = _time(written) if written.isdecimal() and len(written) <= 20 else None
    day = added.date().isoformat() if added else None
    return builder.document("html", name, title, date=day, tags=tuple(dict.fromkeys(tags)))
