"""The process in which the extractors of packages work: one file after another, until nobody asks.

It is started by `Worker` and speaks with it alone, in frames over its standard input and output, which no
package gets to see. Each frame is its length in eight bytes and then so many bytes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import IO

from rag_core.errors import ExtractError, NotText
from rag_core.extensions import told
from rag_core.types import Extracted

_LENGTH = 8


def main(limit_s: int, memory: int) -> None:
    """Answer requests until their end. No file keeps this process longer than ``limit_s`` seconds, whatever
    becomes of who asked; ``memory`` is in bytes, where the system can hold it to that."""
    asked, answers = _channel()
    _limit_memory(memory)
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for who asked, who will hang up
    while (request := read_frame(asked)) is not None:
        _alarm(limit_s)
        answer = _answer(request)
        _alarm(0)
        write_frame(answers, answer)


def _channel() -> tuple[IO[bytes], IO[bytes]]:
    """Input and output as they were given, where no ``print`` of a package can reach them."""
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    return asked, answers


def _limit_memory(memory: int) -> None:
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _alarm(seconds: int) -> None:
    """End this process in so many seconds; 0: never."""
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


# --- frames -----------------------------------------------------------------------------


def write_frame(pipe: IO[bytes], *parts: bytes) -> None:
    """Send ``parts`` as one frame. Raises OSError when nobody reads."""
    pipe.write(sum(map(len, parts)).to_bytes(_LENGTH, "big"))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def read_frame(pipe: IO[bytes], most: int = 2**62) -> bytes | None:
    """The next frame; None at the end, or for one that is cut short or longer than ``most``."""
    head = pipe.read(_LENGTH)
    length = int.from_bytes(head, "big")
    if len(head) < _LENGTH or length > most:
        return None
    body = pipe.read(length)
    return body if len(body) == length else None


def to_json(value: object) -> bytes:
    """JSON in bytes; half a character stays one."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogatepass")


# --- one file ---------------------------------------------------------------------------


def _answer(request: bytes) -> bytes:
    """What becomes of a request: a line of JSON that names the entry point and the file, then its bytes.
    Without a file the package is only imported."""
    from importlib.metadata import EntryPoint  # only now: the other side of this module needs it not

    line, _, data = request.partition(b"\n")
    asked = json.loads(line)
    try:
        read = EntryPoint(asked["name"], asked["target"], asked["group"]).load()
    except (Exception, SystemExit) as error:  # somebody else's code
        return to_json({"broken": told(error)})
    if not callable(read):
        return to_json({"broken": f"it is of type {type(read).__name__!r} and cannot be called"})
    return to_json({}) if asked["file"] is None else _reading(read, data, PurePosixPath(asked["file"]))


def _reading(read: Callable[[bytes, PurePosixPath], object], data: bytes, path: PurePosixPath) -> bytes:
    try:
        found = read(data, path)
        if isinstance(found, Extracted):
            return to_json({"document": asdict(found)})
    except NotText as error:
        return to_json({"not text": [error.message, error.suggestion]})
    except ExtractError as error:
        return to_json({"refused": [error.message, error.suggestion]})
    except (Exception, SystemExit) as error:  # its message may quote the file
        return to_json({"raised": type(error).__name__})
    return to_json({"wrong": f"it gave a value of type {type(found).__name__!r} instead of Extracted"})
