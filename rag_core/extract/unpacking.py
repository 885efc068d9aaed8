"""Limits the unpacked size of zipped documents, for systems that cannot limit memory.

Python's zip reader stops at the size in the archive's directory. The reader of spreadsheets uses another
implementation, which continues. So every member of a spreadsheet is unpacked once beforehand, and the result
is discarded.
"""

from __future__ import annotations

import io
import zlib
from pathlib import PurePosixPath
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from rag_core.errors import ExtractError
from rag_core.extract.filetypes import READER_MODULES

MOST_UNPACKED = 500_000_000
"""Maximum unpacked bytes of a document. Word documents and the like are in memory as a whole."""

MOST_OF_SHEETS = 2_000_000_000
"""Maximum unpacked bytes of a spreadsheet, which is read row by row."""

_ZIPPED = frozenset({"word", "slides", "sheets", "opendocument", "epub"})
_MAGIC = b"PK\x03\x04"
_PIECE = 65_536
_HEADER = 30  # number of bytes in a member's header before its name


def refuse_bomb(data: bytes, path: PurePosixPath) -> None:
    """Raise ExtractError for a zipped document that unpacks to more than the limit. The sizes in its
    directory are trusted, except for a spreadsheet, which is unpacked to measure it."""
    module = READER_MODULES.get(path.suffix.lower())
    if module not in _ZIPPED or not data.startswith(_MAGIC):
        return
    most = MOST_OF_SHEETS if module == "sheets" else MOST_UNPACKED
    try:
        with ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except BadZipFile:  # the reader reports this
        return
    total = sum(each.file_size for each in members)
    if total <= most and module == "sheets":
        total = 0
        for each in members:
            total += _unpacked(data, each, most - total)
    if total > most:
        raise ExtractError(
            f"{path.name!r} unpacks to more than {most // 1_000_000:,} MB.",
            "Split it, or export what matters in it as text.",
        )


def _unpacked(data: bytes, member: ZipInfo, most: int) -> int:
    """Return the number of bytes that a member unpacks to, or a number larger than ``most`` as soon as it
    exceeds ``most``."""
    at = member.header_offset
    name, extra = (int.from_bytes(data[at + here : at + here + 2], "little") for here in (26, 28))
    start = at + _HEADER + name + extra
    end = start + member.compress_size
    if member.compress_type != ZIP_DEFLATED:
        return member.compress_size
    unpacker, total = zlib.decompressobj(-zlib.MAX_WBITS), 0
    for begin in range(start, end, _PIECE):
        rest = data[begin : min(begin + _PIECE, end)]
        while rest and not unpacker.eof and total <= most:
            try:
                total += len(unpacker.decompress(rest, 16 * _PIECE))
            except zlib.error:  # damaged; the reader reports this
                return total
            rest = unpacker.unconsumed_tail
    return total
