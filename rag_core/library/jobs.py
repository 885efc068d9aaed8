"""The jobs of a store: asking for one, running it, cancelling it, and its results."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from rag_core.errors import InvalidInput, NotFound, StoreError
from rag_core.files import display
from rag_core.index import index
from rag_core.library import places
from rag_core.library.service import Service
from rag_core.reports import Asked, Problem
from rag_core.store import jobs, problems, sources
from rag_core.types import FileResult, Job, Viewer


class Jobs(Service):
    """Brings stores up to date with their folders."""

    def request(
        self, viewer: Viewer, store: str, source_ids: Sequence[int] | None = None, *, force: bool = False
    ) -> None:
        """Leave a request to bring the store up to date with its sources; ``run`` does it.

        None stands for all that are not paused, no id for the passages that wait to be embedded.
        """
        index.request(self._own(viewer, store), source_ids, force=force)

    def request_file(self, viewer: Viewer, store: str, path: str) -> None:
        """Ask for one document to be read again, changed or not. Raises NotFound, also for one excluded."""
        self.request_files(viewer, store, [path])

    def request_files(self, viewer: Viewer, store: str, paths: Sequence[str]) -> None:
        """Ask for documents to be read again, changed or not; those that are gone are passed over.

        Raises NotFound when all are, or are excluded.
        """
        opened = self._own(viewer, store)
        by_source: dict[int, list[bytes]] = {}
        for source_id, raw in places.read_places(opened, paths):
            by_source.setdefault(source_id, []).append(raw)
        for source_id, raws in by_source.items():
            index.request_files(opened, source_id, raws)

    def request_path(self, viewer: Viewer, store: str, path: str) -> str:
        """Ask for one file to be read, changed or not; returns what the store calls it.

        Raises InvalidInput for a folder, and for a file that the patterns or the owner leave out.
        """
        opened = self._own(viewer, store)
        with opened.read() as db:
            found = places.inside(db, opened, path)
            if any(map(places.is_folder, found)):
                raise InvalidInput(
                    f"{path!r} is a folder.", "Ask for the folder to be read, or name a file in it."
                )
            hindered = [places.hindrance(db, opened, place) for place in found]
        readable = [place for place, hindrance in zip(found, hindered, strict=True) if hindrance is None]
        if not readable and hindered[0]:
            raise InvalidInput(f"{path!r} is not read. {hindered[0].said}", hindered[0].advice)
        for source, raw in readable:
            index.request_files(opened, source.id, [raw])
        return places.shown(readable[0])

    def request_below(self, viewer: Viewer, store: str, path: str, *, recursive: bool = True) -> None:
        """Ask for the files of a folder to be brought up to date; without ``recursive`` not for those in
        folders below it. Raises InvalidInput where the patterns choose none."""
        opened = self._own(viewer, store)
        with opened.read() as db:
            asked = [
                (place, places.files_below(db, place, recursive=recursive))
                for place in places.inside(db, opened, path)
            ]
        if not any(paths for _, paths in asked):
            raise InvalidInput(
                f"There is no folder {path!r} with files that store {store!r} reads.",
                "Check the spelling and the patterns of the folder; for one file ask by its name.",
            )
        with opened.note() as db:
            for (source, raw), paths in asked:
                whole = recursive and not raw
                if paths:
                    jobs.add_request(db, "index", [source.id], paths=None if whole else sorted(paths))

    def requested(self, viewer: Viewer, store: str) -> bool:
        """Whether somebody asks for a run that is not done yet."""
        return index.requested(self._stores.open(viewer, store).store)

    def requests(self, viewer: Viewer, store: str) -> list[Asked]:
        """What is asked of a store and not done yet, each once, the oldest first."""
        with self._stores.open(viewer, store).store.read() as db:
            waiting = jobs.requests_after(db, 0)
            roots = {source.id: source.root for source in sources.all_sources(db)}
        return list(dict.fromkeys(_asked(each, roots) for each in waiting if each.kind == "index"))

    def index(self, viewer: Viewer, store: str, report: Callable[[Job], None] | None = None) -> Job | None:
        """Bring a store up to date with its sources, in this thread: `request_index`, then `run`."""
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
        """Do what was requested of a store, in this thread; None if there was nothing to do.

        ``stop`` is asked several times a second; once it says yes the run ends as *interrupted*
        and its requests stay for the next one. Raises StoreBusy when a run is under way elsewhere:
        that one takes the requests.
        """
        opened = self._stores.open(viewer, store).store
        job = index.run(
            opened,
            lambda: self._embedders.renewed(opened.target_embedder),
            report,
            self._shared.limits(),
            stop,
            lambda address, dimension: self._stores.own_remote(opened, address, dimension),
            self._shared.priority,
        )
        return replace(job, results=tuple(self.results(viewer, store, job.id))) if job else None

    def cancel(self, viewer: Viewer, store: str) -> None:
        """Ask the store's run to stop, in whichever process it is."""
        index.cancel(self._stores.open(viewer, store).store)

    def all(self, viewer: Viewer, store: str, limit: int = 20) -> list[Job]:
        """The newest runs of a store first; at most one of them is running."""
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            found = jobs.newest(db, store, running=True, limit=limit)
        if not any(job.state == "running" for job in found) or opened.running():
            return found
        with opened.read() as db:  # it ended between the two looks, or its process died
            return jobs.newest(db, store, running=False, limit=limit)

    def last_begun(self, viewer: Viewer, stores: Sequence[str]) -> str:
        """When the last run through all of each folder of these stores had begun, in ISO time: of the folder
        where that is longest ago. '' where one of them had none; a paused one is left out, as is a store that
        cannot be read."""
        last: list[str] = []
        for store in stores:
            with suppress(StoreError, NotFound), self._stores.reading(viewer, store) as db:
                last += sources.whole_reads(db)
        return min(last, default="")

    def results(self, viewer: Viewer, store: str, job_id: int, limit: int = 100_000) -> list[FileResult]:
        """What became of each file of a run, failures first; unchanged ones are only counted."""
        with self._stores.open(viewer, store).store.read() as db:
            return jobs.results(db, job_id, limit)

    def get(self, viewer: Viewer, store: str, job_id: int) -> Job:
        """One run with what became of each of its files. Raises NotFound."""
        found = {job.id: job for job in self.all(viewer, store, jobs.KEPT_JOBS + 1)}
        if job_id not in found:
            known = f"There are {min(found)} to {max(found)}." if found else "It had none yet."
            raise NotFound(f"Store {store!r} has no run with the number {job_id}.", known)
        return replace(found[job_id], results=tuple(self.results(viewer, store, job_id)))

    def problems(self, viewer: Viewer, store: str) -> list[Problem]:
        """What of a store cannot be found as it should, by reason: failed files, then texts that the
        embedder refused, then skipped files; the most frequent first."""
        with self._stores.open(viewer, store).store.read() as db:
            return problems.in_store(db)

    def problems_of(self, viewer: Viewer, store: str, job_id: int) -> list[Problem]:
        """The files that a run could not read, by reason. A folder that was not there goes by its path."""
        with self._stores.open(viewer, store).store.read() as db:
            return problems.of_job(db, job_id)

    def retry(self, viewer: Viewer, store: str, problem: Problem) -> None:
        """Ask for the files of a problem, or for the texts that were refused, to be tried again.

        Raises NotFound when none of the files is there any more.
        """
        if problem.kind == "refused":
            self.request(viewer, store, [])
            return
        with self._stores.open(viewer, store).store.read() as db:
            roots = {display(os.fsencode(each.root)): each for each in sources.all_sources(db)}
        folders = [roots[path].id for path in problem.files if path in roots]
        if folders:
            self.request(viewer, store, folders)
        if files := [path for path in problem.files if path not in roots]:
            self.request_files(viewer, store, files)


def _asked(request: jobs.Request, roots: dict[int, str]) -> Asked:
    folders = None if request.sources is None else tuple(roots[i] for i in request.sources if i in roots)
    return Asked(folders, len(request.paths or ()), request.force)
