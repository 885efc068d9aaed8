"""Reads files in a separate process that may hang or crash: all formats except text, and the formats of
packages.

Threat. A parser that we do not control reads any file in a folder. The process has limits of time and memory,
and none of our keys. Its answer is checked before a store keeps it.

Both sides exchange frames over the process's standard input and output. A frame is a length in eight bytes,
then that number of bytes.
"""

from __future__ import annotations

import base64
import faulthandler
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path, PurePosixPath
from typing import IO, Any, Self

from rag_core import system
from rag_core.errors import ExtractError, NotText, RagError
from rag_core.extensions import Extension
from rag_core.extract import encoding, ocr
from rag_core.extract.building import MOST_TEXT, damaged, one_line
from rag_core.extract.filetypes import added_type
from rag_core.extract.frontmatter import unique
from rag_core.extract.ocr import RemoteReader
from rag_core.extract.unpacking import refuse_bomb
from rag_core.providers import PROVIDERS
from rag_core.text import tags
from rag_core.types import Extracted, Segment
from rag_core.wording import size

TIME_LIMIT_S = 60.0
"""Default of the maximum seconds for one file, and for each picture in it."""

MEMORY_LIMIT = 2**31
"""Maximum bytes of memory that the process may use for a file."""

_LENGTH = 8
_GOES_ON = b""  # the frame that says: a picture was read, and the file continues
_PICTURES = b"\x89PNG", b"\xff\xd8"  # beginnings of a frame with a picture for a server
_MOST_ANSWER = 8 * MOST_TEXT  # maximum number of bytes
_MOST_METADATA = 64_000
_OF_OURS = re.compile("|".join(["COMMONPLACE_", *(row.keys for row in PROVIDERS if row.keys)]))
"""Environment variables with settings and keys."""
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_ORPHAN_S = 10  # seconds after the limit at which a process without the app ends itself
_END_S = 2.0
_LOOK_S = 0.1  # seconds between two checks of the process's memory
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from rag_core.extract.worker import main; main(int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:])"
)


class NotStarted(ExtractError):
    """Raised if the process cannot be started now. No file is at fault."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The process's answer about a file: its document, a ``picture`` of a place in it (base64), or an error.
    All are empty if the process only had to import a package."""

    document: Extracted | None = None
    error: tuple[str, str] | None = None
    is_skipped: bool = False
    picture: str = ""
    cpu_s: float = 0.0  #: Processor time that it used, including the programs that it started.


class _Watch(threading.Thread):
    """Context manager: kill a process that uses too much time or memory during the block.

    On Linux the process also has a memory limit of its own (see `main`); on macOS and Windows it has none.
    """

    #: Sentence about ``{extension}`` with the reason why its process was killed; '' if it was not.
    excess = ""

    def __init__(self, process: subprocess.Popen[bytes], limit_s: float, memory: int) -> None:
        super().__init__(daemon=True)
        self._process = process
        self._limit_s = limit_s
        self._memory = memory
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        deadline = time.monotonic() + self._limit_s
        while not self.excess and not self._ended.wait(min(_LOOK_S, deadline - time.monotonic())):
            if time.monotonic() >= deadline:
                self.excess = (
                    f"{{extension}} took more than {self._limit_s:g} seconds for this file"
                    " (the setting `extractor_timeout_s`)."
                )
            elif system.memory_of(self._process.pid) > self._memory:
                self.excess = f"{{extension}} took more than {size(self._memory)} of memory for this file."
        if self.excess:
            self._process.kill()


