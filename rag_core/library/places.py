"""Where the files of a store are: from a path that somebody names to a source and the path below it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path

from rag_core.errors import InvalidInput, NotFound
from rag_core.files import expanded, scan, with_sep
from rag_core.library import diagnosis
from rag_core.messages import say
from rag_core.store import Store, documents, sources
from rag_core.store.sources import shown_path
from rag_core.types import Source
from rag_core.wording import take_back

Place = tuple[Source, bytes]
"""A source and a path below its folder."""

_SEP = os.fsencode(os.sep)
_SHOWN = 500  # characters of a path that does not exist


def read_places(opened: Store, paths: Sequence[str]) -> list[tuple[int, bytes]]:
    """(source, path below it) of the documents called one of ``paths``. Raises NotFound for none."""
    with opened.read() as db:
        out = sources.excluded_files(db)
        found = [place for path in paths for place in documents.places(db, path)]
    taken_out = {(each.source_id, each.path) for each in out}
    if left := [place for place in found if place not in taken_out]:
        return left
    name = paths[0] if paths else ""
    if any(each.display == name for each in out):
        raise _excluded(opened.name, name)
    raise no_file(opened, name)


def no_file(opened: Store, path: str) -> NotFound:
    """The error where a store has no file called ``path``, with one that may be meant."""
    like = near(opened, path)
    meant = f"Did you mean {like[0]!r}?" if like else "It may have been moved or deleted."
    return NotFound(f"Store {opened.name!r} has no file {path[:_SHOWN]!r}.", meant)


def near(opened: Store, path: str) -> Sequence[str]:
    """What may be meant by a file that a store has not, the likeliest first."""
    with opened.read() as db:
        like = documents.called(db, path, 1) or documents.like(db, path)
        return like or get_close_matches(path, [out.display for out in sources.excluded_files(db)], n=1)


def _excluded(store: str, path: str) -> NotFound:
    undo = say("include", command=take_back(path, store))
    return NotFound(f"{path!r} is excluded from store {store!r}.", undo)


def inside(db: sqlite3.Connection, store: Store, path: str) -> list[Place]:
    """Each folder of the store that holds ``path``, and the path below it. Raises InvalidInput for none."""
    if found := places(db, path):
        return found
    raise outside(db, store, path)


def outside(db: sqlite3.Connection, store: Store, path: str) -> InvalidInput:
    roots = ", ".join(source.root for source in sources.all_sources(db) if not source.removed) or "none yet"
    return InvalidInput(
        f"{path!r} lies in no folder of store {store.name!r}.",
        f"Name something in one of its folders: {roots}.",
    )


def places(db: sqlite3.Connection, path: str, here: Path | None = None) -> list[Place]:
    here = Path(os.sep) if expanded(path).is_absolute() else here
    return [
        (source, b"" if raw == b"." else raw)
        for source, raw in diagnosis.places(db, path, here)
        if not source.removed
    ]


def leads_out(path: str) -> bool:
    """Whether a path says itself where it is, in a folder of a store or not."""
    return expanded(path).is_absolute() or os.path.normpath(path).startswith(os.pardir + os.sep)


def shown(place: Place) -> str:
    return shown_path(place[0].label, place[1])


def is_folder(place: Place) -> bool:
    source, raw = place
    return os.path.isdir(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH112, PTH118  (bytes)


def hindrance(db: sqlite3.Connection, store: Store, place: Place) -> diagnosis.Obstacle | None:
    """What keeps a run from reading the file; nothing where it was read once, as it may be gone."""
    source, raw = place
    found = diagnosis.obstacle(db, store.name, source, raw)
    known = any(path == raw for path in _known(db, source))
    return None if known and raw not in sources.excluded_below(db, source.root) else found


def files_below(db: sqlite3.Connection, place: Place, *, recursive: bool) -> set[bytes]:
    """The files of a folder that its source chooses now, or chose before."""
    source, raw = place
    if not is_folder(place):
        walked: Iterator[bytes] = iter(())
    else:
        walked = (file.path for file in scan(Path(source.root), source.include, source.exclude).files)
    top = with_sep(raw) if raw else b""
    below = {path for path in (*walked, *_known(db, source)) if path.startswith(top)}
    return {path for path in below if recursive or _SEP not in path[len(top) :]}


def _known(db: sqlite3.Connection, source: Source) -> Iterator[bytes]:
    return (row[0] for row in db.execute("SELECT path FROM documents WHERE source_id = ?", (source.id,)))
