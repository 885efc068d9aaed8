"""Handles what Logseq, Notion and Joplin add to Markdown: properties and references to blocks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

from rag_core.extract import note_dialects
from rag_core.text.days import first_in_name
from rag_core.text.inline import Mark, without_marks
from rag_core.types import Extracted

_PROPERTY = re.compile(r"[ \t]*(?:[-*][ \t]+)?([^\W\d][\w./ -]{0,40})::(?:[ \t]+([^\n]*))?")
_TAGS_OF_BLOCK = re.compile(r"^[ \t]*(?:[-*][ \t]+)?tags::[ \t]+([^\n]+)", re.M)
_HIDDEN = re.compile(
    r"^[ \t]*(?:-[ \t]+)?(?:id::[ \t]+[0-9a-f-]{36}|collapsed::[ \t]+(?:true|false)|logseq\.[\w.-]+::[^\n]*"
    r"|:LOGBOOK:|CLOCK:[^\n]*|:END:)[ \t]*\r?$",
    re.M,
)
_ID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_BLOCK_ID = re.compile(rf"[ \t]*id::[ \t]+({_ID})[ \t]*\r?$")
_BULLET = re.compile(r"[ \t]*[-*][ \t]+(.*)")
_REFERENCE = re.compile(
    rf"\[([^\[\]\n]{{1,300}})\]\(\(\(({_ID})\)\)\)|\{{\{{embed[ ]\(\(({_ID})\)\)\}}\}}|\(\(({_ID})\)\)"
)
_NAMES = re.compile(r"\[\[([^\[\]]*)\]\]|([^,]+)")
_LINKED = re.compile(r"#?\[\[([^\[\]]*)\]\]|#(?=\w)")
_HEADER = re.compile(r"([^\W\d_][^:\n\[\]`|]{0,40}):[ \t]+(\S[^\n]*)")
_TITLE = re.compile(r"(?:[ \t]*\r?\n)*# [^\n]*\n[ \t]*\r?\n")
_OF_A_HEADER = frozenset(
    "tags|tag|date|created|created time|created at|date created|status|author|type|url|source"
    "|last edited time|updated|erstellt|datum".split("|")
)
_DAYS = frozenset(
    "date|created|created time|created at|date created|updated|last edited time|erstellt|datum".split("|")
)
_OF_JOPLIN = re.compile(
    r"\n[ \t]*\r?\nid: [0-9a-f]{32}\r?\n(?:[a-z_]{1,40}:[^\n]*\n){0,60}?"
    r"updated_time: (\d{4}-\d\d-\d\d)T[^\n]*\n(?:[a-z_]{1,40}:[^\n]*\n){0,60}type_: \d{1,2}\s*\Z"
)
_DRAWING = re.compile(r"(?<=```compressed-json)\r?\n(?:[A-Za-z0-9+/=]*+\r?\n)*+(?=```)")
"""The data of a drawing of Excalidraw, whose texts stand above it."""
_LONGEST_FOOTER = 4_000  # characters
_LISTS = {"tags": "tags", "tag": "tags", "alias": "aliases", "aliases": "aliases"}


@dataclass(slots=True)
class AppNote:
    """A note as its app shows it."""

    text: str  #: The text, with the same number of lines.
    body: int  #: Offset of the text after the properties.
    values: dict[str, Any] = field(default_factory=dict)  #: The properties, in the form of front matter.
    tags: list[str] = field(default_factory=list)  #: Tags of single blocks.


def page(text: str, body: int, *, of_notion: bool) -> AppNote:
    """Return the note in ``text``, whose front matter ends at the offset ``body``, as its app shows it. With
    ``of_notion``, ``Key: value`` lines below the title are its properties whatever the keys are."""
    note = AppNote(text, body)
    _read_joplin(note)
    if "```compressed-json" in text:
        note.text = _DRAWING.sub(lambda data: "\n" * data[0].count("\n"), note.text)
    if "::" in note.text:
        _read_logseq(note)
    note.text = note.text[: note.body] + note_dialects.as_shown(note.text[note.body :])
    if not note.values:
        note.values = _header(note.text[note.body :], of_notion=of_notion)
    return note


# --- Joplin -----------------------------------------------------------------------------


def _read_joplin(note: AppNote) -> None:
    """Read what Joplin's own export (RAW) writes after a note. Its title is the first line."""
    footer = _OF_JOPLIN.search(note.text, max(0, len(note.text) - _LONGEST_FOOTER))
    if footer:
        note.text = note.text[: footer.start()]
        title = note.text.lstrip().partition("\n")[0].strip()
        note.values = {"title": title, "date": footer[1]} if title else {}


