"""Files of Outlook for tests: MSG (a compound file, MS-CFB) and TNEF."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

_END, _FREE = -2, -1
_SMALL = 4096
Tree = Mapping[str, "bytes | Tree"]


def compound(tree: Tree) -> bytes:
    """A compound file with these streams and storages."""
    entries: list[list[int | str]] = [["Root Entry", 5, _FREE, _FREE, _END, 0]]
    streams: list[tuple[int, bytes]] = []
    _add_entries(tree, 0, entries, streams)
    small, minifat, big = b"", list[int](), list[tuple[int, bytes]]()
    for place, data in streams:
        entries[place][5] = len(data)
        if not data:
            continue
        if len(data) >= _SMALL:
            big.append((place, data))
            continue
        entries[place][4] = len(minifat)
        count = -(-len(data) // 64)
        minifat += [len(minifat) + 1 + step for step in range(count - 1)] + [_END]
        small += data.ljust(64 * count, b"\0")
    chain: list[int] = [-3]
    body = b""

    def put(data: bytes) -> int:
        nonlocal body
        count = -(-len(data) // 512)
        start = len(chain)
        chain.extend([start + 1 + step for step in range(count - 1)] + [_END] if count else [])
        body += data.ljust(512 * count, b"\0")
        return start if count else _END

    for place, data in big:
        entries[place][4] = put(data)
    entries[0][4], entries[0][5] = put(small), len(small)
    mini = put(b"".join(struct.pack("<i", each) for each in minifat).ljust(512, b"\xff"))
    directory = put(b"".join(_directory_entry(*entry) for entry in entries))  # type: ignore[arg-type]
    assert len(chain) <= 128
    table = b"".join(struct.pack("<i", each) for each in chain).ljust(512, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + struct.pack("<5H", 0x3E, 3, 0xFFFE, 9, 6)
    header += bytes(10) + struct.pack("<8i", 1, directory, 0, _SMALL, mini, -(-len(minifat) // 128), _END, 0)
    return (header + struct.pack("<i", 0)).ljust(512, b"\xff") + table + body


def _add_entries(
    tree: Tree, parent: int, entries: list[list[int | str]], streams: list[tuple[int, bytes]]
) -> None:
    before = -1
    for name, value in tree.items():
        place = len(entries)
        is_stream = isinstance(value, bytes)
        entries.append([name, 2 if is_stream else 1, _FREE, _FREE, _END if is_stream else 0, 0])
        entries[parent if before < 0 else before][3 if before < 0 else 2] = place
        before = place
        if isinstance(value, bytes):
            streams.append((place, value))
        else:
            _add_entries(value, place, entries, streams)


def _directory_entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
    letters = f"{name}\0".encode("utf-16-le")
    links = struct.pack("<HBBiii", len(letters), kind, 1, _FREE, right, child)
    return letters.ljust(64, b"\0") + links + bytes(36) + struct.pack("<iq", start, size)


def msg(
    subject: str,
    body: str = "",
    html: str = "",
    rtf: bytes = b"",
    attached: Mapping[str, bytes] | None = None,
    codec: str = "utf-16-le",
    page: int = 65001,
    page_of: int = 0x3FFD,
    language: int = 0,
) -> bytes:
    """A message that Outlook saved, with its texts in ``codec``, which it declares as the code ``page`` in
    the property ``page_of``."""
    wide = codec == "utf-16-le"
    kind = 0x1F if wide else 0x1E
    texts = {0x0037: subject, 0x1000: body, 0x0C1A: "Ada", 0x0C1F: "ada@example.org", 0x0E04: "Charles"}
    files = attached or {}
    held = {0x1013: html.encode(), 0x1009: rtf}
    tree: dict[str, bytes | Tree] = {"__nameid_version1.0": {}}
    texts = {number: text for number, text in texts.items() if text}
    tree |= {f"__substg1.0_{number:04X}{kind:04X}": text.encode(codec) for number, text in texts.items()}
    tree |= {f"__substg1.0_{number:04X}0102": data for number, data in held.items() if data}
    rows = [_row(number, kind, len(text.encode(codec)) + 1 + wide) for number, text in texts.items()]
    rows += [_row(number, 0x102, len(data)) for number, data in held.items() if data]
    rows += [struct.pack("<HHIq", 0x40, 0x0039, 6, _filetime(datetime(2024, 2, 3, 10, tzinfo=UTC)))]
    rows += [struct.pack("<HHIII", 0x03, 0x3FDE if wide else page_of, 6, page, 0)] if page else []
    rows += [struct.pack("<HHIII", 0x03, 0x3FF1, 6, language, 0)] if language else []
    counts = struct.pack("<8xIIII8x", 0, len(files), 0, len(files))
    tree["__properties_version1.0"] = counts + b"".join(rows)
    for number, (name, data) in enumerate(files.items()):
        rows = [_row(0x3707, kind, len(name.encode(codec)) + 1 + wide), _row(0x3701, 0x102, len(data))]
        rows.append(struct.pack("<HHIII", 0x03, 0x3705, 6, 1, 0))
        tree[f"__attach_version1.0_#{number:08X}"] = {
            f"__substg1.0_3707{kind:04X}": name.encode(codec),
            "__substg1.0_37010102": data,
            "__properties_version1.0": bytes(8) + b"".join(rows),
        }
    return compound(tree)


def with_message(outer: bytes, inner: bytes) -> bytes:
    """The message ``outer`` with the message ``inner`` attached. ``outer`` has no other attachment."""
    held = _tree(inner)
    properties = held["__properties_version1.0"]
    assert isinstance(properties, bytes)
    held["__properties_version1.0"] = properties[:24] + properties[32:]
    del held["__nameid_version1.0"]
    tree = _tree(outer)
    row = struct.pack("<HHIII", 0x03, 0x3705, 6, 5, 0)
    tree["__attach_version1.0_#00000000"] = {
        "__substg1.0_3701000D": held,
        "__properties_version1.0": bytes(8) + row,
    }
    return compound(tree)


def with_stream(data: bytes, name: str, stream: bytes) -> bytes:
    """The message ``data`` with other bytes in a stream that it has."""
    return compound(_tree(data) | {name: stream})


def outlook_item(kind: str, known: Mapping[int, str], named: Mapping[int, str | int | datetime]) -> bytes:
    """A message of another ``kind``, such as a contact, with properties that have a number everywhere, and
    with ``named`` ones that have it in this file alone."""
    tree = _tree(msg("Tea", "See below"))
    rows, entries = tree["__properties_version1.0"], b""
    assert isinstance(rows, bytes)
    numbered = {0x8000 + place: value for place, value in enumerate(named.values())}
    for place, name in enumerate(named):
        entries += struct.pack("<IHH", name, 3 << 1, place)
    for number, value in {0x001A: kind, **known, **numbered}.items():
        if isinstance(value, str):
            tree[f"__substg1.0_{number:04X}001F"] = value.encode("utf-16-le")
            rows += _row(number, 0x1F, 2 * len(value) + 2)
        elif isinstance(value, int):
            rows += _row(number, 0x03, value)
        else:
            rows += struct.pack("<HHIq", 0x40, number, 6, _filetime(value))
    tree["__nameid_version1.0"] = {"__substg1.0_00030102": entries}
    return compound(tree | {"__properties_version1.0": rows})


def _tree(data: bytes) -> dict[str, bytes | Tree]:
    """The streams and storages of a compound file."""
    from olefile import OleFileIO

    tree: dict[str, bytes | Tree] = {}
    with OleFileIO(data) as file:
        for *above, name in file.listdir():
            place: Any = tree
            for storage in above:
                place = place.setdefault(storage, {})
            place[name] = file.openstream([*above, name]).read()
    tree.setdefault("__nameid_version1.0", {})
    return tree


def _row(number: int, kind: int, size: int) -> bytes:
    return struct.pack("<HHIII", kind, number, 6, size, 0)


def _filetime(moment: datetime) -> int:
    return int((moment - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds()) * 10_000_000


def tnef(
    subject: str = "", body: str = "", *, in_properties: bool = False, html: str = "", rtf: bytes = b"",
    where: str = "", start: datetime | None = None, attached: Mapping[str, bytes] | None = None,
    code_page: int = 65001,
) -> bytes:  # fmt: skip
    """A ``winmail.dat``. Subject and body are attributes of their own, or among the properties."""
    found = b"\x78\x9f\x3e\x22\x01\x00" + _attribute(1, 0x00089006, struct.pack("<I", 0x10000))
    found += _attribute(1, 0x00069007, struct.pack("<II", code_page, 0))
    properties = [_property(0x1013, 0x102, html.encode())] if html else []
    properties += [_property(0x1009, 0x102, rtf)] if rtf else []
    if in_properties:
        properties += [_property(0x0037, 0x1F, f"{subject}\0".encode("utf-16-le"))]
        properties += [_property(0x1000, 0x1F, f"{body}\0".encode("utf-16-le"))]
    else:
        found += _attribute(1, 0x00018004, subject.encode(f"cp{code_page}") + b"\0") if subject else b""
        found += _attribute(1, 0x0002800C, body.encode(f"cp{code_page}") + b"\0") if body else b""
    if where:
        guid = bytes.fromhex("0220060000000000c000000000000046")
        named = struct.pack("<HH", 0x1F, 0x8001) + guid + struct.pack("<II", 0, 0x8208)
        properties.append(named + _counted(f"{where}\0".encode("utf-16-le")))
    if start:
        properties.append(struct.pack("<HHq", 0x40, 0x0060, _filetime(start)))
    if properties:
        number = struct.pack("<HHI", 0x0003, 0x0017, 1)
        found += _attribute(
            1, 0x00069003, struct.pack("<I", 1 + len(properties)) + number + b"".join(properties)
        )
    for name, data in (attached or {}).items():
        found += _attribute(2, 0x00069002, bytes(14)) + _attribute(2, 0x00018010, name[:8].encode() + b"\0")
        found += _attribute(2, 0x0006800F, data)
        long = struct.pack("<I", 1) + _property(0x3707, 0x1F, f"{name}\0".encode("utf-16-le"))
        found += _attribute(2, 0x00069005, long)
    return found


def _attribute(level: int, number: int, data: bytes) -> bytes:
    return struct.pack("<BII", level, number, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def _property(number: int, kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, number) + _counted(data)


def _counted(data: bytes) -> bytes:
    return struct.pack("<II", 1, len(data)) + data + bytes(-len(data) % 4)


def packed_rtf(rtf: bytes) -> bytes:
    """RTF as Outlook packs it (MS-OXRTFCP), without references."""
    body = b"".join(b"\0" + rtf[place : place + 8] for place in range(0, len(rtf), 8))
    return struct.pack("<II4sI", len(body) + 12, len(rtf), b"LZFu", 0) + body
