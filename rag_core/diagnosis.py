"""Why a file is found or not: from the folder it lies in to the vectors of its passages."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rag_core.errors import RagError
from rag_core.files import why_skipped, with_sep
from rag_core.freshness import file_state
from rag_core.store import Store, documents, embeddings
from rag_core.store.sources import all_sources, excluded_below, excluded_files, shown_path
from rag_core.types import Diagnosis, Source, Step
from rag_core.wording import plural

ADD_FOLDER = "Add its folder to the store."
_INDEX = "Index its folder again."
_NAMESAKES = 3


def explain(store: Store, path: str, here: Path) -> Diagnosis:
    """Follow the file ``path`` (absolute, relative to ``here``, or as the store calls it) into ``store``.

    It stops at the first step that keeps the file from being found; reads no file. The advice is
    ``ADD_FOLDER`` where no folder of the store could hold it, and no document has this name. Raises
    StoreError.
    """
    with store.read() as db:
        places = _places(db, path, here)
        if not places:
            folders = ", ".join(source.root for source in all_sources(db)) or "none yet"
            sentence = f"No folder of store {store.name!r} contains it. Its folders: {folders}."
            called = documents.called(db, path, _NAMESAKES)
            hint = f"It holds {', '.join(map(repr, called))}: write one like that." if called else ADD_FOLDER
            return Diagnosis(store.name, path, False, (Step("no", sentence),), hint)
        tried = [_explain(db, store.name, source, raw) for source, raw in places]
    return next((diagnosis for diagnosis in tried if diagnosis.findable), tried[0])


def _places(db: sqlite3.Connection, path: str, here: Path) -> list[tuple[Source, bytes]]:
    """Each source that could hold ``path``, and the path below its root. What is there on the disk goes
    before what the store calls so."""
    by_id = {source.id: source for source in all_sources(db)}
    files = _absolute(path, here)
    on_disk = [
        (source, file[len(root) :])
        for file in files
        for source in by_id.values()
        if with_sep(file).startswith(root := with_sep(os.fsencode(source.root)))
    ]
    known = documents.places(db, path)
    known += [(out.source_id, out.path) for out in excluded_files(db) if out.display == path]
    called = [(by_id[source_id], raw) for source_id, raw in known]
    is_there = any(map(os.path.lexists, files))
    return (on_disk or called) if is_there else (called or on_disk)


def _absolute(path: str, here: Path) -> tuple[bytes, ...]:
    """``path`` from the root of the disk, as written and with its links resolved."""
    try:
        whole = os.fsencode(os.path.normpath(here / os.path.expanduser(path)))  # noqa: PTH111 (no error)
        return tuple(dict.fromkeys((whole, os.path.realpath(whole))))
    except ValueError:  # a NUL or half a character: no file has that name
        return ()


def _explain(db: sqlite3.Connection, store: str, source: Source, raw: bytes) -> Diagnosis:
    shown = shown_path(source.label, raw) if raw else source.root
    steps = [Step("ok", f"It lies in the folder {source.root!r} of store {store!r}.")]
    advice = ""
    for step, then in _follow(db, source, raw):
        steps.append(step)
        if step.state == "no":
            return Diagnosis(store, shown, False, tuple(steps), then)
        advice = advice or then
    return Diagnosis(store, shown, True, tuple(steps), advice)


def _follow(db: sqlite3.Connection, source: Source, raw: bytes) -> Iterator[tuple[Step, str]]:
    """Each step from the file to its vectors, with what to do where it went wrong."""
    row = _row(db, source, raw)
    if row is None and os.path.isdir(os.path.join(os.fsencode(source.root), raw)):  # noqa: PTH112, PTH118
        yield Step("no", "It is a folder; only files are found."), "Ask about a file in it."
        return
    yield from _choice(db, source, raw, kept=bool(row and row["chunk_count"]))
    if row is None:
        yield Step("no", "It was not read yet."), f"Resume it, then: {_INDEX}" if source.paused else _INDEX
        return
    yield from _reading(row)
    yield from _vectors(db, row)
    if row["private"]:
        yield Step("note", "It is private: only the owner finds it."), ""


class _Obstacle(NamedTuple):
    """What keeps a run from reading a file, and what becomes of the text that the store has of it."""

    sentence: str
    advice: str
    meanwhile: str = "It is found until the next run."


def _choice(db: sqlite3.Connection, source: Source, raw: bytes, *, kept: bool) -> Iterator[tuple[Step, str]]:
    """Whether the folder and its rules give the file; ``kept`` where the store has its text."""
    found = _obstacle(db, source, raw)
    if found is None:
        yield Step("ok", "The folder's patterns take it, and no rule leaves it out."), ""
        if source.paused:
            yield Step("note", "The folder is paused; changes wait."), "Resume the folder."
    elif kept:
        yield Step("note", f"{found.sentence} {found.meanwhile}"), found.advice
    else:
        yield Step("no", found.sentence), found.advice


def _obstacle(db: sqlite3.Connection, source: Source, raw: bytes) -> _Obstacle | None:
    if source.removed:
        return _Obstacle("The folder is being removed from the store.", "Add the folder again.")
    excluded = excluded_below(db, source.root)
    if raw in excluded:
        sentence = f"It was excluded by hand. {excluded[raw]}".strip()
        return _Obstacle(sentence, "Take it back on the Files page.")
    stays = "What was read of it is still found."
    try:
        reason = why_skipped(Path(source.root), raw, source.include, source.exclude)
    except RagError as error:  # the folder is gone, or cannot be read
        return _Obstacle(error.message, error.suggestion, stays)
    if reason is None:
        return None
    if reason.startswith("cannot be"):
        advice = "Check that the file is there and that this user may read it."
        return _Obstacle(
            f"It {reason}.", advice, "The next run forgets it." if _is_gone(source, raw) else stays
        )
    return _Obstacle(f"The folder's rules leave it out: it {reason}.", _rule_advice(reason))


def _is_gone(source: Source, raw: bytes) -> bool:
    try:
        os.lstat(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH118  (bytes)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # it may be there
        return False
    return False


def _rule_advice(reason: str) -> str:
    if "include pattern" in reason:
        return "Add a pattern that names it to the folder."
    if "exclude pattern" in reason:
        return "Change the folder's exclude patterns."
    return "Move or rename the file, or change the rule that is named."


def _row(db: sqlite3.Connection, source: Source, raw: bytes) -> sqlite3.Row | None:
    found: sqlite3.Row | None = db.execute(
        """SELECT d.*, s.root, (SELECT count(*) FROM chunks WHERE document_id = d.id) AS chunk_count
           FROM documents d JOIN sources s ON s.id = d.source_id WHERE d.source_id = ? AND d.path = ?""",
        (source.id, raw),
    ).fetchone()
    return found


def _reading(row: sqlite3.Row) -> Iterator[tuple[Step, str]]:
    passages = plural(row["chunk_count"], "passage")
    match row["state"]:
        case "failed" if row["chunk_count"]:
            reason = f"It could not be read: {row['reason']} Its last good text is found."
            yield Step("note", reason), "Mend the file, then index again."
        case "failed":
            yield Step("no", f"It could not be read: {row['reason']}"), "Mend the file, then index again."
        case "skipped":
            yield Step("no", f"It was skipped: {row['reason']}"), "Nothing to do, unless it should hold text."
        case _:
            yield Step("ok", f"It was read as {row['file_type']} at {row['indexed_at']}: {passages}."), ""
    if file_state(row) == "changed":
        yield Step("note", "The file has changed since it was read."), _INDEX


def _vectors(db: sqlite3.Connection, row: sqlite3.Row) -> Iterator[tuple[Step, str]]:
    counts = embeddings.counts_of(db, row["id"])
    if counts.refused:
        sentence = f"{plural(counts.refused, 'passage')} could not be embedded: {counts.error}"
        yield Step("note", sentence), "Words find it; the next run tries again."
    if waiting := counts.waiting - counts.refused:
        yield Step("note", f"{plural(waiting, 'passage')} still to be embedded; words find it."), _INDEX
    if counts.unreadable:
        sentence = f"{plural(counts.unreadable, 'passage')} in a script the model cannot read"
        yield Step("note", f"{sentence}: found by words only."), ""
    if counts.embedded:
        yield Step("ok", f"{plural(counts.embedded, 'passage')} can be found by meaning."), ""
