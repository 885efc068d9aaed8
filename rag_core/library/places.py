"""Where the files of a store are: from a path that a person names to a source and the path below it, and the
reasons why a job does not read a file."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import NamedTuple

from rag_core import system
from rag_core.errors import InvalidInput, NotFound, RagError, SeveralFiles
from rag_core.extract import hardly_text
from rag_core.files import display, expanded, scan, why_skipped, with_sep
from rag_core.messages import Message, say
from rag_core.store import Store, documents, sources
from rag_core.types import Source
from rag_core.wording import command, take_back

FilePlace = tuple[Source, bytes]
"""A source and a path below its folder."""

_SEP = b"/"
_MOST_NAMED = 5  # number of files with one name that an error lists
_MOST_NAMES = 300_000  # number of names on the disk to look through, which takes a second or two


def read_places(opened: Store, paths: Sequence[str]) -> list[tuple[int, bytes]]:
    """Return (source id, path below it) of the documents whose names are in ``paths``, without excluded
    files. Raises NotFound if there are no such documents."""
    paths = [system.slashed_text(path) for path in paths]
    with opened.read() as db:
        excluded = sources.excluded_files(db)
        named = [place for path in paths for place in documents.places(db, path)]
    left_out = {(exclusion.source_id, exclusion.path) for exclusion in excluded}
    if left := [place for place in named if place not in left_out]:
        return left
    name = paths[0] if paths else ""
    if any(exclusion.display == name for exclusion in excluded):
        undo = say("include", command=take_back(name, opened.name))
        raise NotFound(f"{name!r} is excluded from store {opened.name!r}.", undo)
    raise no_file(opened, name)


def no_file(opened: Store, path: str) -> NotFound:
    """Return the error that a store has no file ``path``. Its suggestion is the most similar name."""
    like = near(opened, path)
    meant = f"Did you mean {like[0]!r}?" if like else "It may have been moved or deleted."
    return NotFound(f"Store {opened.name!r} has no file {path[:500]!r}.", meant)


def file_ending(db: sqlite3.Connection, store: str, path: str) -> str | None:
    """Return the file, indexed or excluded, whose path ends in ``path``; None if there is no such file.
    Raises SeveralFiles if there are several."""
    excluded = [exclusion.display for exclusion in sources.excluded_files(db)]
    named = {*documents.called(db, path, _MOST_NAMED), *excluded}
    files = sorted((name for name in named if name.endswith(f"/{path}")), key=lambda file: (len(file), file))
    if len(files) < 2:
        return files[0] if files else None
    several = ", ".join(repr(name) for name in files[:_MOST_NAMED])
    raise SeveralFiles(f"Store {store!r} has several files called {path[:500]!r}.", f"Say which: {several}.")


def near(opened: Store, path: str) -> Sequence[str]:
    """Return the files of a store with names similar to ``path``, most similar first."""
    with opened.read() as db:
        like = documents.called(db, path, 1) or documents.like(db, path)
        return like or get_close_matches(path, [out.display for out in sources.excluded_files(db)], n=1)


def places_of(
    db: sqlite3.Connection, path: str, here: Path | None = None, *, removed: bool = False
) -> list[FilePlace]:
    """Return each folder of a store that may contain ``path``, with the path below it. Existing files come
    first.

    ``path`` is absolute, relative to ``here``, or the store's name for a file. With ``removed``, folders that
    are being removed are included.
    """
    folders = {source.id: source for source in sources.all_sources(db) if removed or not source.removed}
    path = system.slashed_text(path)
    here = Path(os.sep) if expanded(path).is_absolute() else here
    files = absolute(path, here) if here else ()
    on_disk = [
        (source, file[len(root) :])
        for file in files
        for source in folders.values()
        if with_sep(file).startswith(root := with_sep(os.fsencode(source.root)))
    ]
    known = documents.places(db, path)
    known += [(out.source_id, out.path) for out in sources.excluded_files(db) if out.display == path]
    called = [(folders[source_id], raw) for source_id, raw in known if source_id in folders]
    if any(map(os.path.lexists, files)):
        return on_disk or called
    return called or _below(folders.values(), path) or on_disk


def files_called(folders: Iterable[Source], name: str, limit: int) -> list[FilePlace]:
    """Return at most ``limit`` files on disk below ``folders`` whose path ends in ``name``, whether indexed
    or not."""
    try:
        tail = _SEP + system.slashed(os.fsencode(os.path.normpath(name)))
    except ValueError:  # a NUL or half a character: no file has that name
        return []
    files: list[FilePlace] = []
    seen = 0
    for source in folders:
        root = os.fsencode(source.root)
        for folder, below, names in os.walk(root):
            below.sort()
            seen += len(names)
            paths = [with_sep(folder) + file_name for file_name in names]
            files += [(source, path[len(with_sep(root)) :]) for path in paths if path.endswith(tail)]
            if len(files) >= limit or seen > _MOST_NAMES:
                return files[:limit]
    return files


def absolute(path: str, here: Path) -> tuple[bytes, ...]:
    """Return ``path``, which is absolute or relative to ``here``, as absolute paths: as written, and with
    links resolved if that differs. Return () if no file can have that name."""
    try:
        whole = os.fsencode(os.path.normpath(here / expanded(path)))
        return tuple(dict.fromkeys(map(system.slashed, (whole, os.path.realpath(whole)))))
    except ValueError:  # a NUL or half a character: no file has that name
        return ()


def _below(folders: Iterable[Source], path: str) -> list[FilePlace]:
    """Return (folder, path below it) for each folder with an existing file that the store would call
    ``path``."""
    existing = []
    for source in folders:
        below = f"{path}/".removeprefix(f"{source.label}/") if source.label else path
        inside = system.slashed_text(os.path.normpath(below))
        with suppress(ValueError):  # a NUL or half a character: no file has that name
            raw = b"" if inside == "." else os.fsencode(inside)
            whole = with_sep(os.fsencode(source.root)) + raw
            if not inside.startswith(("/", os.pardir)) and os.path.lexists(whole):
                existing.append((source, raw))
    return existing


def inside(db: sqlite3.Connection, store: Store, path: str) -> list[FilePlace]:
    """Return each folder of a store that may contain ``path``, with the path below it, as `places_of` does.
    Raises InvalidInput for a path outside the store's folders, so the result is never empty."""
    if candidates := places_of(db, path):
        return candidates
    roots = ", ".join(source.root for source in sources.all_sources(db) if not source.removed) or "none yet"
    advice = f"Name something in one of its folders: {roots}."
    raise InvalidInput(f"{path!r} is not in a folder of store {store.name!r}.", advice)


