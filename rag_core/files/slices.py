"""A large file that is read by slices: it takes no more memory than the slice that is asked for."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from re import Pattern
from threading import Lock
from typing import BinaryIO, Protocol

_WINDOW = 8_000_000  # bytes searched at once
_CONTEXT = 16  # bytes before a window that an expression may look at


class Sliced(Protocol):
    """Bytes that are read by slices: ``bytes``, or an open file."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> bytes: ...


class FileSlices:
    """An open file as ``Sliced``. Safe in any thread. A slice is shorter where the file has shrunk."""

    def __init__(self, file: BinaryIO, status: os.stat_result) -> None:
        self.version = status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
        """Differs for each file, and for the same one after a change."""
        self._file = file
        self._size = status.st_size
        self._lock = Lock()

    def __len__(self) -> int:
        """Bytes of the file when it was opened."""
        return self._size

    def __getitem__(self, part: slice) -> bytes:
        """The bytes of a slice without a step. Raises OSError."""
        start, end, _ = part.indices(self._size)
        with self._lock:
            self._file.seek(start)
            return self._file.read(max(0, end - start))


def hash_of(data: Sliced) -> str:
    """The sha256 of all bytes."""
    total = hashlib.sha256()
    for start in range(0, len(data), _WINDOW):
        total.update(data[start : start + _WINDOW])
    return total.hexdigest()


def find_all(data: Sliced, expression: Pattern[bytes], longest: int) -> Iterator[tuple[int, bytes]]:
    """The place and the bytes of each match of ``expression``, which needs at most ``longest`` bytes and
    looks at no more than 16 bytes before them."""
    for start in range(0, len(data), _WINDOW):
        base = max(0, start - _CONTEXT)
        window = data[base : start + _WINDOW + longest]
        for match in expression.finditer(window, start - base):
            if base + match.start() >= start + _WINDOW:
                break
            yield base + match.start(), match[0]
