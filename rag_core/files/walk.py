"""Walks a source folder: the files it holds, and those that were skipped."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import NamedTuple

from rag_core.errors import InvalidInput
from rag_core.files.ignores import GITIGNORE
from rag_core.files.paths import GONE, cannot_be_read, display, kind
from rag_core.files.rules import ANOTHER_NAME, KEY_LIKE, Place, Rules

PROGRESS_STEP = 500
_INODE_BITS = 0x7FFF_FFFF_FFFF_FFFF


class FileStat(NamedTuple):
    """A file found: its path below the root (raw bytes, ``/`` between segments), and what to compare.

    A tuple, for there is one a file even when nothing changed. ``inode`` is its lowest 63 bits, all
    that a database keeps of it.
    """

    path: bytes
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


@dataclass(frozen=True)
class Walk:
    """What a scan found, each list sorted by path.

    ``skipped`` holds (path, the end of a sentence that says why) for what the patterns chose but could
    not be taken; what is ignored or hidden is not listed. Documents below an ``unreadable`` folder must
    not be taken as deleted, nor those below one that ``vanished``, which only another scan can tell: an
    unplugged drive must not look like deleted notes.
    """

    files: list[FileStat] = field(default_factory=list)
    skipped: list[tuple[bytes, str]] = field(default_factory=list)
    unreadable: list[bytes] = field(default_factory=list)
    vanished: list[bytes] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Preview:
    """What a source would hold, for a live count; a part of it when ``truncated``.

    ``by_suffix`` has lower-case suffixes with their dot, the most frequent first, and ``examples`` the first
    files of each.
    """

    count: int
    samples: tuple[str, ...]
    by_suffix: dict[str, int]
    total_bytes: int
    truncated: bool
    examples: dict[str, tuple[str, ...]]


def scan(
    root: Path,
    include: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    on_progress: Callable[[int], None] | None = None,
) -> Walk:
    """Find the files below ``root`` that ``include`` chooses and ``exclude`` does not.

    Nothing outside the resolved root is reached, no file twice under names made by symbolic links
    (hard links are files of their own), and nothing is opened but ``.gitignore`` files.

    Args:
        root: the folder to walk.
        include: patterns as in ``rag_core.files.globs``; none means ``**/*``.
        exclude: the same; one that matches a folder leaves out all below it.
        on_progress: called now and then with the number of files so far; what it raises ends the scan.

    Raises InvalidInput when the root is missing, no folder or unreadable, or a pattern is invalid.

    """
    return _Walker(Rules(root, include, exclude), on_progress=on_progress).run()


def preview(
    root: Path,
    include: Sequence[str],
    exclude: Sequence[str] = (),
    *,
    limit_samples: int = 5,
    max_files: int = 50_000,
) -> Preview:
    """Count what ``scan`` would find, looking at no more than ``max_files`` names, matching or not.

    Raises InvalidInput as ``scan`` does.
    """
    walker = _Walker(Rules(root, include, exclude), limit=max_files)
    files = walker.run().files
    by_suffix: dict[str, list[bytes]] = {}
    for file in files:
        by_suffix.setdefault(display(os.path.splitext(file.path)[1].lower()), []).append(file.path)  # noqa: PTH122
    return Preview(
        count=len(files),
        samples=tuple(display(file.path) for file in files[:limit_samples]),
        by_suffix={
            suffix: len(by_suffix[suffix])
            for suffix in sorted(by_suffix, key=lambda suffix: (-len(by_suffix[suffix]), suffix))
        },
        total_bytes=sum(file.size for file in files),
        truncated=walker.truncated,
        examples={suffix: tuple(map(display, paths[:limit_samples])) for suffix, paths in by_suffix.items()},
    )


class _Walker:
    """One walk. Links wait until all else is read, so that a target's own path wins."""

    def __init__(
        self, rules: Rules, *, on_progress: Callable[[int], None] | None = None, limit: int | None = None
    ) -> None:
        self.truncated = False
        self._rules = rules
        self._walk = Walk()
        self._on_progress = on_progress
        self._reported = 0
        self._room = limit
        self._visited: set[tuple[int, int]] = set()
        self._links: list[bytes] = []
        self._folder_links: list[Place] = []
        self._real_paths: set[bytes] = set()

    def run(self) -> Walk:
        walk = self._walk
        root = self._rules.top.full
        folder = _folder(root)
        self._read_below(self._rules.top)
        while self._folder_links:
            waiting, self._folder_links = sorted(self._folder_links, key=attrgetter("rel")), []
            for place in waiting:
                target = self._rules.target(place.rel[:-1])
                if isinstance(target, str):
                    walk.skipped.append((place.rel[:-1], target))
                    continue
                before = len(walk.files)
                self._read_below(place)
                for file in walk.files[before:]:
                    self._real_paths.add(target[0] + b"/" + file.path[len(place.rel) :])
        if self._links:
            self._follow_files()
        if _folder(root) != folder:  # then every file that was not met yet looks deleted
            raise InvalidInput(
                f"The folder {os.fsdecode(root[:-1] or root)!r} disappeared while it was scanned.",
                "Mount its disk again, then index again.",
            )
        walk.files.sort(key=itemgetter(0))  # the path
        walk.skipped.sort()
        walk.unreadable.sort()
        if self._on_progress:
            self._on_progress(len(walk.files))
        return walk

    def _read_below(self, top: Place) -> None:
        stack = [top]
        while stack and not self.truncated:
            place = stack.pop()
            try:
                status = os.stat(place.full)  # noqa: PTH116  (bytes)
                if (status.st_dev, status.st_ino) in self._visited:
                    self._walk.skipped.append((place.rel[:-1], ANOTHER_NAME))
                    continue
                self._visited.add((status.st_dev, status.st_ino))
                stack.extend(self._read(self._with_ignore_file(place)))
            except OSError as error:
                self._unreadable(place, error)
            if self._on_progress and len(self._walk.files) - self._reported >= PROGRESS_STEP:
                self._reported = len(self._walk.files)
                self._on_progress(self._reported)

    def _read(self, place: Place) -> list[Place]:
        """Take the files of one folder and return the folders to enter, the first one last."""
        refuses, rel, take = self._rules.refusal(place), place.rel, self._walk.files.append
        folders, others = [], []
        for entry in self._entries(place):
            if entry.is_file(follow_symlinks=False):
                reason = refuses(entry.name)
                if reason is None:
                    try:
                        take(_file_stat(rel + entry.name, entry.stat(follow_symlinks=False)))
                    except FileNotFoundError:
                        continue
                elif reason is KEY_LIKE:
                    self._walk.skipped.append((rel + entry.name, reason))
            elif entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            else:
                others.append(entry)
        for entry in others:
            self._take_other(place, entry)
        folders.sort(reverse=True)
        entered = [self._rules.enter(place, name) for name in folders]
        return [below for below in entered if isinstance(below, Place)]

    def _entries(self, place: Place) -> Iterator[os.DirEntry[bytes]]:
        with os.scandir(place.full) as entries:
            if self._room is None:
                yield from entries
                return
            listed = list(islice(entries, self._room + 1))
        self.truncated = len(listed) > self._room
        listed = listed[: self._room]
        self._room -= len(listed)
        yield from listed

    def _with_ignore_file(self, place: Place) -> Place:
        try:
            return self._rules.with_ignore_file(place)
        except OSError as error:
            if os.path.lexists(place.full + GITIGNORE):  # else it is the folder that cannot be read
                self._walk.skipped.append((place.rel + GITIGNORE, cannot_be_read(error)))
            return place

    def _take_other(self, place: Place, entry: os.DirEntry[bytes]) -> None:
        """A link, or something that is no file."""
        if entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112  (entry.is_dir raises)
            below = self._rules.enter(place, entry.name)
            if isinstance(below, Place):
                self._folder_links.append(below)
            return
        reason = self._rules.refusal(place)(entry.name)
        path = place.rel + entry.name
        if reason is KEY_LIKE:
            self._walk.skipped.append((path, reason))
        elif reason is None and entry.is_symlink():
            self._links.append(path)
        elif reason is None:
            self._walk.skipped.append((path, kind(entry.stat(follow_symlinks=False).st_mode)))

    def _follow_files(self) -> None:
        taken = self._real_paths.union(file.path for file in self._walk.files)
        for link in sorted(self._links):
            target = self._rules.target(link)
            if isinstance(target, str):
                reason = target
            elif target[0] in taken:
                reason = ANOTHER_NAME
            elif not stat.S_ISREG(target[1].st_mode):
                reason = kind(target[1].st_mode)
            else:
                taken.add(target[0])
                self._walk.files.append(_file_stat(link, target[1]))
                continue
            self._walk.skipped.append((link, reason))

    def _unreadable(self, place: Place, error: OSError) -> None:
        reason = cannot_be_read(error)
        if not place.rel:
            shown = os.fsdecode(place.full[:-1] or place.full)
            raise InvalidInput(f"The folder {shown!r} {reason}.", "Allow this user to read it.") from error
        if isinstance(error, GONE):
            self._walk.vanished.append(place.rel[:-1])
            return
        self._walk.unreadable.append(place.rel[:-1])
        self._walk.skipped.append((place.rel[:-1], reason))


def _folder(path: bytes) -> tuple[int, int] | None:
    """The device and inode of a folder, which tell it from another of its name; None where there is none."""
    try:
        status = os.stat(path)  # noqa: PTH116  (bytes)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _file_stat(path: bytes, status: os.stat_result) -> FileStat:
    inode = status.st_ino & _INODE_BITS
    found = path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, inode
    return tuple.__new__(FileStat, found)  # half the time of a call with five arguments