def is_known(db: sqlite3.Connection, place: FilePlace) -> bool:
    """Whether a file or folder exists at a place, or the store has the place as a document or an
    exclusion."""
    values = (place[0].id, place[1]) * 2
    sql = """SELECT 1 FROM documents WHERE source_id = ? AND path = ?
             UNION ALL SELECT 1 FROM exclusions WHERE source_id = ? AND path = ?"""
    return os.path.lexists(_whole(place)) or db.execute(sql, values).fetchone() is not None


def is_folder(place: FilePlace) -> bool:
    """Whether a place is a folder on disk now."""
    return os.path.isdir(_whole(place))  # noqa: PTH112  (bytes)


def files_below(db: sqlite3.Connection, place: FilePlace, *, recursive: bool) -> set[bytes]:
    """Return the files in a folder that its source's patterns match now, or that are already indexed."""
    source, raw = place
    paths_known = {
        row[0] for row in db.execute("SELECT path FROM documents WHERE source_id = ?", (source.id,))
    }
    if is_folder(place):
        paths_known |= {file.path for file in scan(Path(source.root), source.include, source.exclude).files}
    top = with_sep(raw) if raw else b""
    below = {path for path in paths_known if path.startswith(top)}
    return {path for path in below if recursive or _SEP not in path[len(top) :]}


FORGOTTEN = "forgotten_by_run"
"""Message code: the text of a file that is gone is removed by the next run, and the owner's searches no
longer show it."""


class Obstacle(NamedTuple):
    """A reason why a job does not read a file."""

    said: str | Message  #: The reason, in a sentence.
    advice: Message  #: What the owner can do about it.
    meanwhile: str = "found_until_run"  #: Message code: what happens to the stored text of the file.


def obstacle(db: sqlite3.Connection, store: str, place: FilePlace) -> Obstacle | None:
    """Return the reason why a job does not read a file; None if the job reads it."""
    source, raw = place
    whole = _whole(place)
    if source.removed:
        return Obstacle(say("folder_removed"), say("add_folder_again"))
    if out := next(
        (exclusion for exclusion in sources.excluded_files(db) if exclusion.whole_path == whole), None
    ):
        undo = say("include", command=take_back(out.display, store))
        return Obstacle(say("excluded", reason=out.reason), undo)
    if is_folder(place):
        return Obstacle(say("became_folder"), say("ask_file_in_it"), FORGOTTEN)
    try:
        reason = why_skipped(Path(source.root), raw, source.include, source.exclude)
    except RagError as error:  # the folder is gone, or cannot be read
        return Obstacle(error.message, error.next_step, "still_found")
    if reason is None:
        return None
    if reason.kind == "unreadable":
        meanwhile = FORGOTTEN if _is_gone(whole) else "still_found"
        return Obstacle(reason.text, say("check_file"), meanwhile)
    if reason.kind == "unread document":
        return Obstacle(say("skipped_by_rule", reason=reason.text), say("save_document"))
    advice = not_a_document(display(raw)) or say("move_file")
    if advice.code == "move_file" and reason.kind == "not included":
        named = re.sub(r"[*?\[{]", r"[\g<0>]", display(raw))
        add = command("index", named, f"--root {system.quote(source.root)} --store {store}")
        advice = say("include_pattern", command=add)
    elif advice.code == "move_file" and reason.kind == "excluded":
        advice = say("edit_exclude", number=source.id, store=store)
    return Obstacle(say("skipped_by_rule", reason=reason.text), advice)


def job_obstacle(db: sqlite3.Connection, store: str, place: FilePlace) -> Obstacle | None:
    """Return the `obstacle` for a job that reads one file. Return None also if a document's file is gone,
    because the job then removes the document."""
    hindrance = obstacle(db, store, place)
    if hindrance and hindrance.meanwhile == FORGOTTEN:
        where = place[0].id, place[1]
        if db.execute("SELECT 1 FROM documents WHERE source_id = ? AND path = ?", where).fetchone():
            return None
    return hindrance


def not_a_document(path: str) -> Message | None:
    """Return a hint if a file's name shows that the file has no text; else None."""
    return say("not_a_document") if hardly_text(path) else None


def _whole(place: FilePlace) -> bytes:
    return with_sep(os.fsencode(place[0].root)) + place[1]


def _is_gone(whole: bytes) -> bool:
    try:
        os.lstat(whole)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # it may be there
        return False
    return False
