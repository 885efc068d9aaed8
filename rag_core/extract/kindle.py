"""Kindle highlights and notes (``My Clippings.txt``), in any language.

Each entry has a line with its book, a line with its place and day, and its text. A line of ``=`` ends it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime

from rag_core.extract.building import Builder, one_line
from rag_core.extract.chats import line_of_day
from rag_core.files.slices import Sliced, find_all
from rag_core.text.days import first_in_name
from rag_core.types import Extracted

CLIPPINGS = ".clippings"
"""Suffix that is added to the name of a file of clippings, so that it is read as many documents. The name
itself ends in ``.txt``, like those of other files."""
END = b"\n==========\n"

_LINE = re.compile(rb"^==========[ \t]*\r?$", re.M)
_LINE_OF_TEXT = re.compile(r"^==========[ \t]*\r?$", re.M)
_LONGEST_LINE = 100
_ENTRY = re.compile(r"\s*(\S[^\n]*)\n[ \t]*-[ ]?([^\n]*)\n?")
_PAGE = re.compile(
    r"(?i:page|seite|p[áa]gina|страниц[аеы]|bladzijde)[ ]+([\divxlc]{1,9}(?:-[\divxlc]{1,9})?)\b"
    r"|(?<![0-9-])([0-9-]{1,19})[ ]?(?:ページ|페이지)|第[ ]?([0-9-]{1,19})[ ]?[页頁]"
)
_LOCATION = re.compile(
    r"(?i:location|loc\.|position|emplacement|posici[óo]n|posizione|posição|ubicación|место|locatie"
    r"|位置[ ]?(?:No\.)?)[ ]?#?[ ]?([0-9]+(?:-[0-9]+)?)"
)
_CLOCK = re.compile(r"(上午|下午|午前|午後)?[ ]?\b(\d{1,2})[:時时](\d\d)(?:[:分](\d\d))?[ ]?(AM|PM)?", re.I)
_AFTERNOON = frozenset(("pm", "下午", "午後"))


@dataclass(frozen=True, slots=True)
class Clipping:
    """A highlight or a note in a book."""

    book: str
    author: str  #: The author; '' if the line of the book names none.
    place: str  #: The line with page, location and day, as written.
    text: str

    @property
    def day(self) -> str | None:
        """The day when it was created, in ISO form; None if unknown."""
        return first_in_name(self.place.rpartition("|")[2])

    @property
    def time(self) -> datetime | None:
        """The time when it was created, marked as UTC. It is midnight if only the day is known, and None if
        not even that."""
        clock = _CLOCK.search(self.place.rpartition("|")[2])
        if not self.day:
            return None
        time = datetime.fromisoformat(self.day).replace(tzinfo=UTC)
        with suppress(ValueError):
            if clock:
                hour = int(clock[2])
                if half := (clock[1] or clock[5] or "").lower():
                    hour = hour % 12 + 12 * (half in _AFTERNOON)
                return time.replace(hour=hour, minute=int(clock[3]), second=int(clock[4] or 0))
        return time

    @property
    def properties(self) -> dict[str, str]:
        """Book, author, page and location as properties of a note, without those that are unknown."""
        page, location = _PAGE.search(self.place), _LOCATION.search(self.place)
        values = {
            "book": self.book,
            "author": self.author,
            "page": next(filter(None, page.groups()), "") if page else "",
            "location": location[1] if location else "",
        }
        return {name: value for name, value in values.items() if value}


def are_clippings(beginning: bytes) -> bool:
    """Whether a text file with this ``beginning`` contains clippings."""
    first = _LINE.search(beginning)
    if first is None:
        return False
    entry = parse_clipping(beginning[: first.start()].decode("utf-8", "replace"))
    return entry is not None and "|" in entry.place and any(map(str.isdigit, entry.place))


def clipping_spans(data: Sliced) -> Iterator[tuple[int, int]]:
    """Yield the span of each entry, without the line that ends it."""
    begun = 0
    for place, line in find_all(data, _LINE, _LONGEST_LINE):
        yield begun, place
        begun = place + len(line)
    yield begun, len(data)


def parse_clipping(text: str) -> Clipping | None:
    """Parse an entry. Returns None if the text is not an entry."""
    text = text.replace("\ufeff", "")
    match = _ENTRY.match(text)
    if match is None:
        return None
    book, author = _book_and_author(match[1].strip())
    return Clipping(one_line(book), one_line(author), one_line(match[2]), text[match.end() :].strip())


def _book_and_author(line: str) -> tuple[str, str]:
    """Return the title, then the author in brackets at the end ('' if there is none)."""
    depth = 0
    for place in range(len(line) - 1, -1, -1):
        depth += (line[place] in ")）") - (line[place] in "(（")
        if depth <= 0:
            is_author = 0 < place < len(line) - 1
            return (line[:place].rstrip(), line[place + 1 : -1]) if is_author else (line, "")
    return line, ""


def read(text: str, name: str) -> Extracted | None:
    """Read a file of clippings. A single clipping becomes the document itself. Returns None for any other
    text."""
    entries = _LINE_OF_TEXT.split(text)
    first = parse_clipping(entries[0])
    if len(entries) < 2 or first is None:
        return None
    if not any(map(str.strip, entries[1:])):
        builder = Builder()
        if first.day:
            builder.add(line_of_day(date.fromisoformat(first.day)))
        builder.add(first.text, gap="\n")
        return builder.document("text", name, first.book, date=first.day, metadata=first.properties)
    builder, days = Builder(), list[str]()
    for entry in entries:
        clipping = parse_clipping(entry)
        if clipping is None:
            builder.add(entry)
            continue
        days += [clipping.day] if clipping.day else []
        written = one_line(entry.replace("\ufeff", "").strip().partition("\n")[0])
        builder.begin("heading", written, written, clipping.day or clipping.place)
        builder.add(entry.replace("\ufeff", "").strip())
    return builder.document("text", name, re.sub(r"\.txt$", "", name), date=max(days, default=None))
