"""Pieces of a store: reading one file or folder of it again, taking passages or all documents out."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rag_core.errors import InvalidInput, NotFound, RagError
from rag_core.files import (
    EVERYTHING,
    MANY_FILES,
    contained,
    doubt,
    expanded,
    preview,
    scan,
    split_glob,
    why_skipped,
    with_sep,
)
from rag_core.index import index
from rag_core.library import diagnosis
from rag_core.library.folders import owner_only
from rag_core.library.runs import Runs
from rag_core.store import Store, documents, find, outbox, sources, work
from rag_core.store.sources import shown_path
from rag_core.types import Source, Viewer

_SEP = os.fsencode(os.sep)
_ESCAPED = re.compile(r"\[[*?\[{]\]")
_WILD = re.compile(r"[*?\[{]")
_LINES = re.compile(r"(.+):([0-9]{1,9})(?:-([0-9]{1,9}))?")
_Place = tuple[Source, bytes]


class Pieces(Runs):
    """Every store of one owner, in pieces. Paths are absolute, or as the store calls them.

    Every method here raises Forbidden for a guest, and InvalidInput for a path outside the store's folders.
    """

    # --- reading again ------------------------------------------------------------------

    def request_path(self, viewer: Viewer, store: str, path: str) -> str:
        """Ask for one file to be read, changed or not; returns what the store calls it.

        Raises InvalidInput for a folder, and for a file that the patterns or the owner leave out.
        """
        owner_only(viewer, "index")
        opened = self._own(viewer, store)
        with opened.read() as db:
            found = _inside(db, opened, path)
            if any(map(_is_folder, found)):
                raise InvalidInput(
                    f"{path!r} is a folder.", "Ask for the folder to be read, or name a file in it."
                )
            hindered = [_hindrance(db, opened, place) for place in found]
        readable = [place for place, hindrance in zip(found, hindered, strict=True) if hindrance is None]
        if not readable and hindered[0]:
            raise InvalidInput(f"{path!r} is not read. {hindered[0].said}", hindered[0].advice)
        for source, raw in readable:
            index.request_files(opened, source.id, [raw])
        return _shown(readable[0])

    def request_below(self, viewer: Viewer, store: str, path: str, *, recursive: bool = True) -> None:
        """Ask for the files of a folder to be brought up to date; without ``recursive`` not for those in
        folders below it. Raises InvalidInput where the patterns choose none."""
        owner_only(viewer, "index")
        opened = self._own(viewer, store)
        with opened.read() as db:
            asked = [
                (place, _files_below(db, place, recursive=recursive)) for place in _inside(db, opened, path)
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
                    work.add_request(db, "index", [source.id], paths=None if whole else sorted(paths))

    # --- adding -------------------------------------------------------------------------

    def add_below(
        self, viewer: Viewer, store: str, path: str, roots: Sequence[Path], *, recursive: bool = True
    ) -> Source | None:
        """Add the folder or the single file ``path`` to a store that has it in none of its folders yet, if it
        lies below one of ``roots`` once links are resolved. None where nothing was added.

        Raises InvalidInput for a path in none of the store's folders and below none of ``roots``, and for one
        that a folder of a store leaves out: hidden or ignored, one that holds keys, a whole home folder.
        """
        owner_only(viewer, "choose folders")
        opened = self._own(viewer, store)
        if not (roots and expanded(path).is_absolute()):
            return None
        with opened.read() as db:
            held = [source for source, _ in _places(db, path)]
        if any(source.paused or not _is_narrow(source) for source in held):
            return None
        folder, pattern = split_glob(str(_allowed(path, store, roots)))
        if pattern == EVERYTHING[0] and not recursive:
            pattern = "*"
        if any(source.root == str(folder) and pattern in source.include for source in held):
            return None
        found = preview(folder, [pattern], max_files=MANY_FILES) if pattern == EVERYTHING[0] else None
        if found and (why := doubt(folder, [pattern], found)):
            raise InvalidInput(why, "Choose a folder inside it.")
        return self.add_source(viewer, store, folder, [pattern])

    # --- taking out ---------------------------------------------------------------------

    def path_in_store(self, viewer: Viewer, store: str, path: str, here: Path | None = None) -> str:
        """What the store calls the file ``path``, read or not: absolute, as the store calls it or, where a
        file is there, relative to ``here``. Raises NotFound where a path that is not absolute leads to none.
        """
        owner_only(viewer, "see files")
        opened = self._stores.open(viewer, store).store
        with opened.read() as db:
            if here is None and documents.ids(db, path):
                return path
            found = _places(db, path, here)
            if not found and _leads_out(path):
                raise _outside(db, opened, path)
        if not found:
            raise self._no_file(opened, path)
        return _shown(found[0])

    def lines_in_store(
        self, viewer: Viewer, store: str, path: str, here: Path | None = None
    ) -> tuple[str, tuple[int, int] | None]:
        """As `path_in_store`, for a path that may have lines behind it as results do (``a.md:10-14``), with
        the first and the last of these."""
        found = _LINES.fullmatch(path)
        if found is None or os.path.lexists((here or Path(os.sep)) / expanded(path)):
            return self.path_in_store(viewer, store, path, here), None
        with self._stores.open(viewer, store).store.read() as db:
            if documents.ids(db, path):
                return path, None
        lines = int(found[2]), int(found[3] or found[2])
        return self.path_in_store(viewer, store, found[1], here), lines

    def stores_meant(self, viewer: Viewer, path: str, here: Path | None = None) -> list[str]:
        """The stores that could be meant where a file is named as for `lines_in_store`, and no store.

        These are the stores that have read or excluded it, else those with a folder in which it lies; of
        several only the one that is configured, if it is among them. Where none knows it that is the one that
        is configured or the only one. Raises NotFound where there are several.
        """
        owner_only(viewer, "see files")
        names = self.store_names(viewer)
        called = {name: found for name in names if (found := self._called(viewer, name, path, here))}
        has = [name for name, found in called.items() if self._has(viewer, name, found)]
        meant = has or [*called] or names
        default = self.settings.default_store
        if default in meant:
            return [default]
        if not called and len(names) > 1:
            raise self._in_no_store(viewer, names, path)
        return meant

    def _in_no_store(self, viewer: Viewer, names: Sequence[str], path: str) -> NotFound:
        near: list[str] = []
        for name in names:
            with suppress(RagError):
                near += self._near(self._stores.open(viewer, name).store, path)
        lists = "`commonplace list --store NAME` lists the files of one."
        return NotFound(
            f"No store has a file {path[:500]!r}.", f"Did you mean {near[0]!r}?" if near else lists
        )

    def _called(self, viewer: Viewer, store: str, path: str, here: Path | None) -> str:
        """What a store calls a file; '' where it knows none, or cannot be read."""
        try:
            return self.lines_in_store(viewer, store, path, here)[0]
        except (RagError, OSError):
            return ""

    def _has(self, viewer: Viewer, store: str, called: str) -> bool:
        with self._stores.open(viewer, store).store.read() as db:
            return bool(documents.ids(db, called)) or called in {
                each.display for each in sources.excluded_files(db)
            }

    def paths_like(self, viewer: Viewer, store: str, beginning: str, limit: int) -> list[str]:
        """At most ``limit`` files of a store that begin so, by what it calls them, excluded ones too."""
        owner_only(viewer, "see files")
        with self._stores.open(viewer, store).store.read() as db:
            rows = db.execute(
                "SELECT display FROM documents WHERE substr(display, 1, ?) = ? ORDER BY display LIMIT ?",
                (len(beginning), documents.storable(beginning), limit),
            ).fetchall()
            out = [each.display for each in sources.excluded_files(db)]
        found = {*(row[0] for row in rows), *(path for path in out if path.startswith(beginning))}
        return sorted(found)[:limit]

    def take_out_passages(self, viewer: Viewer, store: str, keys: Sequence[str]) -> int:
        """Take passages out of the index until their files change or are read again; how many it were.

        Raises NotFound when one of them is not there; then nothing is taken out.
        """
        owner_only(viewer, "take passages out")
        opened = self._own(viewer, store)
        with opened.decide() as db:
            found = find.chunk_ids(db, keys, find.visible(viewer))
            if missing := [key for key in keys if key not in found]:
                raise NotFound(
                    f"Store {store!r} has no passage {missing[0][:80]!r}.",
                    "Nothing was taken out. Search again; its file was changed.",
                )
            documents.take_out_chunks(db, found.values())
            is_remote = bool(outbox.address(db))
        if is_remote:
            index.request(opened, [])
        return len(found)

    def clear_store(self, viewer: Viewer, store: str, *, confirm: bool) -> int:
        """Pause every folder of a store and ask for all its documents to be forgotten; how many these are.
        The files stay as they are. Raises InvalidInput unless ``confirm``."""
        owner_only(viewer, "clear a store")
        opened = self._own(viewer, store)
        if not confirm:
            raise InvalidInput(
                f"Store {store!r} is cleared only when that is confirmed.",
                "Say confirm: true, if the owner asked for all its documents to be taken out of the index.",
            )
        index.cancel(opened)
        with opened.decide() as db:
            kept = [source for source in sources.all_sources(db) if not source.removed]
            for source in kept:
                sources.change_source(db, replace(source, paused=True))
            work.add_request(db, "index", [source.id for source in kept], forget=True)
            return int(db.execute("SELECT count(*) FROM documents").fetchone()[0])


def _inside(db: sqlite3.Connection, store: Store, path: str) -> list[_Place]:
    """Each folder of the store that holds ``path``, and the path below it. Raises InvalidInput for none."""
    if found := _places(db, path):
        return found
    raise _outside(db, store, path)


def _allowed(path: str, store: str, roots: Sequence[Path]) -> Path:
    """Where ``path`` leads, below one of ``roots``. Raises InvalidInput."""
    for root in roots:
        with suppress(InvalidInput):
            real = contained(Path(path), [root])
            top = root.resolve()
            break
    else:
        raise InvalidInput(
            f"{path!r} lies in no folder of store {store!r}, and nothing may be added there.",
            f"Name something below {', '.join(map(str, roots))}; the setting mcp_roots has others added.",
        )
    if why := why_skipped(top, os.fsencode(real.relative_to(top).as_posix()), EVERYTHING):
        raise InvalidInput(f"{path!r} is not read: it {why.text}.", "Choose a folder that holds documents.")
    return real


def _is_narrow(source: Source) -> bool:
    """Whether a folder was added for single files, or for what lies directly in it."""
    return all(glob == "*" or not _WILD.search(_ESCAPED.sub("", glob)) for glob in source.include)


def _outside(db: sqlite3.Connection, store: Store, path: str) -> InvalidInput:
    roots = ", ".join(source.root for source in sources.all_sources(db) if not source.removed) or "none yet"
    return InvalidInput(
        f"{path!r} lies in no folder of store {store.name!r}.",
        f"Name something in one of its folders: {roots}.",
    )


def _places(db: sqlite3.Connection, path: str, here: Path | None = None) -> list[_Place]:
    here = Path(os.sep) if expanded(path).is_absolute() else here
    return [
        (source, b"" if raw == b"." else raw)
        for source, raw in diagnosis.places(db, path, here)
        if not source.removed
    ]


def _leads_out(path: str) -> bool:
    """Whether a path says itself where it is, in a folder of a store or not."""
    return expanded(path).is_absolute() or os.path.normpath(path).startswith(os.pardir + os.sep)


def _shown(place: _Place) -> str:
    return shown_path(place[0].label, place[1])


def _is_folder(place: _Place) -> bool:
    source, raw = place
    return os.path.isdir(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH112, PTH118  (bytes)


def _hindrance(db: sqlite3.Connection, store: Store, place: _Place) -> diagnosis.Obstacle | None:
    """What keeps a run from reading the file; nothing where it was read once, as it may be gone."""
    source, raw = place
    found = diagnosis.obstacle(db, store.name, source, raw)
    known = any(path == raw for path in _known(db, source))
    return None if known and raw not in sources.excluded_below(db, source.root) else found


def _files_below(db: sqlite3.Connection, place: _Place, *, recursive: bool) -> set[bytes]:
    """The files of a folder that its source chooses now, or chose before."""
    source, raw = place
    if not _is_folder(place):
        walked: Iterator[bytes] = iter(())
    else:
        walked = (file.path for file in scan(Path(source.root), source.include, source.exclude).files)
    top = with_sep(raw) if raw else b""
    below = {path for path in (*walked, *_known(db, source)) if path.startswith(top)}
    return {path for path in below if recursive or _SEP not in path[len(top) :]}


def _known(db: sqlite3.Connection, source: Source) -> Iterator[bytes]:
    return (row[0] for row in db.execute("SELECT path FROM documents WHERE source_id = ?", (source.id,)))
