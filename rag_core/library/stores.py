"""The store files of one data folder: each is opened once and found by its name, for a viewer."""

from __future__ import annotations

import difflib
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import cast

from rag_core.config.keys import STORE_NAME
from rag_core.errors import InvalidInput, NotFound, StoreError, VectorError
from rag_core.library.people import People
from rag_core.models.deadline import CircuitBreaker
from rag_core.store import Store, outbox, switch
from rag_core.store import file as store_file
from rag_core.store.errors import for_viewer
from rag_core.store.identities import active_identity, target_identity
from rag_core.types import OWNER, Metric, Viewer
from rag_core.vectors import RemoteIndex, VectorIndex
from rag_core.vectors.backends import none_there
from rag_core.vectors.deadline import WithDeadline
from rag_core.vectors.local import LocalVectors

OpenRemote = Callable[[str, int, Metric], RemoteIndex]
"""Opens the remote vector index at an address, for vectors of a dimension and metric."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open store with its vectors, as long as the file behind the name is the same."""

    inode: int
    store: Store
    local: LocalVectors


class Stores:
    """Every store of a folder. Safe to share between threads."""

    def __init__(self, folder: Path, busy_timeout_s: float, open_remote: OpenRemote, people: People) -> None:
        self._folder = folder
        self._people = people
        self._busy_timeout_s = busy_timeout_s
        self._open_remote = open_remote
        self._remotes: dict[tuple[str, int], RemoteIndex] = {}
        self._patience = CircuitBreaker()
        self._lock = threading.RLock()
        self._opened: dict[str, Opened] = {}

    def path(self, name: str) -> Path:
        """The file of the store called ``name``, there or not."""
        return self._folder / f"{name}.db"

    def names(self, viewer: Viewer) -> list[str]:
        """The names of the stores that ``viewer`` may see, sorted without regard to case.

        Raises StoreError when their folder cannot be read.
        """
        try:
            with os.scandir(self._folder) as entries:
                names = [entry.name.removesuffix(".db") for entry in entries if _is_store(entry)]
        except FileNotFoundError:
            return []
        except OSError as error:
            where = f" {str(self._folder)!r}" if viewer.is_owner else ""
            raise StoreError(
                f"The folder of stores{where} cannot be read: {error.strerror}.", "Check who may read it."
            ) from error
        return sorted((name for name in names if viewer.may_see(name)), key=str.casefold)

    def new_path(self, viewer: Viewer, name: str, but: str = "") -> Path:
        """The file that a new store called ``name`` is to have.

        Raises InvalidInput for a name that cannot be used, or is taken by another store than
        ``but``: names that differ only in case are one file on some systems.
        """
        if not STORE_NAME.fullmatch(name):
            raise InvalidInput(
                f"{name[:80]!r} cannot be a store's name.",
                "Use 1 to 63 letters, digits, hyphens and underscores, starting with a letter or digit.",
            )
        others = (other for other in self.names(viewer) if other != but)
        if twin := next((other for other in others if other.casefold() == name.casefold()), None):
            raise InvalidInput(f"A store called {twin!r} exists already.", "Choose another name.")
        return self.path(name)

    def make_room(self, name: str) -> None:
        """Have nobody see the store that gets the name ``name`` now, whoever could see an earlier one."""
        self._people.forget_store(name)

    def open(self, viewer: Viewer, name: str) -> Opened:
        """The store called ``name``. Raises NotFound, also for one that ``viewer`` may not see,
        StoreError when its file cannot be read."""
        if not viewer.may_see(name) or not STORE_NAME.fullmatch(name):
            raise self.unknown(viewer, name)
        with self._lock:
            try:
                inode = self.path(name).stat().st_ino
            except OSError:
                inode = -1
            known = self._opened.get(name)
            if known is not None and known.inode != inode:
                self._close(name)
                known = None
            if inode == -1:
                raise self.unknown(viewer, name)
            if known is None:
                try:
                    store = Store(self.path(name), self._busy_timeout_s)
                except StoreError as error:
                    raise for_viewer(error, viewer, name) from error
                known = self._opened[name] = Opened(inode, store, LocalVectors(store))
            return known

    @contextmanager
    def reading(self, viewer: Viewer, name: str) -> Iterator[sqlite3.Connection]:
        """A snapshot of the store called ``name``. Raises as ``open``."""
        opened = self.open(viewer, name)
        try:
            with opened.store.read() as db:
                yield db
        except StoreError as error:
            raise for_viewer(error, viewer, name) from error

    def index(self, opened: Opened) -> VectorIndex:
        """The vector index of a store for one search. Raises VectorError, InvalidInput."""
        if opened.store.backend == "local":
            return opened.local
        with opened.store.read() as db:
            address, active = outbox.address(db), active_identity(db)
            absent = none_there(address, is_copy=switch.is_attached(db))
        if not address or active is None:
            return opened.local
        remote = self.remote(opened.store, address, active.identity.dimension)
        return WithDeadline(remote, remote.server or address, self._patience, absent)

    def target(self, store: Store) -> RemoteIndex | None:
        """The remote vector index that runs of a store send to, None when there is none or nothing to send.

        Raises VectorError, InvalidInput.
        """
        with store.read() as db:
            address, known = outbox.target(db), target_identity(db)
        return self.own_remote(store, address, known.identity.dimension) if address and known else None

    def own_remote(self, store: Store, address: str, dimension: int) -> RemoteIndex:
        """The index at ``address`` to be filled or deleted by ``store``. Raises as ``index``, and VectorError
        while a copy of the store would do so as well."""
        if twins := self.twins(store):
            named = " and ".join(map(repr, sorted((store.name, *twins), key=str.casefold)))
            raise VectorError(
                f"The stores {named} are copies of one file, so none of them may fill their vector index.",
                "Delete all but one; the index stays for that. A store that is exported and imported can be"
                " beside the first.",
            )
        return self.remote(store, address, dimension)

    def twins(self, store: Store) -> list[str]:
        """The names of the other stores whose files were copied from that of ``store``, or it from theirs:
        all say that they are the owner of one vector index."""
        others = (name for name in self.names(OWNER) if name != store.name)
        return [name for name in others if self._is_twin(store, name)]

    def _is_twin(self, store: Store, name: str) -> bool:
        try:
            return self.open(OWNER, name).store.id == store.id
        except (StoreError, NotFound):  # it is damaged, or was deleted since
            return False

    def remote(self, store: Store, address: str, dimension: int) -> RemoteIndex:
        """The index at ``address`` for vectors of ``dimension``, opened once. Raises as ``index``."""
        with self._lock:
            key = address, dimension
            if key not in self._remotes:
                metric = cast("Metric", store.metric)
                self._remotes[key] = self._open_remote(address, dimension, metric)
            return self._remotes[key]

    def each(self, viewer: Viewer, names: Sequence[str]) -> tuple[list[Opened], list[StoreError]]:
        """The named stores (none: all), and why those that are missing here cannot be read.

        Raises NotFound for a name that is none, InvalidInput for one text instead of a list, StoreError when
        no store can be read.
        """
        if isinstance(names, str):
            raise InvalidInput(f"The stores are one text, {names[:80]!r}.", f"Give a list: {[names[:80]]!r}.")
        opened: list[Opened] = []
        failed: list[StoreError] = []
        for name in dict.fromkeys(names) if names else self.names(viewer):
            try:
                opened.append(self.open(viewer, name))
            except StoreError as error:
                failed.append(error)
        if failed and not opened:
            raise failed[0]
        return opened, failed

    def delete(self, viewer: Viewer, name: str, *, keep_grants: bool = False) -> None:
        """Remove a store's files, sound or damaged, and the grants of it, unless the same store comes again.
        Raises NotFound, StoreBusy."""
        self.require(viewer, name)
        with self._lock:
            store_file.remove(self.path(name), partial(self._close, name))
        if not keep_grants:
            with suppress(StoreError):  # on a full disk; whoever makes a store of this name does it again
                self._people.forget_store(name)

    def rename(self, viewer: Viewer, name: str, new_name: str) -> None:
        """Give a store another name. Raises NotFound, InvalidInput, StoreBusy."""
        self.require(viewer, name)
        target = self.new_path(viewer, new_name, but=name)
        make_room = partial(self.make_room, new_name) if new_name != name else store_file.nothing_in_the_way
        with self._lock:
            store_file.rename(self.path(name), target, partial(self._close, name), make_room)
        self._people.rename_store(name, new_name)

    def _close(self, name: str) -> None:
        if known := self._opened.pop(name, None):
            known.store.close()

    def require(self, viewer: Viewer, name: str) -> None:
        """Raise NotFound unless there is a store called ``name`` that ``viewer`` may see."""
        if name not in self.names(viewer):
            raise self.unknown(viewer, name)

    def unknown(self, viewer: Viewer, name: str) -> NotFound:
        """The error for a store that is not there, or not for this viewer: the same text for both."""
        names = self.names(viewer)
        close = difflib.get_close_matches(name, names, n=1)
        message = f"There is no store called {name[:80]!r}."
        if not names:
            return no_store(viewer, message)
        known = f"There are: {', '.join(names)}."
        return NotFound(message, f"Did you mean {close[0]!r}?" if close else known)

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            for opened in self._opened.values():
                opened.store.close()
            self._opened.clear()
            for remote in self._remotes.values():
                remote.close()
            self._remotes.clear()


def _is_store(entry: os.DirEntry[str]) -> bool:
    stem, _, suffix = entry.name.rpartition(".")
    return suffix == "db" and STORE_NAME.fullmatch(stem) is not None and os.path.isfile(entry)  # noqa: PTH113


def no_store(viewer: Viewer, message: str) -> NotFound:
    """The error ``message`` where there is no store yet, with the first step."""
    if viewer.is_owner:
        both = "Make one on the Index page, or with `commonplace init FOLDER`."
        return NotFound(message, both, on_page="Make one on the Index page.")
    return NotFound(message, "Ask the owner to share one.")
