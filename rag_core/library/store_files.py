"""The store files of one data folder. Each is opened once and found by its name, for a viewer."""

from __future__ import annotations

import difflib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rag_core.config.keys import STORE_NAME
from rag_core.errors import InvalidInput, NotFound, StoreError
from rag_core.files import shared_by
from rag_core.messages import say
from rag_core.models.registry import CircuitBreaker
from rag_core.people.access_list import AccessList
from rag_core.providers import LOCAL
from rag_core.store import Store, outbox, switch
from rag_core.store import file as store_file
from rag_core.store.connection import kept
from rag_core.store.errors import for_viewer
from rag_core.store.file import active_identity, target_identity
from rag_core.system import RESERVED_NAMES
from rag_core.types import Metric, Viewer
from rag_core.vectors import RemoteIndex, VectorIndex
from rag_core.vectors.backends import none_there
from rag_core.vectors.local import LocalVectors
from rag_core.wording import on_shared_disk

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

OpenRemote = Callable[[str, int, Metric], RemoteIndex]
"""Opens the remote vector index at an address, for vectors of a dimension and metric."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open store with its vectors, valid while the store's file has the same ``inode``."""

    inode: int
    store: Store
    local: LocalVectors


class StoreFiles:
    """Opens and lists the stores of one folder. Threads may share it."""

    def __init__(self, settings: Settings, open_remote: OpenRemote, access: AccessList) -> None:
        self._settings = settings
        self._folder = settings.store_dir
        self._access = access
        self._busy_timeout_s = settings.busy_timeout_s
        self._open_remote = open_remote
        self._remotes: dict[tuple[str, int], RemoteIndex] = {}
        self._breaker = CircuitBreaker()
        self._lock = threading.RLock()
        self._opened: dict[str, Opened] = {}

    def path(self, name: str) -> Path:
        """Return the path for the store ``name``. The file may not exist."""
        return self._folder / f"{name}.db"

    def names(self, viewer: Viewer) -> list[str]:
        """Return the names of the stores that ``viewer`` may see, sorted ignoring case. Raises StoreError if
        their folder cannot be read."""
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name.removesuffix(".db") for entry in entries if _is_store(entry)]
        except FileNotFoundError:
            return []
        except OSError as error:
            where = f" {str(self._folder)!r}" if viewer.is_owner else ""
            message = f"The folder of stores{where} cannot be read: {error.strerror}."
            raise StoreError(message, "Check who may read it.") from error
        return sorted((name for name in names if viewer.may_see(name)), key=str.casefold)

    def new_path(self, viewer: Viewer, name: str, but: str = "") -> Path:
        """Return the path for a new store ``name``. ``but`` is a store that may have the name already: the
        one to be renamed.

        Raises InvalidInput if the name cannot be used, if another store has it (in any case, because some
        file systems ignore case), or if the stores are on a disk that other computers may write to.
        """
        check_name(name, "a store")
        self.require_own_disk()
        others = (other for other in self.names(viewer) if other != but)
        if twin := next((other for other in others if other.casefold() == name.casefold()), None):
            raise InvalidInput(f"A store called {twin!r} exists already.", "Choose another name.")
        return self.path(name)

    def require_own_disk(self) -> None:
        """Raise InvalidInput if other computers may write to the disk of the stores, unless the setting
        ``shared_disk`` allows that. Call this before a store is created or changed."""
        if self._settings.shared_disk or not self._service:
            return
        raise InvalidInput(
            on_shared_disk(self._settings.data_dir, self._service),
            "Set COMMONPLACE_HOME to a folder of this computer, and export stores to move them. Or allow it:"
            " `commonplace config set shared_disk true`, or --yes where a command has it.",
        )

    @cached_property
    def _service(self) -> str:
        return shared_by(self._settings.data_dir)

    def open(self, viewer: Viewer, name: str) -> Opened:
        """Open the store ``name``. Raises NotFound, also if ``viewer`` may not see it, and StoreError if its
        file cannot be read."""
        if not viewer.may_see(name) or not STORE_NAME.fullmatch(name):
            raise self.unknown(viewer, name)
        with self._lock:
            known = self._opened.get(name)
            try:
                inode = self.path(name).stat().st_ino
            except OSError:
                self._close(name)
                raise self.unknown(viewer, name) from None
            if known is None or known.inode != inode:
                self._close(name)
                try:
                    store = Store(self.path(name), self._busy_timeout_s)
                except StoreError as error:
                    raise for_viewer(error, viewer, name) from error
                known = self._opened[name] = Opened(inode, store, LocalVectors(store))
            return known

    @contextmanager
    def reading(self, viewer: Viewer, name: str) -> Iterator[sqlite3.Connection]:
        """Context manager: a read snapshot of the store ``name``. Raises NotFound if there is no such store
        or ``viewer`` may not see it, and StoreError if its file cannot be read."""
        opened = self.open(viewer, name)
        try:
            with opened.store.read() as db:
                yield db
        except StoreError as error:
            raise for_viewer(error, viewer, name) from error

    def index(self, opened: Opened) -> VectorIndex:
        """Return the vector index for one search of a store. Raises VectorError if the index's package is not
        installed, and InvalidInput for an address that cannot be used."""
        with opened.store.read() as db:
            if kept(db, store_file.meta)["backend"] == LOCAL:
                return opened.local
            address, active = outbox.address(db), active_identity(db)
            absent = none_there(address, is_copy=switch.is_attached(db))
        if not address or active is None:
            return opened.local
        remote = self.remote(opened.store, address, active.identity.dimension)
        from rag_core.vectors.remote import WithDeadline

        return WithDeadline(remote, remote.server or address, self._breaker, absent)

    def target(self, store: Store) -> RemoteIndex | None:
        """Return the remote vector index that jobs of a store send vectors to; None if there is no such index
        or nothing to send. Raises VectorError or InvalidInput if it cannot be opened."""
        with store.read() as db:
            address, known = outbox.target(db), target_identity(db)
        return self.remote(store, address, known.identity.dimension) if address and known else None

    def remote(self, store: Store, address: str, dimension: int) -> RemoteIndex:
        """Return the index at ``address`` for vectors of ``dimension`` numbers; a later call returns the same
        object. Raises VectorError if its package is not installed, and InvalidInput for an address that
        cannot be used."""
        key = address, dimension
        with self._lock:
            if key not in self._remotes:
                self._remotes[key] = self._open_remote(*key, cast("Metric", store.metric))
            return self._remotes[key]

    def each(self, viewer: Viewer, names: Sequence[str]) -> tuple[dict[str, Opened], list[StoreError]]:
        """Open the named stores (none: all). Return the readable stores by name, and the errors of the
        others.

        If several files are copies of one store, only one of them is opened. Raises NotFound for an unknown
        name, and StoreError if no store can be read.
        """
        opened: dict[str, Opened] = {}
        failed: list[StoreError] = []
        for name in dict.fromkeys(names) if names else self.names(viewer):
            try:
                opened[name] = self.open(viewer, name)
            except NotFound:
                if names:
                    raise  # else it was deleted since the folder was listed
            except StoreError as error:
                failed.append(error)
        if failed and not opened:
            raise failed[0]
        return {name: opened[name] for name in opened if name not in _copies(opened)}, failed

    def copies(self, viewer: Viewer) -> dict[str, str]:
        """Return the stores whose file is a copy of another store's file, such as a conflict copy of a cloud:
        name of the copy → name of the store that is searched instead."""
        return _copies(self._all_readable(viewer))

    def _all_readable(self, viewer: Viewer) -> dict[str, Opened]:
        opened: dict[str, Opened] = {}
        for name in self.names(viewer):
            with suppress(StoreError, NotFound):
                opened[name] = self.open(viewer, name)
        return opened

    def misnamed(self, viewer: Viewer) -> dict[str, str]:
        """Return the files whose names no store can have, such as ``notes 2.db``, which clouds give to
        conflict copies: file name → the store that it is a copy of, '' if that store is not here."""
        stores: dict[str, str] = {}
        for name, opened in self._all_readable(viewer).items():  # of copies the shortest name is the first's
            stores[opened.store.id] = min(stores.get(opened.store.id, name), name, key=len)
        names = [path.name for path in self._folder.glob("*.db") if not STORE_NAME.fullmatch(path.stem)]
        ids = {name: store_file.id_of(self._folder / name) for name in sorted(names)}
        return {name: stores.get(store_id, "") for name, store_id in ids.items() if store_id}

    def delete(self, viewer: Viewer, name: str, *, keep_grants: bool = False) -> None:
        """Delete a store's files, even if damaged, and unless ``keep_grants`` also who may see it. Raises
        NotFound, and StoreBusy while another process uses it."""
        self.require(viewer, name)
        with self._lock:
            store_file.remove(self.path(name), partial(self._close, name))
        if not keep_grants:
            with suppress(StoreError):  # on a full disk; a new store of this name does it again
                self._access.forget_store(name)

    def rename(self, viewer: Viewer, name: str, new_name: str) -> None:
        """Rename a store. Raises NotFound, InvalidInput for a name that is taken or cannot be used, and
        StoreBusy while another process uses the store."""
        self.require(viewer, name)
        if new_name == name:
            return
        target = self.new_path(viewer, new_name, but=name)
        forget_earlier = partial(self._access.forget_store, new_name)
        with self._lock:
            store_file.rename(self.path(name), target, partial(self._close, name), forget_earlier)
        self._access.rename_store(name, new_name)

    def _close(self, name: str) -> None:
        if known := self._opened.pop(name, None):
            known.store.close()

    def close_one(self, name: str) -> None:
        """Close a store until it is opened again."""
        with self._lock:
            self._close(name)

    def require(self, viewer: Viewer, name: str) -> None:
        """Raise NotFound unless the store ``name`` exists and ``viewer`` may see it."""
        if name not in self.names(viewer):
            raise self.unknown(viewer, name)

    def unknown(self, viewer: Viewer, name: str) -> NotFound:
        """Return the error for a store that does not exist. A store that ``viewer`` may not see gets the same
        error."""
        names = self.names(viewer)
        message = f"There is no store called {name[:80]!r}."
        if not names:
            return no_store(viewer, message)
        close = difflib.get_close_matches(name, names, n=1)
        advice = f"Did you mean {close[0]!r}?" if close else f"There are: {', '.join(names)}."
        return NotFound(message, advice)

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            for name in list(self._opened):
                self._close(name)
            for remote in self._remotes.values():
                remote.close()
            self._remotes.clear()


