"""Decides which folders are entered and which files are read. Each refusal has a sentence with its reason."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from rag_core import system
from rag_core.errors import InvalidInput
from rag_core.files.globs import EVERYTHING, Globs, MatchState
from rag_core.files.ignores import (
    CLOUD_FOLDERS,
    GITIGNORE,
    PROFILE_NAMES,
    SECRET_FOLDERS,
    UNREAD_DOCUMENTS,
    IgnoreFile,
    ignore_files_above,
    ignored_by,
    is_home,
    is_leftover,
    is_of_program,
    is_profile,
    is_secret,
    read_ignore_file,
    why_not_entered,
)
from rag_core.files.paths import SEP, cannot_be_read, display, not_a_file, real_path, system_reason, with_sep

KEY_LIKE = "Files and folders that look like keys or secrets are never read."
KEY_OR_KEYNOTE = (
    "Files that look like keys are never read. To search a presentation of Keynote, save it as PPTX or PDF."
)
SECRETS = frozenset({KEY_LIKE, KEY_OR_KEYNOTE})
LEAVES = "A symbolic link that leaves the folder is not followed."
ANOTHER_NAME = "It is the same file as another one, which is read under its other name."
NOT_MATCHED = "No include pattern matches it."
EXCLUDED = "An exclude pattern matches it."
LEFTOVER = "It is not a document, but a lock file or a settings file of a program."
HIDDEN_BY_SYSTEM = "The system hides it, and no include pattern names it."
_HIDDEN = "A name that starts with a dot is hidden, and no include pattern names it."
NEVER_READ = "A folder of this kind is left out unless an include pattern names it."


class Refusal(NamedTuple):
    """The reason why a file is not read: its kind, and a sentence."""

    kind: Literal["unreadable", "not included", "excluded", "unread document", "rule"]
    text: str


def why_skipped(
    root: Path, path: bytes, include: Sequence[str], exclude: Sequence[str] = ()
) -> Refusal | None:
    """Return the reason why a scan leaves out ``path`` (as in `FileStat`), or None if the scan reads it.
    Raises InvalidInput if ``root`` cannot be scanned or a pattern is invalid."""
    return Rules(root, include, exclude).why(path)


@dataclass(frozen=True, slots=True)
class WalkFolder:
    """A folder that the walk has entered, with the state of the patterns in it."""

    full: bytes  #: Its absolute path, with a slash at the end.
    rel: bytes  #: Its path in the source, with a slash at the end; empty for the root.
    wanted: MatchState  #: State of the include patterns.
    unwanted: MatchState  #: State of the exclude patterns.
    ignores: tuple[IgnoreFile, ...]  #: The ``.gitignore`` files that apply in it, outermost first.


class Rules:
    """The rules of one source, for the walk and for ``why_skipped``. Raises InvalidInput if the root is
    missing, a link, no folder or a folder for keys, or if a pattern is invalid."""

    def __init__(self, root: Path, include: Sequence[str], exclude: Sequence[str] = ()) -> None:
        self.include = Globs(include or EVERYTHING)
        self.exclude = Globs(exclude, dots=True)
        self._excluded = exclude
        shown = repr(str(root))
        try:
            real = os.path.realpath(os.fsencode(root))
            mode = os.stat(real).st_mode  # noqa: PTH116  (bytes)
        except (OSError, ValueError) as error:
            message = f"The folder {shown} does not exist."
            if not isinstance(error, FileNotFoundError):
                message = f"The folder {shown} cannot be read: {system_reason(error)}."
            raise InvalidInput(message, "Check the spelling, or connect the drive it is on.") from error
        # A repository may replace a folder by a link to anywhere.
        if with_sep(real) != with_sep(os.fsencode(root)):
            message = (
                f"The folder {shown} leads to {display(real)!r} now: it, or a folder above it, is a link."
            )
            raise InvalidInput(message, "To read that folder, add it and remove this one.")
        if not stat.S_ISDIR(mode):
            message = f"{shown} is not a folder."
            raise InvalidInput(message, "Choose the folder it is in and a pattern for its name.")
        if SECRET_FOLDERS.intersection(with_sep(real).lower().split(SEP)):
            raise InvalidInput(
                f"The folder {shown} looks like one for keys and passwords, which is never read.",
                "Choose a folder that holds documents.",
            )
        self.root = with_sep(real)
        ignores = ignore_files_above(self.root)
        self.top = WalkFolder(self.root, b"", self.include.start, self.exclude.start, ignores)

    def enter(self, place: WalkFolder, name: bytes) -> WalkFolder | str:
        """Return the folder ``name`` in ``place``, or a text with the reason why it is not entered."""
        lower = name.lower()
        if lower in SECRET_FOLDERS:
            return KEY_LIKE
        if self._is_left_out(place, lower):
            return NEVER_READ
        wanted = self.include.enter(place.wanted, _as_listed(place, name))
        if not wanted:
            return _HIDDEN if name.startswith(b".") else NOT_MATCHED
        if self.exclude.covers(place.unwanted, name):
            return EXCLUDED
        full, rel = place.full + name + b"/", place.rel + name + b"/"
        if place.ignores and (rule := ignored_by(place.ignores, full)):
            return rule
        if lower not in self.include.spelled and (reason := why_not_entered(full)):
            return reason
        return WalkFolder(full, rel, wanted, self.exclude.enter(place.unwanted, name), place.ignores)

    def _is_left_out(self, place: WalkFolder, lower: bytes) -> bool:
        """Whether a folder of this name is left out because no include pattern names it. In the ``Library``
        of a Mac's home folder only the folders of clouds are read."""
        if lower in self.include.spelled:
            return False
        if is_of_program(lower) or (lower == b"snap" and is_home(place.full)):
            return True
        return _is_library(place) and not (lower in CLOUD_FOLDERS or b"library" in self.include.spelled)

    def hides(self, place: WalkFolder, name: bytes, status: os.stat_result) -> bool:
        """Whether the system hides a file or folder in ``place``, and no include pattern names it."""
        lower = name.lower()
        if not system.is_hidden(status) or lower in self.include.spelled:
            return False
        is_on_the_way = (lower == b"library" and is_home(place.full)) or (
            lower in CLOUD_FOLDERS and _is_library(place)
        )
        return not (is_on_the_way and stat.S_ISDIR(status.st_mode))

    def holds_profile(self, place: WalkFolder) -> bool:
        """Whether a folder below the root is the profile of a browser or mail program."""
        if not place.rel or not is_profile(
            [name for name in PROFILE_NAMES if os.path.lexists(place.full + name)]
        ):
            return False
        with os.scandir(system.for_calls(place.full)) as entries:
            return is_profile({entry.name for entry in entries})

    def refusal(self, place: WalkFolder) -> Callable[[bytes], str | None]:
        """Return a function for the files in ``place``. It takes a file's name and returns the reason why the
        file is not read, or None if it is read. Only its path is judged."""
        wanted = self.include.accepts(place.wanted)
        unwanted = self.exclude.accepts(place.unwanted) if place.unwanted else None

        is_library = _is_library(place) and b"library" not in self.include.spelled

        def refuses(name: bytes) -> str | None:
            if is_library:
                return NEVER_READ
            if not wanted(name):
                return NOT_MATCHED
            if unwanted and unwanted(name):
                return EXCLUDED
            if place.ignores and (rule := ignored_by(place.ignores, place.full + name)):
                return rule
            if is_leftover(name):
                return LEFTOVER
            return _secret(name)

        return refuses

    def with_ignore_file(self, place: WalkFolder, skipped: list[tuple[bytes, str]]) -> WalkFolder:
        """Return ``place`` with its own ``.gitignore`` added, if there is one. If that cannot be read, its
        path and the reason are added to ``skipped``."""
        try:
            ignored = read_ignore_file(place.full)
        except OSError as error:
            if os.path.lexists(place.full + GITIGNORE):  # otherwise the folder itself cannot be read
                skipped.append((place.rel + GITIGNORE, cannot_be_read(error)))
            return place
        return replace(place, ignores=place.ignores + ignored) if ignored else place

    def target(self, link: bytes) -> tuple[bytes, os.stat_result] | str:
        """Return the path in the source that ``link`` leads to, with the status of that file, or a sentence
        that says why the link is not followed. Links to hidden, ignored, excluded or secret files are not
        followed."""
        try:
            real = real_path(self.root + link)
            status = os.stat(system.for_calls(real))  # noqa: PTH116  (bytes)
        except FileNotFoundError:
            return "A symbolic link to nothing is not followed."
        except OSError as error:
            return cannot_be_read(error)
        if with_sep(real) == self.root:
            return ANOTHER_NAME
        if not real.startswith(self.root):
            return LEAVES
        rel = real[len(self.root) :]
        reason = self._whatever_is_included.why(rel)
        if reason:
            return f"It is a symbolic link to {display(rel)!r}, which is left out. {reason.text}"
        return rel, status

    @cached_property
    def _whatever_is_included(self) -> Rules:
        return Rules(Path(os.fsdecode(self.root)), EVERYTHING, self._excluded)

    def why(self, path: bytes) -> Refusal | None:
        """Return the reason why ``path``, which is relative to the root, is not read, or None if it is
        read."""
        parts = [part for part in path.split(b"/") if part not in (b"", b".")]
        try:
            reason = self._why(parts) if parts else None
        except (OSError, ValueError) as error:
            return Refusal("unreadable", cannot_be_read(error))
        if reason is None:
            return None
        if reason.endswith(EXCLUDED):
            return Refusal("excluded", f"{reason[:-1]}: {self.exclude.which(b'/'.join(parts))!r}.")
        if reason.endswith(tuple(UNREAD_DOCUMENTS)):
            return Refusal("unread document", reason)
        return Refusal("not included" if reason.endswith(NOT_MATCHED) else "rule", reason)

    def _why(self, parts: list[bytes]) -> str | None:
        place = self.top
        for name in parts[:-1]:
            below = self.enter(self.with_ignore_file(place, []), name)
            if isinstance(below, WalkFolder) and self.hides(
                place, name, os.lstat(system.for_calls(below.full))
            ):
                below = HIDDEN_BY_SYSTEM
            if isinstance(below, WalkFolder) and self.holds_profile(below):
                below = NEVER_READ
            if isinstance(below, WalkFolder) and os.path.islink(below.full[:-1]):  # noqa: PTH114  (bytes)
                target = self.target(below.rel[:-1])
                below = target if isinstance(target, str) else below
            if isinstance(below, str):
                return f"It is in {display(place.rel + name)!r}, which is left out. {below}"
            place = below
        place, name = self.with_ignore_file(place, []), parts[-1]
        status = os.lstat(system.for_calls(place.full + name))
        mode = status.st_mode
        if self.hides(place, name, status):
            return HIDDEN_BY_SYSTEM
        if stat.S_ISDIR(mode):
            below = self.enter(place, name)
            return below if isinstance(below, str) else None
        reason = self.refusal(place)(name)
        if reason == NOT_MATCHED and (is_secret(name) or name.startswith(b".")):
            return _secret(name) or _HIDDEN
        if reason is None and stat.S_ISLNK(mode):
            target = self.target(place.rel + name)
            return target if isinstance(target, str) else None
        return reason if reason or stat.S_ISREG(mode) else not_a_file(mode)


def _secret(name: bytes) -> str | None:
    """Return the reason why a file that looks like a secret is never read, or None for any other file."""
    if name.lower().endswith(b".key"):
        return KEY_OR_KEYNOTE
    return KEY_LIKE if is_secret(name) else None


def _as_listed(place: WalkFolder, name: bytes) -> bytes:
    """Return the name of a folder in ``place`` as include patterns see it. A mailbox folder in the format
    Maildir++, as Dovecot uses it, is not hidden by its leading dot."""
    inside = (place.full + b"cur", place.full + name + b"/cur")
    is_of_mailbox = name.startswith(b".") and len(name) > 1 and all(map(os.path.isdir, inside))
    return name[1:] if is_of_mailbox else name


def _is_library(place: WalkFolder) -> bool:
    """Whether a folder below the root is the ``Library`` of a home folder on a Mac."""
    above, _, name = place.full.rstrip(SEP).rpartition(SEP)
    return name.lower() == b"library" and place.rel != b"" and is_home(above + SEP)
