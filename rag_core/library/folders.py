"""The folders of a store: adding, changing, pausing and removing them, and what a run would do to one."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Final

from rag_core.errors import Forbidden, InvalidInput, NotFound
from rag_core.files import real_folder, validate_globs
from rag_core.index import plan
from rag_core.index.choice import covers, leave_nothing_out, refuse_no_match
from rag_core.index.plan import Plan
from rag_core.library.reader import Reader
from rag_core.reports import SourceInfo
from rag_core.store import Store, jobs, sources, switch
from rag_core.types import Source, Viewer

_LONGEST: Final = 60  # letters of a folder's name that become a store's: a number may follow


class Folders(Reader):
    """Every store of one owner, with the folders that it is read from.

    Every method here raises Forbidden for a guest.
    """

    def name_after(self, viewer: Viewer, folder: str | Path, *, free: bool = False) -> str:
        """What a store of ``folder`` is called unless the owner says otherwise; ``free``: no store has the
        name yet."""
        owner_only(viewer, "choose folders")
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(folder).name).strip("-_")[:_LONGEST] or "notes"
        taken = {other.casefold() for other in self.store_names(viewer)} if free else set()
        numbered = (f"{name}-{number}" for number in count(2))
        return next(each for each in chain([name], numbered) if each.casefold() not in taken)

    def draft_source(
        self,
        viewer: Viewer,
        store: str,
        root: str | Path,
        include: Sequence[str],
        exclude: Sequence[str] = (),
    ) -> Source:
        """The source that adding this folder would give; changes nothing.

        That of the folder around it, where it is in the store and takes every file already. Raises
        InvalidInput, also for patterns that choose none of the files that are there.
        """
        owner_only(viewer, "choose folders")
        folder = real_folder(root)
        include, exclude = _globs(include, exclude)
        with self._stores.open(viewer, store).store.read() as db:
            draft = sources.draft(db, str(folder), include, exclude)
            known = {each.id: each for each in sources.all_sources(db) if not each.removed}
        more = tuple(each for each in include if draft.id not in known or each not in known[draft.id].include)
        if more:
            refuse_no_match(folder, more, exclude)
        around = [] if draft.id else [each for each in known.values() if folder.is_relative_to(each.root)]
        return next((each for each in around if covers(each, draft)), draft)

    def add_source(
        self,
        viewer: Viewer,
        store: str,
        root: str | Path,
        include: Sequence[str],
        exclude: Sequence[str] = (),
    ) -> Source:
        """Add a folder and its globs to a store, or globs to a folder that it has already.

        A folder that is being removed stays, with these globs alone. Where a folder around it takes every
        file already, that one is given and nothing added. Raises InvalidInput as ``draft_source``.
        """
        source = self.draft_source(viewer, store, root, include, exclude)
        if source.root != str(real_folder(root)):
            return source
        with self._own(viewer, store).decide() as db:
            return sources.put_source(db, source.root, source.include, source.exclude)

    def change_source(
        self, viewer: Viewer, store: str, source_id: int, include: Sequence[str], exclude: Sequence[str] = ()
    ) -> Source:
        """Give a folder of a store other globs, in place of those it has; the next run follows them.

        Raises InvalidInput, also for globs that choose none of the files that are there.
        """
        owner_only(viewer, "choose folders")
        include, exclude = _globs(include, exclude)
        opened = self._own(viewer, store)
        folder = Path(self.source(viewer, store, source_id).root)
        if not _is_missing(folder):
            refuse_no_match(folder, include, exclude)
        with opened.decide() as db:
            source = replace(_source(db, store, source_id), include=include, exclude=exclude)
            sources.change_source(db, source)
        return source

    def pause_source(self, viewer: Viewer, store: str, source_id: int, *, paused: bool = True) -> Source:
        """Leave a folder out of runs over all folders, or take it in again; its documents stay."""
        owner_only(viewer, "choose folders")
        with self._own(viewer, store).decide() as db:
            source = replace(_source(db, store, source_id), paused=paused)
            sources.change_source(db, source)
        return source

    def remove_source(self, viewer: Viewer, store: str, source_id: int) -> Source:
        """Take a folder out of a store; the run that this asks for forgets its documents.

        Files that another folder of the store chooses too are read again by the same run.
        """
        owner_only(viewer, "choose folders")
        with self._own(viewer, store).decide() as db:
            source = replace(_source(db, store, source_id), removed=True)
            sources.change_source(db, source)
            heirs = [heir.id for heir in sources.overlapping(db, source) if not heir.paused]
            jobs.add_request(db, "index", [source_id, *heirs])
        return source

    def source(self, viewer: Viewer, store: str, source_id: int) -> Source:
        """One folder of a store. Raises NotFound."""
        owner_only(viewer, "see folders")
        with self._stores.open(viewer, store).store.read() as db:
            return _source(db, store, source_id)

    def sources(self, viewer: Viewer, store: str) -> list[SourceInfo]:
        """Every folder of a store, oldest first, with the number of its files and whether it is there."""
        owner_only(viewer, "see folders")
        with self._stores.open(viewer, store).store.read() as db:
            found, counts = sources.all_sources(db), sources.counts(db)
        return [_info(source, counts.get(source.id, {})) for source in found]

    def plan(self, viewer: Viewer, store: str, source: Source, *, force: bool = False) -> Plan:
        """What a run would do to ``source``, which may be only a draft; changes nothing."""
        owner_only(viewer, "plan a run")
        opened = self._stores.open(viewer, store).store
        found = plan.make_plan(opened, source, force=force, max_bytes=self.settings.max_file_bytes)
        if source.removed:
            return found
        idle = leave_nothing_out(Path(source.root), source.include, source.exclude)
        return replace(found, warnings=(*found.warnings, *idle))

    def plans(self, viewer: Viewer, store: str, *, force: bool = False) -> list[Plan]:
        """What a run over all folders would do; the paused ones are left out."""
        due = [each.source for each in self.sources(viewer, store)]
        return [
            self.plan(viewer, store, source, force=force)
            for source in due
            if source.removed or not source.paused
        ]

    def idle_excludes(
        self, viewer: Viewer, root: str | Path, include: Sequence[str], exclude: Sequence[str]
    ) -> list[str]:
        """A sentence or two for each pattern of ``exclude`` that leaves nothing out of a folder, with what
        may be meant; ``plan`` gives them, too."""
        owner_only(viewer, "choose folders")
        return leave_nothing_out(Path(root), include, exclude)

    def _own(self, viewer: Viewer, name: str) -> Store:
        """The store called ``name``, to be changed. Raises NotFound, InvalidInput for an attached one."""
        store = self._stores.open(viewer, name).store
        with store.read() as db:
            if switch.is_attached(db):
                raise InvalidInput(
                    f"Store {name!r} is attached to another installation's index and only read here.",
                    "Take it over (`commonplace store take-over`), or change it where it is filled.",
                )
        return store


def owner_only(viewer: Viewer, what: str) -> None:
    """Raise Forbidden unless the owner asks."""
    if not viewer.is_owner:
        raise Forbidden(f"Only the owner may {what}.", "Ask the owner of this library.")


def _source(db: sqlite3.Connection, store: str, source_id: int) -> Source:
    found = sources.all_sources(db)
    if source := next((source for source in found if source.id == source_id), None):
        return source
    known = ", ".join(f"{source.id} ({source.root})" for source in found) or "none"
    raise NotFound(f"Store {store!r} has no folder with the number {source_id}.", f"There are: {known}.")


def _globs(include: Sequence[str], exclude: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return validate_globs(include), validate_globs(exclude) if exclude else ()


def _is_missing(folder: Path) -> bool:
    try:
        return not folder.is_dir()
    except OSError:  # no permission to look: as good as not there
        return True


def _info(source: Source, counts: dict[str, int]) -> SourceInfo:
    folder = Path(source.root)
    missing = folder.is_absolute() and _is_missing(folder)  # or it is an index
    indexed, failed, skipped = (counts.get(state, 0) for state in ("indexed", "failed", "skipped"))
    return SourceInfo(source, indexed, failed, skipped, missing)
