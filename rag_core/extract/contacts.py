"""Contacts (VCF) → each person with names, organization, addresses, telephone numbers and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import NamedTuple

from rag_core.extract import content_lines
from rag_core.extract.building import Builder, one_line
from rag_core.files.slices import Sliced
from rag_core.types import Extracted

_UNSEEN = frozenset(
    "BEGIN END VERSION PRODID UID REV N SORT-STRING PHOTO LOGO SOUND KEY CLASS SOURCE KIND X-ABLABEL"
    " MAILER X-ABADR X-ABUID X-ABSHOWAS X-ABCROP-RECTANGLE X-IMAGEHASH X-IMAGETYPE".split()
)
_LABELS = {
    "FN": "",
    "NICKNAME": "",
    "NOTE": "",
    "URL": "",
    "TITLE": "",
    "ROLE": "",
    "ORG": "",
    "TEL": "Phone",
    "EMAIL": "Mail",
    "ADR": "Address",
    "BDAY": "Birthday",
    "ANNIVERSARY": "Anniversary",
    "CATEGORIES": "Categories",
    "X-ABDATE": "Date",
    "X-ABRELATEDNAMES": "Related",
}
"""Property → label before its value. Properties that are not listed are labelled with their name."""

_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_OF_A_PROGRAM = re.compile(
    r"<.*>|\d{1,2}|true|false|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.I | re.S
)
"""Values of ``X-`` properties that only a program reads: markup, settings and ids."""
_IN_BASE64 = re.compile(r"(?:^|[;=,])(?:base64|b)(?:$|[;,])")
_BUILT_IN = re.compile(r"_\$!<(.*)>!\$_")
_WORD_WITHIN = re.compile(r"(?<=[a-z])(?=[A-Z])")
_KINDS = frozenset("home work cell fax pager main iphone".split())


class _Property(NamedTuple):
    group: str
    name: str
    parameters: str
    value: str


def contact_spans(data: Sliced) -> Iterator[tuple[int, int]]:
    """Yield the span of each contact."""
    return content_lines.component_spans(data, "VCARD")


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the contacts in ``data``, with a part for each."""
    text = content_lines.unfolded(content_lines.decoded(data, path))
    builder, titles = Builder(), list[str]()
    card: list[str] = []
    for line in [*text.split("\n"), "END:VCARD"]:
        if line.strip().upper() != "END:VCARD":
            card.append(line)
            continue
        if any(map(str.strip, card)):
            titles.append(_add_card(builder, card))
        card = []
    return builder.document("contacts", path.name, titles[0] if len(titles) == 1 else "")


def _add_card(builder: Builder, lines: list[str]) -> str:
    """Add a contact. Returns its name."""
    properties = list(_properties(lines))
    values = {each.name: each.value for each in reversed(properties)}
    names = [part for part in _parts(values.get("N", "")) if part]
    title = one_line(content_lines.shown(values.get("FN", "")) or " ".join([*names[1:], *names[:1]]))
    builder.begin("contact", title, title)
    groups = {each.group: _group_label(each.value) for each in properties if each.name == "X-ABLABEL"}
    shown = (_line(each, groups.get(each.group, "")) for each in properties if _is_shown(each))
    names_alone = [] if "FN" in values else [title]
    builder.add("\n".join(dict.fromkeys(filter(None, (*names_alone, *shown)))))
    return title


def _properties(lines: list[str]) -> Iterator[_Property]:
    """Yield the properties of a contact. Any other line of words becomes a note."""
    for line in lines:
        head, colon, value = line.partition(":")
        name, _, parameters = head.partition(";")
        group, _, name = name.strip().rpartition(".")  # Apple writes "item1.TEL"
        if colon and value.strip():
            yield _Property(group.lower(), name.upper(), parameters.lower(), value.strip())
        elif not colon and " " in line.strip():
            yield _Property("", "NOTE", "", line.strip())


def _is_shown(each: _Property) -> bool:
    """Whether an address book shows a property."""
    if each.name in _UNSEEN:
        return False
    if not each.name.startswith("X-"):
        return True
    code = each.name.startswith("X-MS-OL-") and each.value.isdigit()
    return not (code or _OF_A_PROGRAM.fullmatch(each.value) or _IN_BASE64.search(each.parameters))


def _group_label(value: str) -> str:
    """Return the label that Apple gives to a group of properties: ``_$!<HomePage>!$_`` is *home page*."""
    built_in = _BUILT_IN.fullmatch(value)
    return _WORD_WITHIN.sub(" ", built_in[1]).lower() if built_in else one_line(content_lines.shown(value))


def _line(each: _Property, group_label: str) -> str:
    """Return a property as it is shown: ``Phone (work): +49 30 123``."""
    name, value = each.name, each.value
    if name in ("ADR", "ORG"):
        value = ", ".join(filter(None, (part.strip(" \t\n,") for part in _parts(value))))
    elif name.endswith(("BDAY", "ANNIVERSARY", "X-ABDATE")):
        value = _DAY.sub(r"\1-\2-\3", value)
    else:
        value = content_lines.shown(value).removeprefix("tel:").removeprefix("mailto:")
    label = _LABELS.get(name, name.removeprefix("X-").removeprefix("MS-").capitalize())
    kinds = [word for word in re.findall(r"[a-z]+", each.parameters) if word in _KINDS]
    if label and (kinds := [*dict.fromkeys(filter(None, (*kinds, group_label)))]):
        label += f" ({', '.join(kinds)})"
    label = label or group_label
    return f"{label}: {value}" if label and value else value


def _parts(value: str) -> list[str]:
    """Return the parts of a value between its semicolons, without escapes."""
    parts, piece, escaped = [], list[str](), False
    for sign in value:
        if sign == ";" and not escaped:
            parts.append("".join(piece))
            piece = []
        else:
            piece.append(sign)
        escaped = sign == "\\" and not escaped
    return [content_lines.shown(part) for part in (*parts, "".join(piece))]
