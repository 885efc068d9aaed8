"""The rules of Windows on this system, for what Commonplace does with files.

A folder cannot be opened. What is open for reading only cannot be flushed. An open file cannot be renamed,
replaced or deleted, by whichever process has it. A listing has no inodes. Resolved paths have backslashes,
and none is longer than 260 characters without a prefix. The first byte of a locked file is for who locked
it. There may be no hard links. ``python -m tests.support.windows_rules …`` runs ``commonplace …`` under them.
"""

from __future__ import annotations

import errno
import fcntl
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from rag_core import system
from rag_core.files import paths

LONGEST = 259
PREFIX = "\\\\?\\"

Patch = Callable[[object, str, object], None]


class NoInode:
    """The status of an entry as a listing of Windows has it."""

    st_ino = st_dev = st_nlink = 0

    def __init__(self, status: os.stat_result) -> None:
        self._status = status

    def __getattr__(self, name: str) -> Any:
        return getattr(self._status, name)


class Entry:
    """An entry of a listing."""

    def __init__(self, entry: os.DirEntry[Any]) -> None:
        self._entry = entry

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entry, name)

    def __fspath__(self) -> Any:
        return self._entry.path

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        return NoInode(self._entry.stat(follow_symlinks=follow_symlinks))


class Listing:
    """What ``os.scandir`` returns."""

    def __init__(self, entries: Any) -> None:
        self._entries = entries

    def __enter__(self) -> Listing:
        return self

    def __exit__(self, *_: object) -> None:
        self._entries.close()

    def __iter__(self) -> Iterator[Entry]:
        return map(Entry, self._entries)

    def __next__(self) -> Entry:
        return Entry(next(self._entries))

    def close(self) -> None:
        self._entries.close()


def install(patch: Patch, *, hard_links: bool = True) -> None:
    """Let this process meet the rules of Windows; ``patch`` replaces an attribute of an object."""
    patch(system, "rules", system.WINDOWS)
    patch(paths, "_BY_FOLDER_FD", False)
    _install_opening(patch)
    _install_moving(patch, hard_links=hard_links)
    _install_paths(patch)
    _install_resolving(patch)
    _install_locks(patch)


def _install_opening(patch: Patch) -> None:
    open_, fsync, scandir = os.open, os.fsync, os.scandir

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if dir_fd is None and Path(os.fsdecode(path)).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return open_(path, flags, mode, dir_fd=dir_fd)

    def flushed(handle: Any) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, "Bad file descriptor")
        fsync(handle)

    patch(os, "open", opened)
    patch(os, "fsync", flushed)
    patch(os, "scandir", lambda path=".": Listing(scandir(path)))


def holders() -> Iterator[int]:
    """This process and those that it started."""
    yield os.getpid()
    for task in Path("/proc/self/task").iterdir():
        with suppress(OSError):  # a thread that has ended
            yield from map(int, (task / "children").read_text("utf-8").split())


def is_open(path: Any, dir_fd: int | None = None) -> bool:
    """Whether this process, or one that it started, has a file open."""
    try:
        status = _lstat(path, dir_fd=dir_fd)
    except OSError:
        return False
    for holder in holders() if stat.S_ISREG(status.st_mode) else ():
        folder = f"/proc/{holder}/fd"
        for handle in _listdir(folder):
            try:
                held = _stat(f"{folder}/{handle}")
            except OSError:
                continue
            if (held.st_dev, held.st_ino) == (status.st_dev, status.st_ino):
                return True
    return False


_stat, _lstat, _listdir = os.stat, os.lstat, os.listdir


