"""The facade: one object that every face (app, CLI, and later REST and MCP) calls.

Each method takes the viewer first and gives nothing that viewer may not see; what changes
something is for the owner alone.
"""

from __future__ import annotations

import difflib
import json
import re
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from rag_core import config, index, plan
from rag_core.chunk import chunk_spec, estimate_tokens
from rag_core.config import Settings
from rag_core.embedders import DEFAULT_EMBEDDER, reading_limit
from rag_core.embedders.shared import SharedEmbedders
from rag_core.errors import EmbedderError, Forbidden, InvalidInput, NotFound, RagError, StoreError
from rag_core.files import validate_globs
from rag_core.plan import Plan
from rag_core.query import merge, parse
from rag_core.rank import calibration_for
from rag_core.search import Scope, Wanted, search
from rag_core.store import Store, about, embeddings, find, sources, work
from rag_core.store.file import remove as remove_store
from rag_core.types import (
    Answer,
    Document,
    FileResult,
    Filters,
    Hit,
    Job,
    Mode,
    Neighbour,
    Query,
    Source,
    StoreInfo,
    Viewer,
)
from rag_core.vectors.local import LocalVectors

MAX_TOP_K = 1000
MAX_AROUND = 20
_STORE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")


@dataclass(frozen=True, slots=True)
class _Open:
    """An open store with its vector index, as long as the file behind the name is the same."""

    inode: int
    store: Store
    index: LocalVectors


