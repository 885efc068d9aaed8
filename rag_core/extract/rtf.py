"""Rich text (RTF) → its text, footnotes, comments, headers, text boxes, and the addresses of links.

striprtf reads the main text but leaves out footnotes, comments and the like. Their groups are cut out first
and read separately.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date
from pathlib import PurePosixPath
from typing import Any

from striprtf.striprtf import rtf_to_text

from rag_core.extract.building import Builder, damaged, one_line
from rag_core.types import Extracted

_BEGINNING = b"{\\rtf"
_BINARY = re.compile(rb"\\bin(\d{1,9}) ?")
_EMPTY_BINARY = re.compile(rb"\\bin(?![a-z\d]) ?")  # striprtf cannot read these
_SIGN = re.compile(r"\\[{}\\]|[{}]")
_INFO = re.compile(r"\{\s?\\info(?![a-z])")
_OF_INFO = re.compile(r"\{\s?\\(title|author)(?![a-z]) ?")
_CHANGED = re.compile(r"\\(?:revtim|creatim)\s?\\yr(\d{4})\s?\\mo(\d{1,2})\s?\\dy(\d{1,2})")
_APART = re.compile(
    r"\{(?:\\\*)?\s*\\(?P<name>footnote|annotation|header|footer|shptxt|dptxbxtext)"
    r"(?:(?<=er)[lrf])?(?![a-z])-?\d* ?"
)
_HEADINGS = {
    "footnote": "Footnotes",
    "annotation": "Comments",
    "header": "Header and footer",
    "footer": "Header and footer",
    "shptxt": "Text boxes",
    "dptxbxtext": "Text boxes",
}
_OF_HIDDEN = re.compile(
    r"\\(?:v(?P<off>0)?|(?P<plain>plain)|fs(?P<size>\d{1,4}))(?![a-z\d])|\\[{}\\]|(?P<brace>[{}])"
)
"""Signs that begin or end hidden text."""
_TOO_SMALL = 2  # half points: text of this size is not seen
_FORMAT = re.compile(r"\\(?!u-?\d)[a-z]{1,32}(?:-?\d{1,10})?+ ?")
_LINK = re.compile(r'HYPERLINK\s+(?:\\[*a-z]\s+)*"?([^"\s{}]{3,2000})')
_FIELD_OF_LINK = re.compile(
    r"(\\fldinst(?![a-z])(?:[\s{]|\\[a-z]{1,32}+(?:-?\d{1,10}+)?+){0,60}+)HYPERLINK", re.I
)
_CODE_PAGE = re.compile(r"\\ansicpg\d{1,5}|\\mac\b|\\pca?\b")


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the document in ``data``. Raises ExtractError if it is not rich text."""
    if not data.lstrip().startswith(_BEGINNING):
        raise damaged(path, data)
    source = _without_hidden(_without_binary(data).decode("latin-1"))
    body, apart = _taken_apart(source)
    builder, text = Builder(), _plain(body)
    builder.add(text)
    for heading, lines in _texts(apart, _head(source)).items():
        builder.add_lines(heading, lines)
    links = dict.fromkeys(one_line(match[1]) for match in _LINK.finditer(source))
    builder.add_lines("Links", [link for link in links if link not in text])
    title, about = _about(source)
    return builder.document("word", path.name, title, **about)


def _about(source: str) -> tuple[str, dict[str, Any]]:
    """Return the title, then the date and author, from the properties of a document."""
    begun = _INFO.search(source)
    info = source[begun.start() : _end_of_group(source, begun.start())] if begun else ""
    found: dict[str, str] = {}
    for match in _OF_INFO.finditer(info):
        written = info[match.end() : _end_of_group(info, match.start())]
        found.setdefault(match[1], one_line(_plain(f"{_head(source)} {written}")))
    days: list[str] = []
    for match in _CHANGED.finditer(info):
        with suppress(ValueError):
            days.append(date(int(match[1]), int(match[2]), int(match[3])).isoformat())
    author = found.get("author", "")
    about = {"date": max(days, default=None), "metadata": {"author": author} if author else {}}
    return found.get("title", ""), about


def _texts(apart: list[tuple[str, str]], head: str) -> dict[str, dict[str, None]]:
    """Return the text of each group that was cut out, by heading, each text once. ``head`` is the beginning
    for a document."""
    texts: dict[str, dict[str, None]] = {}
    for name, written in apart:
        texts.setdefault(_HEADINGS[name], {})[_plain(f"{head} {written}}}").strip()] = None
    return texts


def _plain(source: str) -> str:
    source = _FIELD_OF_LINK.sub(r"\1", source)  # striprtf writes the address into the sentence
    text: str = rtf_to_text(source, errors="replace")  # type: ignore[no-untyped-call]
    return text


def _without_binary(data: bytes) -> bytes:
    """Return ``data`` without the raw bytes of pictures, which may contain braces."""
    parts: list[bytes] = []
    place = 0
    while match := _BINARY.search(data, place):
        parts.append(data[place : match.start()])
        place = match.end() + int(match[1])
    return _EMPTY_BINARY.sub(b"", b"".join([*parts, data[place:]]))


def _without_hidden(source: str) -> str:
    """Return ``source`` without the characters of text that is hidden or too small to see. Its formats stay,
    because they may change the font."""
    parts: list[str] = []
    outer: list[tuple[bool, bool]] = []  # the state before each open group
    is_hidden, is_tiny, place = False, False, 0
    for match in _OF_HIDDEN.finditer(source):
        parts.append(_shown(source[place : match.start()], is_hidden=is_hidden or is_tiny))
        place = match.end()
        brace = match["brace"]
        if brace == "{":
            outer.append((is_hidden, is_tiny))
        elif brace:
            is_hidden, is_tiny = outer.pop() if outer else (False, False)
        elif match[0][1] in "{}\\":
            parts.append("" if is_hidden or is_tiny else match[0])
            continue
        elif match["size"]:
            is_tiny = int(match["size"]) <= _TOO_SMALL
        else:
            is_hidden = not (match["off"] or match["plain"])
            is_tiny = is_tiny and not match["plain"]
        parts.append(match[0])
    return "".join([*parts, _shown(source[place:], is_hidden=is_hidden or is_tiny)])


def _shown(written: str, *, is_hidden: bool) -> str:
    return "".join(_FORMAT.findall(written)) if is_hidden else written


def _head(source: str) -> str:
    """Return the beginning of a document in the form of ``source``: its code page and fonts."""
    code_page = _CODE_PAGE.search(source)
    start = source.find("{\\fonttbl")
    fonts = source[start : _end_of_group(source, start)] if start >= 0 else ""
    return "{\\rtf1\\ansi" + (code_page[0] if code_page else "") + fonts


def _taken_apart(source: str) -> tuple[str, list[tuple[str, str]]]:
    """Return the text without the groups that are read separately, then the name and content of each of these
    groups."""
    parts: list[str] = []
    apart: list[tuple[str, str]] = []
    place = 0
    while match := _APART.search(source, place):
        end = _end_of_group(source, match.start())
        parts.append(source[place : match.start()])
        apart.append((match["name"], source[match.end() : end - 1]))
        place = end
    return "".join([*parts, source[place:]]), apart


def _end_of_group(source: str, start: int) -> int:
    """Return the end of the group whose brace is at ``start``."""
    depth = 0
    for match in _SIGN.finditer(source, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return len(source)
