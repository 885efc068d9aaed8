"""Why a file is found or not: from the folder it lies in to the vectors of its passages."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from glob import escape
from itertools import chain
from pathlib import Path, PurePosixPath
from shlex import quote
from typing import NamedTuple

from rag_core.errors import RagError
from rag_core.extract import hardly_text, is_current, reader_of
from rag_core.files import display, why_skipped, with_sep
from rag_core.library.freshness import file_state_by_hash
from rag_core.messages import Message, say
from rag_core.reports import Diagnosis, Step
from rag_core.store import Store, documents, embeddings, find, privacy
from rag_core.store.sources import all_sources, excluded_below, excluded_files, shown_path
from rag_core.types import OWNER, Query, Source
from rag_core.wording import command, moment, take_back

_NAMESAKES = 3
_NOWHERE = frozenset({"outside", "no_file"})

Missing = Callable[[], RagError | None]
"""Why the embedder of a store cannot be had on this computer; None where it can."""

_Followed = Iterator[tuple[Step, Message | None]]
"""Steps, each with what to do next."""


def explain(store: Store, path: str, here: Path, missing: Missing) -> Diagnosis:
    """Follow the file ``path`` (absolute, relative to ``here``, or as the store calls it) into ``store``,
    whose embedder may be ``missing``.

    It stops at the first step that keeps the file from being found; reads no file but one that may have
    changed. Raises StoreError.
    """
    with store.read() as db:
        found = places(db, path, here)
        called = [] if found else documents.called(db, path, _NAMESAKES)
        if len(called) == 1:
            found = places(db, called[0], None)[:1]
        elif not found and not called:
            found = _deeper(all_sources(db), path)
        if not found:
            return _nowhere(db, store.name, path, here, called)
        tried = [_explain(db, store.name, source, raw, missing) for source, raw in found]
    if findable := next((diagnosis for diagnosis in tried if diagnosis.findable), None):
        return findable
    wholes = [with_sep(os.fsencode(source.root)) + raw for source, raw in found]
    same = [each.steps for whole, each in zip(wholes, tried, strict=True) if whole == wholes[0]]
    return replace(tried[0], steps=tuple(chain.from_iterable(same)))  # each folder has its own reason


def is_elsewhere(found: Diagnosis) -> bool:
    """Whether no folder of the store could hold the file, and no document has its name."""
    said = found.steps[0].said
    return isinstance(said, Message) and said.code in _NOWHERE


def in_store(found: Diagnosis, other: str) -> Diagnosis:
    """What to say of a file that is elsewhere, where the store ``other`` has it."""
    return replace(found, advice=say("ask_in_store", store=other)) if is_elsewhere(found) else found


def left_out(store: Store, path: str, query: Query) -> list[Step]:
    """A step that says by what the query itself leaves out all of a document; none where it does not."""
    bare = Query("", "", ())
    parts = {
        "its filters": replace(bare, filters=query.filters, beside=query.beside, excluded=query.excluded),
        "its words in quotes": replace(bare, phrases=query.phrases),
        "its words behind a minus": replace(bare, without=query.without),
    }
    with store.read() as db:
        lets = {by: find.has_eligible(db, path, find.eligible(part, OWNER)) for by, part in parts.items()}
        lets_all = find.has_eligible(db, path, find.eligible(query, OWNER))
    lets["the store that it names"] = not query.stores or store.name in query.stores
    by = " and ".join(by for by, fits in lets.items() if not fits)
    if lets_all and not by:
        return []
    return [Step("note", say("left_out", by=f", by {by}" if by else ""))]


def _nowhere(db: sqlite3.Connection, store: str, path: str, here: Path, called: list[str]) -> Diagnosis:
    """The diagnosis of a file that no folder holds, or whose name several documents have."""
    folders = ", ".join(source.root for source in all_sources(db)) or "none yet"
    files = _absolute(path, here)
    if called:
        said, advice = (
            say("several", store=store, path=path),
            say("one_of", paths=", ".join(map(repr, called))),
        )
    elif not files or any(map(os.path.lexists, files)):
        said, advice = say("outside", store=store, folders=folders), _only_text(path) or say("add_folder")
    else:
        near = documents.like(db, path)
        hint = say("did_you_mean", value=near[0]) if near else ""
        said = say("no_file", path=path, store=store, folders=folders, hint=hint)
        advice = _only_text(path) or say("spelling")
    return Diagnosis(store, path, (Step("no", said),), advice)


def _only_text(path: str) -> Message | None:
    """What to know of a file that holds no text, going by its name."""
    return say("only_text") if hardly_text(path) else None


def places(db: sqlite3.Connection, path: str, here: Path | None) -> list[tuple[Source, bytes]]:
    """Each source that could hold ``path``, and the path below its root. What is there on the disk goes
    before what the store calls so; without ``here`` the path is as the store calls it."""
    by_id = {source.id: source for source in all_sources(db)}
    files = _absolute(path, here) if here else ()
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
    return (on_disk or called) if is_there else (called or _below(by_id.values(), path) or on_disk)


def _below(folders: Iterable[Source], path: str) -> list[tuple[Source, bytes]]:
    """The folders that hold a file which the store would call ``path``, once it was read."""
    found = []
    for source in folders:
        inside = os.path.normpath(f"{path}/".removeprefix(f"{source.label}/") if source.label else path)
        with suppress(ValueError):  # a NUL or half a character: no file has that name
            raw = os.fsencode(inside)
            whole = with_sep(os.fsencode(source.root)) + raw
            if not inside.startswith((os.sep, os.pardir)) and os.path.lexists(whole):
                found.append((source, raw))
    return found


def _deeper(folders: Iterable[Source], path: str) -> list[tuple[Source, bytes]]:
    """The first file below one of the folders whose path ends in ``path``."""
    tail = os.path.normpath(path)
    if tail.startswith((os.sep, os.pardir)):
        return []
    for root, source in ((Path(each.root), each) for each in folders):
        with suppress(OSError, ValueError):  # a path that no file can have
            if root.is_absolute() and (file := next(root.rglob(escape(tail)), None)):
                return [(source, os.fsencode(file.relative_to(root)))]
    return []


def _absolute(path: str, here: Path) -> tuple[bytes, ...]:
    """``path`` from the root of the disk, as written and with its links resolved."""
    try:
        whole = os.fsencode(os.path.normpath(here / os.path.expanduser(path)))  # noqa: PTH111 (no error)
        return tuple(dict.fromkeys((whole, os.path.realpath(whole))))
    except ValueError:  # a NUL or half a character: no file has that name
        return ()


def _explain(db: sqlite3.Connection, store: str, source: Source, raw: bytes, missing: Missing) -> Diagnosis:
    shown = shown_path(source.label, raw) if raw else source.root
    steps = [Step("ok", say("in_folder", folder=source.root, store=store))]
    advice: Message | None = None
    for step, then in _follow(db, store, source, raw, missing):
        steps.append(step)
        if step.state == "no":
            advice = then
            break
        advice = advice or then
    return Diagnosis(store, shown, tuple(steps), advice or "")


def _follow(db: sqlite3.Connection, store: str, source: Source, raw: bytes, missing: Missing) -> _Followed:
    """Each step from the file to its vectors, with what to do where it went wrong."""
    row: sqlite3.Row | None = db.execute(
        """SELECT d.*, s.root, (SELECT count(*) FROM chunks WHERE document_id = d.id) AS chunk_count
           FROM documents d JOIN sources s ON s.id = d.source_id WHERE d.source_id = ? AND d.path = ?""",
        (source.id, raw),
    ).fetchone()
    if row is None and _is_folder(source, raw):
        yield Step("no", say("folder")), say("ask_file_in_it")
        return
    if os.path.isabs(source.root):  # noqa: PTH117  else an index that is attached, and no folder
        yield from _choice(db, store, source, raw, kept=bool(row and row["chunk_count"]))
    if row is None:
        due = _resume(store, source) if source.paused else say("index", store=store)
        yield Step("no", say("not_read")), _only_text(display(raw)) or due
        return
    yield from _reading(store, row)
    yield from _vectors(db, store, row, missing)
    if row["private"]:
        why = ["as the note says"] if row["private"] & privacy.BY_NOTE else []
        why += [f"by the rule {rule!r}" for rule in privacy.which(db, source.label, row["path"])]
        yield Step("note", say("private", why=" and ".join(why))), None


def _is_folder(source: Source, raw: bytes) -> bool:
    return os.path.isdir(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH112, PTH118  (bytes)


def _resume(store: str, source: Source) -> Message:
    return say("resume_folder", number=source.id, store=store)


class Obstacle(NamedTuple):
    """What keeps a run from reading a file, and what becomes of the text that the store has of it."""

    said: str | Message
    advice: Message
    meanwhile: str = "found_until_run"


def _choice(db: sqlite3.Connection, store: str, source: Source, raw: bytes, *, kept: bool) -> _Followed:
    """Whether the folder and its rules give the file; ``kept`` where the store has its text."""
    found = obstacle(db, store, source, raw)
    if found is None:
        yield Step("ok", say("chosen")), None
        if source.paused:
            yield Step("note", say("paused")), _resume(store, source)
    elif kept:
        yield Step("note", say("kept", reason=found.said, meanwhile=say(found.meanwhile))), found.advice
    else:
        yield Step("no", found.said), found.advice


def obstacle(db: sqlite3.Connection, store: str, source: Source, raw: bytes) -> Obstacle | None:
    """What keeps a run from reading the file ``raw`` of ``source``; None where nothing does."""
    if source.removed:
        return Obstacle(say("folder_removed"), say("add_folder_again"))
    excluded = excluded_below(db, source.root)
    if raw in excluded:
        return Obstacle(say("excluded", reason=excluded[raw].reason), _take_back(db, store, source, raw))
    if _is_folder(source, raw):
        return Obstacle(say("became_folder"), say("ask_file_in_it"), "forgotten_by_run")
    try:
        reason = why_skipped(Path(source.root), raw, source.include, source.exclude)
    except RagError as error:  # the folder is gone, or cannot be read
        return Obstacle(error.message, error.next_step, "still_found")
    if reason is None:
        return None
    if reason.kind == "unreadable":
        meanwhile = "forgotten_by_run" if _is_gone(source, raw) else "still_found"
        return Obstacle(say("unreadable", reason=reason.text), say("check_file"), meanwhile)
    advice = _only_text(display(raw))
    if not advice and reason.kind == "not included":
        named = re.sub(r"[*?\[{]", r"[\g<0>]", display(raw))
        add = command("index", named, f"--root {quote(source.root)} --store {store}")
        advice = say("include_pattern", command=add)
    elif not advice and reason.kind == "excluded":
        advice = say("edit_exclude", number=source.id, store=store)
    return Obstacle(say("skipped_by_rule", reason=reason.text), advice or say("move_file"))


def _take_back(db: sqlite3.Connection, store: str, source: Source, raw: bytes) -> Message:
    whole = with_sep(os.fsencode(source.root)) + raw
    out = next((each for each in excluded_files(db) if each.whole_path == whole), None)
    path = out.display if out else shown_path(source.label, raw)
    return say("include", command=take_back(path, store))


def _is_gone(source: Source, raw: bytes) -> bool:
    try:
        os.lstat(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH118  (bytes)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # it may be there
        return False
    return False


def _reading(store: str, row: sqlite3.Row) -> _Followed:
    changed, kept = file_state_by_hash(row) == "changed", bool(row["chunk_count"])
    path, reason = PurePosixPath(row["display"]), row["reason"]
    again = say("read_again", command=command("reindex", row["display"], f"--store {store}"))
    index = say("index", store=store)
    if row["state"] == "failed":
        said = say("failed_kept" if kept else "failed", reason=reason)
        yield Step("note" if kept else "no", said), say("fix_file")
    elif row["state"] == "skipped" and reason == documents.ALL_TAKEN_OUT:
        yield Step("no", reason), again
    elif row["state"] == "skipped":
        yield Step("no", say("skipped", reason=reason)), say("only_text")
    else:
        by = f" by {reader_of(path)}" if is_current(row["extractor"], path) else ""
        yield Step("ok", say("read", type=row["file_type"], by=by, when=moment(row["indexed_at"]))), None
        if not row["size"]:
            yield Step("note", say("empty_file")), None
        if documents.TAKEN_OUT in json.loads(row["warnings"]):
            yield Step("note", documents.TAKEN_OUT), again
    if changed:
        yield Step("note", say("changed")), index
    elif row["state"] != "failed" and not is_current(row["extractor"], path):
        yield Step("note", say("other_reader", reader=reader_of(path))), index


def _vectors(db: sqlite3.Connection, store: str, row: sqlite3.Row, missing: Missing) -> _Followed:
    counts = embeddings.counts_of(db, row["id"])
    if counts.bare and row["size"]:
        yield Step("note", say("no_text")), None
    if counts.refused:
        yield Step("note", say("refused", count=counts.refused, error=counts.error)), say("tried_again")
    if waiting := counts.waiting - counts.refused:
        yield Step("note", say("waiting", count=waiting)), say("index", store=store)
    if counts.unreadable:
        yield Step("note", say("other_script", count=counts.unreadable)), None
    if counts.data:
        yield Step("note", say("machine_text", count=counts.data)), None
    if counts.embedded and (error := missing()):
        yield Step("note", say("no_embedder", error=error.message)), error.next_step
    elif counts.embedded:
        yield Step("ok", say("by_meaning", count=counts.embedded)), None