@dataclass
class Worker:
    """A process that reads files. It starts with the first file, and again after it has ended.

    Use it from one thread only. It can be used again after `close`.
    """

    limit_s: float = TIME_LIMIT_S  #: Maximum seconds for one file, and for each picture in it.
    memory: int = MEMORY_LIMIT  #: Maximum bytes of memory of the process.
    ocr: str = "auto"  #: The setting ``ocr``, for pictures that no server reads.
    pictures: Path | None = None  #: Folder where texts of pictures are cached; None caches nothing.
    cpu_s: float = 0.0  #: Total processor time of all documents read.
    _process: subprocess.Popen[bytes] | None = None

    def read(
        self,
        reader: Extension,
        data: bytes,
        path: PurePosixPath,
        remote: RemoteReader | None = None,
        most_pictures: int | None = None,
    ) -> Extracted:
        """Read the file ``path`` with ``reader``.

        Args:
            reader: The module or package that reads the format.
            data: The bytes of the file.
            path: Only its name matters.
            remote: A server that reads the pictures in it. None uses the engine in ``ocr``.
            most_pictures: Maximum number of new pictures to read; None reads all.

        Raises:
            NotText: The file contains nothing to read.
            ExtractError: The file cannot be read within the limits, or ``reader`` fails.

        """
        answer = self._ask(reader, data, path.name, remote=remote, most_pictures=most_pictures)
        document, self.cpu_s = answer.document, self.cpu_s + answer.cpu_s
        try:
            if document is None:
                raise ValueError("there is none")
            return _checked(document, added_type(reader), path.name)
        except ValueError as wrong:
            failure = "{extension} gave a document that cannot be kept: {problem}."
            raise reader.failed(ExtractError, failure, problem=wrong) from None

    def picture(self, data: bytes, path: PurePosixPath, place: str, side: int) -> bytes:
        """Return a place in the file ``path``, such as ``page 3``, as WebP with sides of at most ``side``
        pixels. The place '' is the first page. Raises NotText if it has no picture, otherwise
        ExtractError."""
        renderer = Extension(
            "extractors", f"picture{path.suffix}", "", "", "rag_core.extract.rendering:render_place"
        )
        return base64.b64decode(self._ask(renderer, data, path.name, place, side).picture)

    def load(self, extension: Extension) -> None:
        """Import a package in the process. Raises ExtractError if that fails."""
        self._ask(extension, b"", None)

    def kill(self) -> None:
        """Kill the process. Safe in any thread. Reading the current file fails."""
        if process := self._process:
            process.kill()

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        process, self._process = self._process, None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):  # the rest of the output has no reader
                    pipe.close()
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ask(
        self,
        extension: Extension,
        data: bytes,
        file: str | None,
        *place: str | int,
        remote: RemoteReader | None = None,
        most_pictures: int | None = None,
    ) -> _Answer:
        from pydantic import TypeAdapter, ValidationError  # only now: it is slow to import

        engine = remote.name if remote else self.ocr
        about = asdict(extension), file, engine, most_pictures, encoding.expected(), *place
        line = json.dumps(about).encode()
        body = self._exchange(extension, line, data, remote)
        try:
            answer = TypeAdapter(_Answer).validate_json(body, strict=True)
        except ValidationError as error:
            first = error.errors()[0]
            raise extension.failed(
                ExtractError,
                "{extension} gave an answer that cannot be read ({field}: {problem}).",
                field=".".join(map(str, first["loc"])),
                problem=first["msg"],
            ) from None
        if answer.error is not None:
            message, suggestion = answer.error
            kind = NotText if answer.is_skipped else ExtractError
            raise kind(one_line(message, 400), one_line(suggestion, 400))
        return answer

    def _exchange(self, extension: Extension, line: bytes, data: bytes, remote: RemoteReader | None) -> bytes:
        """Send one request and return the answer. Meanwhile ``remote`` answers for each picture that the
        process sends. If no answer comes in time, the process is killed."""
        process = self._started()
        assert process.stdin is not None  # noqa: S101 - it has pipes
        assert process.stdout is not None  # noqa: S101
        body, excess = None, ""
        with suppress(OSError):  # the process has ended
            _write_frame(process.stdin, line)
            _write_frame(process.stdin, data)
            body = _GOES_ON
            while body is not None and (body == _GOES_ON or body.startswith(_PICTURES)) and not excess:
                if body != _GOES_ON:
                    answer = ocr.read_by_server(remote, body, lambda: process.poll() is None)
                    _write_frame(process.stdin, json.dumps(answer).encode())
                with _Watch(process, self.limit_s, self.memory) as watch:
                    body = _read_frame(process.stdout, _MOST_ANSWER)
                excess = watch.excess
        if body is None or excess:
            self.close()
        if body is not None:
            return body
        crash = "{extension} crashed on this file, or gave far too much text."
        raise extension.failed(ExtractError, excess or crash)

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            path = json.dumps([part for part in sys.path if Path(part).is_absolute()])
            limits = str(int(self.limit_s) + _ORPHAN_S), str(self.memory), str(self.pictures or "")
            no_keys = {name: each for name, each in os.environ.items() if not _OF_OURS.match(name)}
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _START, path, *limits],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=tempfile.gettempdir(),
                    env=no_keys,
                    creationflags=system.NO_WINDOW,
                )
            except OSError as error:
                raise NotStarted(
                    f"The process that reads files cannot be started: {error.strerror}.",
                    "Close some other programs, then try again.",
                ) from error
        return self._process


