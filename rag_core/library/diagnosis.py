"""Why a file is found or not: each step from its folder to the vectors of its passages."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from rag_core.errors import RagError
from rag_core.extract import is_current, reader_of
from rag_core.extract.filetypes import NAMED
from rag_core.files import IN_CLOUD, display, expanded
from rag_core.library.freshness import file_state_by_hash
from rag_core.library.places import (
    FORGOTTEN,
    FilePlace,
    absolute,
    is_folder,
    is_known,
    not_a_document,
    obstacle,
    places_of,
)
from rag_core.library.places import files_called as places_called
from rag_core.messages import Message, say
from rag_core.reports import Diagnosis, DiagnosisStep
from rag_core.store import Store, documents, embeddings, privacy
from rag_core.store.sources import LEFT_OUT, all_sources, shown_path
from rag_core.types import NAME
from rag_core.wording import command, moment

_MOST_CALLED = 3  # number of files with one name that are told apart

Missing = Callable[[], RagError | None]  # why a store's embedder cannot be used; None if it can
_Followed = Iterator[tuple[DiagnosisStep, Message | None]]  # steps, each with the next thing to do


def explain(store: Store, path: str, here: Path, missing: Missing) -> Diagnosis:
    """Return the steps from a file to its vectors in a store, up to the first step that keeps it from being
    found. ``missing`` says why the embedder cannot be used.

    ``path`` is absolute, relative to ``here``, or the store's name for the file. A file name alone is looked
    for anywhere below the folders. The file itself is read only if it may have changed.

    Raises:
        StoreError: the store cannot be read.

    """
    with store.read() as db:
        places = places_of(db, path, here, removed=True)
        called: list[str] = []
        if not any(is_known(db, place) for place in places) and not expanded(path).is_absolute():
            places, called = _by_name(db, path, places)
        if not places:
            return _nowhere(db, store.name, path, here, called)
        tried = [_explain(db, store.name, place, missing) for place in places]
    return next((diagnosis for diagnosis in tried if diagnosis.findable), tried[0])


def _by_name(db: sqlite3.Connection, name: str, others: list[FilePlace]) -> tuple[list[FilePlace], list[str]]:
    """Find files by name. Return the place of the only file, or the paths of several files. If there is none,
    return ``others``."""
    paths = documents.called(db, name, _MOST_CALLED)
    if len(paths) == 1:
        return places_of(db, paths[0])[:1], []
    on_disk = [] if paths else places_called(all_sources(db), name, _MOST_CALLED)
    if len(on_disk) == 1:
        return on_disk, []
    paths += [shown_path(source.label, raw) for source, raw in on_disk]
    return ([], paths) if paths else (others, [])


def is_elsewhere(explained: Diagnosis) -> bool:
    """Whether the diagnosis ``explained`` says that no folder of the store could hold the file, or that no
    file has its name."""
    sentence = explained.steps[0].said
    return isinstance(sentence, Message) and sentence.code in ("outside", "no_file")


def _nowhere(db: sqlite3.Connection, store: str, path: str, here: Path, called: list[str]) -> Diagnosis:
    """Diagnose a file that is in no folder of the store, or whose name several files have (``called``)."""
    folders = ", ".join(source.root for source in all_sources(db)) or "none yet"
    files = absolute(path, here)
    if called:
        sentence = say("several", store=store, path=path)
        advice = say("one_of", paths=", ".join(map(repr, called)))
    elif not files or any(map(os.path.lexists, files)):
        sentence, advice = (
            say("outside", store=store, folders=folders),
            not_a_document(path) or say("add_folder"),
        )
    else:
        near = documents.like(db, path)
        hint = say("did_you_mean", value=near[0]) if near else ""
        sentence = say("no_file", path=path, store=store, folders=folders, hint=hint)
        advice = not_a_document(path) or say("spelling")
    return Diagnosis(store, path, (DiagnosisStep("no", sentence),), advice)


def _explain(db: sqlite3.Connection, store: str, place: FilePlace, missing: Missing) -> Diagnosis:
    source, raw = place
    steps = [DiagnosisStep("ok", say("in_folder", folder=source.root, store=store))]
    advice: Message | None = None
    for step, then in _follow(db, store, place, missing):
        steps.append(step)
        if step.state == "no":
            advice = then
            break
        advice = advice or then
    shown = shown_path(source.label, raw) if raw else source.root
    return Diagnosis(store, shown, tuple(steps), advice or "")


def _follow(db: sqlite3.Connection, store: str, place: FilePlace, missing: Missing) -> _Followed:
    """Return each step from the file to its vectors, with advice on what to do next; None for no advice."""
    source, raw = place
    resume = say("resume_folder", number=source.id, store=store)
    row: sqlite3.Row | None = db.execute(
        """SELECT d.*, s.root,
               (SELECT count(*) FROM chunks WHERE document_id = d.id AND anchor_type <> ?) AS chunk_count
           FROM documents d JOIN sources s ON s.id = d.source_id WHERE d.source_id = ? AND d.path = ?
           AND d.part = ''""",
        (NAME, source.id, raw),
    ).fetchone()
    if row is None and is_folder(place):
        yield DiagnosisStep("no", say("folder")), say("ask_file_in_it")
        return
    if os.path.isabs(source.root):  # noqa: PTH117  else an index that is attached, and no folder
        hindrance = obstacle(db, store, place)
        if hindrance is None:
            yield DiagnosisStep("ok", say("chosen")), None
            if source.paused:
                yield DiagnosisStep("note", say("paused")), resume
        elif row and row["chunk_count"] and row["private"] < LEFT_OUT:
            sentence = say("kept", reason=hindrance.said, meanwhile=say(hindrance.meanwhile))
            yield (
                DiagnosisStep("no" if hindrance.meanwhile == FORGOTTEN else "note", sentence),
                hindrance.advice,
            )
        else:
            yield DiagnosisStep("no", hindrance.said), hindrance.advice
    if row is None:
        due = resume if source.paused else say("index", store=store)
        yield DiagnosisStep("no", say("not_read")), not_a_document(display(raw)) or due
        return
    yield from _reading(store, row)
    yield from _vectors(db, store, row, missing)
    if row["private"]:
        why = ["The note says so."] if row["private"] & privacy.BY_NOTE else []
        why += [f"The rule {rule!r} says so." for rule in privacy.which(db, source.label, row["path"])]
        yield DiagnosisStep("note", say("private", why=" ".join(why))), None


def _reading(store: str, row: sqlite3.Row) -> _Followed:
    changed, kept = file_state_by_hash(row) == "changed", bool(row["chunk_count"])
    path, reason = PurePosixPath(row["display"]), row["reason"]
    again = say("read_again", command=command("reindex", row["display"], f"--store {store}"))
    index = say("index", store=store)
    if row["state"] == "failed":
        sentence = say("failed_kept" if kept else "failed", reason=reason)
        yield DiagnosisStep("note" if kept else "no", sentence), say("fix_file")
    elif row["state"] == "skipped" and reason == documents.ALL_TAKEN_OUT:
        yield DiagnosisStep("no", reason), again
    elif row["state"] == "skipped" and reason == IN_CLOUD:
        yield DiagnosisStep("no", say("skipped", reason=reason)), say("in_cloud")
    elif row["state"] == "skipped":
        yield DiagnosisStep("no", say("skipped", reason=reason)), say("not_a_document")
    elif row["extractor"] == NAMED:
        yield DiagnosisStep("no", say("only_named")), index
        return
    elif row["file_type"] == "picture" and row["pictures_left"]:
        if reason:
            yield DiagnosisStep("note", reason), None
        yield DiagnosisStep("no", say("picture_waits")), index
    else:
        yield from _as_read(row, again, index)
    if changed:
        yield DiagnosisStep("note", say("changed")), index
    elif row["state"] != "failed" and not is_current(row["extractor"], path):
        yield DiagnosisStep("note", say("other_reader", reader=reader_of(path))), index


def _as_read(row: sqlite3.Row, again: Message, index: Message) -> _Followed:
    """Return the steps that say how a document was read, and which parts of it were not read."""
    path, warnings = PurePosixPath(row["display"]), json.loads(row["warnings"])
    by = f" by {reader_of(path)}" if is_current(row["extractor"], path) else ""
    yield DiagnosisStep("ok", say("read", type=row["file_type"], by=by, when=moment(row["indexed_at"]))), None
    if not row["size"]:
        yield DiagnosisStep("note", say("empty_file")), None
    for warning in warnings:
        yield DiagnosisStep("note", warning), again if warning == documents.TAKEN_OUT else None
    if row["pictures_left"] and row["reason"] not in warnings:
        yield DiagnosisStep("note", say("pictures_left", count=row["pictures_left"])), index


def _vectors(db: sqlite3.Connection, store: str, row: sqlite3.Row, missing: Missing) -> _Followed:
    counts = embeddings.counts_of(db, row["id"])
    if counts.bare and row["size"] and not row["pictures_left"]:
        yield DiagnosisStep("note", say("no_text")), None
    if counts.refused:
        yield (
            DiagnosisStep("note", say("refused", count=counts.refused, error=counts.error)),
            say("tried_again"),
        )
    if waiting := counts.waiting - counts.refused:
        yield DiagnosisStep("note", say("waiting", count=waiting)), say("index", store=store)
    if counts.unreadable:
        yield DiagnosisStep("note", say("other_script", count=counts.unreadable)), None
    if counts.data:
        yield DiagnosisStep("note", say("machine_text", count=counts.data)), None
    if counts.embedded and (error := missing()):
        yield DiagnosisStep("note", say("no_embedder", error=error.message)), error.next_step
    elif counts.embedded:
        yield DiagnosisStep("ok", say("by_meaning", count=counts.embedded)), None
