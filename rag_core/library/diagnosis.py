"""Why a file is found or not: from the folder it lies in to the vectors of its passages."""

from __future__ import annotations

import json
import os
import posixpath
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path, PurePath, PurePosixPath
from shlex import quote
from typing import NamedTuple

from rag_core.errors import RagError
from rag_core.extract import hardly_text, is_current, reader_of
from rag_core.files import display, why_skipped, with_sep
from rag_core.library.freshness import file_state_by_hash
from rag_core.reports import Diagnosis, Step
from rag_core.store import Store, documents, embeddings, find, privacy
from rag_core.store.sources import all_sources, excluded_below, excluded_files, shown_path
from rag_core.types import OWNER, Query, Source
from rag_core.wording import command, moment, plural, take_back

_NAMESAKES = 3
_EMPTY = Step("note", "The file is empty; only its name finds it.")
_READ = "What is read: Markdown, plain text, HTML, code, and data such as JSON, YAML and CSV."
_ONLY_TEXT = f"Only text is read. {_READ}"
_LATER = {
    ".pdf": "PDF", ".docx": "Word", ".doc": "Word", ".pptx": "PowerPoint", ".ppt": "PowerPoint",
    ".xlsx": "Excel", ".xls": "Excel", ".odt": "OpenDocument", ".ods": "OpenDocument",
    ".odp": "OpenDocument", ".epub": "EPUB", ".mobi": "Mobipocket",
}  # fmt: skip


class _Advice(NamedTuple):
    """What to do next, as it is said on a page of the app and as it is said everywhere."""

    on_page: str = ""
    everywhere: str = ""


_NOTHING = _Advice()


def _said(sentence: str) -> _Advice:
    return _Advice(sentence, sentence)


def _or_with(command: str, on_page: str, then: str = "") -> _Advice:
    """Something to do on a page, or with a command."""
    return _Advice(f"{on_page}{then}.", f"{on_page}, or with `{command}`{then}.")


_MEND = _said("Mend the file, then index again.")
_ADD_FOLDER = _or_with("commonplace init FOLDER --store NAME", "Add its folder on the Index page")
_SPELLING = _said("Check how it is spelled, or give its whole path.")
_MOST_NAMES = 100_000  # looked at below the folders of a store

Missing = Callable[[], RagError | None]
"""Why the embedder of a store cannot be had on this computer; None where it can."""


def explain(store: Store, path: str, here: Path, missing: Missing) -> Diagnosis:
    """Follow the file ``path`` (absolute, relative to ``here``, or as the store calls it) into ``store``,
    whose embedder may be ``missing``.

    It stops at the first step that keeps the file from being found; reads no file but one that may have
    changed. Raises StoreError.
    """
    with store.read() as db:
        found = places(db, path, here)
        if not found:
            called = documents.called(db, path, _NAMESAKES)
            if len(called) == 1:
                [(source, raw), *_] = places(db, called[0], None)
                return _explain(db, store.name, source, raw, missing)
            if not called and (deeper := _deeper(all_sources(db), path)):
                return _explain(db, store.name, *deeper, missing)
            hint = f"It holds {', '.join(map(repr, called))}: write one like that." if called else ""
            sentence, then = _in_no_folder(db, store.name, path, here)
            advice = _said(hint) if hint else _unread(path) or then
            return _diagnosis(store.name, path, [Step("no", sentence)], advice)
        tried = [_explain(db, store.name, source, raw, missing) for source, raw in found]
    if findable := next((diagnosis for diagnosis in tried if diagnosis.findable), None):
        return findable
    wholes = [with_sep(os.fsencode(source.root)) + raw for source, raw in found]
    same = [each.steps for whole, each in zip(wholes, tried, strict=True) if whole == wholes[0]]
    return replace(tried[0], steps=tuple(chain.from_iterable(same)))  # each folder has its own reason


def is_elsewhere(found: Diagnosis) -> bool:
    """Whether no folder of the store could hold the file, and no document has its name."""
    advices = (_unread(found.path), _ADD_FOLDER, _SPELLING)
    return len(found.steps) == 1 and found.advice in {each.everywhere for each in advices if each}


def in_store(found: Diagnosis, other: str) -> Diagnosis:
    """What to say of a file that is elsewhere, where the store ``other`` has it."""
    if not is_elsewhere(found):
        return found
    return replace(found, advice=(said := f"It is in store {other!r}: ask about it there."), on_page=said)


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
    return [Step("note", f"The query itself leaves this file out{f', by {by}' if by else ''}.")]


