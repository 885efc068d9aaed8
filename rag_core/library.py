"""The facade: one object that every face (app, CLI, and later REST and MCP) calls.

What any viewer may read is in ``reader``; here is what only the owner may do.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from rag_core import index, plan
from rag_core.chunk import chunk_spec
from rag_core.embedders import DEFAULT_EMBEDDER, reading_limit, with_dimension
from rag_core.errors import Forbidden, InvalidInput, NotFound
from rag_core.files import display, validate_globs
from rag_core.freshness import file_states
from rag_core.plan import Plan
from rag_core.reader import Reader
from rag_core.store import Store, documents, find, sources, work
from rag_core.store.check import check
from rag_core.store.repair import repair
from rag_core.types import (
    METRICS,
    Document,
    FileResult,
    Health,
    Job,
    Metric,
    Repair,
    Source,
    StoreInfo,
    Viewer,
)


class Library(Reader):
    """Every store of one owner. Cheap to make, safe to share between threads.

    Every method here raises Forbidden for a guest.
    """

    # --- stores -------------------------------------------------------------------------

    def create_store(
        self,
        viewer: Viewer,
        name: str,
        embedder: str = DEFAULT_EMBEDDER,
        *,
        metric: Metric = "cosine",
        dimension: int | None = None,
    ) -> StoreInfo:
        """Make an empty store whose vectors have ``dimension`` numbers (None: what ``embedder`` gives).

        Raises InvalidInput for a name, embedder, metric or dimension that cannot be used.
        """
        _owner_only(viewer, "create a store")
        path = self._stores.free_path(viewer, name)
        if metric not in METRICS:
            raise InvalidInput(f"There is no metric called {metric!r}.", f"Use {', '.join(METRICS)}.")
        embedder = with_dimension(embedder, dimension)
        spec = chunk_spec(reading_limit(embedder))
        Store.create(path, embedder=embedder, spec=spec, backend="local", metric=metric).close()
        return self.store_info(viewer, name)

    def delete_store(self, viewer: Viewer, name: str) -> None:
        """Remove a store, sound or damaged, and all that it holds; the files it was read from stay.

        Raises StoreBusy while it is being indexed.
        """
        _owner_only(viewer, "delete a store")
        self._stores.delete(viewer, name)

    def rename_store(self, viewer: Viewer, name: str, new_name: str) -> StoreInfo:
        """Give a store another name; all that it holds stays, keys too.

        Raises InvalidInput for a name that cannot be used, StoreBusy while it is being indexed
        or another process has it open.
        """
        _owner_only(viewer, "rename a store")
        self._stores.rename(viewer, name, new_name)
        return self.store_info(viewer, new_name)

    def verify(self, viewer: Viewer, store: str, *, files: bool = False) -> Health:
        """Check every promise of a store; ``files`` also compares its documents with their files.

        Raises StoreError when it is too damaged to be read.
        """
        _owner_only(viewer, "verify a store")
        return check(self._stores.open(viewer, store).store, files=files)

    def repair(self, viewer: Viewer, store: str) -> Repair:
        """Make anew what is derived in a store, and mark what the next run must read again.

        Raises StoreBusy while it is being indexed, StoreError when it is beyond repair.
        """
        _owner_only(viewer, "repair a store")
        return repair(self._stores.open(viewer, store).store)

    # --- sources and runs ---------------------------------------------------------------

    def draft_source(
        self,
        viewer: Viewer,
        store: str,
        root: str | Path,
        include: Sequence[str],
        exclude: Sequence[str] = (),
    ) -> Source:
        """The source that adding this folder would give; changes nothing. Raises InvalidInput."""
        _owner_only(viewer, "choose folders")
        folder = _folder(root)
        with self._stores.open(viewer, store).store.read() as db:
            return sources.draft(
                db, str(folder), validate_globs(include), validate_globs(exclude) if exclude else ()
            )

    def add_source(
        self,
        viewer: Viewer,
        store: str,
        root: str | Path,
        include: Sequence[str],
        exclude: Sequence[str] = (),
    ) -> Source:
        """Add a folder and its globs to a store, or globs to a folder that it has already."""
        source = self.draft_source(viewer, store, root, include, exclude)
        with self._stores.open(viewer, store).store.write() as db:
            return sources.put_source(db, source.root, source.include, source.exclude)

    def change_source(
        self, viewer: Viewer, store: str, source_id: int, include: Sequence[str], exclude: Sequence[str] = ()
    ) -> Source:
        """Give a folder of a store other globs, in place of those it has; the next run follows them."""
        source = self.source(viewer, store, source_id)
        globs = validate_globs(include), validate_globs(exclude) if exclude else ()
        return self._put_source(viewer, store, replace(source, include=globs[0], exclude=globs[1]))

    def pause_source(self, viewer: Viewer, store: str, source_id: int, *, paused: bool = True) -> Source:
        """Leave a folder out of runs over all folders, or take it in again; its documents stay."""
        source = self.source(viewer, store, source_id)
        return self._put_source(viewer, store, replace(source, paused=paused))

    def remove_source(self, viewer: Viewer, store: str, source_id: int) -> Source:
        """Take a folder out of a store; the run that this asks for forgets its documents."""
        source = self.source(viewer, store, source_id)
        removed = self._put_source(viewer, store, replace(source, removed=True))
        self.request_index(viewer, store, [source_id])
        return removed

    def source(self, viewer: Viewer, store: str, source_id: int) -> Source:
        """One folder of a store. Raises NotFound."""
        _owner_only(viewer, "see folders")
        with self._stores.open(viewer, store).store.read() as db:
            found = sources.all_sources(db)
        if source := next((source for source in found if source.id == source_id), None):
            return source
        known = ", ".join(f"{source.id} ({source.root})" for source in found) or "none"
        raise NotFound(f"Store {store!r} has no folder with the number {source_id}.", f"There are: {known}.")

    def _put_source(self, viewer: Viewer, store: str, source: Source) -> Source:
        with self._stores.open(viewer, store).store.write() as db:
            sources.change_source(db, source)
        return source

    def plan(self, viewer: Viewer, store: str, source: Source, *, force: bool = False) -> Plan:
        """What a run would do to ``source``, which may be only a draft; changes nothing."""
        _owner_only(viewer, "plan a run")
        return plan.make_plan(self._stores.open(viewer, store).store, source, force=force)

    def request_index(
        self, viewer: Viewer, store: str, source_ids: Sequence[int] | None = None, *, force: bool = False
    ) -> None:
        """Leave a request to bring the store up to date with its sources; ``run`` does it."""
        _owner_only(viewer, "index")
        index.request(self._stores.open(viewer, store).store, source_ids, force=force)

    def request_file(self, viewer: Viewer, store: str, path: str) -> None:
        """Ask for one document to be read again, changed or not. Raises NotFound."""
        _owner_only(viewer, "index")
        opened = self._stores.open(viewer, store).store
        for source_id, raw in self._places(opened, path):
            index.request_file(opened, source_id, raw)

    def exclude_file(self, viewer: Viewer, store: str, path: str, reason: str = "") -> None:
        """Take one document out, whatever the globs say; the run that this asks for forgets it.

        Raises NotFound.
        """
        _owner_only(viewer, "exclude files")
        opened = self._stores.open(viewer, store).store
        for source_id, raw in self._places(opened, path):
            with opened.write() as db:
                sources.exclude_file(db, source_id, raw, reason or "The owner took it out.")
            index.request_file(opened, source_id, raw)

    def take_back_file(self, viewer: Viewer, store: str, path: str) -> None:
        """Let the globs decide on an excluded file again, and ask for it to be read. Raises NotFound."""
        _owner_only(viewer, "exclude files")
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            found = [out for out in sources.excluded_files(db) if out.display == path]
        if not found:
            raise NotFound(f"No file called {path!r} is excluded from store {store!r}.", "Look at its files.")
        for out in found:
            with opened.write() as db:
                sources.take_back_file(db, out.source_id, out.path)
            index.request_file(opened, out.source_id, out.path)

    def _places(self, opened: Store, path: str) -> list[tuple[int, bytes]]:
        with opened.read() as db:
            found = documents.places(db, path)
        if not found:
            raise NotFound(
                f"Store {opened.name!r} has no document {path!r}.",
                f"`commonplace doctor --file PATH --store {opened.name}` tells why.",
            )
        return found

    def requested(self, viewer: Viewer, store: str) -> bool:
        """Whether somebody asks for a run that nobody has taken yet."""
        _owner_only(viewer, "index")
        return index.requested(self._stores.open(viewer, store).store)

    def run(self, viewer: Viewer, store: str, report: Callable[[Job], None] | None = None) -> Job | None:
        """Do what was requested of a store, in this thread; None if there was nothing to do.

        Raises StoreBusy when a run is under way elsewhere: that one takes the requests.
        """
        _owner_only(viewer, "index")
        opened = self._stores.open(viewer, store).store
        job = index.run(opened, lambda: self._embedders.get(opened.embedder), report)
        return replace(job, results=tuple(self.job_results(viewer, store, job.id))) if job else None

    def cancel(self, viewer: Viewer, store: str) -> None:
        """Ask the store's run to stop, in whichever process it is."""
        _owner_only(viewer, "cancel a run")
        index.cancel(self._stores.open(viewer, store).store)

    def jobs(self, viewer: Viewer, store: str, limit: int = 20) -> list[Job]:
        """The newest runs of a store first; at most one of them is running."""
        _owner_only(viewer, "see runs")
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            found = work.jobs(db, store, running=True, limit=limit)
        if not any(job.state == "running" for job in found) or opened.running():
            return found
        with opened.read() as db:  # it ended between the two looks, or its process died
            return work.jobs(db, store, running=False, limit=limit)

    def job_results(self, viewer: Viewer, store: str, job_id: int, limit: int = 100_000) -> list[FileResult]:
        """What became of each file of a run, failures first; unchanged ones are only counted."""
        _owner_only(viewer, "see runs")
        with self._stores.open(viewer, store).store.read() as db:
            return work.results(db, job_id, limit)

    def files(self, viewer: Viewer, store: str) -> list[Document]:
        """Every file of a store by path, its ``state`` a FileState compared with the disk just now,
        excluded files included. One stat a file: 20,000 take about a tenth of a second."""
        _owner_only(viewer, "see files")
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            states = file_states(db)
            found = find.documents(db, store, viewer)
            out = sources.excluded_files(db)
        indexed = [replace(document, state=states[document.id]) for document in found]
        excluded = {exclusion.display: exclusion for exclusion in out}
        kept = [document for document in indexed if document.path not in excluded]
        return sorted([*kept, *(_excluded(store, each) for each in out)], key=attrgetter("path"))


def _owner_only(viewer: Viewer, what: str) -> None:
    if not viewer.is_owner:
        raise Forbidden(f"Only the owner may {what}.", "Ask the owner of this library.")


def _excluded(store: str, out: sources.Exclusion) -> Document:
    """An excluded file as the faces list it: nothing of it is known but where it is."""
    return Document(
        store=store,
        id=0,
        path=out.display,
        folder=posixpath.dirname(out.display),
        file_type="",
        title="",
        tags=(),
        date="",
        private=False,
        state="excluded",
        reason=out.reason,
        chunks=0,
        size=0,
        file_hash="",
        indexed_at="",
        root="",
        path_in_source=display(out.path),
    )


def _folder(root: str | Path) -> Path:
    """The real folder that ``root`` names, ``~`` and links resolved."""
    with suppress(OSError, RuntimeError, ValueError):  # no permission, no such user, a NUL
        folder = Path(root).expanduser().resolve()
        if folder.is_dir():
            return folder
    raise InvalidInput(f"{str(root)!r} is not a folder.", "Check the spelling, or mount its disk.")
