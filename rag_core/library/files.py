"""The files of a store, as the owner sees them: compared with the disk, excluded, found by a path."""

from __future__ import annotations

import os
import posixpath
import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rag_core.errors import NotFound, RagError, SeveralFiles
from rag_core.files import display, expanded, with_sep
from rag_core.library import places
from rag_core.library.freshness import file_state_by_hash, file_states
from rag_core.library.service import Service
from rag_core.store import documents, jobs, listing, sources
from rag_core.system import slashed_text
from rag_core.types import Document, FileState, Viewer

_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")


class Files(Service):
    """Lists the files of stores. The store's name for a file is its path below its folder. The
    label of the folder comes before it, except for the first folder."""

    def exclude(self, viewer: Viewer, store: str, path: str, reason: str = "") -> None:
        """Exclude one file, regardless of the patterns. No search finds it from now on, and the requested job
        deletes its text. Raises NotFound, also if the file is already excluded."""
        opened = self._own(viewer, store)
        places_of_file = places.read_places(opened, [path])
        with opened.decide() as db:
            for source_id, raw in places_of_file:
                sources.exclude_file(db, source_id, raw, reason or "By hand.")
                notes = documents.forget_picture(db, source_id, raw)
                jobs.add_request(db, "index", [source_id], force=True, paths=[raw, *notes])

    def include(self, viewer: Viewer, store: str, path: str) -> None:
        """Include an excluded file again, so that the patterns decide, and request that it is read. ``path``
        is the store's name for it. Raises NotFound if it is not excluded."""
        opened = self._own(viewer, store)
        with opened.decide() as db:
            undone = [exclusion for exclusion in sources.excluded_files(db) if exclusion.display == path]
            if not undone:
                raise NotFound(
                    f"{path!r} is not excluded from store {store!r}.",
                    "`commonplace list --state excluded` names those that are.",
                )
            for exclusion in undone:
                sources.take_back_file(db, exclusion.source_id, exclusion.path)
                jobs.add_request(db, "index", [exclusion.source_id], force=True, paths=[exclusion.path])

    def all(
        self, viewer: Viewer, store: str, path: str | None = None, *, compared: bool = True
    ) -> list[Document]:
        """List every file of a store by path, including excluded files. With ``path``, list only the files of
        that name.

        Each ``state`` is compared with the disk now; if ``path`` is given, by content. Without ``compared``,
        it is the state when the file was last read, which stays the same until the store changes.
        """
        with self._stores.open(viewer, store).store.read() as db:
            rows = listing.document_rows(db, viewer, None if path is None else documents.ids(db, path))
            excluded = sources.excluded_files(db)
        states: dict[int, FileState] | None = None
        if path is not None:
            states = {row["id"]: file_state_by_hash(row) for row in rows}
        elif compared:
            states = file_states(rows)
        listed = listing.as_documents(rows, store, viewer, states)
        left = {
            exclusion.whole_path: exclusion for exclusion in excluded if path in (None, exclusion.display)
        }
        for place, row in enumerate(rows if left else ()):
            if out := left.pop(with_sep(row["root"]) + row["path"], None):
                listed[place] = replace(listed[place], state="excluded", reason=out.reason)
        return sorted(
            [*listed, *(_excluded(store, out) for out in left.values())], key=lambda file: file.path
        )

    def states(self, viewer: Viewer, store: str) -> dict[int, FileState]:
        """Return the state of each document by its id, compared with the disk now. Exclusions are ignored.
        20,000 files take about a tenth of a second."""
        with self._stores.open(viewer, store).store.read() as db:
            rows = listing.stat_rows(db)
        return file_states(rows)

    def get(self, viewer: Viewer, store: str, path: str) -> Document:
        """Return one file of a store, with its state compared by content. A file with only a new time counts
        as unchanged. Raises NotFound."""
        if files := self.all(viewer, store, path):
            return files[0]
        raise places.no_file(self._stores.open(viewer, store).store, path)

    def path_of(self, viewer: Viewer, store: str, path: str, here: Path | None = None) -> str:
        """Return the store's name for the file ``path``, or for a part of a file.

        Args:
            viewer: Who is asking.
            store: The store to look in.
            path: An absolute path, the store's name for the file, the end of that name if only one file has
                it (``tea.md``), or a path relative to ``here`` if that file exists.
            here: The folder that a relative path starts from.

        Raises:
            InvalidInput: ``path`` is outside the store's folders.
            NotFound: the store has no such file, or several with this ending (SeveralFiles).

        """
        opened, path = self._stores.open(viewer, store).store, slashed_text(path)
        with opened.read() as db:
            if (here is None and documents.ids(db, path)) or documents.is_part(db, path):
                return path
            candidates = places.places_of(db, path, here)
            leads_out = slashed_text(os.path.normpath(path)).startswith("../")
            if leads_out or expanded(path).is_absolute():
                candidates = candidates or places.inside(db, opened, path)
            elif not any(places.is_known(db, place) for place in candidates) and (
                ending := places.file_ending(db, store, path)
            ):
                return ending
        if not candidates:
            raise places.no_file(opened, path)
        return sources.shown_path(candidates[0][0].label, candidates[0][1])

    def path_and_lines(
        self, viewer: Viewer, store: str, path: str, here: Path | None = None
    ) -> tuple[str, tuple[int, int] | None]:
        """Return the store's name for the file ``path`` as `path_of` does, and the first and last line if
        ``path`` ends in lines (``a.md:10-14``), else None. Raises InvalidInput for a file outside the store's
        folders, and NotFound."""
        path = slashed_text(path)
        match = _LINES.fullmatch(path)
        if match is None or os.path.lexists((here or Path(os.sep)) / expanded(path)):
            return self.path_of(viewer, store, path, here), None
        with self._stores.open(viewer, store).store.read() as db:
            if documents.ids(db, path):
                return path, None
        lines = int(match[2]), int(match[3] or match[2])
        return self.path_of(viewer, store, match[1], here), lines

    def stores_meant(self, viewer: Viewer, path: str, here: Path | None = None) -> list[str]:
        """Return the stores that a file may belong to. ``path`` may be relative to ``here``, and
        end in lines (``a.md:10-14``).

        These are the stores that list the file; if no store does, the stores with a folder around it. If the
        default store is among them, only that is returned. Raises NotFound if there are several stores and
        none has the file.
        """
        names = self._stores.names(viewer)
        listing: list[str] = []
        holding: list[str] = []
        near: list[str] = []
        for name in names:
            with suppress(RagError, OSError):  # it does not hold the file, or cannot be read
                try:
                    called, _ = self.path_and_lines(viewer, name, path, here)
                except SeveralFiles:  # it holds them; which is meant is asked then
                    listing.append(name)
                    continue
                holding.append(name)
                with self._stores.open(viewer, name).store.read() as db:
                    excluded = (exclusion.display for exclusion in sources.excluded_files(db))
                    listing += [name] if documents.ids(db, called) or called in excluded else []
        meant = listing or holding or names
        if self._settings.default_store in meant:
            return [self._settings.default_store]
        if listing or holding or len(names) < 2:
            return meant
        for name in names:
            with suppress(RagError):
                near += places.near(self._stores.open(viewer, name).store, path)
        advice = "`commonplace list --store NAME` lists the files of a store."
        advice = f"Did you mean {near[0]!r}?" if near else advice
        raise NotFound(f"No store has a file {path[:500]!r}.", advice)


def _excluded(store: str, out: sources.Exclusion) -> Document:
    """Return an entry for an excluded file whose text is deleted. Only its place is known."""
    return Document(
        store=store, id=0, path=out.display, folder=posixpath.dirname(out.display), file_type="", title="",
        tags=(), date="", private=False, state="excluded", reason=out.reason, chunks=0, size=0, file_hash="",
        indexed_at="", root=out.root, path_in_source=display(out.path),
    )  # fmt: skip
