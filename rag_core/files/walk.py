"""Scans a source folder for its files, and records the skipped ones."""

from __future__ import annotations

import os
import stat
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from rag_core import system
from rag_core.errors import InvalidInput
from rag_core.files.ignores import PROFILE_NAMES, UNREAD_DOCUMENTS, is_profile
from rag_core.files.paths import GONE, cannot_be_read, display, not_a_file, real_path, system_reason
from rag_core.files.rules import ANOTHER_NAME, SECRETS, Rules, WalkFolder

PROGRESS_STEP = 500
_SAMPLES = 200
_INODE_BITS = 0x7FFF_FFFF_FFFF_FFFF


class FileStat(NamedTuple):
    """A file found by a scan: its path in the source (raw bytes, ``/`` between segments), and the values that
    show whether it changed. ``inode`` has only the lowest 63 bits, because databases store no more."""

    path: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True)
class Walk:
    """The result of a scan. Each list is sorted by path. Ignored and hidden files are not listed.

    Documents in an unreadable or vanished folder must not be treated as deleted, because its drive may be
    unplugged.
    """

    files: list[FileStat] = field(default_factory=list)
    #: Paths that match the patterns but cannot be read: (path, a sentence with the reason).
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    unreadable: list[bytes] = field(default_factory=list)  #: Folders that cannot be listed.
    vanished: list[bytes] = field(default_factory=list)  #: Folders that disappeared during the scan.
    #: Paths in ``files`` whose content is only in a cloud.
    online_only: set[bytes] = field(default_factory=set)
    #: Paths in ``online_only`` for which iCloud keeps only a stub file on this computer.
    stubs: set[bytes] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Preview:
    """The files that a source would hold, for a live count."""

    count: int  #: Number of files.
    samples: tuple[str, ...]  #: Paths of the first files.
    by_suffix: dict[str, int]  #: Number of files by suffix in lower case with its dot, most frequent first.
    total_bytes: int  #: Total size of the files.
    truncated: bool  #: Whether the walk stopped early, so that the numbers are incomplete.


def scan(
    root: Path,
    include: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    on_progress: Callable[[int], None] | None = None,
) -> Walk:
    """Find the files in ``root`` that match ``include`` and do not match ``exclude``.

    Nothing outside the resolved root is reached, and only ``.gitignore`` files are opened. No file is found
    twice through symbolic links; hard links count as separate files.

    Args:
        root: The folder.
        include: Include patterns. None at all means ``**/*``.
        exclude: Exclude patterns. One that matches a folder leaves out everything in it.
        on_progress: Called now and then with the number of files so far. An exception from it ends the scan.

    Raises:
        InvalidInput: The root is missing, no folder, a link or unreadable, or a pattern is invalid.

    """
    return _Walker(Rules(root, include, exclude), on_progress=on_progress).run()


def preview(
    root: Path, include: Sequence[str], exclude: Sequence[str] = (), *, max_files: int = 50_000
) -> Preview:
    """Count the files that `scan` would find. At most ``max_files`` names are looked at, whether they match
    or not. Raises InvalidInput if ``root`` cannot be scanned or a pattern is invalid."""
    walker = _Walker(Rules(root, include, exclude), names_left=max_files)
    files = walker.run().files
    shown = [display(file.path) for file in files]
    by_suffix = Counter(os.path.splitext(path)[1].lower() for path in shown)  # noqa: PTH122
    return Preview(
        count=len(files),
        samples=tuple(shown[:_SAMPLES]),
        by_suffix=dict(sorted(by_suffix.items(), key=lambda kind: (-kind[1], kind[0]))),
        total_bytes=sum(file.size for file in files),
        truncated=walker.truncated,
    )


