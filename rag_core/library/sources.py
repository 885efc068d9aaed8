"""The folders of a store: adding, changing, pausing and removing them, and planning a job for a folder."""

from __future__ import annotations

import os
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, count
from pathlib import Path
from typing import Final

from rag_core import files
from rag_core.errors import InvalidInput, NotFound, RagError
from rag_core.extract import ocr, type_of_suffix
from rag_core.files import EVERYTHING, doubt, real_folder, validate_globs
from rag_core.index import plan
from rag_core.index.choice import covers, leave_nothing_out, refuse_no_match
from rag_core.index.plan import Plan
from rag_core.installation import install_line
from rag_core.library import places
from rag_core.library.service import Service
from rag_core.reports import SourceInfo
from rag_core.store import documents, jobs, sources
from rag_core.types import Source, Viewer
from rag_core.wording import pictures_by_ocr

_LONGEST: Final = 60  # letters that a store's name takes from its folder's name; a number may follow
_Globs = Sequence[str]
_ESCAPED = re.compile(r"\[[*?\[{]\]")
_WILD = re.compile(r"[*?\[{]")


class Sources(Service):
    """Lists and changes the folders of stores."""

    def default_name(self, viewer: Viewer, folder: str | Path, *, free: bool = False) -> str:
        """Return the default name for a store of ``folder``, made from the folder's name. With ``free``, a
        number is added if a store has that name already."""
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(folder).name).strip("-_")[:_LONGEST] or "notes"
        taken = {other.casefold() for other in self._stores.names(viewer)} if free else set()
        numbered = (f"{name}-{number}" for number in count(2))
        return next(candidate for candidate in chain([name], numbered) if candidate.casefold() not in taken)

    def name_for(self, viewer: Viewer, folder: str | Path) -> str:
        """Return the name of the store to which ``folder`` is added if no store is named. Raises InvalidInput
        if that store has other folders."""
        name = self.default_name(viewer, real_folder(folder))
        if name not in self._stores.names(viewer):
            return name
        with self._stores.open(viewer, name).store.read() as db:
            others = [source.root for source in sources.all_sources(db) if not source.removed]
        if others and str(real_folder(folder)) not in others:
            raise InvalidInput(
                f"There is a store {name!r} already, for {', '.join(others)}.",
                f"Choose another name with --store NAME, or add to it with --store {name}.",
            )
        return name

    def offered(self, viewer: Viewer) -> list[files.Offered]:
        """Return folders below the setting ``roots`` that are worth indexing and not in a store yet, Obsidian
        vaults first."""
        taken = set()
        for name in self._stores.names(viewer):
            with suppress(RagError):  # a page reports a store that cannot be read
                taken |= {source.root for source in self.kept(viewer, name)}
        candidates = files.offered_folders(self._settings.roots)
        return [folder for folder in candidates if os.path.realpath(folder.path) not in taken]

    def said_of_pictures(self, viewer: Viewer, by_suffix: Mapping[str, int]) -> str:
        """Say whether OCR will read the pictures and scans among files, and what to do if not; '' if there
        are no such files. ``by_suffix`` counts the files by suffix."""
        counts = Counter[str]()
        for suffix, number in by_suffix.items():
            counts[type_of_suffix(suffix) or ""] += number
        known = self._settings.ocr
        engine = ocr.find_engine(known)
        return pictures_by_ocr(
            counts["picture"], counts["pdf"], engine or "", install_line("ocr"), is_off=known == "off"
        )

    def draft(
        self, viewer: Viewer, store: str, root: str | Path, include: _Globs, exclude: _Globs = ()
    ) -> Source:
        """Return the source that `add` would create for this folder, without adding it. If another folder of
        the store already includes all these files, return that folder's source.

        Raises InvalidInput if the folder is missing, or a pattern is malformed or matches no file.
        """
        folder = real_folder(root)
        include, exclude = validate_globs(include), validate_globs(exclude) if exclude else ()
        with self._stores.open(viewer, store).store.read() as db:
            draft = sources.draft(db, str(folder), include, exclude)
            known = {source.id: source for source in sources.all_sources(db) if not source.removed}
        more = tuple(glob for glob in include if draft.id not in known or glob not in known[draft.id].include)
        if more:
            refuse_no_match(folder, more, exclude)
        around = [] if draft.id else [other for other in known.values() if folder.is_relative_to(other.root)]
        return next((other for other in around if covers(other, draft)), draft)

    def add(
        self, viewer: Viewer, store: str, root: str | Path, include: _Globs, exclude: _Globs = ()
    ) -> Source:
        """Add a folder with its globs to a store. If the store already has the folder, add the globs to it.

        If the folder is waiting to be removed, cancel that, and replace its globs by these. If another folder
        of the store already includes every file that this one would add, add nothing and return the source
        of that folder.

        Raises:
            InvalidInput: The folder is missing, or a pattern is malformed or matches no file.

        """
        source = self.draft(viewer, store, root, include, exclude)
        if source.root != str(real_folder(root)):
            return source
        with self._own(viewer, store).decide() as db:
            return sources.put_source(db, source.root, source.include, source.exclude)

    def change(
        self, viewer: Viewer, store: str, source_id: int, include: Sequence[str], exclude: Sequence[str] = ()
    ) -> Source:
        """Replace the globs of a folder. From now on, files that no longer match are not found, and the next
        job reads new matches. Raises InvalidInput for globs that are malformed or match no file, and
        NotFound."""
        include, exclude = validate_globs(include), validate_globs(exclude) if exclude else ()
        opened = self._own(viewer, store)
        folder = Path(self.get(viewer, store, source_id).root)
        if os.path.isdir(folder):  # noqa: PTH112  (no error)
            refuse_no_match(folder, include, exclude)
        with opened.decide() as db:
            before = _source(db, store, source_id)
            source = replace(before, include=include, exclude=exclude)
            sources.change_source(db, source)
            if before.exclude != exclude and documents.forget_pictures(db):
                jobs.add_request(db, "index", [source_id])
        return source

    def pause(self, viewer: Viewer, store: str, source_id: int, *, paused: bool = True) -> Source:
        """Pause or resume a folder. Jobs over all folders skip a paused folder. Its documents stay."""
        with self._own(viewer, store).decide() as db:
            source = replace(_source(db, store, source_id), paused=paused)
            sources.change_source(db, source)
        return source

    def remove(self, viewer: Viewer, store: str, source_id: int) -> Source:
        """Remove a folder from a store, so that no search finds its documents from now on. Also request the
        job that deletes them. Files that another folder of the store includes are read again."""
        with self._own(viewer, store).decide() as db:
            source = replace(_source(db, store, source_id), removed=True)
            sources.change_source(db, source)
            heirs = [heir.id for heir in sources.overlapping(db, source) if not heir.paused]
            jobs.add_request(db, "index", [source_id, *heirs])
        return source

    def get(self, viewer: Viewer, store: str, source_id: int) -> Source:
        """Return one folder of a store. Raises NotFound."""
        with self._stores.open(viewer, store).store.read() as db:
            return _source(db, store, source_id)

    def kept(self, viewer: Viewer, store: str) -> list[Source]:
        """Return the folders of a store that are kept up to date: neither paused nor being removed."""
        with self._stores.open(viewer, store).store.read() as db:
            return [source for source in sources.all_sources(db) if not (source.paused or source.removed)]

    def all(self, viewer: Viewer, store: str) -> list[SourceInfo]:
        """Return all folders of a store, oldest first, with their numbers of files and whether the folder is
        missing."""
        with self._stores.open(viewer, store).store.read() as db:
            listed, counts = sources.all_sources(db), sources.counts(db)
        infos = []
        for source in listed:
            states, root = counts.get(source.id, {}), source.root
            indexed, failed, skipped = (states.get(state, 0) for state in ("indexed", "failed", "skipped"))
            missing = os.path.isabs(root) and not os.path.isdir(root)  # noqa: PTH112, PTH117  (no error)
            infos.append(SourceInfo(source, indexed, failed, skipped, missing))
        return infos

    def plan(self, viewer: Viewer, store: str, source: Source, *, force: bool = False) -> Plan:
        """Return what a job would do to ``source``, which may be a draft. Nothing is changed."""
        opened = self._stores.open(viewer, store).store
        known = self._settings
        planned = plan.make_plan(
            opened,
            source,
            force=force,
            max_bytes=known.max_file_bytes,
            from_cloud=known.cloud_files == "read",
        )
        if source.removed:
            return planned
        idle = leave_nothing_out(Path(source.root), source.exclude)
        return replace(planned, warnings=(*planned.warnings, *idle))

    def plans(self, viewer: Viewer, store: str, *, force: bool = False) -> list[Plan]:
        """Return what a job would do to each folder, without those that are paused."""
        listed = [info.source for info in self.all(viewer, store)]
        due = [source for source in listed if source.removed or not source.paused]
        return [self.plan(viewer, store, source, force=force) for source in due]

    def idle_excludes(self, viewer: Viewer, root: str | Path, exclude: Sequence[str]) -> list[str]:
        """Return a warning for each pattern of ``exclude`` that matches no file. `plan` includes these
        warnings."""
        return leave_nothing_out(Path(root), exclude)

    def add_below(
        self, viewer: Viewer, store: str, path: str, roots: Sequence[Path], *, recursive: bool = True
    ) -> Source | None:
        """Add the folder or file ``path`` to a store that does not contain it yet, if it is below one of
        ``roots`` after resolving links. Return None if nothing was added.

        Raises InvalidInput for a path outside the store's folders and ``roots``, and for a path that is never
        read: hidden or ignored, a folder with keys, a whole home folder.
        """
        opened = self._own(viewer, store)
        if not (roots and files.expanded(path).is_absolute()):
            return None
        with opened.read() as db:
            held = [source for source, _ in places.places_of(db, path)]
        if any(source.paused or _takes_many(source) for source in held):
            return None
        folder, pattern = files.split_glob(str(_readable_below(path, roots, store)))
        if pattern == EVERYTHING[0] and not recursive:
            pattern = "*"
        if any(source.root == str(folder) and pattern in source.include for source in held):
            return None
        if pattern == EVERYTHING[0]:
            preview = files.preview(folder, [pattern], max_files=files.MANY_FILES)
            if why := doubt(folder, [pattern], preview):
                raise InvalidInput(why, "Choose a folder inside it.")
        return self.add(viewer, store, folder, [pattern])