def _in_no_folder(db: sqlite3.Connection, store: str, path: str, here: Path) -> tuple[str, _Advice]:
    folders = ", ".join(source.root for source in all_sources(db)) or "none yet"
    files = _absolute(path, here)
    if not files or any(map(os.path.lexists, files)):
        return f"No folder of store {store!r} contains it. Its folders: {folders}.", _ADD_FOLDER
    near = documents.like(db, path)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    if os.fsencode(path) in files:
        return (
            f"There is no file {path!r} on this computer. The store's folders: {folders}.{meant}",
            _SPELLING,
        )
    return f"There is no file {path!r} below the folders of store {store!r}: {folders}.{meant}", _SPELLING


def _diagnosis(store: str, path: str, steps: Sequence[Step], advice: _Advice) -> Diagnosis:
    findable = steps[-1].state != "no"
    return Diagnosis(
        store, path, findable, tuple(steps), advice.everywhere,
        on_page=advice.on_page, by_name_only=findable and _EMPTY in steps,
    )  # fmt: skip


def _unread(path: str) -> _Advice | None:
    """What to know before anything is tried with a file that holds no text, going by its name."""
    if not hardly_text(path):
        return None
    kind = _LATER.get(posixpath.splitext(path)[1].lower())
    return _said(f"{kind} is not read yet. {_READ}" if kind else _ONLY_TEXT)


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


def _deeper(folders: Iterable[Source], path: str) -> tuple[Source, bytes] | None:
    """The first file somewhere below one of the folders whose path ends in ``path``, as it is on the disk;
    so many names are looked at, and no hidden folder."""
    tail = os.path.normpath(path)
    if tail.startswith((os.sep, os.pardir)) or "\0" in tail:
        return None
    here = (source for source in folders if PurePath(source.root).is_absolute())  # else one that is attached
    below = ((source, name) for source in here for name in _names(source.root))
    return next(
        (
            (source, os.fsencode(name))
            for source, name in islice(below, _MOST_NAMES)
            if f"{os.sep}{name}".endswith(f"{os.sep}{tail}")
        ),
        None,
    )


def _names(root: str) -> Iterator[str]:
    """The paths of the files below ``root``."""
    for folder, inside, names in os.walk(root):
        inside[:] = [name for name in inside if not name.startswith(".")]
        yield from (os.path.relpath(os.path.join(folder, name), root) for name in names)  # noqa: PTH118


def _absolute(path: str, here: Path) -> tuple[bytes, ...]:
    """``path`` from the root of the disk, as written and with its links resolved."""
    try:
        whole = os.fsencode(os.path.normpath(here / os.path.expanduser(path)))  # noqa: PTH111 (no error)
        return tuple(dict.fromkeys((whole, os.path.realpath(whole))))
    except ValueError:  # a NUL or half a character: no file has that name
        return ()


def _explain(db: sqlite3.Connection, store: str, source: Source, raw: bytes, missing: Missing) -> Diagnosis:
    shown = shown_path(source.label, raw) if raw else source.root
    steps = [Step("ok", f"It lies in the folder {source.root!r} of store {store!r}.")]
    advice = _NOTHING
    for step, then in _follow(db, store, source, raw, missing):
        steps.append(step)
        if step.state == "no":
            return _diagnosis(store, shown, steps, then)
        advice = then if advice == _NOTHING else advice
    return _diagnosis(store, shown, steps, advice)


def _follow(
    db: sqlite3.Connection, store: str, source: Source, raw: bytes, missing: Missing
) -> Iterator[tuple[Step, _Advice]]:
    """Each step from the file to its vectors, with what to do where it went wrong."""
    row = _row(db, source, raw)
    if row is None and os.path.isdir(os.path.join(os.fsencode(source.root), raw)):  # noqa: PTH112, PTH118
        yield Step("no", "It is a folder; only files are found."), _said("Ask about a file in it.")
        return
    if os.path.isabs(source.root):  # noqa: PTH117  else an index that is attached, and no folder
        yield from _choice(db, store, source, raw, kept=bool(row and row["chunk_count"]))
    if row is None:
        due = _resume(store, source) if source.paused else _index(store)
        yield Step("no", "It was not read yet."), _unread(display(raw)) or due
        return
    yield from _reading(store, row)
    yield from _vectors(db, store, row, missing)
    if row["private"]:
        why = _why_private(db, source, row)
        yield Step("note", f"It is private, {why}: only the owner finds it."), _NOTHING


