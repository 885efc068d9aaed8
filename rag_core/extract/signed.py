"""Signed data (PKCS #7, CMS) → the content that was signed, such as the text of a mail in ``smime.p7m``.
Signatures are not checked. Encrypted data is not read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

_SIGNED = bytes.fromhex("2a864886f70d010702")  # the object identifier 1.2.840.113549.1.7.2
_OCTETS, _OCTETS_IN_PIECES = 0x04, 0x24
_UNKNOWN_LENGTH = 0x80
_DEEPEST = 20

_Element = tuple[int, int, int]
"""Tag, begin and end of the content."""


def signed_content(data: bytes) -> bytes | None:
    """Return the content that was signed, or None if ``data`` (BER) is something else, such as encrypted
    data."""
    with suppress(ValueError, IndexError, RecursionError):
        (outer,) = _children(data, 0, len(data))
        kind, held = _children(data, *outer[1:])
        if data[kind[1] : kind[2]] != _SIGNED:
            return None
        (signed,) = _children(data, *held[1:])
        _version, _digests, content, *_ = _children(data, *signed[1:])
        _kind, inside, *_ = _children(data, *content[1:])
        (octets,) = _children(data, *inside[1:])
        return b"".join(_pieces(data, octets, 0))
    return None


def _pieces(data: bytes, element: _Element, depth: int) -> Iterator[bytes]:
    tag, begin, end = element
    if tag == _OCTETS:
        yield data[begin:end]
    elif tag == _OCTETS_IN_PIECES and depth < _DEEPEST:
        for piece in _children(data, begin, end):
            yield from _pieces(data, piece, depth + 1)
    else:
        raise ValueError(tag)


def _children(data: bytes, begin: int, end: int) -> list[_Element]:
    """Return the elements in a part of ``data``, up to an end mark."""
    found: list[_Element] = []
    while begin < end and data[begin : begin + 2] != b"\0\0":
        tag, start, stop, begin = _element(data, begin, end, 0)
        found.append((tag, start, stop))
    return found


def _element(data: bytes, place: int, end: int, depth: int) -> tuple[int, int, int, int]:
    """Return the element at ``place``: its tag, the begin and end of its content, and where the next one
    begins."""
    tag, length = data[place], data[place + 1]
    start = place + 2
    if tag & 0x1F == 0x1F or depth > _DEEPEST:
        raise ValueError(tag)
    if length == _UNKNOWN_LENGTH:
        place = start
        while data[place : place + 2] != b"\0\0":
            place = _element(data, place, end, depth + 1)[3]
        return tag, start, place, place + 2
    if length > _UNKNOWN_LENGTH:
        count = length - _UNKNOWN_LENGTH
        length = int.from_bytes(data[start : start + count], "big")
        start += count
    if start + length > end:
        raise ValueError(length)
    return tag, start, start + length, start + length
