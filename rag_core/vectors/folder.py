"""A folder that a vector engine uses inside this process; no other process can use it meanwhile.

The engines fail late, or not at all, when two processes share a folder. So a lock is held as long as the
engine runs; the system frees it on ``kill -9``. Its holder is named in a file beside the lock: some versions
of filelock empty a lock file, and Windows lets nobody read it.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout

from rag_core.errors import VectorError, VectorsUnreachable

_LOCK, _HOLDER = "commonplace.lock", "commonplace.holder"
_PROJECT = Path(__file__).resolve().parents[2]
_APP = (_PROJECT / "app.py", _PROJECT / "ui" / "shell.py")  # Streamlit puts what it runs into argv
_WAIT_S = 0.5  # longer than this process needs to end an unused engine
_T = TypeVar("_T")

_starting = threading.Lock()
_running: weakref.WeakValueDictionary[Path, Running[Any]] = weakref.WeakValueDictionary()


class Running(Generic[_T]):
    """An engine at work until nobody refers to this any more; ``turn`` is entered to use it."""

    def __init__(self, engine: _T, *, takes_turns: bool) -> None:
        self.engine = engine
        self.turn: AbstractContextManager[object] = threading.RLock() if takes_turns else nullcontext()


def running(
    folder: Path, name: str, start: Callable[[Path], _T], stop: Callable[[_T], None], *, takes_turns: bool
) -> Running[_T]:
    """The engine ``name`` of ``folder``, started unless this process runs it already.

    Raises VectorsUnreachable while another process uses the folder, VectorError when it cannot be used, and
    what ``start`` raises.
    """
    folder = folder.resolve()
    with _starting:
        known = _running.get(folder)
        if known is None:
            lock = _locked(folder, name)
            with ExitStack() as undo:
                undo.callback(lock.release)
                undo.callback((folder / _HOLDER).unlink, missing_ok=True)
                with suppress(OSError):  # on a full disk
                    (folder / _HOLDER).write_text(f"{_program()} (process {os.getpid()})", "utf-8")
                engine = start(folder)
                known = _running[folder] = Running(engine, takes_turns=takes_turns)
                ended = undo.pop_all()
                ended.callback(stop, engine)
                weakref.finalize(known, ended.close)
        return known


def _locked(folder: Path, name: str) -> FileLock:
    lock = FileLock(folder / _LOCK, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # texts are in it
        lock.acquire(timeout=_WAIT_S)
    except Timeout:
        raise VectorsUnreachable(
            f"The folder {str(folder)!r} of {name} is in use by {_holder(folder)}.",
            f"Close the other program, or run a server that both can use (`{name.lower()}_url`).",
        ) from None
    except OSError as error:
        raise VectorError(
            f"The folder {str(folder)!r} of {name} cannot be used: {error.strerror}.",
            "Check that it can be written, or configure another one.",
        ) from error
    return lock


def _holder(folder: Path) -> str:
    """The program that has the lock, as it wrote down itself."""
    with suppress(OSError, ValueError):  # it has the lock since a moment ago
        return (folder / _HOLDER).read_text("utf-8")[:120] or "another process"
    return "another process"


def _program() -> str:
    """The name of this program without its arguments, which may be private."""
    path = Path(sys.argv[0] or sys.executable)
    if path.resolve() in _APP:
        return "the Commonplace app"
    return repr(path.parent.name if path.name == "__main__.py" else path.name)