def _why_private(db: sqlite3.Connection, source: Source, row: sqlite3.Row) -> str:
    why = ["as the note says"] if row["private"] & privacy.BY_NOTE else []
    why += [f"by the rule {rule!r}" for rule in privacy.which(db, source.label, row["path"])]
    return " and ".join(why)


def _index(store: str) -> _Advice:
    return _or_with(f"commonplace index --store {store}", "Index the store again on the Index page")


def _fill(store: str) -> _Advice:
    return _or_with(f"commonplace index --store {store}", "Write into it; then index again on the Index page")


def _reindex(store: str, row: sqlite3.Row) -> _Advice:
    return _or_with(command("reindex", row["display"], f"--store {store}"), "Read it again on the Files page")


def _resume(store: str, source: Source) -> _Advice:
    resume = f"commonplace source resume {source.id} --store {store}"
    return _or_with(resume, "Resume the folder on the Index page", "; then index it")


class Obstacle(NamedTuple):
    """What keeps a run from reading a file, and what becomes of the text that the store has of it."""

    sentence: str
    advice: _Advice
    meanwhile: str = "It is found until the next run."


def _choice(
    db: sqlite3.Connection, store: str, source: Source, raw: bytes, *, kept: bool
) -> Iterator[tuple[Step, _Advice]]:
    """Whether the folder and its rules give the file; ``kept`` where the store has its text."""
    found = obstacle(db, store, source, raw)
    if found is None:
        yield Step("ok", "The folder's patterns take it, and no rule leaves it out."), _NOTHING
        if source.paused:
            yield Step("note", "The folder is paused; changes wait."), _resume(store, source)
    elif kept:
        yield Step("note", f"{found.sentence} {found.meanwhile}"), found.advice
    else:
        yield Step("no", found.sentence), found.advice


def obstacle(db: sqlite3.Connection, store: str, source: Source, raw: bytes) -> Obstacle | None:
    """What keeps a run from reading the file ``raw`` of ``source``; None where nothing does."""
    if source.removed:
        return Obstacle("The folder is being removed from the store.", _said("Add the folder again."))
    excluded = excluded_below(db, source.root)
    if raw in excluded:
        return Obstacle(f"It is excluded. {excluded[raw]}".strip(), _take_back(db, store, source, raw))
    if os.path.isdir(os.path.join(os.fsencode(source.root), raw)):  # noqa: PTH112, PTH118  (bytes)
        said = "It is no file any more: a folder has its name."
        return Obstacle(said, _said("Ask about a file in it."), "The next run forgets what was read of it.")
    stays = "What was read of it is still found."
    try:
        reason = why_skipped(Path(source.root), raw, source.include, source.exclude)
    except RagError as error:  # the folder is gone, or cannot be read
        return Obstacle(error.message, _Advice(error.on_page, error.suggestion), stays)
    if reason is None:
        return None
    if reason.startswith("cannot be"):
        advice = _said("Check that the file is there and that this user may read it.")
        return Obstacle(
            f"It {reason}.", advice, "The next run forgets it." if _is_gone(source, raw) else stays
        )
    advice = _unread(display(raw)) or _rule_advice(store, source, raw, reason)
    return Obstacle(f"The folder's rules leave it out: it {reason}.", advice)


def _take_back(db: sqlite3.Connection, store: str, source: Source, raw: bytes) -> _Advice:
    whole = with_sep(os.fsencode(source.root)) + raw
    out = next((each for each in excluded_files(db) if each.whole_path == whole), None)
    path = out.display if out else shown_path(source.label, raw)
    return _or_with(take_back(path, store), "Include it again on the Files page")


def _is_gone(source: Source, raw: bytes) -> bool:
    try:
        os.lstat(os.path.join(os.fsencode(source.root), raw))  # noqa: PTH118  (bytes)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # it may be there
        return False
    return False


