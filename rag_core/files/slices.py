"""Reads a large file in slices, so that only the requested slice is in memory."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from re import Pattern
from threading import Lock
from typing import BinaryIO, Protocol

_WINDOW = 8_000_000  # number of bytes searched at once
_CONTEXT = 16  # number of bytes before a window that an expression may look at


class Sliced(Protocol):
    """Bytes that are read by slices: ``bytes``, or an open file."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class FileSlices:
    """An open file as ``Sliced``. Safe in any thread. If the file has shrunk, a slice may be shorter than
    requested."""

    def __init__(self, file: BinaryIO, status: os.stat_result) -> None:
        self.version = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        """Identifies a state of the file. It differs between files, and changes when the file does."""
        self._file = file
        self._size = status.st_size
        self._lock = Lock()

    def __len__(self) -> int:
        """Return the size of the file in bytes when it was opened."""
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        """Return the bytes of a slice without a step. Raises OSError."""
        start, end, _ = part.indices(self._size)
        with self._lock:
            self._file.seek(start)
            return self._file.read(max(0, end - start))


def hash_of(data: Sliced) -> str:
    """Return the sha256 of all bytes."""
    total = hashlib.sha256()
    for start in range(0, len(data), _WINDOW):
        total.update(data[start : start + _WINDOW])
    return total.hexdigest()


def find_all(data: Sliced, expression: Pattern[bytes], longest: int) -> Iterator[tuple[int, bytes]]:
    """Yield the position and the bytes of each match of ``expression``. A match must have at most ``longest``
    bytes, and the expression may look at no more than 16 bytes before it."""
    for start in range(0, len(data), _WINDOW):
        base = max(0, start - _CONTEXT)
        window = data[base : start + _WINDOW + longest]
        for match in expression.finditer(window, start - base):
            if base + match.start() >= start + _WINDOW:
                break
            yield base + match.start(), match[0]
