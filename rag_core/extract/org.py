"""Org (Emacs, Org-roam, Denote) → sections by stars, and the file's metadata: title, tags, date, aliases,
properties, links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from rag_core.extract import frontmatter, note_names
from rag_core.extract.building import one_line
from rag_core.extract.filetypes import title_of_name
from rag_core.extract.markup import Heading, sections
from rag_core.text import tags
from rag_core.text.days import first_in_name
from rag_core.types import Extracted, Link, LinkType

_HEADING = re.compile(r"^(\*+)[ \t]+(\S[^\r\n]*)", re.M)
_STATE = re.compile(
    r"(?:TODO|DONE|WAITING|NEXT|CANCELLED|CANCELED|HOLD|PROJ|STRT|DOING)[ \t]+|\[#[A-Z0-9]\][ \t]*"
)
_TAGS = re.compile(r"(?<![ \t])[ \t]+:([\w@#%:]+):[ \t]*$")
_KEYWORD = re.compile(r"[ \t]*#\+([A-Za-z_]+):[ \t]*(.*)")
_PROPERTY = re.compile(r"[ \t]*:([\w-]+)(\+?):[ \t]*(.*)")
_QUOTED = re.compile(r"\"([^\"]*)\"|(\S+)")
_LINK = re.compile(r"\[\[([^\[\]\n]{1,2000})\](?:\[([^\[\]\n]{0,1000}(?:\n[^\[\]\n]{0,200})?)\])?\]")
_SCHEME = re.compile(r"(id|file|roam|denote|attachment):", re.I)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_LONGEST = 1000  # maximum number of characters of a heading that are examined
_LONGEST_HEAD = 64_000
_SETTINGS = frozenset(
    "options startup property setupfile latex_header latex_class html_head bind link macro columns todo tags"
    " archive export_file_name include priorities constants latex_header_extra latex_class_options"
    " seq_todo".split()
)
"""Keywords that control how Emacs handles the file."""
_OWN = frozenset("title filetags date roam_tags roam_alias roam_aliases id created".split())


def read(text: str, path: PurePosixPath, encoding: str, warning: str) -> Extracted:
    """Return the document in an Org file. Its title comes from ``path`` if the file has none. ``encoding``
    and ``warning`` tell how the text was decoded."""
    front = frontmatter.read_frontmatter(text)  # only for `private`
    body, values = _head(text)
    shown, links = _without_addresses(text, body)
    headings = list(_headings(shown, body))
    tagged = [*_tags(values, shown, body), *note_names.tags_of_name(path.name)]
    kept, left_out = tags.bounded(frontmatter.unique(tagged))
    heading = one_line(values.get("title", "")) or (headings[0].text if headings else "")
    return Extracted(
        text=shown,
        file_type="org",
        encoding=encoding,
        title=heading or title_of_name(path),
        title_from="heading" if heading else "file name",
        segments=sections(headings, body, len(shown)),
        aliases=_aliases(values),
        tags=kept,
        links=tuple(links),
        date=first_in_name(values.get("date", "")) or first_in_name(values.get("created", "")),
        private=front.private,
        metadata=_metadata(values),
        warnings=tuple(filter(None, (warning, front.unsure, left_out))),
    )


def _tags(values: dict[str, str], text: str, body: int) -> Iterator[str]:
    """Yield the tags of the file, then those of its headings, which begin at ``body``."""
    yield from _names(values.get("filetags", ""), ":")
    yield from _names(values.get("roam_tags", ""), " ")
    yield from _names(values.get("keywords", ""), ",")
    for match in _HEADING.finditer(text, body):
        if found := _TAGS.search(match[2][:_LONGEST]):
            yield from _names(found[1], ":")


def _aliases(values: dict[str, str]) -> tuple[str, ...]:
    """Return the aliases of the file: single words, or several words in quotes."""
    written = values.get("roam_aliases", "") + " " + values.get("roam_alias", "")
    return frontmatter.unique(one_line(quoted or word) for quoted, word in _QUOTED.findall(written))


def _head(text: str) -> tuple[int, dict[str, str]]:
    """Return the offset of the text after the file's keywords and properties, then these with lower-case
    names."""
    values: dict[str, str] = {}
    place, is_drawer = 0, False
    for line in text[:_LONGEST_HEAD].splitlines(keepends=True):
        said = line.strip()
        if said.lower() == ":properties:" and not values:
            is_drawer = True
        elif said.lower() == ":end:" and is_drawer:
            is_drawer = False
        elif is_drawer and (match := _PROPERTY.match(line)):
            _add(values, match[1], match[3])
        elif match := _KEYWORD.match(line):
            if match[1].lower().startswith(("begin_", "end_", "name", "caption", "attr_")):
                break
            _add(values, match[1], match[2])
        elif said and not said.startswith(("# ", "-*-")):
            break
        place += len(line)
    return (0, values) if is_drawer else (place, values)


def _add(values: dict[str, str], key: str, value: str) -> None:
    key = key.lower().replace("-", "_")
    if value.strip():
        values[key] = " ".join(filter(None, (values.get(key), value.strip())))


def _names(said: str, separator: str) -> list[str]:
    """Return tags written ``:a:b:``, ``a b`` or ``a, b``."""
    between = separator if separator in said.strip() else r"[\s,]"
    return [name.strip().strip('"#') for name in re.split(between, said) if name.strip().strip('"#')]


def _metadata(values: dict[str, str]) -> dict[str, Any]:
    """Return the properties in the form of front matter."""
    found: dict[str, Any] = {key: value for key, value in values.items() if key not in _OWN | _SETTINGS}
    if identifier := values.get("id"):
        found["id"] = identifier
    return found


def _headings(text: str, body: int) -> Iterator[Heading]:
    for match in _HEADING.finditer(text, body):
        name = _STATE.sub("", _TAGS.sub("", match[2][:_LONGEST]))
        yield Heading(match.start(), len(match[1]), one_line(name))


def _without_addresses(text: str, body: int) -> tuple[str, list[Link]]:
    """Return the text with labels in place of links, then the links. Line numbers stay the same."""
    parts, links = [text[:body]], list[Link]()
    length, place = body, body
    for match in _LINK.finditer(text, body):
        parts.append(text[place : match.start()])
        length += len(parts[-1])
        place = match.end()
        label = match[2] or match[1]
        if link := _link(match[1], match[2] or "", length):
            links.append(link)
            label = match[2] or link.target
        elif match[2] and _URL.match(match[1]):
            label = f"{match[2]} ({match[1]})" if match[2] != match[1] else match[1]
        parts.append(label)
        length += len(label)
    return "".join([*parts, text[place:]]), links


def _link(address: str, label: str, start: int) -> Link | None:
    """Return the link to another file, or None for a web address."""
    scheme = _SCHEME.match(address)
    if scheme is None and (_URL.match(address) or address.startswith(("#", "*"))):
        return None
    target, _, heading = (address[scheme.end() :] if scheme else address).partition("::")
    kind: LinkType = "markdown" if scheme and scheme[1].lower() == "file" else "wikilink"
    return Link(kind, target.strip(), heading.lstrip("*#").strip(), label.strip(), start)