def _copies(opened: Mapping[str, Opened]) -> dict[str, str]:
    """Return the copies among ``opened``, as in `StoreFiles.copies`. A cloud makes the name of a conflict
    copy longer, so the store with the shortest name is the original."""
    own: dict[str, str] = {}
    copies: dict[str, str] = {}
    for name in sorted(opened, key=lambda each: (len(each), each)):
        first = own.setdefault(opened[name].store.id, name)
        if first != name:
            copies[name] = first
    return copies


def _is_store(entry: os.DirEntry[str]) -> bool:
    stem, _, suffix = entry.name.rpartition(".")
    return suffix == "db" and STORE_NAME.fullmatch(stem) is not None and os.path.isfile(entry)  # noqa: PTH113


def check_name(name: str, of: str) -> None:
    """Raise InvalidInput if ``name`` cannot be used. ``of`` is what has the name: ``a store`` or
    ``a token``."""
    if name.lower() in RESERVED_NAMES:
        raise InvalidInput(
            f"{name!r} cannot be {of}'s name: Windows keeps it for a device.", "Choose another."
        )
    if not STORE_NAME.fullmatch(name):
        raise InvalidInput(
            f"{name[:80]!r} cannot be {of}'s name.",
            "Use 1 to 63 letters, digits, hyphens and underscores, starting with a letter or digit.",
        )


def no_store(viewer: Viewer, message: str) -> NotFound:
    """Return NotFound with ``message`` for a viewer without a store. Its suggestion says how to get one."""
    return NotFound(message, say("make_store") if viewer.is_owner else "Ask the owner to share one.")


def no_document(store: str, path: str) -> NotFound:
    """Return the error that a store has no document ``path``, or none that the viewer may see."""
    return NotFound(f"Store {store!r} has no document {path!r}.", "It may have moved; search for it.")