def _rule_advice(store: str, source: Source, raw: bytes, reason: str) -> _Advice:
    if "include pattern" in reason:
        named = re.sub(r"[*?\[{]", r"[\g<0>]", display(raw))
        add = command("index", named, f"--root {quote(source.root)} --store {store}")
        return _or_with(add, "Add a pattern that names it to the folder on the Index page")
    if "exclude pattern" in reason:
        change = "Change the folder's exclude patterns"
        edit = f"commonplace source edit {source.id} --store {store}"
        others = f"`{edit} --exclude PATTERN` puts others in their place, `{edit} --no-exclude` none"
        return _Advice(f"{change} on the Index page, with Edit at the folder.", f"{change}: {others}.")
    rule = ", or change the rule that is named" if " line " in reason else ""
    return _said(f"Move or rename the file{rule}.")


def _row(db: sqlite3.Connection, source: Source, raw: bytes) -> sqlite3.Row | None:
    found: sqlite3.Row | None = db.execute(
        """SELECT d.*, s.root, (SELECT count(*) FROM chunks WHERE document_id = d.id) AS chunk_count
           FROM documents d JOIN sources s ON s.id = d.source_id WHERE d.source_id = ? AND d.path = ?""",
        (source.id, raw),
    ).fetchone()
    return found


def _reading(store: str, row: sqlite3.Row) -> Iterator[tuple[Step, _Advice]]:
    passages, changed = plural(row["chunk_count"], "passage"), file_state_by_hash(row) == "changed"
    match row["state"]:
        case "failed" if row["chunk_count"]:
            reason = f"It could not be read: {row['reason']} Its last good text is found."
            yield Step("note", reason), _MEND
        case "failed":
            yield Step("no", f"It could not be read: {row['reason']}"), _MEND
        case "skipped" if row["reason"] == documents.ALL_TAKEN_OUT:
            yield Step("no", row["reason"]), _reindex(store, row)
        case "skipped":
            yield Step("no", f"It was skipped: {row['reason']}"), _unread(row["display"]) or _said(_ONLY_TEXT)
        case _:
            read = f"It was read as {row['file_type']}{_reader(row)} on {moment(row['indexed_at'])}"
            yield Step("ok", f"{read}: {passages}." if row["size"] else f"{read}."), _NOTHING
            if not row["size"]:
                yield _EMPTY, _NOTHING if changed else _fill(store)
            if documents.TAKEN_OUT in json.loads(row["warnings"]):
                yield Step("note", documents.TAKEN_OUT), _reindex(store, row)
    if changed:
        yield Step("note", "The file has changed since it was read."), _index(store)
    elif row["state"] != "failed" and not _reader(row):
        reader = reader_of(PurePosixPath(row["display"]))
        yield Step("note", f"The next run has it read again, by {reader}."), _index(store)


def _reader(row: sqlite3.Row) -> str:
    """Who read the document, if it would be read so today, too; else ''."""
    path = PurePosixPath(row["display"])
    return f" by {reader_of(path)}" if is_current(row["extractor"], path) else ""


def _vectors(
    db: sqlite3.Connection, store: str, row: sqlite3.Row, missing: Missing
) -> Iterator[tuple[Step, _Advice]]:
    counts = embeddings.counts_of(db, row["id"])
    if counts.bare and row["size"]:
        yield Step("note", "It has no text to be found by meaning; its name finds it."), _NOTHING
    if counts.refused:
        sentence = f"{plural(counts.refused, 'passage')} could not be embedded: {counts.error}"
        yield Step("note", sentence), _said("Words find it; the next run tries again.")
    if waiting := counts.waiting - counts.refused:
        yield (
            Step("note", f"{plural(waiting, 'passage')} still to be embedded; words find it."),
            _index(store),
        )
    if counts.unreadable:
        sentence = f"{plural(counts.unreadable, 'passage')} in a script the model cannot read"
        yield Step("note", f"{sentence}: found by words only."), _NOTHING
    if counts.data:
        sentence = f"{plural(counts.data, 'passage')} of base64 or minified code"
        yield Step("note", f"{sentence}: words find it, but it fits no query."), _NOTHING
    if counts.embedded and (error := missing()):
        have = f"{plural(counts.embedded, 'passage')} {'has' if counts.embedded == 1 else 'have'}"
        sentence = f"{have} vectors, but nothing is found by meaning for now. {error.message}"
        yield Step("note", sentence), _Advice(error.on_page or error.suggestion, error.suggestion)
    elif counts.embedded:
        yield Step("ok", f"{plural(counts.embedded, 'passage')} can be found by meaning."), _NOTHING
