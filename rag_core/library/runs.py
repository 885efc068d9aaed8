"""The runs of a store: asking for one, doing it, stopping it, and what became of it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches

from rag_core.errors import NotFound, StoreError
from rag_core.files import display
from rag_core.index import index
from rag_core.index.index import Limits
from rag_core.library.folders import Folders, owner_only
from rag_core.messages import say
from rag_core.reports import Asked, Problem
from rag_core.store import Store, documents, problems, sources, work
from rag_core.types import FileResult, Job, Viewer
from rag_core.wording import take_back

_SHOWN = 500  # characters of a path that is none


class Runs(Folders):
    """Every store of one owner, with the runs that bring it up to date.

    Every method here raises Forbidden for a guest.
    """

    def request_index(
        self, viewer: Viewer, store: str, source_ids: Sequence[int] | None = None, *, force: bool = False
    ) -> None:
        """Leave a request to bring the store up to date with its sources; ``run`` does it.

        None stands for all that are not paused, no id for the passages that wait to be embedded.
        """
        owner_only(viewer, "index")
        index.request(self._own(viewer, store), source_ids, force=force)

    def request_file(self, viewer: Viewer, store: str, path: str) -> None:
        """Ask for one document to be read again, changed or not. Raises NotFound, also for one excluded."""
        self.request_files(viewer, store, [path])

    def request_files(self, viewer: Viewer, store: str, paths: Sequence[str]) -> None:
        """Ask for documents to be read again, changed or not; those that are gone are passed over.

        Raises NotFound when all are, or are excluded.
        """
        owner_only(viewer, "index")
        opened = self._own(viewer, store)
        by_source: dict[int, list[bytes]] = {}
        for source_id, raw in self._places(opened, paths):
            by_source.setdefault(source_id, []).append(raw)
        for source_id, raws in by_source.items():
            index.request_files(opened, source_id, raws)

    def _places(self, opened: Store, paths: Sequence[str]) -> list[tuple[int, bytes]]:
        with opened.read() as db:
            out = sources.excluded_files(db)
            found = [place for path in paths for place in documents.places(db, path)]
        taken_out = {(each.source_id, each.path) for each in out}
        if left := [place for place in found if place not in taken_out]:
            return left
        name = paths[0] if paths else ""
        if any(each.display == name for each in out):
            raise _excluded(opened.name, name)
        raise self._no_file(opened, name)

    def _no_file(self, opened: Store, path: str) -> NotFound:
        """The error where a store has no file called ``path``, with one that may be meant."""
        near = self._near(opened, path)
        meant = f"Did you mean {near[0]!r}?" if near else "It may have been moved or deleted."
        return NotFound(f"Store {opened.name!r} has no file {path[:_SHOWN]!r}.", meant)

    def _near(self, opened: Store, path: str) -> Sequence[str]:
        """What may be meant by a file that a store has not, the likeliest first."""
        with opened.read() as db:
            near = documents.called(db, path, 1) or documents.like(db, path)
            return near or get_close_matches(path, [out.display for out in sources.excluded_files(db)], n=1)

    def requested(self, viewer: Viewer, store: str) -> bool:
        """Whether somebody asks for a run that is not done yet."""
        owner_only(viewer, "index")
        return index.requested(self._stores.open(viewer, store).store)

    def asked(self, viewer: Viewer, store: str) -> list[Asked]:
        """What is asked of a store and not done yet, each once, the oldest first."""
        owner_only(viewer, "index")
        with self._stores.open(viewer, store).store.read() as db:
            waiting = work.requests_after(db, 0)
            roots = {source.id: source.root for source in sources.all_sources(db)}
        return list(dict.fromkeys(_asked(each, roots) for each in waiting if each.kind == "index"))

    def index(self, viewer: Viewer, store: str, report: Callable[[Job], None] | None = None) -> Job | None:
        """Bring a store up to date with its sources, in this thread: `request_index`, then `run`."""
        self.request_index(viewer, store)
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
        owner_only(viewer, "index")
        opened = self._stores.open(viewer, store).store
        job = index.run(
            opened,
            lambda: self._embedders.renewed(opened.target_embedder),
            report,
            self._limits(),
            stop,
            lambda address, dimension: self._stores.own_remote(opened, address, dimension),
            self._courtesy,
        )
        return replace(job, results=tuple(self.job_results(viewer, store, job.id))) if job else None

    def _limits(self) -> Limits:
        known = self.settings
        return Limits(known.batch_size, known.max_file_bytes, known.extractor_timeout_s)

    def cancel(self, viewer: Viewer, store: str) -> None:
        """Ask the store's run to stop, in whichever process it is."""
        owner_only(viewer, "cancel a run")
        index.cancel(self._stores.open(viewer, store).store)

    def jobs(self, viewer: Viewer, store: str, limit: int = 20) -> list[Job]:
        """The newest runs of a store first; at most one of them is running."""
        owner_only(viewer, "see runs")
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            found = work.jobs(db, store, running=True, limit=limit)
        if not any(job.state == "running" for job in found) or opened.running():
            return found
        with opened.read() as db:  # it ended between the two looks, or its process died
            return work.jobs(db, store, running=False, limit=limit)

    def last_begun(self, viewer: Viewer, stores: Sequence[str]) -> str:
        """When the last run through all of each folder of these stores had begun, in ISO time: of the folder
        where that is longest ago. '' where one of them had none; a paused one is left out, as is a store that
        cannot be read."""
        owner_only(viewer, "see runs")
        last: list[str] = []
        for store in stores:
            with suppress(StoreError, NotFound), self._stores.reading(viewer, store) as db:
                last += sources.whole_reads(db)
        return min(last, default="")

    def job_results(self, viewer: Viewer, store: str, job_id: int, limit: int = 100_000) -> list[FileResult]:
        """What became of each file of a run, failures first; unchanged ones are only counted."""
        owner_only(viewer, "see runs")
        with self._stores.open(viewer, store).store.read() as db:
            return work.results(db, job_id, limit)

    def job(self, viewer: Viewer, store: str, job_id: int) -> Job:
        """One run with what became of each of its files. Raises NotFound."""
        found = {job.id: job for job in self.jobs(viewer, store, work.KEPT_JOBS + 1)}
        if job_id not in found:
            known = f"There are {min(found)} to {max(found)}." if found else "It had none yet."
            raise NotFound(f"Store {store!r} has no run with the number {job_id}.", known)
        return replace(found[job_id], results=tuple(self.job_results(viewer, store, job_id)))

    def problems(self, viewer: Viewer, store: str) -> list[Problem]:
        """What of a store cannot be found as it should, by reason: failed files, then texts that the
        embedder refused, then skipped files; the most frequent first."""
        owner_only(viewer, "see what failed")
        with self._stores.open(viewer, store).store.read() as db:
            return problems.in_store(db)

    def job_problems(self, viewer: Viewer, store: str, job_id: int) -> list[Problem]:
        """The files that a run could not read, by reason. A folder that was not there goes by its path."""
        owner_only(viewer, "see runs")
        with self._stores.open(viewer, store).store.read() as db:
            return problems.of_job(db, job_id)

    def retry(self, viewer: Viewer, store: str, problem: Problem) -> None:
        """Ask for the files of a problem, or for the texts that were refused, to be tried again.

        Raises NotFound when none of the files is there any more.
        """
        if problem.kind == "refused":
            self.request_index(viewer, store, [])
            return
        roots = {display(os.fsencode(each.source.root)): each.source for each in self.sources(viewer, store)}
        folders = [roots[path].id for path in problem.files if path in roots]
        if folders:
            self.request_index(viewer, store, folders)
        if files := [path for path in problem.files if path not in roots]:
            self.request_files(viewer, store, files)


def _excluded(store: str, path: str) -> NotFound:
    undo = say("include", command=take_back(path, store))
    return NotFound(f"{path!r} is excluded from store {store!r}.", undo)


def _asked(request: work.Request, roots: dict[int, str]) -> Asked:
    folders = None if request.sources is None else tuple(roots[i] for i in request.sources if i in roots)
    return Asked(folders, len(request.paths or ()), request.force)