# --- Logseq -----------------------------------------------------------------------------


def _read_logseq(note: AppNote) -> None:
    begin, place = note.body, note.body
    for line in note.text[place : place + 64_000].splitlines(keepends=True):
        match = _PROPERTY.fullmatch(line.rstrip("\r\n"))
        if match is None and (line.strip() or note.values):
            break
        place += len(line)
        if match:
            _add(note.values, match[1].strip().lower(), (match[2] or "").strip())
            begin = place
    note.body = begin
    rest = _with_references(note.text[begin:])
    note.tags = [tag for match in _TAGS_OF_BLOCK.finditer(rest) for tag in _listed(match[1])]
    note.text = note.text[:begin] + _HIDDEN.sub("", rest)


def _add(values: dict[str, Any], key: str, said: str) -> None:
    if key in _LISTS:
        values[_LISTS[key]] = [*values.get(_LISTS[key], []), *_listed(said)]
    elif key != "id" and said:
        plain = _LINKED.sub(lambda match: match[1] or "", said)
        values[key] = (first_in_name(plain) or plain) if key in _DAYS else plain


def _listed(said: str) -> list[str]:
    """Return the names in ``a, [[b c]], #d``."""
    names = [(linked or plain).strip().lstrip("#").strip("[]\"' ") for linked, plain in _NAMES.findall(said)]
    return [name for name in names if name]


def blocks_of(text: str) -> dict[str, str]:
    """Return the blocks of a page that other places can refer to: identifier → first line."""
    text_of: dict[str, str] = {}
    bullet = ""
    for line in text.split("\n"):
        if match := _BLOCK_ID.match(line):
            text_of[match[1]] = bullet
        elif match := _BULLET.match(line):
            bullet = match[1].strip()
    return text_of


def _with_references(text: str) -> str:
    """Return the text with each reference to one of its own blocks replaced by the block's text."""
    if "((" not in text:
        return text
    return without_marks(text, _replaced(text, blocks_of(text)))


def _replaced(text: str, text_of: Mapping[str, str]) -> list[Mark]:
    """Return the references in a text to the blocks of ``text_of``, with the text that each is shown as."""
    found = [(match, match[1] or text_of.get(match[3] or match[4])) for match in _REFERENCE.finditer(text)]
    return [Mark(*match.span(), shown) for match, shown in found if shown]


def refers_to_blocks(text: str) -> bool:
    """Whether ``text`` refers to a block by its identifier, as Logseq does: ``((identifier))``. In a note
    that was read, only references to blocks of other notes are left."""
    return "((" in text and _REFERENCE.search(text) is not None


def with_blocks(note: Extracted, text_of: Mapping[str, str]) -> Extracted:
    """Return a note that was read, with each reference to a block of another note replaced by the block's
    text. ``text_of`` maps the identifiers of blocks to their texts."""
    marks = _replaced(note.text, text_of)
    ends = [mark.end for mark in marks]
    grown = [0, *accumulate(len(mark.shown) - (mark.end - mark.start) for mark in marks)]

    def moved(place: int) -> int:
        return place + grown[bisect_right(ends, place)]

    return replace(
        note,
        text=without_marks(note.text, marks),
        segments=tuple(replace(part, start=moved(part.start), end=moved(part.end)) for part in note.segments),
        links=tuple(replace(link, start=moved(link.start)) for link in note.links),
    )


# --- Notion -----------------------------------------------------------------------------


def _header(body: str, *, of_notion: bool) -> dict[str, Any]:
    """Return the ``Key: value`` lines below the title, if their paragraph contains nothing else."""
    title = _TITLE.match(body)
    if title is None:
        return {}
    values: dict[str, Any] = {}
    for line in body[title.end() : title.end() + 10_000].split("\n"):
        if not line.strip():
            break
        match = _HEADER.fullmatch(line.rstrip())
        if match is None or match[2].startswith("//"):
            return {}
        key = match[1].strip().lower()
        if key in ("tags", "tag"):
            values["tags"] = [name.strip().lstrip("#") for name in match[2].split(",") if name.strip()]
        elif key not in ("title", "private"):
            values[key] = (first_in_name(match[2]) or match[2]) if key in _DAYS else match[2]
    is_header = of_notion or (len(values) > 1 and not _OF_A_HEADER.isdisjoint(values))
    return values if is_header else {}