class Library:
    """Every store of one owner. Cheap to make, safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._lock = threading.RLock()
        self._stores: dict[str, _Open] = {}
        self._embedders = SharedEmbedders(settings.model_dir)

    @classmethod
    def open(cls, settings: Settings | None = None) -> Library:
        """The library that ``settings`` (default: the environment's) describe."""
        return cls(config.load() if settings is None else settings)

    def close(self) -> None:
        """Close every store."""
        with self._lock:
            for opened in self._stores.values():
                opened.store.close()
            self._stores.clear()

    # --- stores -------------------------------------------------------------------------

    def store_names(self, viewer: Viewer) -> list[str]:
        """The names of the stores that ``viewer`` may see, sorted without regard to case."""
        files = self.settings.store_dir.glob("*.db")
        names = [f.stem for f in files if _STORE_NAME.fullmatch(f.stem) and f.is_file()]
        return sorted((name for name in names if viewer.may_see(name)), key=str.casefold)

    def create_store(self, viewer: Viewer, name: str, embedder: str = DEFAULT_EMBEDDER) -> StoreInfo:
        """Make an empty store. Raises InvalidInput for a name or embedder that cannot be used."""
        _owner_only(viewer, "create a store")
        if not _STORE_NAME.fullmatch(name):
            raise InvalidInput(
                f"{name[:80]!r} cannot be a store's name.",
                "Use 1 to 63 letters, digits, hyphens and underscores, starting with a letter or digit.",
            )
        if twin := next((n for n in self.store_names(viewer) if n.casefold() == name.casefold()), None):
            raise InvalidInput(f"A store called {twin!r} exists already.", "Choose another name.")
        spec = chunk_spec(reading_limit(embedder))
        path = self.settings.store_dir / f"{name}.db"
        Store.create(path, embedder=embedder, spec=spec, backend="local", metric="cosine").close()
        return self.store_info(viewer, name)

    def store_info(self, viewer: Viewer, name: str) -> StoreInfo:
        """A store's counts, sizes and sources."""
        return about.info(self._open(viewer, name).store, viewer)

    def delete_store(self, viewer: Viewer, name: str) -> None:
        """Remove a store, sound or damaged, and all that it holds; the files it was read from stay.

        Raises StoreBusy while it is being indexed.
        """
        _owner_only(viewer, "delete a store")
        if name not in self.store_names(viewer):
            raise self._unknown(viewer, name)
        with self._lock:
            known = self._stores.get(name)
            remove_store(self.settings.store_dir / f"{name}.db", known.store if known else None)
            self._stores.pop(name, None)

    def generations(self, viewer: Viewer, names: Sequence[str] = ()) -> tuple[tuple[str, int], ...]:
        """(store, generation) of the named stores (none: all that can be read): what a cache keys on."""
        return tuple(
            (opened.store.name, opened.store.generation()) for opened in self._each(viewer, names)[0]
        )

    def _open(self, viewer: Viewer, name: str) -> _Open:
        if not viewer.may_see(name) or not _STORE_NAME.fullmatch(name):
            raise self._unknown(viewer, name)
        path = self.settings.store_dir / f"{name}.db"
        with self._lock:
            try:
                inode = path.stat().st_ino
            except OSError:
                inode = -1
            known = self._stores.get(name)
            if known is not None and known.inode != inode:
                self._stores.pop(name).store.close()
                known = None
            if inode == -1:
                raise self._unknown(viewer, name)
            if known is None:
                store = Store(path)
                known = self._stores[name] = _Open(inode, store, LocalVectors(store))
            return known

    def _unknown(self, viewer: Viewer, name: str) -> NotFound:
        names = self.store_names(viewer)
        close = difflib.get_close_matches(name, names, n=1)
        known = f"There are: {', '.join(names)}." if names else _first_step(viewer)
        advice = f"Did you mean {close[0]!r}?" if close else known
        return NotFound(f"There is no store called {name[:80]!r}.", advice)

    def _each(self, viewer: Viewer, names: Sequence[str]) -> tuple[list[_Open], list[StoreError]]:
        """The named stores (none: all), and why those that are missing here cannot be read.

        Raises NotFound for a name that is none, StoreError when no store can be read.
        """
        opened: list[_Open] = []
        failed: list[StoreError] = []
        for name in dict.fromkeys(names) if names else self.store_names(viewer):
            try:
                opened.append(self._open(viewer, name))
            except StoreError as error:
                failed.append(error)
        if failed and not opened:
            raise failed[0]
        return opened, failed

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
        with self._open(viewer, store).store.read() as db:
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
        with self._open(viewer, store).store.write() as db:
            return sources.put_source(db, source.root, source.include, source.exclude)

    def plan(self, viewer: Viewer, store: str, source: Source, *, force: bool = False) -> Plan:
        """What a run would do to ``source``, which may be only a draft; changes nothing."""
        _owner_only(viewer, "plan a run")
        return plan.make_plan(self._open(viewer, store).store, source, force=force)

    def request_index(
        self, viewer: Viewer, store: str, source_ids: Sequence[int] | None = None, *, force: bool = False
    ) -> None:
        """Leave a request to bring the store up to date with its sources; ``run`` does it."""
        _owner_only(viewer, "index")
        index.request(self._open(viewer, store).store, source_ids, force=force)

    def requested(self, viewer: Viewer, store: str) -> bool:
        """Whether somebody asks for a run that nobody has taken yet."""
        _owner_only(viewer, "index")
        return index.requested(self._open(viewer, store).store)

    def run(self, viewer: Viewer, store: str, report: Callable[[Job], None] | None = None) -> Job | None:
        """Do what was requested of a store, in this thread; None if there was nothing to do.

        Raises StoreBusy when a run is under way elsewhere: that one takes the requests.
        """
        _owner_only(viewer, "index")
        opened = self._open(viewer, store).store
        job = index.run(opened, lambda: self._embedders.get(opened.embedder), report)
        return replace(job, results=tuple(self.job_results(viewer, store, job.id))) if job else None

    def cancel(self, viewer: Viewer, store: str) -> None:
        """Ask the store's run to stop, in whichever process it is."""
        _owner_only(viewer, "cancel a run")
        index.cancel(self._open(viewer, store).store)

    def jobs(self, viewer: Viewer, store: str, limit: int = 20) -> list[Job]:
        """The newest runs of a store first; at most one of them is running."""
        _owner_only(viewer, "see runs")
        opened = self._open(viewer, store).store
        with opened.read() as db:
            found = work.jobs(db, store, running=True, limit=limit)
        if not any(job.state == "running" for job in found) or opened.running():
            return found
        with opened.read() as db:  # it ended between the two looks, or its process died
            return work.jobs(db, store, running=False, limit=limit)

    def job_results(self, viewer: Viewer, store: str, job_id: int, limit: int = 100_000) -> list[FileResult]:
        """What became of each file of a run, failures first; unchanged ones are only counted."""
        _owner_only(viewer, "see runs")
        with self._open(viewer, store).store.read() as db:
            return work.results(db, job_id, limit)

    # --- reading ------------------------------------------------------------------------

    def search(
        self,
        viewer: Viewer,
        text: str,
        stores: Sequence[str] = (),
        *,
        mode: Mode = "hybrid",
        top_k: int = 10,
        min_score: float | None = None,
        filters: Filters | None = None,
        max_tokens: int | None = None,
    ) -> Answer:
        """The best passages for a query, which may carry filters of the query language.

        ``stores``: none means all that the viewer may see; ``store:`` in the text wins over it.
        ``max_tokens`` keeps the first hits whose text fits. Raises InvalidInput for an empty
        query or a number out of range, NotFound for a store that is not there for this viewer.
        """
        started = time.perf_counter()
        _check_range(top_k, min_score, max_tokens)
        query = parse(text)
        query = replace(query, filters=merge(query.filters, filters or Filters()))
        narrowed = query.filters != Filters() or query.excluded != Filters()
        if not (query.text or query.without or query.stores or narrowed):
            raise InvalidInput("The query is empty.", "Type a few words, or a filter such as tag:recipe.")
        opened, failed = self._each(viewer, query.stores or stores)
        if not opened:
            raise NotFound("There is no store yet.", _first_step(viewer))
        scopes = {each.store.name: partial(self._scope, each, query, mode) for each in opened}
        answer = search(scopes, query, Wanted(mode, top_k, min_score), viewer)
        hits = answer.hits if max_tokens is None else _within(answer.hits, max_tokens)
        took_ms = (time.perf_counter() - started) * 1000
        warnings = (*answer.warnings, *map(str, failed))
        return replace(answer, hits=hits, warnings=warnings, query_time_ms=took_ms)

    def neighbours(self, viewer: Viewer, store: str, key: str, around: int = 1) -> list[Neighbour]:
        """The chunk called ``key`` with ``around`` chunks before and behind it, in reading order.

        Raises InvalidInput unless ``around`` is 0 to 20, NotFound when the chunk is gone.
        """
        if not 0 <= around <= MAX_AROUND:
            raise InvalidInput(f"around is {around}.", f"Use a number from 0 to {MAX_AROUND}.")
        with self._open(viewer, store).store.read() as db:
            rows = find.neighbours(db, key, find.visible(viewer), around)
        if not rows:
            raise NotFound("This passage is no longer in the store.", "Search again; its file was changed.")
        return [
            Neighbour(
                key=row["key"],
                content=row["text"],
                start_line=row["start_line"],
                end_line=row["end_line"],
                heading_path=tuple(json.loads(row["heading_path"])),
                is_hit=row["key"] == key,
            )
            for row in rows
        ]

    def documents(self, viewer: Viewer, store: str) -> list[Document]:
        """Every document of a store by path; for the owner also those that could not be read."""
        with self._open(viewer, store).store.read() as db:
            return find.documents(db, store, viewer)

    def facets(self, viewer: Viewer, names: Sequence[str] = ()) -> dict[str, dict[str, int]]:
        """``{"types", "tags", "folders"}``: each value with its number of documents, most first."""
        total: dict[str, dict[str, int]] = {"types": {}, "tags": {}, "folders": {}}
        for opened in self._each(viewer, names)[0]:
            with opened.store.read() as db:
                for kind, counts in find.facets(db, viewer).items():
                    for value, count in counts.items():
                        total[kind][value] = total[kind].get(value, 0) + count
        return {k: dict(sorted(v.items(), key=lambda item: (-item[1], item[0]))) for k, v in total.items()}

    # --- models -------------------------------------------------------------------------

    def warm(self, name: str = DEFAULT_EMBEDDER) -> str:
        """Load an embedder ahead of its first use; returns '' or the sentence that says why not."""
        try:
            self._embedders.get(name).embed_query("warm")
        except RagError as error:
            return str(error)
        return ""

    def _scope(self, opened: _Open, query: Query, mode: Mode) -> Scope:
        """A store ready to search; without its embedder it is searched by words, and says so."""
        calibration = calibration_for(opened.store.embedder)
        if mode == "lexical" or not query.text:
            return Scope(opened.store, opened.index, None, calibration)
        try:
            embedder = self._embedders.get(opened.store.embedder)
            with opened.store.read() as db:
                active = embeddings.active_identity(db)
            if active is None:
                return Scope(opened.store, opened.index, None, calibration)
            if active[1] != embedder.identity:
                raise EmbedderError(
                    f"Its vectors are from {active[1]}, this machine has {embedder.identity}."
                )
            if not embedder.reads(query.text):
                raise EmbedderError("Its model reads only Latin script.")
            vector = self._embedders.query_vector(embedder, query.text)
        except (EmbedderError, InvalidInput) as error:
            warning = f"Store {opened.store.name!r} is searched by words only. {error}"
            return Scope(opened.store, opened.index, None, calibration, warning)
        return Scope(opened.store, opened.index, vector, calibration)


def _owner_only(viewer: Viewer, what: str) -> None:
    if not viewer.is_owner:
        raise Forbidden(f"Only the owner may {what}.", "Ask the owner of this library.")


def _folder(root: str | Path) -> Path:
    """The real folder that ``root`` names, ``~`` and links resolved."""
    with suppress(OSError, RuntimeError, ValueError):  # no permission, no such user, a NUL
        folder = Path(root).expanduser().resolve()
        if folder.is_dir():
            return folder
    raise InvalidInput(f"{str(root)!r} is not a folder.", "Check the spelling, or mount its disk.")


def _first_step(viewer: Viewer) -> str:
    return "Create one: `commonplace init FOLDER`." if viewer.is_owner else "Ask the owner to share one."


def _check_range(top_k: int, min_score: float | None, max_tokens: int | None) -> None:
    if not 1 <= top_k <= MAX_TOP_K:
        raise InvalidInput(f"top_k is {top_k}.", f"Use a number from 1 to {MAX_TOP_K}.")
    if min_score is not None and not 0 <= min_score <= 1:
        raise InvalidInput(f"min_score is {min_score}.", "Use a number from 0 to 1.")
    if max_tokens is not None and max_tokens < 1:
        raise InvalidInput(f"max_tokens is {max_tokens}.", "Use a number above 0.")


def _within(hits: Sequence[Hit], max_tokens: int) -> tuple[Hit, ...]:
    """The hits, best first, whose whole text fits the budget together."""
    kept: list[Hit] = []
    for hit in hits:
        max_tokens -= estimate_tokens(hit.content)
        if max_tokens < 0:
            break
        kept.append(hit)
    return tuple(kept)