# --- what a package gives ---------------------------------------------------------------


def _checked(found: Extracted, file_type: str, name: str) -> Extracted:
    """Return ``found`` as a store keeps it: offsets inside the text, names in one line, and the file's name
    if there is no title. Raises ValueError that says what is wrong."""
    _check_places(found)
    _check_date(found.date)
    aliases = unique(map(one_line, found.aliases))
    metadata = {**found.metadata, **({"aliases": [*aliases]} if aliases else {})}
    if len(json.dumps(metadata)) > _MOST_METADATA:
        raise ValueError(f"metadata takes more than {_MOST_METADATA:,} characters")
    segments = [_in_one_line(segment) for segment in found.segments if segment.start < segment.end]
    if found.text.strip() and not segments:
        segments = [Segment(0, len(found.text))]
    kept, left_out = tags.bounded(unique([one_line(tag).lstrip("#") for tag in found.tags]))
    title = one_line(found.title) if found.title_from != "file name" else ""
    return replace(
        found,
        file_type=file_type,
        title=title or name,
        title_from=found.title_from if title else "file name",
        segments=tuple(segments),
        aliases=aliases,
        tags=kept,
        metadata=metadata,
        warnings=tuple(filter(None, (*found.warnings, left_out))),
    )


def _check_places(found: Extracted) -> None:
    """Raise ValueError if the text is too long, or if segments or links lie outside it."""
    size, end = len(found.text), 0
    if size > MOST_TEXT:
        raise ValueError(f"the text has {size:,} characters, and {MOST_TEXT:,} are allowed")
    for segment in found.segments:
        if not end <= segment.start <= segment.end <= size:
            where = f"the segment from {segment.start} to {segment.end}"
            raise ValueError(f"{where} does not lie between the one before it and the end of the text")
        end = segment.end
    if any(not 0 <= link.start <= size for link in found.links):
        raise ValueError("a link does not lie in the text")


def _check_date(day: str | None) -> None:
    """Raise ValueError unless ``day`` is None or a date such as 2026-03-15."""
    with suppress(ValueError):
        if day is None or date.fromisoformat(day).isoformat() == day:
            return
    raise ValueError(f"the date is {day!r:.40}, not one like '2026-03-15'")


def _in_one_line(segment: Segment) -> Segment:
    """Return a segment whose headings and reference are in one line each, without empty headings."""
    path = tuple(heading for each in segment.heading_path if (heading := one_line(each)))
    return replace(segment, heading_path=path, anchor_ref=one_line(segment.anchor_ref), levels=())


# --- the process ------------------------------------------------------------------------