def _takes_many(source: Source) -> bool:
    """Whether the patterns of a source can match several files."""
    globs = {_ESCAPED.sub("", glob) for glob in source.include} - {"*"}
    return any(_WILD.search(glob) for glob in globs)


def _readable_below(path: str, roots: Sequence[Path], store: str) -> Path:
    """Return ``path`` with its links resolved. Raises InvalidInput if it is not below one of ``roots``, or
    may never be read."""
    for root in roots:
        with suppress(InvalidInput):
            real = files.contained(Path(path), [root])
            top = root.resolve()
            break
    else:
        raise InvalidInput(
            f"{path!r} is not in a folder of store {store!r}, and nothing may be added there.",
            f"Name something below {', '.join(map(str, roots))}, or add its folder to `mcp_roots`.",
        )
    if refusal := files.why_skipped(top, os.fsencode(real.relative_to(top).as_posix()), EVERYTHING):
        reason = f"{path!r} is not read. {refusal.text}"
        raise InvalidInput(reason, "Choose a folder that holds documents.")
    return real


def _source(db: sqlite3.Connection, store: str, source_id: int) -> Source:
    listed = sources.all_sources(db)
    if source := next((source for source in listed if source.id == source_id), None):
        return source
    known = ", ".join(f"{source.id} ({source.root})" for source in listed) or "none"
    raise NotFound(f"Store {store!r} has no folder with the number {source_id}.", f"There are: {known}.")
