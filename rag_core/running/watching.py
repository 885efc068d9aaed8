"""Keeps stores up to date: changes in their folders are read automatically.

The operating system reports changes (inotify, FSEvents, ReadDirectoryChangesW) through ``watchfiles``. It may
miss some: on network disks, after an overflow, or beyond its limit of watched folders. So each folder is also
compared as a whole, when it appears and every few minutes. That reads only the size and time of each file.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rag_core.errors import RagError
from rag_core.files import EVERYTHING, why_skipped, with_sep
from rag_core.index.embedded import is_picture
from rag_core.library.library import Library
from rag_core.system import slashed
from rag_core.types import Source, Viewer

LOOK_S = 2.0
"""Seconds between two checks whether folders were added, removed, paused, or vanished."""
RESCAN_S = 300.0
"""Seconds between two comparisons of whole folders."""
RESCAN_UNWATCHED_S = 60.0
"""Seconds between two comparisons of whole folders if the system reports no changes."""
_DEBOUNCE_MS = 400  # maximum wait for further changes before the collected ones are passed on
_MANY = 200
"""Minimum number of changed files for which the whole folder is compared."""

# For a file that is written again and again, see FileThrottle:
_FIRST_WAIT_S = 0.125
_LONGEST_WAIT_S = 30.0
_QUIET_S = 1.0

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder to watch for a store. ``inode`` distinguishes it from another folder of the same name."""

    store: str
    source: Source
    inode: int


@dataclass
class _Written:
    """A file that changed recently. Times are in seconds."""

    due: float
    changed: float = 0.0
    wait: float = _FIRST_WAIT_S
    is_held: bool = False


@dataclass
class FileThrottle:
    """Limits how often a frequently written file, such as a log, is read. Each wait is twice as long, up to
    30 seconds, until the file is unchanged for a second."""

    _files: dict[str, _Written] = field(default_factory=dict)

    def ready(self, changed: Iterable[str], now: float) -> set[str]:
        """Return the files to read now, among those that just ``changed`` and those held back earlier.
        ``now`` is in seconds, from `time.monotonic`."""
        for path in changed:
            file = self._files.setdefault(path, _Written(due=now))
            file.changed, file.is_held = now, True
        is_quiet = {path: now - file.changed >= _QUIET_S for path, file in self._files.items()}
        ready = {
            path for path, file in self._files.items() if file.is_held and (now >= file.due or is_quiet[path])
        }
        for path in ready:
            file = self._files[path]
            file.due, file.is_held = now + file.wait, False
            file.wait = min(2 * file.wait, _LONGEST_WAIT_S)
        for path in [path for path in self._files if is_quiet[path]]:
            del self._files[path]
        return ready


def watch(
    library: Library,
    viewer: Viewer,
    stop: threading.Event,
    begin: Callable[[str], None],
    *,
    scan_first: bool = True,
) -> None:
    """Watch the folders of all stores until ``stop`` is set, and request that changes are read. ``begin``
    gets the name of a store with a new request, and must start a job without waiting for its end.

    With ``scan_first``, changes made before the start are requested, too. A folder that vanished is compared
    again when it is back.
    """
    known: frozenset[Folder] = frozenset() if scan_first else _folders(library, viewer)
    rescan_at = time.monotonic() + RESCAN_S
    pace = FileThrottle()
    while not stop.is_set():
        folders = _folders(library, viewer)
        _request_whole(library, viewer, folders - known, begin, again=True)
        known = folders
        for changed in _changes(folders, stop):
            if changed is None:
                rescan_at = min(rescan_at, time.monotonic() + RESCAN_UNWATCHED_S)
            elif ready := pace.ready(changed, time.monotonic()):
                _request_changed(library, viewer, folders, ready, begin)
            if time.monotonic() >= rescan_at:
                _request_whole(library, viewer, folders, begin)
                rescan_at = time.monotonic() + RESCAN_S
            if _folders(library, viewer) != folders:
                break


def request_changes(library: Library, viewer: Viewer, begin: Callable[[str], None]) -> None:
    """Let every store look for changes in its folders once, now. ``begin`` gets the name of each store with
    changes, and must start a job without waiting for its end."""
    _request_whole(library, viewer, _folders(library, viewer), begin, again=True)


def _folders(library: Library, viewer: Viewer) -> frozenset[Folder]:
    """Return the folders of all stores that exist and are not paused."""
    folders = set()
    for store in library.stores.names(viewer):
        with suppress(RagError):  # a page reports a store that cannot be read
            for source in library.sources.kept(viewer, store):
                with suppress(OSError):
                    folders.add(Folder(store, source, Path(source.root).stat().st_ino))
    return frozenset(folders)


def _changes(folders: Iterable[Folder], stop: threading.Event) -> Iterator[set[str] | None]:
    """Return sets of changed paths, at least every two seconds. Return None instead of a set if the system
    cannot report changes."""
    import watchfiles

    roots = {folder.source.root for folder in folders}
    if not roots:
        stop.wait(LOOK_S)
        return
    try:
        for changes in watchfiles.watch(
            *roots, watch_filter=None, stop_event=stop, debounce=_DEBOUNCE_MS, raise_interrupt=True,
            rust_timeout=round(1000 * LOOK_S), yield_on_timeout=True, ignore_permission_denied=True,
        ):  # fmt: skip
            yield {path for _, path in changes}
    except (OSError, RuntimeError) as error:  # such as too many folders
        _log.warning("changes are not reported, folders are compared every minute: %s", error)
        while not stop.wait(LOOK_S):
            yield None


def _request_whole(
    library: Library,
    viewer: Viewer,
    folders: Iterable[Folder],
    begin: Callable[[str], None],
    *,
    again: bool = False,
) -> None:
    """Request the folders with changes. With ``again``, also request folders with unchanged files that must
    be read again, such as failed files."""
    for folder in folders:
        with suppress(RagError):  # its page says why it cannot be read
            plan = library.sources.plan(viewer, folder.store, folder.source)
            read = plan.to_read.get("added") or plan.to_read.get("changed")
            if read or plan.in_cloud or plan.moved or plan.deleted or (again and plan.to_read.get("reread")):
                library.jobs.request(viewer, folder.store, [folder.source.id])
                begin(folder.store)


def _request_changed(
    library: Library, viewer: Viewer, folders: Iterable[Folder], paths: set[str], begin: Callable[[str], None]
) -> None:
    """Request the changed files that belong to a store, or the whole folder if many changed."""
    for folder in folders:
        with suppress(RagError):
            changed = _below(folder, paths)
            if changed is None:
                _request_whole(library, viewer, [folder], begin)
            elif changed and library.jobs.request_changed(viewer, folder.store, folder.source, changed):
                begin(folder.store)


def _below(folder: Folder, paths: set[str]) -> list[bytes] | None:
    """Return the paths below ``folder`` that were deleted or that its patterns match; None if the whole
    folder must be compared."""
    source = folder.source
    start = with_sep(os.fsencode(source.root))
    changed: list[bytes] = []
    for path in paths:
        whole = slashed(os.fsencode(path))
        if not whole.startswith(start):
            continue
        raw = whole[len(start) :]
        chosen = EVERYTHING if is_picture(path) else source.include  # a note may embed any picture
        if not os.path.lexists(path):
            changed.append(raw)
        elif why_skipped(Path(source.root), raw, chosen, source.exclude) is None:
            if Path(path).is_dir():  # it may have been moved here with all its files
                return None
            changed.append(raw)
        if len(changed) > _MANY or Path(path).name == ".gitignore":
            return None
    return changed
