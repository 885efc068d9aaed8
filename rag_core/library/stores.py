"""Stores: listing, creating, renaming and deleting them, and moving a store as a file."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from rag_core.ask.conversations import Conversations
from rag_core.errors import InvalidInput, RagError, StoreError, VectorError
from rag_core.extract.chunk import chunk_spec
from rag_core.files import expanded, real_folder
from rag_core.index import portable, requests
from rag_core.index.choice import refuse_no_match
from rag_core.index.portable import Exported, TransferReport
from rag_core.library.jobs import Jobs
from rag_core.library.placement import drop_remote
from rag_core.library.recent import Recent
from rag_core.library.saved import Saved
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.library.sources import Sources
from rag_core.library.store_files import no_store
from rag_core.models.deadline import ask_index
from rag_core.models.registry import facts_of, with_dimension
from rag_core.reports import Status
from rag_core.store import Store, jobs, sources
from rag_core.store.file import generation
from rag_core.types import METRICS, OWNER, Metric, StoreInfo, Viewer
from rag_core.vectors.backends import address_of

_STOP_S = 10.0  # seconds that a job may take to stop before its store is deleted
_LOOK_S = 0.05


class Stores(Service):
    """Lists, creates, renames and deletes stores."""

    def __init__(self, shared: Shared, sources: Sources, jobs: Jobs, saved: Saved) -> None:
        super().__init__(shared)
        self._sources = sources
        self._jobs = jobs
        self._saved = saved
        known = self._settings.data_dir, self._settings.busy_timeout_s
        self._recent = Recent(*known)
        self._histories = (Conversations(*known), self._recent)

    @open_to_all
    def names(self, viewer: Viewer) -> list[str]:
        """Return the names of the stores that ``viewer`` may see, sorted ignoring case."""
        return self._stores.names(viewer)

    @open_to_all
    def info(self, viewer: Viewer, name: str) -> StoreInfo:
        """Return a store's counts, sizes and sources. Raises NotFound, StoreError."""
        return self._shared.info(viewer, name)

    @open_to_all
    def generations(self, viewer: Viewer, names: Sequence[str] = ()) -> tuple[tuple[str, int], ...]:
        """Return (store, generation) of each readable store among the named ones (none: all), for cache keys.
        Every write raises the generation of its store. Raises StoreError if no store can be read."""
        numbers: list[tuple[str, int]] = []
        opened, failed = self._stores.each(viewer, names)
        for name in opened:
            try:
                with self._stores.reading(viewer, name) as db:
                    numbers.append((name, generation(db)))
            except StoreError as error:
                failed.append(error)
        if failed and not numbers:
            raise failed[0]
        return tuple(numbers)

    @open_to_all
    def resolve(self, viewer: Viewer, name: str | None = None) -> str:
        """Return ``name`` if it is a store of this viewer. Without ``name``, return the setting
        ``default_store``, or the only store. Raises NotFound if there is no such store, and InvalidInput if
        several exist and the setting names none."""
        names = self.names(viewer)
        name = name or (self._settings.default_store if self._settings.default_store in names else None)
        if name:
            self._stores.require(viewer, name)
            return name
        if not names:
            raise no_store(viewer, "There is no store yet.")
        if len(names) > 1:
            raise InvalidInput("Which store is meant?", f"Name one of these: {', '.join(names)}.")
        return names[0]

    @open_to_all
    def status(self, viewer: Viewer, names: Sequence[str] = ()) -> Status:
        """Return the state of the named stores (none: all that ``viewer`` may see), with a warning for each
        unreadable store. Raises NotFound if a named store does not exist or is not for ``viewer``.

        The owner also gets the running jobs, and a notice of each store whose last job did not finish.
        """
        infos, warnings = self.infos(viewer, names)
        if not viewer.is_owner:
            return Status(infos, (), warnings)
        running, notices = [], [*warnings]
        for info in infos:
            try:
                latest = self._jobs.all(viewer, info.name, 1)
            except StoreError as error:
                notices.append(str(error))
                continue
            for job in latest:
                if job.state == "running":
                    running.append(job)
                elif job.state != "done":
                    state = "paused" if job.state == "cancelled" else job.state
                    last = f"The last run of {info.name!r} was {state}. {job.message}".rstrip()
                    notices.append(f"{last} To continue: commonplace index --store {info.name}")
        return Status(infos, tuple(running), tuple(notices), str(self._settings.data_dir))

    @open_to_all
    def infos(
        self, viewer: Viewer, names: Sequence[str] = ()
    ) -> tuple[tuple[StoreInfo, ...], tuple[str, ...]]:
        """Return `info` of the named stores (none: all that ``viewer`` may see), and a warning for each
        unreadable store. Raises NotFound."""
        infos, warnings = [], []
        for name in dict.fromkeys(names or self.names(viewer)):
            try:
                infos.append(self.info(viewer, name))
            except StoreError as error:
                warnings.append(str(error))
        return tuple(infos), tuple(warnings)

    def require_own_disk(self, viewer: Viewer) -> None:
        """Raise InvalidInput if other computers may write to the disk of the stores, unless the setting
        ``shared_disk`` allows that."""
        self._stores.require_own_disk()

    def lost_default(self, viewer: Viewer) -> str:
        """Return a warning if the setting ``default_store`` names a missing store; else ''."""
        name = self._settings.default_store
        if name is None or name in self.names(viewer):
            return ""
        where = self._settings.origin("default_store")
        return f"The setting default_store ({where}) names {name!r}, which does not exist. Change it."

    def create(
        self,
        viewer: Viewer,
        name: str,
        embedder: str | None = None,
        *,
        metric: Metric = "cosine",
        dimension: int | None = None,
        backend: str | None = None,
        sends_private: bool = False,
    ) -> StoreInfo:
        """Create an empty store.

        ``embedder``, ``backend`` and ``dimension`` (of the vectors) default to the settings.
        ``sends_private`` allows sending private notes to other machines.

        Raises InvalidInput for a value that cannot be used, EmbedderError if the embedder's server does not
        answer or lacks the model, and VectorError if the vector index cannot be created or belongs to another
        store.
        """
        path = self._stores.new_path(viewer, name)
        if metric not in METRICS:
            raise InvalidInput(f"There is no metric called {metric!r}.", f"Use {', '.join(METRICS)}.")
        usual = self._settings.embedder
        embedder = with_dimension(usual if embedder is None else embedder, dimension, self._embedders.get)
        sizes = self._settings.chunk_sizes, dict(self._settings.chunking)
        spec = chunk_spec(facts_of(embedder, self._embedders.get).max_tokens, *sizes)
        backend = backend or self._settings.backend
        address = address_of(backend, name, self._shared.vector_options)
        number = facts_of(embedder, self._embedders.get).dimension if address else 0
        if address:  # a mistake in it is found before anything is made
            ask_index(self._shared.open_remote(address, number, metric).owner, address)
        facts = {"sends_private": "1" if sends_private else "0", **({"remote": address} if address else {})}
        Store.create(
            path,
            embedder=embedder,
            spec=spec,
            backend=backend,
            metric=metric,
            facts=facts,
            make_room=partial(self._access.forget_store, name),
        ).close()
        if address:
            self._prepare_index(self._stores.open(viewer, name).store, address, number)
        return self.info(viewer, name)

    def make_if_needed(self, viewer: Viewer, name: str) -> bool:
        """Create the store ``name`` unless it exists, and return whether it was created. Raises InvalidInput
        for a name that cannot be used, and EmbedderError or VectorError if the model or index for it cannot
        be used."""
        if name in self.names(viewer):
            return False
        self.create(viewer, name)
        return True

    def _prepare_index(self, store: Store, address: str, dimension: int) -> None:
        """Create the remote index of a new store. If that fails, delete the store, unless a part of the index
        may exist: only this store could delete that part."""
        try:
            self._stores.remote(store, address, dimension).prepare(store.id)
        except BaseException as error:
            try:
                drop_remote(self._stores, store)
            except VectorError:
                message = f"Store {store.name!r} is made, but its vector index could not be made yet. {error}"
                raise VectorError(message, "The next job makes it.") from error
            self._stores.delete(OWNER, store.name)
            raise

    def make_declared(self, viewer: Viewer) -> list[str]:
        """Create the stores that config.yaml declares and that do not exist yet. Return a sentence for each
        store that was created or failed."""
        names = {name.casefold() for name in self.names(viewer)}
        sentences = []
        for declared in self._settings.stores:
            name = declared.name
            if name.casefold() in names:
                continue
            try:
                folders = [
                    (real_folder(source.root), source.include, source.exclude) for source in declared.folders
                ]
                for folder in folders:  # before anything is made
                    refuse_no_match(*folder)
                self.create(viewer, name, declared.embedder, backend=declared.backend)
                for folder in folders:
                    self._sources.add(viewer, name, *folder)
            except RagError as error:
                sentences.append(
                    f"The store {name!r}, which config.yaml declares, could not be made. {error}"
                )
            else:
                sentences.append(f"Made store {name!r}.")
        return sentences

    def delete(self, viewer: Viewer, name: str, *, leave_index: bool = False) -> None:
        """Delete a store, even if damaged, and its entries in conversations and lists. The indexed files
        stay.

        A running job is stopped. The store's remote vector index is deleted, too, unless ``leave_index``.

        Raises:
            StoreBusy: the job does not stop; nothing is deleted.
            VectorError: the remote index cannot be deleted; nothing is deleted.
            StoreError: the store is deleted, but conversations or lists about it still exist.

        """
        self._stop_job(viewer, name)
        if not leave_index:
            with suppress(StoreError):  # a damaged store does not know where its vectors are
                drop_remote(self._stores, self._stores.open(viewer, name).store)
        self._stores.delete(viewer, name)
        try:
            self._forget(viewer, name)
        except StoreError as error:  # deleted all the same: on a full disk that may be what makes room
            message = f"Store {name!r} is deleted, but not the conversations about it. {error.message}"
            raise StoreError(message, "Make room, then delete them on the Ask page.") from error
        self._shared.prune_pictures()

    def _forget(self, viewer: Viewer, name: str) -> None:
        """Delete a store's entries in conversations and lists. With the last store, delete all lists."""
        for history in self._histories:
            history.forget_store(name)
        if not self._stores.names(viewer):
            self._recent.clear()

    def _stop_job(self, viewer: Viewer, name: str) -> None:
        """Stop the running job of a store, and wait until it ends."""
        with suppress(StoreError):  # a damaged store has none
            store = self._stores.open(viewer, name).store
            until = time.monotonic() + _STOP_S
            while store.running() and time.monotonic() < until:
                requests.cancel(store)
                time.sleep(_LOOK_S)

    def rename(self, viewer: Viewer, name: str, new_name: str) -> StoreInfo:
        """Rename a store, also in saved searches and in the history of questions. Its content and keys stay.
        Raises InvalidInput for a name that cannot be used, and StoreBusy during a job or while another
        process has the store open."""
        self._stores.rename(viewer, name, new_name)
        self._saved.rename_store(viewer, name, new_name)
        for history in self._histories:
            history.rename_store(name, new_name)
        return self.info(viewer, new_name)

    def export(
        self,
        viewer: Viewer,
        store: str,
        target: Path,
        report: TransferReport | None = None,
        *,
        force: bool = False,
    ) -> Exported:
        """Write a store to the portable file ``target``, or into that folder. Meanwhile the store can be
        searched and indexed.

        An existing file is replaced only with ``force``. ``report`` gets the progress, and may raise to stop.
        Raises InvalidInput if the target cannot be used, and StoreError if reading or writing fails.
        """
        return portable.export_store(
            self._stores.open(viewer, store).store, expanded(target), force=force, report=report
        )

    def import_file(
        self, viewer: Viewer, file: Path, name: str = "", report: TransferReport | None = None
    ) -> StoreInfo:
        """Create a store from a portable file, which is not trusted. Without ``name`` the store has the name
        in the file. Folders that are missing here are paused, and ``notices`` say what differs.

        ``report`` gets the progress, and may raise to stop. Raises InvalidInput for a missing file or a name
        that is taken, and StoreError for a file that cannot be imported.
        """
        with portable.opened(expanded(file)) as packed:
            path = self._stores.new_path(viewer, name or packed.name)
            forget_earlier = partial(self._access.forget_store, path.stem)
            notices = portable.import_store(packed, path, report, forget_earlier)
        info = self.info(viewer, path.stem)
        if missing := self._shared.embedder_missing(info.embedder):
            notices = (*notices, f"It is searched by words until its embedder is available. {missing}")
        return replace(info, notices=notices)

    def clear(self, viewer: Viewer, store: str, *, confirm: bool) -> int:
        """Pause every folder of a store, request that its documents are removed from the store, and return
        their number. The files stay. Raises InvalidInput unless ``confirm``."""
        opened = self._own(viewer, store)
        if not confirm:
            advice = "Say confirm: true if the owner asked to remove all its documents from the index."
            raise InvalidInput(f"Clearing store {store!r} needs to be confirmed.", advice)
        requests.cancel(opened)
        with opened.decide() as db:
            kept = [source for source in sources.all_sources(db) if not source.removed]
            for source in kept:
                sources.change_source(db, replace(source, paused=True))
            jobs.add_request(db, "index", [source.id for source in kept], forget=True)
            return int(db.execute("SELECT count(*) FROM documents WHERE part = ''").fetchone()[0])
