"""Disks that are full and folders that nobody may write in, for real."""

from __future__ import annotations

import codecs
import os
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NOBODY = 65534


@contextmanager
def no_file_grows(limit: int = 1) -> Iterator[None]:
    """Every write of this process beyond the first bytes of a file fails, as on a full disk."""
    import resource  # Windows has none

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@contextmanager
def without_rights() -> Iterator[None]:
    """Be somebody who owns nothing, where the tests run as root; permissions do not hold for root."""
    if os.geteuid() != 0:
        yield
        return
    codecs.lookup("cp437")  # zipfile asks for it late, and Python's own folder may be root's alone
    os.seteuid(_NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


@contextmanager
def for_reading_only(*folders: Path) -> Iterator[None]:
    """Let everybody read what is in these folders, and nobody write there."""
    inside = {path for folder in folders for path in (folder, *folder.rglob("*"))}
    modes = {path: path.stat().st_mode for path in inside}
    for folder in folders:
        let_everybody_reach(folder)
    for path in inside:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        yield
    finally:
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)


def let_everybody_reach(path: Path) -> None:
    """Open the temporary folders above ``path`` for passing, and leave them so: tests of other
    processes work below the same folders, and would find them closed."""
    for folder in path.parents:
        if folder.is_relative_to(_TEMPORARY):
            folder.chmod(folder.stat().st_mode | 0o555)


_TEMPORARY = tempfile.gettempdir()
