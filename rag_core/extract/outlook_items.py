"""What Outlook shows above the text of a meeting, a contact or a task (MSG), according to MS-OXPROPS."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping

from oxmsg.storage import Storage

from rag_core.extract.tnef import APPOINTMENT_NAMES, appointment_lines, property_text, property_time

_NAMES_OF_PROPERTIES = "__nameid_version1.0"
_ENTRIES = "__substg1.0_00030102"
_TEXT, _TIME, _NUMBER = 0x1F, 0x40, 0x03  # kinds of properties
_MOST_NAMES = 10_000
_FIRST_NAMED = 0x8000
_CLASS = 0x1A
_CONTACT: Mapping[str, tuple[int | str, ...]] = {
    "Name": (0x3001,),
    "Company": (0x3A16,),
    "Job title": (0x3A17,),
    "Mail": ("mail 1", "mail 2", "mail 3"),
    "Telephone": (0x3A08, 0x3A1B, 0x3A1C, 0x3A09, 0x3A2F),
    "Address": ("work address", "home address", 0x3A15),
}
"""Lines of a contact → the properties that they show."""
_STATES = ("not started", "in progress", "completed", "waiting for someone else", "deferred")
_KNOWN = APPOINTMENT_NAMES | {
    0x8083: "mail 1",
    0x8093: "mail 2",
    0x80A3: "mail 3",
    0x801A: "home address",
    0x801B: "work address",
    0x8105: "due",
    0x8101: "state",
}


def named_properties(storage: Storage) -> dict[int, str]:
    """Return the names of the properties of a message file that have a number of their own in each file:
    number → name."""
    held = next((part for part in storage.storages if part.name == _NAMES_OF_PROPERTIES), None)
    entries = next((each.bytes_ for each in held.streams if each.name == _ENTRIES), b"") if held else b""
    found: dict[int, str] = {}
    for place in range(0, min(len(entries) - 7, 8 * _MOST_NAMES), 8):
        known, flags, number = struct.unpack_from("<IHH", entries, place)
        if not flags & 1 and known in _KNOWN:
            found[_FIRST_NAMED + number] = _KNOWN[known]
    return found


def properties_of(
    storage: Storage, rows: Iterable[bytes], names: Mapping[int, str]
) -> dict[int | str, bytes | str]:
    """Return the texts, times and numbers of a message by number, or by name if they have one."""
    streams = {stream.name: stream.bytes_ for stream in storage.streams}
    found: dict[int | str, bytes | str] = {}
    for row in rows:
        kind, number = int.from_bytes(row[:2], "little"), int.from_bytes(row[2:4], "little")
        value: bytes | str = b""
        if kind == _TEXT:
            written = streams.get(f"__substg1.0_{number:04X}{_TEXT:04X}", b"")
            value = written.decode("utf-16-le", "replace").strip("\0 ")
        elif kind in (_TIME, _NUMBER):
            value = row[8 : 16 if kind == _TIME else 12]
        if value:
            found.setdefault(names.get(number, number), value)
    return found


def item_lines(props: Mapping[int | str, bytes | str]) -> Iterator[str]:
    """Yield the place and time of a meeting, what is known of a contact, or when a task is due and its
    state. Nothing for an ordinary message."""
    kind = property_text(props, _CLASS).lower()
    if kind.startswith(("ipm.appointment", "ipm.schedule")):
        yield from appointment_lines(props)
    elif kind.startswith("ipm.contact"):
        for label, numbers in _CONTACT.items():
            lines = dict.fromkeys(" ".join(property_text(props, number).split()) for number in numbers)
            yield from (f"{label}: {line}" for line in lines if line)
    elif kind.startswith("ipm.task"):
        if due := property_time(props.get("due"), with_clock=False):
            yield f"Due: {due}"
        state = props.get("state")
        number = int.from_bytes(state, "little") if isinstance(state, bytes) else len(_STATES)
        if number < len(_STATES):
            yield f"State: {_STATES[number]}"
