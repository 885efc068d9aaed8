"""Reading files with the extractors of packages, in a process of its own that may hang or die."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path, PurePosixPath
from typing import Any

from rag_core.errors import ExtractError, NotText
from rag_core.extensions import REMEDY, Extension
from rag_core.extract.claims import Claim
from rag_core.extract.vetting import MOST_TEXT, Wrong, vetted
from rag_core.extract.workbench import read_frame, to_json, write_frame
from rag_core.types import Extracted

TIME_LIMIT_S = 60.0
"""How long a package may take for one file, unless the owner says otherwise."""

MEMORY_LIMIT = 2**31
"""Bytes of memory that a package may take, where the system can hold it to that (Linux)."""

_MOST_ANSWER = 8 * MOST_TEXT
_ORPHAN_S = 10  # so long the process outlives a limit that nobody enforces
_END_S = 2.0
_START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]);"
    " from rag_core.extract.workbench import main; main(*map(int, sys.argv[2:]))"
)


class Worker:
    """A process that reads files with packages; started when the first one comes, and again when it ended.

    For one thread. To be closed.
    """

    def __init__(self, limit_s: float = TIME_LIMIT_S, memory: int = MEMORY_LIMIT) -> None:
        self._limit_s = limit_s
        self._memory = memory
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, claim: Claim, data: bytes, path: PurePosixPath) -> Extracted:
        """The file ``path`` as the package of ``claim`` reads it. Raises NotText and ExtractError."""
        answer = self._ask(claim.extension, path.name, data)
        extension = claim.extension
        match answer:
            case {"document": document}:
                return _document(claim, document, path)
            case {"not text": [str(message), str(suggestion)]}:
                raise NotText(_short(message), _short(suggestion))
            case {"refused": [str(message), str(suggestion)]}:
                raise ExtractError(_short(message), _short(suggestion))
            case {"raised": str(error)}:
                raise _failed(extension, f"failed on this file ({_short(error)})")
            case {"wrong": str(what)}:
                raise _failed(extension, f"did not read this file: {_short(what)}")
            case _:
                raise _failed(extension, "gave an answer that cannot be read")

    def load(self, extension: Extension) -> None:
        """Import a package. Raises ExtractError."""
        self._ask(extension, None, b"")

    def close(self) -> None:
        """End the process."""
        if self._process is None:
            return
        process, self._process = self._process, None
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                _close(pipe)
        try:
            process.wait(_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    # --- one request --------------------------------------------------------------------

    def _ask(self, extension: Extension, file: str | None, data: bytes) -> dict[str, Any]:
        if extension.trouble:
            raise ExtractError(extension.trouble, REMEDY)
        asked = {"group": extension.group, "name": extension.name, "target": extension.target, "file": file}
        body = self._exchanged(extension, to_json(asked), data)
        try:
            answer = json.loads(body.decode("utf-8", "surrogatepass"), parse_constant=_no_number)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise _failed(extension, "gave an answer that cannot be read")
        if wrong := answer.get("broken"):
            raise _failed(extension, f"cannot be loaded: {_short(str(wrong))}")
        return answer

    def _exchanged(self, extension: Extension, line: bytes, data: bytes) -> bytes:
        """The answer to one request. The process is ended when it does not come in time."""
        process = self._started()
        assert process.stdin is not None  # noqa: S101 - it has pipes
        assert process.stdout is not None  # noqa: S101
        late = threading.Event()

        def end() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(self._limit_s, end)
        timer.start()
        try:
            write_frame(process.stdin, line, b"\n", data)
            body = read_frame(process.stdout, _MOST_ANSWER)
        except OSError:  # it is gone
            body = None
        finally:
            timer.cancel()
            timer.join()
        if body is None or late.is_set():
            self.close()
        if body is not None:
            return body
        if late.is_set():
            took = f"took more than {self._limit_s:g} seconds for this file"
            raise _failed(extension, f"{took} (the setting `extractor_timeout_s`)")
        raise _failed(extension, "crashed on this file, or told far too much of it")

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            path = json.dumps([part for part in sys.path if Path(part).is_absolute()])
            limits = str(int(self._limit_s) + _ORPHAN_S), str(self._memory)
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-c", _START, path, *limits],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                    cwd=tempfile.gettempdir(), env=_without_our_keys(),
                )  # fmt: skip
            except OSError as error:
                raise ExtractError(
                    f"The process for the packages that read files cannot be started: {error.strerror}.",
                    "Try again when the computer has room for it.",
                ) from error
        return self._process


def _without_our_keys() -> dict[str, str]:
    """The environment for code that is handed whatever lies in a folder."""
    return {name: value for name, value in os.environ.items() if not name.startswith("COMMONPLACE_")}


def _close(pipe: Any) -> None:
    try:
        pipe.close()
    except OSError:  # what was still to be written has no reader
        return


def _document(claim: Claim, said: object, path: PurePosixPath) -> Extracted:
    try:
        return vetted(said, claim.file_type, path.name)
    except Wrong as wrong:
        raise _failed(claim.extension, f"gave something that cannot be kept: {wrong}") from None


def _failed(extension: Extension, what: str) -> ExtractError:
    return ExtractError(extension.problem(what), REMEDY)


def _short(said: str) -> str:
    return " ".join(said.encode("utf-8", "replace").decode().replace("\0", " ").split())[:400]


def _no_number(_: str) -> None:
    raise ValueError
