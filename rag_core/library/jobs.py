"""The jobs of a store: requesting, running and cancelling them, and their results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from rag_core.errors import InvalidInput, NotFound, StoreError
from rag_core.files import display
from rag_core.index import requests
from rag_core.index.embedded import is_picture
from rag_core.library import places
from rag_core.library.service import Service
from rag_core.store import documents, find, jobs, sources
from rag_core.types import FileResult, Freshness, Job, Source, Viewer

if TYPE_CHECKING:
    from rag_core.reports import PendingRequest, Problem

_MOST_RESULTS = 100_000


class Jobs(Service):
    """Updates stores from their folders."""

    def request(
        self, viewer: Viewer, store: str, source_ids: Sequence[int] | None = None, *, force: bool = False
    ) -> None:
        """Request that `run` updates the store from its sources. None means all sources that are not paused.
        An empty list means that waiting texts are embedded and no file is read. With ``force``, unchanged
        files are read, too."""
        requests.request(self._own(viewer, store), source_ids, force=force)

    def request_file(self, viewer: Viewer, store: str, *paths: str) -> None:
        """Request that documents are read again, even if unchanged. Missing documents are ignored. Raises
        NotFound if all are missing or excluded."""
        opened = self._own(viewer, store)
        by_source: dict[int, list[bytes]] = {}
        for source_id, raw in places.read_places(opened, paths):
            by_source.setdefault(source_id, []).append(raw)
        for source_id, raws in by_source.items():
            requests.request(opened, [source_id], force=True, paths=raws)

    def request_path(self, viewer: Viewer, store: str, path: str) -> str:
        """Request that one file is read, even if unchanged, and return the store's name for it. Raises
        InvalidInput for a folder, for a file outside the store's folders, and for one that the patterns or
        the owner exclude."""
        opened = self._own(viewer, store)
        with opened.read() as db:
            candidates = places.inside(db, opened, path)
            if any(map(places.is_folder, candidates)):
                raise InvalidInput(
                    f"{path!r} is a folder.", "Ask for the folder to be read, or name a file in it."
                )
            obstacles = [places.job_obstacle(db, store, place) for place in candidates]
        readable = [place for place, obstacle in zip(candidates, obstacles, strict=True) if obstacle is None]
        if not readable and obstacles[0]:
            raise InvalidInput(f"{path!r} is not read. {obstacles[0].said}", obstacles[0].advice)
        for source, raw in readable:
            requests.request(opened, [source.id], force=True, paths=[raw])
        return sources.shown_path(readable[0][0].label, readable[0][1])

    def request_below(self, viewer: Viewer, store: str, path: str, *, recursive: bool = True) -> None:
        """Request that the files of a folder are updated. Without ``recursive``, only files directly in the
        folder are. Raises InvalidInput if the patterns choose no file."""
        opened = self._own(viewer, store)
        with opened.read() as db:
            folders = places.inside(db, opened, path)
            chosen = [(place, places.files_below(db, place, recursive=recursive)) for place in folders]
        if not any(paths for _, paths in chosen):
            raise InvalidInput(
                f"There is no folder {path!r} with files that store {store!r} reads.",
                "Check the spelling and the folder's patterns. For one file, give its name.",
            )
        with opened.note() as db:
            for (source, raw), paths in chosen:
                whole = recursive and not raw
                if paths:
                    jobs.add_request(db, "index", [source.id], paths=None if whole else sorted(paths))

    def request_changed(self, viewer: Viewer, store: str, source: Source, paths: Sequence[bytes]) -> bool:
        """Request that changed files of a folder are read again or removed, and return whether there are any.
        ``paths`` are relative to the folder."""
        opened = self._own(viewer, store)
        root = os.fsencode(source.root)
        wanted = {path for path in paths if os.path.lexists(os.path.join(root, path))}  # noqa: PTH118  (bytes)
        with opened.read() as db:
            for path in set(paths) - wanted:
                wanted |= documents.paths_below(db, source.id, path)
                wanted |= {path} if is_picture(display(path)) else set()  # a note may embed it
        if wanted:
            requests.request(opened, [source.id], paths=sorted(wanted))
        return bool(wanted)

    def requested(self, viewer: Viewer, store: str) -> bool:
        """Whether the store has an unfinished request."""
        return requests.requested(self._stores.open(viewer, store).store)

    def requests(self, viewer: Viewer, store: str) -> list[PendingRequest]:
        """Return the unfinished requests of a store without duplicates, oldest first."""
        from rag_core.reports import PendingRequest

        with self._stores.open(viewer, store).store.read() as db:
            waiting = [request for request in jobs.requests_after(db, 0) if request.kind == "index"]
            roots = {source.id: source.root for source in sources.all_sources(db)}
        pending = []
        for request in waiting:
            named = request.sources
            folders = None if named is None else tuple(roots[i] for i in named if i in roots)
            pending.append(PendingRequest(folders, len(request.paths or ()), request.force))
        return list(dict.fromkeys(pending))

    def index(self, viewer: Viewer, store: str, report: Callable[[Job], None] | None = None) -> Job | None:
        """Update a store from its sources, in this thread: `request`, then `run`. Returns the job, or None if
        another process has done it meanwhile. ``report`` gets the job several times a second. Raises
        StoreBusy if another job is running."""
        self.request(viewer, store)
        return self.run(viewer, store, report)

    def run(
        self,
        viewer: Viewer,
        store: str,
        report: Callable[[Job], None] | None = None,
        *,
        stop: Callable[[], bool] | None = None,
    ) -> Job | None:
        """Run a job for the requests of a store, in this thread. Return None if there are no requests.

        ``report`` gets the job several times a second, and ``stop`` is called as often. Once ``stop`` returns
        true, the job ends as *interrupted*, and its requests stay.

        Raises:
            StoreBusy: another job is running. It carries out the requests.

        """
        from rag_core.index import index  # only now: it imports the readers of all formats

        self._stores.require_own_disk()
        opened = self._stores.open(viewer, store).store
        job = index.run(
            opened,
            self._embedders.renewed,
            report,
            self._shared.limits(store),
            stop,
            partial(self._stores.remote, opened),
            self._shared.priority,
        )
        if job is None:
            return None
        if not index.DROPS_TEXT.isdisjoint(job.counts):
            self._shared.prune_pictures()
        with opened.read() as db:
            return replace(job, results=tuple(jobs.results(db, job.id, _MOST_RESULTS)))

    def cancel(self, viewer: Viewer, store: str) -> None:
        """Stop the running job of a store after its present file, even if another process runs it. If none
        runs, withdraw the store's requests."""
        requests.cancel(self._stores.open(viewer, store).store)

    def all(self, viewer: Viewer, store: str, limit: int = 20) -> list[Job]:
        """Return the jobs of a store, newest first. At most one of them is running."""
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            newest = jobs.newest(db, store, running=True, limit=limit)
        if not any(job.state == "running" for job in newest) or opened.running():
            return newest
        with opened.read() as db:  # it ended between the two looks, or its process died
            return jobs.newest(db, store, running=False, limit=limit)

    def freshness(self, viewer: Viewer, stores: Sequence[str]) -> Freshness:
        """Return how far ``stores`` are behind the files in their folders. Stores that cannot be read are
        left out."""
        reading = waiting = failed = pictures = 0
        looking, eta = False, None
        for store in stores:
            with suppress(StoreError, NotFound), self._stores.reading(viewer, store) as db:
                waiting += find.waiting_texts(db, viewer)
                failed += db.execute(
                    "SELECT count(*) FROM documents WHERE state = 'failed' AND part = ''"
                ).fetchone()[0]
                for job in jobs.newest(db, store, running=True, limit=1):
                    if job.state == "running":
                        eta = job.progress.eta
                        looking = looking or job.progress.phase == "scanning"
                        left = max(1, job.progress.total - job.progress.done)
                        reading += left * (job.progress.phase == "reading")
                        pictures += left * (job.progress.phase == "pictures")
        return Freshness(looking, reading, waiting, failed, eta, pictures)

    def results(
        self, viewer: Viewer, store: str, job_id: int, limit: int = _MOST_RESULTS
    ) -> list[FileResult]:
        """Return the result of each file of a job, failures first. Unchanged files are only counted and have
        no result."""
        with self._stores.open(viewer, store).store.read() as db:
            return jobs.results(db, job_id, limit)

    def get(self, viewer: Viewer, store: str, job_id: int) -> Job:
        """Return one job with the result of each file. Raises NotFound."""
        by_number = {job.id: job for job in self.all(viewer, store, jobs.KEPT_JOBS + 1)}
        if job_id not in by_number:
            known = (
                f"There are {min(by_number)} to {max(by_number)}."
                if by_number
                else "No run of this store has begun yet."
            )
            raise NotFound(f"Store {store!r} has no job with the number {job_id}.", known)
        return replace(by_number[job_id], results=tuple(self.results(viewer, store, job_id)))

    def problems(self, viewer: Viewer, store: str, job_id: int | None = None) -> list[Problem]:
        """Return the problems of a store: failed files, pictures that wait for a server, refused texts,
        skipped files. Each kind is sorted by frequency.

        With ``job_id``, return only files that this job could not read.
        """
        from rag_core.store import problems

        with self._stores.open(viewer, store).store.read() as db:
            return problems.problems_in_store(db) if job_id is None else problems.problems_of_job(db, job_id)

    def retry(self, viewer: Viewer, store: str, problem: Problem) -> None:
        """Request another try for the files or refused texts of a problem. Raises NotFound if no such file is
        left."""
        if problem.kind == "refused":
            self.request(viewer, store, [])
            return
        with self._stores.open(viewer, store).store.read() as db:
            roots = {display(os.fsencode(source.root)): source for source in sources.all_sources(db)}
        if folders := [roots[path].id for path in problem.files if path in roots]:
            self.request(viewer, store, folders)
        if files := [path for path in problem.files if path not in roots]:
            self.request_file(viewer, store, *files)
