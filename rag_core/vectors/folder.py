"""A folder that a vector engine works in, inside this process: no other process may use it meanwhile.

The engines fail late, or not at all, when two processes share a folder. So a lock is held as long as the
engine runs; the system frees it on ``kill -9``. Who holds it stands in a file beside the lock, not in it:
some versions of filelock empty a lock file that they cannot have, and Windows lets nobody read it.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

from filelock import FileLock, Timeout

from rag_core.errors import VectorError, VectorsUnreachable

_LOCK, _HOLDER = "commonplace.lock", "commonplace.holder"
_APP = "the Commonplace app"
_PROJECT = Path(__file__).resolve().parents[2]
_APP_FILES = (_PROJECT / "app.py", _PROJECT / "ui" / "shell.py")  # Streamlit puts what it runs into argv
_PATIENCE_S = 0.5  # longer than this process needs to let go of an engine that nobody uses any more
_T = TypeVar("_T")

_starting = threading.Lock()
_running: weakref.WeakValueDictionary[Path, Running[Any]] = weakref.WeakValueDictionary()


class Running(Generic[_T]):
    """An engine at work in its folder, until nobody refers to this any more. ``turn`` is for engines that
    do one thing at a time."""

    def __init__(self, engine: _T) -> None:
        self.engine = engine
        self.turn = threading.RLock()


def running(
    folder: Path, called: str, start: Callable[[Path], _T], stop: Callable[[_T], None]
) -> Running[_T]:
    """The engine of ``folder``, started when this process does not run it yet.

    ``called`` is its name in a sentence. Raises VectorsUnreachable while another process uses the folder,
    VectorError when it cannot be used, and what ``start`` raises.
    """
    folder = folder.resolve()
    with _starting:
        known = _running.get(folder)
        if known is None:
            lock = _locked(folder, called)
            with ExitStack() as undo:
                undo.callback(_release, folder, lock)
                _write_holder(folder)
                known = Running(start(folder))
                undo.pop_all()
            weakref.finalize(known, _end, known.engine, stop, folder, lock)
            _running[folder] = known
        return known


def _locked(folder: Path, called: str) -> Any:
    lock = FileLock(folder / _LOCK, thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)  # texts are in it
        lock.acquire(timeout=_PATIENCE_S)
    except Timeout:
        raise VectorsUnreachable(
            f"The folder {str(folder)!r} of {called} is in use by {_holder(folder)}.",
            "Only one program at a time can use it: close the other one, or run a server that both can use"
            f" (`{called.lower()}_url`).",
        ) from None
    except OSError as error:
        raise VectorError(
            f"The folder {str(folder)!r} of {called} cannot be used: {error.strerror}.",
            "Check that it can be written, or configure another one.",
        ) from error
    return lock


def _end(engine: _T, stop: Callable[[_T], None], folder: Path, lock: Any) -> None:
    try:
        stop(engine)
    finally:
        _release(folder, lock)


def _release(folder: Path, lock: Any) -> None:
    with suppress(OSError):
        (folder / _HOLDER).unlink()
    lock.release()


def _write_holder(folder: Path) -> None:
    with suppress(OSError):  # on a full disk the next one is only told less exactly who it waits for
        about = json.dumps({"pid": os.getpid(), "program": _program()})
        (folder / _HOLDER).write_text(about, "utf-8")


def _holder(folder: Path) -> str:
    """Who has the lock, as it wrote down itself."""
    try:
        about = json.loads((folder / _HOLDER).read_text("utf-8"))
        program = _APP if about["program"] == _APP else repr(str(about["program"])[:80])
        return f"{program} (process {int(about['pid'])})"
    except (OSError, ValueError, LookupError, TypeError):  # it has the lock since a moment ago
        return "another process"


def _program() -> str:
    """The name of the program at work, without what it was asked: that may be private."""
    path = Path(sys.argv[0] or sys.executable)
    if path.resolve() in _APP_FILES:
        return _APP
    return path.parent.name if path.name == "__main__.py" else path.name