def _install_moving(patch: Patch, *, hard_links: bool) -> None:
    unlink, rename, replace, link = os.unlink, os.rename, os.replace, os.link

    def refuse(path: Any, dir_fd: int | None = None) -> None:
        if is_open(path, dir_fd):
            said = "The process cannot access the file because it is being used by another process"
            raise PermissionError(errno.EACCES, said, path)

    def unlinked(path: Any, *, dir_fd: int | None = None) -> None:
        refuse(path, dir_fd)
        unlink(path, dir_fd=dir_fd)

    def renamed(source: Any, target: Any, **options: Any) -> None:
        refuse(source)
        if os.path.lexists(target) and not Path(source).samefile(target):
            raise FileExistsError(errno.EEXIST, "Cannot create a file when that file already exists", target)
        rename(source, target, **options)

    def replaced(source: Any, target: Any, **options: Any) -> None:
        refuse(source)
        refuse(target)
        replace(source, target, **options)

    def linked(source: Any, target: Any, **options: Any) -> None:
        if not hard_links:
            raise OSError(errno.EINVAL, "Incorrect function", source)
        link(source, target, **options)

    for name, function in (("unlink", unlinked), ("remove", unlinked), ("rename", renamed)):
        patch(os, name, function)
    patch(os, "replace", replaced)
    patch(os, "link", linked)


def _install_paths(patch: Patch) -> None:
    """Let the functions for paths in bytes, which Commonplace calls for files of folders, speak as there."""

    def there(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(path: Any = ".", *more: Any, **options: Any) -> Any:
            if isinstance(path, bytes):
                text = os.fsdecode(path)
                is_ours = sys._getframe(1).f_globals["__name__"] != "posixpath"  # which resolves links
                if len(text) > LONGEST and is_ours and not text.startswith(PREFIX):
                    raise FileNotFoundError(errno.ENOENT, "The system cannot find the path", path)
                path = os.fsencode(text.removeprefix(PREFIX).replace("\\", "/"))
            return function(path, *more, **options)

        return called

    for name in ("open", "stat", "lstat", "scandir", "listdir", "readlink"):
        patch(os, name, there(getattr(os, name)))


def _install_resolving(patch: Patch) -> None:
    realpath, relpath, normpath = os.path.realpath, os.path.relpath, os.path.normpath

    def resolved(path: Any, *, strict: bool = False) -> Any:
        if not isinstance(path, bytes):
            return realpath(path, strict=strict)
        text = os.fsdecode(path)
        plain = os.fsencode(text.removeprefix(PREFIX).replace("\\", "/"))
        found = os.fsdecode(realpath(plain, strict=strict)).replace("/", "\\")
        return os.fsencode((PREFIX if text.startswith(PREFIX) else "") + found)

    def relative(path: Any, start: Any) -> Any:
        found = relpath(path.replace(b"\\", b"/"), start.replace(b"\\", b"/"))
        return found.replace(b"/", b"\\")

    def normal(path: Any) -> Any:
        if not sys._getframe(1).f_globals["__name__"].startswith("rag_core"):
            return normpath(path)
        return normpath(os.fspath(path).replace("\\", "/")).replace("/", "\\")

    patch(os.path, "realpath", resolved)
    patch(os.path, "relpath", relative)
    patch(os.path, "normpath", normal)


def _install_locks(patch: Patch) -> None:
    read, write, open_ = os.read, os.write, io.open

    def refuse(file: str) -> None:
        handle = _raw_open(file, os.O_RDWR)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied", file) from None
        finally:
            os.close(handle)

    def checked(function: Callable[..., Any]) -> Callable[..., Any]:
        def called(handle: int, *more: Any) -> Any:
            ours = sys._getframe(1).f_globals["__name__"].startswith("rag_core")
            file = str(Path(f"/proc/self/fd/{handle}").readlink()) if ours else ""
            if file.endswith(".lock") and os.lseek(handle, 0, os.SEEK_CUR) == 0:
                refuse(file)
            return function(handle, *more)

        return called

    def opened(file: Any, mode: str = "r", *more: Any, **options: Any) -> Any:
        if mode in ("r", "w") and str(file).endswith(".lock") and Path(file).exists():
            refuse(str(file))  # what is opened so is read or written from its beginning
        return open_(file, mode, *more, **options)

    patch(os, "read", checked(read))
    patch(os, "write", checked(write))
    patch(io, "open", opened)


_raw_open = os.open

if __name__ == "__main__":
    install(setattr)
    from rag_core.cli import main

    main(sys.argv[1:])
