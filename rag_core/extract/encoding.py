"""Bytes → text. UTF-8 first, then what the bytes themselves prove, then a stated guess."""

from __future__ import annotations

import codecs
import re
from contextlib import suppress
from dataclasses import dataclass

_BOMS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its BOM begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(rb"coding[:=][ \t]*([-\w.]+)|charset=[\"']?([-\w.]+)|\bencoding=[\"']([-\w.]+)")
_DECLARING_TYPES = {"python": 2, "ruby": 2, "html": 40, "xml": 1}
"""File type → how many of its first lines may name an encoding (PEP 263, HTML meta, XML declaration)."""

_NOT_DECLARABLE = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "unicode-escape", "utf-7", "utf-16", "utf-32"}
)
"""Codecs that no file is in, that make lone surrogates, or that can take forever."""

_CONTROLS = bytes(b for b in range(32) if b not in b"\t\n\v\f\r\x1b\b") + b"\x7f"
_SAMPLE = 65_536
_TEXT_A_ZERO = 20  # bytes of a text for each zero byte in it
_COMMON_HANZI = frozenset(
    "的一是不了在人有我他这中大来上国个到说们为和地出要以时会就可也你对生能而子那得于着下自之年过发后作里"
)


class BinaryError(ValueError):
    """The bytes are not text."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text without its byte order mark, and how it was read. ``warning`` is a sentence or empty."""

    text: str
    encoding: str
    warning: str = ""


def decode(data: bytes, file_type: str = "text") -> Decoded:
    """Read ``data`` as text: by a byte order mark, as UTF-8, as UTF-16 without a mark (by its zero bytes),
    by what a Python, HTML or XML file declares, as UTF-8 with a few damaged bytes, as GB18030 when the
    result is plainly Chinese, as Windows-1252.

    A few zero bytes in UTF-8 are replaced. Raises BinaryError when there are others or many control
    characters, and UnicodeDecodeError when a byte order mark promises an encoding the rest breaks.
    """
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            return _after_mark(data[len(mark) :], encoding)
    if b"\0" in data:
        return _with_zeros(data)
    if _many_controls(data):
        raise BinaryError
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        return _declared(data, file_type) or _damaged_utf8(data) or _gb18030(data) or _windows(data)


def _after_mark(data: bytes, encoding: str) -> Decoded:
    try:
        decoded = Decoded(data.decode(encoding), encoding)
    except UnicodeDecodeError:
        text = data.decode(encoding, "replace")
        if text.count("\ufffd") > max(2, len(text) // 100):
            raise
        decoded = Decoded(text, encoding, f"A few bytes were not valid {encoding.upper()} and were replaced.")
    if "\0" in decoded.text:
        raise BinaryError
    return decoded


def _with_zeros(data: bytes) -> Decoded:
    """UTF-8 with a few zero bytes, as a log has them after a crash, or UTF-16: of mostly Latin text every
    other byte is zero, always on the same side."""
    if data.count(0) * _TEXT_A_ZERO <= len(data) and not _many_controls(data):
        with suppress(UnicodeDecodeError):
            return Decoded(data.decode().replace("\0", "\ufffd"), "utf-8", "A few zero bytes were replaced.")
    sample = data[: 4096 // 2 * 2]
    half = max(1, len(sample) // 2)
    even, odd = sample[::2].count(0) / half, sample[1::2].count(0) / half
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    if len(data) % 2 or len(data) < 16 or min(even, odd) > 0.02 or max(even, odd) < 0.3:
        raise BinaryError
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        raise BinaryError from None
    if any(char < " " and char not in "\t\n\v\f\r" for char in text[:_SAMPLE]) or "\0" in text:
        raise BinaryError
    return Decoded(text, encoding, f"The file has no byte order mark; it was read as {encoding.upper()}.")


def _many_controls(data: bytes) -> bool:
    sample = data[:_SAMPLE]
    return len(sample) - len(sample.translate(None, _CONTROLS)) > 1 + len(sample) // 50


def _declared(data: bytes, file_type: str) -> Decoded | None:
    lines = _DECLARING_TYPES.get(file_type, 0)
    match = _DECLARED.search(b"\n".join(data[:4096].split(b"\n", lines)[:lines]))
    with suppress(LookupError, UnicodeError):
        codec = codecs.lookup(match[match.lastindex or 0].decode("ascii", "replace")).name if match else ""
        if codec and codec not in _NOT_DECLARABLE:
            return Decoded(data.decode(codec), codec)
    return None


def _damaged_utf8(data: bytes) -> Decoded | None:
    """UTF-8 with stray bytes: a log, a file cut in the middle of a character."""
    text = data.decode("utf-8", "replace")
    damaged = text.count("\ufffd")
    whole = len(text) - len(text.encode("ascii", "ignore")) - damaged
    few = "A few bytes were not valid UTF-8 and were replaced."
    return Decoded(text, "utf-8", few) if whole >= 10 * damaged else None


def _gb18030(data: bytes) -> Decoded | None:
    """Nearly any bytes decode as GB18030, so the result must also read like Chinese."""
    try:
        text = data.decode("gb18030")
    except UnicodeDecodeError:
        return None
    wide = [char for char in text[:_SAMPLE] if char > "\x7f"]
    hanzi = [char for char in wide if "一" <= char <= "鿿"]
    common = sum(char in _COMMON_HANZI for char in hanzi)
    # The 3,755 everyday characters of GB 2312 stand in rows 16 to 55 of its table.
    codes = [char.encode("gb18030") for char in hanzi]
    everyday = sum(len(code) == 2 and 0xB0 <= code[0] <= 0xD7 and code[1] >= 0xA1 for code in codes)
    if len(hanzi) < max(4, 0.6 * len(wide)) or everyday < 0.85 * len(hanzi):
        return None
    if len(hanzi) >= 20 and common < 0.05 * len(hanzi):
        return None
    return Decoded(text, "gb18030", "The file is not UTF-8; it was read as GB18030.")


def _windows(data: bytes) -> Decoded:
    try:
        text, encoding = data.decode("cp1252"), "cp1252"
    except UnicodeDecodeError:
        text, encoding = data.decode("latin-1"), "latin-1"
    if sum("\x80" <= char <= "\x9f" for char in text[:_SAMPLE]) > 1 + len(text[:_SAMPLE]) // 50:
        raise BinaryError
    return Decoded(text, encoding, f"The file is not UTF-8; it was read as {encoding}.")
