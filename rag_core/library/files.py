"""The files of a store, as the owner sees them: compared with the disk, excluded, found by a path."""

from __future__ import annotations

import difflib
import os
import posixpath
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from pathlib import Path

from rag_core.errors import NotFound, RagError
from rag_core.files import display, expanded, with_sep
from rag_core.library import places
from rag_core.library.freshness import file_state_by_hash, file_states
from rag_core.library.service import Service
from rag_core.store import documents, find, jobs, sources
from rag_core.types import Document, FileState, Viewer

_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")


class Files(Service):
    """Lists the files of stores. Paths are absolute, or as the store calls them."""

    def exclude(self, viewer: Viewer, store: str, path: str, reason: str = "") -> None:
        """Take one document out, whatever the patterns say; the run that this asks for forgets it.

        Raises NotFound, also when it is out already.
        """
        opened = self._own(viewer, store)
        found = places.read_places(opened, [path])
        with opened.decide() as db:
            for source_id, raw in found:
                sources.exclude_file(db, source_id, raw, reason or "It was taken out by hand.")
                jobs.request_files(db, source_id, [raw])

    def take_back(self, viewer: Viewer, store: str, path: str) -> None:
        """Let the patterns decide on an excluded file again, and ask for it to be read. Raises NotFound."""
        opened = self._own(viewer, store)
        with opened.read() as db:
            out = sources.excluded_files(db)
        found = [each for each in out if each.display == path]
        if not found:
            near = difflib.get_close_matches(path, [each.display for each in out], n=1)
            meant = f"Did you mean {near[0]!r}?" if near else "Look at its files."
            raise NotFound(f"No file called {path!r} is excluded from store {store!r}.", meant)
        with opened.decide() as db:
            for each in found:
                sources.take_back_file(db, each.source_id, each.path)
                jobs.request_files(db, each.source_id, [each.path])

    def all(self, viewer: Viewer, store: str, *, compared: bool = True) -> list[Document]:
        """Every file of a store by path, its ``state`` a FileState compared with the disk just now,
        excluded files included. Without ``compared`` the state of one that is not excluded is what its
        last reading gave, and the answer the same until the store changes."""
        return self._listed(viewer, store, compared=compared)

    def states(self, viewer: Viewer, store: str) -> dict[int, FileState]:
        """The state of each document by its id, compared with the disk just now; only ``files`` knows
        which are excluded. One stat a file: 20,000 take about a tenth of a second."""
        with self._stores.open(viewer, store).store.read() as db:
            rows = find.stat_rows(db)
        return file_states(rows)

    def get(self, viewer: Viewer, store: str, path: str) -> Document:
        """One file of a store, as ``files`` lists it, but that a file that was only touched has not changed:
        its content is compared. Raises NotFound."""
        found = self._listed(viewer, store, path)
        if not found:
            raise places.no_file(self._stores.open(viewer, store).store, path)
        return found[0]

    def _listed(
        self, viewer: Viewer, store: str, path: str | None = None, *, compared: bool = True
    ) -> list[Document]:
        """The files of a store by path, or only those called ``path``."""
        with self._stores.open(viewer, store).store.read() as db:
            rows = find.document_rows(db, viewer, None if path is None else documents.ids(db, path))
            excluded = sources.excluded_files(db)
        out = {each.whole_path: each for each in excluded if path in (None, each.display)}
        if path is None:
            states = file_states(rows) if compared else None
        else:
            states = {row["id"]: file_state_by_hash(row) for row in rows}
        found = find.as_documents(rows, store, viewer, states)
        if not out:
            return found
        listed = [
            _marked(document, out.pop(with_sep(row["root"]) + row["path"], None))
            for row, document in zip(rows, found, strict=True)
        ]
        return sorted([*listed, *(_excluded(store, each) for each in out.values())], key=attrgetter("path"))

    def called(self, viewer: Viewer, store: str, path: str, here: Path | None = None) -> str:
        """What the store calls the file ``path``, read or not: absolute, as the store calls it or, where a
        file is there, relative to ``here``. Raises NotFound where a path that is not absolute leads to none.
        """
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            if here is None and documents.ids(db, path):
                return path
            found = places.places(db, path, here)
            if not found and places.leads_out(path):
                raise places.outside(db, opened, path)
        if not found:
            raise places.no_file(opened, path)
        return places.shown(found[0])

    def lines(
        self, viewer: Viewer, store: str, path: str, here: Path | None = None
    ) -> tuple[str, tuple[int, int] | None]:
        """As `path_in_store`, for a path that may have lines behind it as results do (``a.md:10-14``), with
        the first and the last of these."""
        found = _LINES.fullmatch(path)
        if found is None or os.path.lexists((here or Path(os.sep)) / expanded(path)):
            return self.called(viewer, store, path, here), None
        with self._stores.open(viewer, store).store.read() as db:
            if documents.ids(db, path):
                return path, None
        lines = int(found[2]), int(found[3] or found[2])
        return self.called(viewer, store, found[1], here), lines

    def stores_meant(self, viewer: Viewer, path: str, here: Path | None = None) -> list[str]:
        """The stores that could be meant where a file is named as for `lines_in_store`, and no store.

        These are the stores that have read or excluded it, else those with a folder in which it lies; of
        several only the one that is configured, if it is among them. Where none knows it that is the one that
        is configured or the only one. Raises NotFound where there are several.
        """
        names = self._stores.names(viewer)
        called = {name: found for name in names if (found := self._called_in(viewer, name, path, here))}
        has = [name for name, found in called.items() if self._has(viewer, name, found)]
        meant = has or [*called] or names
        default = self._settings.default_store
        if default in meant:
            return [default]
        if not called and len(names) > 1:
            raise self._in_no_store(viewer, names, path)
        return meant

    def _in_no_store(self, viewer: Viewer, names: Sequence[str], path: str) -> NotFound:
        near: list[str] = []
        for name in names:
            with suppress(RagError):
                near += places.near(self._stores.open(viewer, name).store, path)
        lists = "`commonplace list --store NAME` lists the files of one."
        return NotFound(
            f"No store has a file {path[:500]!r}.", f"Did you mean {near[0]!r}?" if near else lists
        )

    def _called_in(self, viewer: Viewer, store: str, path: str, here: Path | None) -> str:
        """What a store calls a file; '' where it knows none, or cannot be read."""
        try:
            return self.lines(viewer, store, path, here)[0]
        except (RagError, OSError):
            return ""

    def _has(self, viewer: Viewer, store: str, called: str) -> bool:
        with self._stores.open(viewer, store).store.read() as db:
            return bool(documents.ids(db, called)) or called in {
                each.display for each in sources.excluded_files(db)
            }

    def paths_like(self, viewer: Viewer, store: str, beginning: str, limit: int) -> list[str]:
        """At most ``limit`` files of a store that begin so, by what it calls them, excluded ones too."""
        with self._stores.open(viewer, store).store.read() as db:
            rows = db.execute(
                "SELECT display FROM documents WHERE substr(display, 1, ?) = ? ORDER BY display LIMIT ?",
                (len(beginning), documents.storable(beginning), limit),
            ).fetchall()
            out = [each.display for each in sources.excluded_files(db)]
        found = {*(row[0] for row in rows), *(path for path in out if path.startswith(beginning))}
        return sorted(found)[:limit]


def _marked(document: Document, out: sources.Exclusion | None) -> Document:
    """``document`` as excluded, if it is; its passages are found until the next run."""
    return replace(document, state="excluded", reason=out.reason) if out else document


def _excluded(store: str, out: sources.Exclusion) -> Document:
    """An excluded file that a run forgot, as the faces list it: nothing is known but where it is."""
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
        root=out.root,
        path_in_source=display(out.path),
    )
