"""Where the files of a store are: from a path that somebody names to a source and the path below it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from rag_core.errors import InvalidInput, NotFound
from rag_core.files import expanded, scan, with_sep
from rag_core.library import diagnosis
from rag_core.messages import say
from rag_core.store import Store, documents, sources
from rag_core.types import Source
from rag_core.wording import take_back

Place = tuple[Source, bytes]
"""A source and a path below its folder."""

_SEP = os.fsencode(os.sep)
_SHOWN = 500  # characters of a path that does not exist


def read_places(opened: Store, paths: Sequence[str]) -> list[tuple[int, bytes]]:
    """(source id, path below it) of the documents called one of ``paths``, without excluded files. Raises
    NotFound if there are none."""
    with opened.read() as db:
        excluded = sources.excluded_files(db)
        found = [place for path in paths for place in documents.places(db, path)]
    if left := [place for place in found if place not in {(each.source_id, each.path) for each in excluded}]:
        return left
    name = paths[0] if paths else ""
    if any(each.display == name for each in excluded):
        undo = say("include", command=take_back(name, opened.name))
        raise NotFound(f"{name!r} is excluded from store {opened.name!r}.", undo)
    raise no_file(opened, name)


def no_file(opened: Store, path: str) -> NotFound:
    """The error for a store without a file called ``path``, with the most similar name."""
    like = near(opened, path)
    meant = f"Did you mean {like[0]!r}?" if like else "It may have been moved or deleted."
    return NotFound(f"Store {opened.name!r} has no file {path[:_SHOWN]!r}.", meant)


def near(opened: Store, path: str) -> Sequence[str]:
    """The files of a store with a name similar to ``path``, the most similar first."""
    with opened.read() as db:
        like = documents.called(db, path, 1) or documents.like(db, path)
        return like or get_close_matches(path, [out.display for out in sources.excluded_files(db)], n=1)


def places(db: sqlite3.Connection, path: str, here: Path | None = None) -> list[Place]:
    """Each folder of a store that could hold ``path``, and the path below it. ``path`` is absolute, relative
    to ``here``, or as the store calls it."""
    here = Path(os.sep) if expanded(path).is_absolute() else here
    return [
        (source, b"" if raw == b"." else raw)
        for source, raw in diagnosis.places(db, path, here)
        if not source.removed
    ]


def inside(db: sqlite3.Connection, store: Store, path: str) -> list[Place]:
    """`places`, at least one. Raises InvalidInput for a path outside of the store's folders."""
    if found := places(db, path):
        return found
    roots = ", ".join(source.root for source in sources.all_sources(db) if not source.removed) or "none yet"
    raise InvalidInput(
        f"{path!r} lies in no folder of store {store.name!r}.",
        f"Name something in one of its folders: {roots}.",
    )


def is_folder(place: Place) -> bool:
    """Whether there is a folder now."""
    source, raw = place
    return os.path.isdir(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH112, PTH118  (bytes)


def obstacle(db: sqlite3.Connection, store: Store, place: Place) -> diagnosis.Obstacle | None:
    """What keeps a job from reading a file. None for a document that is not excluded: the job forgets it if
    its file is gone."""
    source, raw = place
    found = diagnosis.obstacle(db, store.name, source, raw)
    forgettable = raw in _known(db, source) and raw not in sources.excluded_below(db, source.root)
    return None if forgettable else found


def files_below(db: sqlite3.Connection, place: Place, *, recursive: bool) -> set[bytes]:
    """The files of a folder that its source chooses now, or chose before."""
    source, raw = place
    found = _known(db, source)
    if is_folder(place):
        found |= {file.path for file in scan(Path(source.root), source.include, source.exclude).files}
    top = with_sep(raw) if raw else b""
    below = {path for path in found if path.startswith(top)}
    return {path for path in below if recursive or _SEP not in path[len(top) :]}


def _known(db: sqlite3.Connection, source: Source) -> set[bytes]:
    return {row[0] for row in db.execute("SELECT path FROM documents WHERE source_id = ?", (source.id,))}