def main(limit_s: int, memory: int, pictures: str) -> None:
    """Answer requests until the app closes the pipe. A file, or a picture in it, takes at most ``limit_s``
    seconds, even if the app has ended. On Linux the limit of ``memory`` bytes also applies to programs that
    readers start."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):  # keeps a package's ``print`` out of the pipes
        os.dup2(nothing, number)
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the app, which then closes the pipe
    alarm = alarm_clock()

    def goes_on() -> None:
        alarm(limit_s)
        _write_frame(answers, _GOES_ON)

    def ask(picture: bytes) -> tuple[str, str, str]:
        alarm(0)  # the app waits for its server, with a limit of its own
        _write_frame(answers, picture)
        text, waits, note = json.loads(_read_frame(requests) or sys.exit())
        return text, waits, note

    ocr.reader = ocr.Reader(Path(pictures) if pictures else None, goes_on, ask)
    with suppress(AttributeError, OSError):  # not on Windows
        os.nice(10)
    while (line := _read_frame(requests)) is not None and (data := _read_frame(requests)) is not None:
        alarm(limit_s)  # ends this process
        answer = _answered(line, data)
        alarm(0)
        _write_frame(answers, answer)


def alarm_clock() -> Callable[[int], object]:
    """Return a function that ends this process after the given number of seconds, unless it is called again
    before. Called with 0, it only stops the clock."""
    if hasattr(signal, "alarm"):
        return signal.alarm

    def set_alarm(seconds: int) -> None:  # Windows has no signals for that
        if seconds:
            faulthandler.dump_traceback_later(seconds, exit=True, file=sink)
        else:
            faulthandler.cancel_dump_traceback_later()

    sink = open(os.devnull, "wb")  # noqa: PTH123, SIM115 - it stays open as long as the process
    return set_alarm


def _answered(line: bytes, data: bytes) -> bytes:
    """Return the answer to a request. ``line`` says in JSON what to do with the file in ``data``.

    It contains the entry point, the name of the file, the reader of its pictures, their maximum number, the
    expected encoding, and the place to draw as a picture, if any.
    """
    about, file, engine, most_pictures, codec, *place = json.loads(line)
    started_s = sum(os.times()[:4])
    ocr.reader.begin(engine, data, most_pictures)
    extension = Extension(**about)
    try:
        read = extension.load(ExtractError)
        if file is None:
            return _to_json(_Answer())
        with _failing(extension, data, PurePosixPath(file)), encoding.expecting(codec):
            refuse_bomb(data, PurePosixPath(file))
            found = read(data, PurePosixPath(file), *place)
            if place:
                return _to_json(_Answer(picture=base64.b64encode(found).decode()))
            if not isinstance(found, Extracted):
                failure = "{extension} gave a value of type {name} instead of Extracted."
                raise extension.failed(ExtractError, failure, name=type(found).__name__)
            ocr.reader.end(data)
            pictures = tuple(filter(None, (ocr.reader.waits, *ocr.reader.notes)))
            found = replace(
                found,
                warnings=(*found.warnings, *pictures),
                in_part=found.in_part or bool(ocr.reader.notes),
                waits=ocr.reader.waits,
                pictures_left=len(ocr.reader.left),
            )
            found = found if extension.package or not data.strip() else _saying_why_empty(found)
            return _to_json(_Answer(found, cpu_s=sum(os.times()[:4]) - started_s))
    except RagError as error:
        return _to_json(_Answer(None, (error.message, error.suggestion), isinstance(error, NotText)))


def _saying_why_empty(found: Extracted) -> Extracted:
    """Return ``found`` with a sentence if it has no text and nothing else says why."""
    is_explained = found.text.strip() or found.warnings or found.waits or found.pictures_left
    return found if is_explained else replace(found, warnings=("No text was found in this file.",))


@contextmanager
def _failing(extension: Extension, data: bytes, path: PurePosixPath) -> Iterator[None]:
    """Context manager: turn any exception of a reader into an ExtractError. It is about the file if the
    reader is ours, otherwise about its package."""
    if extension.package:
        with extension.errors(ExtractError, "reading this file"):
            yield
        return
    try:
        yield
    except RagError:
        raise
    except MemoryError:
        raise ExtractError(
            f"{path.name!r} takes more memory than one file may use.", "Split it, or export its text."
        ) from None
    except (Exception, SystemExit):  # its parser may raise anything
        raise damaged(path, data) from None


def _to_json(answer: _Answer) -> bytes:
    return json.dumps(_plain(asdict(answer)), ensure_ascii=False, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """Return ``value`` with each character that no store accepts replaced by a single other one, so that
    offsets stay valid."""
    match value:
        case str():
            return _NO_CHARACTER.sub("\ufffd", value)
        case list() | tuple():
            return [_plain(each) for each in value]
        case dict():
            return {_plain(key): _plain(each) for key, each in value.items()}
        case _:
            return value


def _write_frame(pipe: IO[bytes], body: bytes) -> None:
    pipe.write(len(body).to_bytes(_LENGTH, "big"))
    pipe.write(body)
    pipe.flush()


def _read_frame(pipe: IO[bytes], most: int = 2**62) -> bytes | None:
    """Return the next frame, or None at the end and for a frame that is cut short or longer than ``most``."""
    head = pipe.read(_LENGTH)
    length = int.from_bytes(head, "big")
    if len(head) < _LENGTH or length > most:
        return None
    body = pipe.read(length)
    return body if len(body) == length else None
