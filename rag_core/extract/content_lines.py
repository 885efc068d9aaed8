"""The lines of calendars and contacts (RFC 5545, RFC 6350, vCard 2.1), unfolded and without quoted-printable,
with values as they are shown."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import PurePosixPath

from rag_core.extract import binary, encoding
from rag_core.extract.building import damaged
from rag_core.files.slices import Sliced, find_all

_FOLD = re.compile(r"\n[ \t]")
_CHARSET = re.compile(r"(?i)CHARSET=\"?([^;:\"]+)")
_ESCAPED = re.compile(r"\\(.)", re.S)
_PRINTABLE = "QUOTED-PRINTABLE"
_FOLD_IN_BYTES = re.compile(rb"\r?\n[ \t]")
_FOLD_IN_LETTER = re.compile(rb"(?<=[\x80-\xff])\r?\n[ \t](?=[\x80-\xbf])")
"""The end of a line inside a letter of several bytes. Programs may fold there (RFC 5545, 3.1)."""
_PROPERTY = re.compile(rb"^([^:\r\n]+):([^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)", re.M)
_UID = re.compile(rb"^(?:UID|RECURRENCE-ID)(?:;[^:\r\n]{0,200})?:([!-~]{1,200})[ \t]*\r?$", re.M | re.I)
_LONGEST_TAG = 100  # maximum number of bytes


def decoded(data: bytes, path: PurePosixPath) -> str:
    """Return the text of a calendar or of contacts, in which each property may declare an encoding of its
    own. Raises ExtractError if the bytes are not text."""
    try:
        if not binary.signature(data):
            return encoding.decode(_in_utf8(_FOLD_IN_LETTER.sub(b"", data))).text
    except (encoding.BinaryError, UnicodeDecodeError):
        pass
    raise damaged(path, data)


def _in_utf8(data: bytes) -> bytes:
    """Return ``data`` with the values whose encoding is declared in UTF-8, unless all of it is in UTF-8, as
    after a program converted it."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return _PROPERTY.sub(_as_declared, data)
    return data


def _as_declared(found: re.Match[bytes]) -> bytes:
    parameters, value = found.groups()
    declared = None if value.isascii() else _CHARSET.search(parameters.decode("ascii", "replace"))
    if declared is None:
        return found[0]
    unfolded_value = _FOLD_IN_BYTES.sub(b"", value)
    return parameters + b":" + encoding.decode(unfolded_value, charset=declared[1]).text.encode()


def component_spans(data: Sliced, names: str) -> Iterator[tuple[int, int]]:
    """Yield the span of each component with one of ``names`` (``VEVENT|VTODO``). A component inside another
    one belongs to that one."""
    tags = re.compile(rb"^(?:BEGIN|END):(?:%s)[ \t]{0,50}\r?$" % names.encode("ascii"), re.M | re.I)
    begun, depth = 0, 0
    for place, tag in find_all(data, tags, _LONGEST_TAG):
        if tag[:1] in b"Bb":
            begun = begun if depth else place
            depth += 1
        elif depth:
            depth -= 1
            if not depth:
                yield begun, place + len(tag)
    if depth:
        yield begun, len(data)


def uid(component: bytes) -> str:
    """Return the id of a component. If it is one occurrence of a repeated event, ``/`` and the day of the
    occurrence follow. Returns '' if it has no id."""
    values = [value.decode("ascii") for value in _UID.findall(_FOLD_IN_BYTES.sub(b"", component))]
    return "/".join(values[:2])


def unfolded(text: str) -> str:
    """Return ``text`` with each property in one line and without quoted-printable."""
    lines = iter(_FOLD.sub("", text.replace("\r\n", "\n").replace("\r", "\n")).split("\n"))
    found: list[str] = []
    for line in lines:
        parameters, _, value = line.partition(":")
        if _PRINTABLE not in parameters.upper():
            found.append(line)
            continue
        pieces = [value]
        while pieces[-1].endswith("=") and (following := next(lines, None)) is not None:
            pieces.append(following)
        found.append(_decoded(parameters, "\n".join(pieces)))
    return "\n".join(found)


def _decoded(parameters: str, quoted: str) -> str:
    """Return a property whose value was in quoted-printable."""
    declared = _CHARSET.search(parameters)
    data = quopri.decodestring(quoted.encode("utf-8", "replace"))
    value = data.decode("utf-8", "replace")
    with suppress(LookupError, UnicodeError):
        value = data.decode(declared[1] if declared else "utf-8")
    kept = [part for part in parameters.split(";") if _PRINTABLE not in part.upper()]
    name = ";".join(part for part in kept if not _CHARSET.match(part))
    return f"{name}:" + value.replace("\r\n", "\n").replace("\r", "\n").replace("\n", "\\n")


def shown(value: str) -> str:
    """Return a value with its backslash escapes replaced by the characters that they stand for."""
    return _ESCAPED.sub(lambda match: "\n" if match[1] in "nN" else match[1], value)
