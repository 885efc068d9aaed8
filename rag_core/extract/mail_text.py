"""The plain text of a mail as a mail program shows it: soft line breaks (``format=flowed``, RFC 3676) are
joined, and files encoded in the text (uuencode, yEnc) are removed."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rag_core.extract.building import one_line

_QUOTE = re.compile(r">*")
_SIGNATURE = "-- "
_BEGIN = re.compile(r"begin[ \t]+[0-7]{3,4}[ \t]+(\S.{0,200})")
_YENC = re.compile(r"=ybegin(?=[ \t]).{0,200}?[ \t]name=(\S.{0,200})")
_END_OF_YENC = "=yend "
_SMALLEST, _LARGEST = "\x20", "\x60"  # characters of uuencode
_A_LINE = 45  # maximum number of bytes in a line
_SENTENCE_YENC = "The attachment {!r} is written in yEnc and is not read."
_SENTENCE_CUT = "The attachment {!r} is damaged or cut off; only its beginning is read."


@dataclass(slots=True)
class WrittenFiles:
    """A text without the files that were encoded in it."""

    text: str
    files: list[tuple[str, bytes]] = field(default_factory=list)  #: (name, bytes) of each file.
    names: list[str] = field(default_factory=list)  #: Names of files that are not read.
    unread: list[str] = field(default_factory=list)  #: A sentence for each file that is not read.


def unflowed(text: str, *, delsp: bool) -> str:
    """Return ``text`` in ``format=flowed`` with each paragraph in one line. With ``delsp``, the space before
    a soft break is removed."""
    lines: list[str] = []
    open_depth = -1  # depth of the quote whose last line continues
    for written in text.split("\n"):
        line = written.removesuffix("\r")
        quote = _QUOTE.match(line)
        depth = quote.end() if quote else 0
        body = line[depth:].removeprefix(" ")
        is_signature = body == _SIGNATURE
        is_soft = body.endswith(" ") and not is_signature
        body = body[:-1] if is_soft and delsp else body
        if depth == open_depth and not is_signature:
            lines[-1] += body
        else:
            lines.append(f"{'>' * depth} {body}" if depth else body)
        open_depth = depth if is_soft else -1
    return "\n".join(lines)


def without_files(text: str) -> WrittenFiles:
    """Return ``text`` without the files encoded in it as uuencode or yEnc."""
    if not ("\nbegin" in f"\n{text}" or "=ybegin " in text):
        return WrittenFiles(text)
    lines = text.replace("\r\n", "\n").split("\n")
    kept: list[str] = []
    found = WrittenFiles("")
    place = 0
    last_end = max((at for at, line in enumerate(lines) if line.startswith(_END_OF_YENC)), default=-1)
    while place < len(lines):
        if begun := _BEGIN.fullmatch(lines[place]):
            pieces = [*_uuencoded(lines, place + 1)]
            if _is_file(pieces, lines, place + 1 + len(pieces)):
                place = _add(found, begun[1], pieces, lines, place + 1)
                continue
        if place < last_end and (begun := _YENC.match(lines[place])):
            found.names.append(one_line(begun[1]))
            found.unread.append(_SENTENCE_YENC.format(found.names[-1]))
            place = _end_of_yenc(lines, place)
            continue
        kept.append(lines[place])
        place += 1
    found.text = "\n".join(kept)
    return found


def _add(found: WrittenFiles, name: str, pieces: Sequence[bytes], lines: Sequence[str], first: int) -> int:
    """Add a file. Returns the index of the line after it."""
    name = one_line(name)
    found.files.append((name, b"".join(pieces)))
    place = first + len(pieces)
    end = _end_of_uuencode(lines, place)
    if end < 0:
        found.unread.append(_SENTENCE_CUT.format(name))
    return end + 1 or place


def _end_of_uuencode(lines: Sequence[str], place: int) -> int:
    """The number of the line that ends a file after its bytes; -1 without one."""
    return next((at for at in range(place, min(place + 3, len(lines))) if lines[at].strip() == "end"), -1)


def _is_file(pieces: Sequence[bytes], lines: Sequence[str], place: int) -> bool:
    """Whether lines that can be decoded are a file and not text: it ends as one, or is cut off after a whole
    line. If it is a single short line, a line without bytes stands before its end."""
    if not pieces:
        return False
    end, is_full = _end_of_uuencode(lines, place), len(pieces[0]) == _A_LINE
    return is_full or (end >= 0 if len(pieces) > 1 else end > place)


def _uuencoded(lines: Sequence[str], place: int) -> Iterator[bytes]:
    """Yield the bytes of each line from ``place`` on, up to the first line that is not uuencoded."""
    while place < len(lines) and (piece := _decoded(lines[place])):
        yield piece
        place += 1


def _decoded(line: str) -> bytes:
    """Return the bytes of a uuencoded line, or b'' for any other line. Spaces at its end may be missing."""
    if not line or not all(_SMALLEST <= char <= _LARGEST for char in line):
        return b""
    count = (ord(line[0]) - 32) & 63
    wanted = 1 + (count + 2) // 3 * 4
    if not 0 < count <= _A_LINE or not wanted - 4 < len(line.rstrip()) <= wanted + 1:
        return b""
    try:
        return binascii.a2b_uu(line[:wanted].ljust(wanted))
    except (binascii.Error, ValueError):
        return b""


def _end_of_yenc(lines: Sequence[str], place: int) -> int:
    while place < len(lines) and not lines[place].startswith(_END_OF_YENC):
        place += 1
    return place + 1
