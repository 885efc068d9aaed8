"""Contacts (VCF) → each person with names, organization, addresses, telephone numbers and notes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from rag_core.extract import content_lines
from rag_core.extract.building import Builder, one_line
from rag_core.files.slices import Sliced
from rag_core.types import Extracted

_UNSEEN = frozenset(
    "BEGIN END VERSION PRODID UID REV N SORT-STRING PHOTO LOGO SOUND KEY CLASS SOURCE KIND X-ABLABEL"
    " MAILER".split()
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
}
"""Property → label before its value. Properties that are not listed are labelled with their name."""

_DAY = re.compile(r"(\d{4})(\d\d)(\d\d)")
_KINDS = frozenset("home work cell fax pager main iphone".split())


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
    values = {name: value for name, _, value in reversed(properties)}
    names = [part for part in _parts(values.get("N", "")) if part]
    title = one_line(content_lines.shown(values.get("FN", "")) or " ".join([*names[1:], *names[:1]]))
    builder.begin("contact", title, title)
    shown = (_line(*each) for each in properties if each[0] not in _UNSEEN)
    names_alone = [] if "FN" in values else [title]
    builder.add("\n".join(dict.fromkeys(filter(None, (*names_alone, *shown)))))
    return title


def _properties(lines: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the name, parameters and value of each property. Any other line of words becomes a note."""
    for line in lines:
        head, colon, value = line.partition(":")
        name, _, parameters = head.partition(";")
        name = name.rpartition(".")[2].strip().upper()  # Apple writes "item1.TEL"
        if colon and value.strip():
            yield name, parameters.lower(), value.strip()
        elif not colon and " " in line.strip():
            yield "NOTE", "", line.strip()


def _line(name: str, parameters: str, value: str) -> str:
    """Return a property as it is shown: ``Phone (work): +49 30 123``."""
    if name in ("ADR", "ORG"):
        value = ", ".join(filter(None, map(str.strip, _parts(value))))
    elif name in ("BDAY", "ANNIVERSARY"):
        value = _DAY.sub(r"\1-\2-\3", value)
    else:
        value = content_lines.shown(value).removeprefix("tel:").removeprefix("mailto:")
    label = _LABELS.get(name, name.removeprefix("X-").capitalize())
    kinds = [word for word in re.findall(r"[a-z]+", parameters) if word in _KINDS]
    if label and kinds:
        label += f" ({', '.join(dict.fromkeys(kinds))})"
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