@dataclass
class _Walker:
    """One walk over a source. Links are followed last, so that a file's own path takes precedence over links
    to it."""

    rules: Rules
    on_progress: Callable[[int], None] | None = None
    names_left: int = sys.maxsize
    truncated: bool = False
    _walk: Walk = field(default_factory=Walk)
    _reported: int = 0
    _visited: set[tuple[int, int | bytes]] = field(default_factory=set)
    _links: list[bytes] = field(default_factory=list)
    _folder_links: list[WalkFolder] = field(default_factory=list)
    _real_paths: set[bytes] = field(default_factory=set)

    def run(self) -> Walk:
        walk = self._walk
        root = self.rules.top.full
        self._read_below(self.rules.top)
        while self._folder_links:
            waiting, self._folder_links = sorted(self._folder_links, key=lambda link: link.rel), []
            for place in waiting:
                target = self.rules.target(place.rel[:-1])
                if isinstance(target, str):
                    walk.skipped.append((place.rel[:-1], target))
                    continue
                before = len(walk.files)
                self._read_below(place)
                for file in walk.files[before:]:
                    self._real_paths.add(target[0] + b"/" + file.path[len(place.rel) :])
        if self._links:
            self._follow_files()
        try:
            is_there = _identity(root) in self._visited
        except OSError:
            is_there = False
        if not is_there:  # otherwise the remaining files would look deleted
            raise InvalidInput(
                f"The folder {os.fsdecode(root[:-1] or root)!r} disappeared while it was scanned.",
                "Mount its disk again, then index again.",
            )
        walk.files.sort(key=itemgetter(0))  # by path
        walk.skipped.sort()
        walk.unreadable.sort()
        if self.on_progress:
            self.on_progress(len(walk.files))
        return walk

    def _read_below(self, top: WalkFolder) -> None:
        stack = [top]
        while stack and not self.truncated:
            place = stack.pop()
            try:
                identity = _identity(place.full)
                if identity in self._visited:
                    self._walk.skipped.append((place.rel[:-1], ANOTHER_NAME))
                    continue
                self._visited.add(identity)
                stack += self._read(self.rules.with_ignore_file(place, self._walk.skipped))
            except OSError as error:
                self._unreadable(place, error)
            if self.on_progress and len(self._walk.files) - self._reported >= PROGRESS_STEP:
                self._reported = len(self._walk.files)
                self.on_progress(self._reported)

    def _read(self, place: WalkFolder) -> list[WalkFolder]:
        """Add the files of one folder to the result. Returns the folders to enter, in reverse order."""
        refuses, walk = self.rules.refusal(place), self._walk
        folders: list[bytes] = []
        of_profile, before = set[bytes](), (len(walk.files), len(walk.skipped))
        with os.scandir(system.for_calls(place.full)) as entries:
            for entry in entries:
                if not self.names_left:
                    self.truncated = True
                    break
                self.names_left -= 1
                if entry.name in PROFILE_NAMES:
                    of_profile.add(entry.name)
                if entry.is_file(follow_symlinks=False):
                    self._take_file(place, entry, refuses)
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.name)
                else:
                    self._take_other(place, entry, refuses)
        if place.rel and is_profile(of_profile):
            del walk.files[before[0] :], walk.skipped[before[1] :]
            return []
        return [below for name in sorted(folders, reverse=True) if (below := self._entered(place, name))]

    def _take_file(
        self, place: WalkFolder, entry: os.DirEntry[bytes], refuses: Callable[[bytes], str | None]
    ) -> None:
        reason, path = refuses(entry.name), place.rel + entry.name
        if reason is None:
            with suppress(FileNotFoundError):
                status = entry.stat(follow_symlinks=False)
                if not self.rules.hides(place, entry.name, status):
                    self._take(path, status)
        elif reason in SECRETS:
            self._walk.skipped.append((path, reason))
        elif system.of_stub(entry.name):
            self._take_stub(place, entry, refuses)

    def _take(self, path: bytes, status: os.stat_result) -> None:
        if system.is_online_only(status):
            self._walk.online_only.add(path)
        self._walk.files.append(file_stat(path, status))

    def _take_stub(
        self, place: WalkFolder, stub: os.DirEntry[bytes], refuses: Callable[[bytes], str | None]
    ) -> None:
        """Add the file that an iCloud stub stands for, unless the file itself exists, too."""
        name = system.of_stub(stub.name) or b""
        if refuses(name) is None and not os.path.lexists(place.full + name):
            with suppress(FileNotFoundError):
                self._walk.files.append(file_stat(place.rel + name, stub.stat(follow_symlinks=False)))
                self._walk.online_only.add(place.rel + name)
                self._walk.stubs.add(place.rel + name)

    def _entered(self, place: WalkFolder, name: bytes) -> WalkFolder | None:
        """Return the folder ``name`` in ``place``, or None if it is not read."""
        below = self.rules.enter(place, name)
        if below in UNREAD_DOCUMENTS:
            self._walk.skipped.append((place.rel + name, str(below)))
        if not isinstance(below, WalkFolder):
            return None
        with suppress(OSError):  # reading the folder will report the error
            if self.rules.hides(place, name, os.lstat(system.for_calls(below.full))):
                return None
        return below

    def _take_other(
        self, place: WalkFolder, entry: os.DirEntry[bytes], refuses: Callable[[bytes], str | None]
    ) -> None:
        """Handle an entry that is a link, or neither a file nor a folder."""
        if entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112  (entry.is_dir raises)
            below = self.rules.enter(place, entry.name)
            if isinstance(below, WalkFolder):
                self._folder_links.append(below)
            return
        reason, path = refuses(entry.name), place.rel + entry.name
        if reason is None and entry.is_symlink():
            self._links.append(path)
        elif reason is None or reason in SECRETS:
            what = reason or not_a_file(entry.stat(follow_symlinks=False).st_mode)
            self._walk.skipped.append((path, what))

    def _follow_files(self) -> None:
        taken = self._real_paths.union(file.path for file in self._walk.files)
        for link in sorted(self._links):
            target = self.rules.target(link)
            if isinstance(target, str):
                reason = target
            elif target[0] in taken:
                reason = ANOTHER_NAME
            elif not stat.S_ISREG(target[1].st_mode):
                reason = not_a_file(target[1].st_mode)
            else:
                taken.add(target[0])
                self._take(link, target[1])
                continue
            self._walk.skipped.append((link, reason))

    def _unreadable(self, place: WalkFolder, error: OSError) -> None:
        reason, path = cannot_be_read(error), place.rel[:-1]
        if not path:
            shown = os.fsdecode(place.full[:-1] or place.full)
            problem = f"The folder {shown!r} cannot be read: {system_reason(error)}."
            raise InvalidInput(problem, "Allow this user to read it.") from error
        if isinstance(error, GONE):
            self._walk.vanished.append(path)
        else:
            self._walk.unreadable.append(path)
            self._walk.skipped.append((path, reason))


def _identity(folder: bytes) -> tuple[int, int | bytes]:
    """Return a key that identifies a folder: its device and inode. On network disks without inodes it
    contains the path."""
    status = os.stat(system.for_calls(folder))  # noqa: PTH116  (bytes)
    return status.st_dev, status.st_ino or real_path(folder)


def file_stat(path: bytes, status: os.stat_result) -> FileStat:
    """Return the values of a file's status that the database stores."""
    inode = status.st_ino & _INODE_BITS if system.rules.lists_inodes else 0
    values = path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode
    return tuple.__new__(FileStat, values)  # takes half the time of a call with five arguments
