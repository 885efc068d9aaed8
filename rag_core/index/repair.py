"""Repairs a damaged store: a new file, built from the store's folders, replaces the old file.

An ordinary run reads the folders into the new file. Vectors with a correct checksum are copied from the old
file.

The owner's decisions are copied from the file next to it. At the end the new file takes the name of the old
one, which is kept under another name.

If the process is killed, the store is either the old file or the complete new one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rag_core import system
from rag_core.errors import StoreBusy, StoreDamaged, StoreError
from rag_core.files import display
from rag_core.index.embedding import OpenEmbedder, Tools
from rag_core.index.index import Runner
from rag_core.index.priority import SearchPriority
from rag_core.index.reading import Limits
from rag_core.reports import Repair
from rag_core.store import Store, decisions, embeddings, jobs, lock, outbox, signs, sources
from rag_core.store.connection import connect
from rag_core.store.decisions import Decisions
from rag_core.store.errors import blames_file, not_written, system_says
from rag_core.store.file import in_use, new_file, new_generation, remove_log, take_place
from rag_core.store.health import check, is_whole_vector
from rag_core.store.problems import problems_of_job
from rag_core.store.staging import require_space, staging_folder
from rag_core.types import Job
from rag_core.wording import plural

_LAST_ID = 2**48  # larger than in any store; only a damaged page holds more
_FOLDER = "Nothing was changed. Make the folder available, or remove it from the store; then repair again."
_IS_REQUEST = "kind = 'index' AND CASE WHEN json_valid(payload) THEN json_type(payload) = 'object' END"


@dataclass(frozen=True, slots=True)
class _Old:
    """What could be read from a damaged store: the paths of the documents in each folder (None if
    unreadable), the requests, and the remote indexes that are still to be deleted."""

    paths: dict[int, list[bytes]] | None
    requests: list[tuple[Any, ...]]
    retired: list[tuple[Any, ...]]


def repair(
    path: Path,
    open_embedder: OpenEmbedder,
    limits: Limits,
    priority: SearchPriority,
    close: Callable[[], None] = lambda: None,
) -> Repair:
    """Rebuild the store ``path`` if it is damaged. Returns a list of what was done, which is empty if the
    store is sound. An error leaves the store as it was.

    Args:
        path: The store file.
        open_embedder: Opens an embedder by its name.
        limits: The limits of the run that reads the folders.
        priority: The searches that the run yields to.
        close: Closes the store in this process; some systems cannot replace an open file.

    Raises:
        StoreBusy: Another process indexes or changes the store.
        InUpkeep: Another process repairs or moves the store.
        StoreError: The store's folders are missing, or the disk is full.

    """
    started = time.perf_counter()
    done: tuple[str, ...] = ()
    to_embed = 0
    with lock.hold(path, "repair"):
        try:
            is_sound = False
            with suppress(StoreDamaged), closing(Store(path)) as store:
                is_sound = check(store).sound
            if not is_sound:
                done, to_embed = _renew(path, open_embedder, limits, priority, close)
        except (OSError, sqlite3.Error) as error:
            if isinstance(error, PermissionError) and not system.rules.moves_open_files:
                raise in_use(
                    path, "Stop it and try again, or repair the store on the app's own Stores page."
                ) from error
            message = f"Store {path.stem!r} cannot be repaired: {system_says(error)}."
            raise not_written(message, path.parent, "The store is as it was.") from error
    return Repair(path.stem, done, to_embed, (time.perf_counter() - started) * 1000)


def _renew(
    path: Path,
    open_embedder: OpenEmbedder,
    limits: Limits,
    priority: SearchPriority,
    close: Callable[[], None],
) -> tuple[tuple[str, ...], int]:
    """Replace a damaged store by a new file. Returns sentences about what was done, then the number of texts
    to embed."""
    if (decided := decisions.stored(path)) is None:
        raise StoreError(
            f"Store {path.stem!r} is damaged beyond repair: neither it nor the file of your decisions"
            " next to it can be read.",
            "Delete the store, then import its export or index its folders again.",
        )
    old = _old(path)
    _require_folders(path.stem, decided, old)
    with staging_folder(path.parent) as room:
        require_space(room, path.stat().st_size, f"A new file for store {path.stem!r}")
        new = room / path.name
        taken = _begin(new, path, decided, old)
        filled = _fill(new, path.stem, old, Tools(open_embedder, priority=priority), limits)
        kept = _put_in_place(new, path, decided, filled.decided, close)
    done = [
        f"{plural(filled.documents, 'document')} read again into a new file,"
        f" {plural(taken, 'vector')} reused.",
        "The list of earlier runs is empty now.",
        f"The damaged file is kept as {kept.name!r} next to the new one; delete it when nothing is missing.",
    ]
    if filled.unread:
        done.append(
            f"Paused folders whose files are no longer known were not read: {', '.join(filled.unread)}."
        )
    return tuple(done), filled.to_embed


class _Filled(NamedTuple):
    """The content of a new file after its folders were read."""

    documents: int  #: Number of documents read.
    to_embed: int  #: Number of texts without a vector.
    unread: list[str]  #: Paused folders whose files are not known.
    decided: Decisions  #: The owner's decisions after the run, which may have set the embedder.


def _fill(new: Path, name: str, old: _Old, tools: Tools, limits: Limits) -> _Filled:
    """Read the folders of the store ``name`` into the file ``new``, and copy the old requests into it."""
    with closing(Store(new)) as store:
        unread = _request_all(store, old)
        _require_read(store, name, old, Runner(store, tools, limits, words_only=True).run())
        with store.note() as db:
            to_embed = embeddings.pending_count(db)
            db.executemany("INSERT INTO requests (kind, payload, created_at) VALUES (?, ?, ?)", old.requests)
            if to_embed or outbox.backlog(db).queued:
                jobs.add_request(db, "index", [])
            documents = db.execute("SELECT count(*) FROM documents WHERE state = 'indexed'").fetchone()[0]
            filled = _Filled(documents, to_embed, unread, decisions.read(db))
    with closing(connect(new, "rw")) as db:  # moves the log into the file on the disk
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    remove_log(new)
    system.sync(new)
    return filled


def _put_in_place(
    new: Path, path: Path, decided: Decisions, now_decided: Decisions, close: Callable[[], None]
) -> Path:
    """Replace the store ``path`` by the file ``new``. Returns the path of the damaged file. Raises StoreError
    if the owner decided something since ``decided``."""
    with _unwritten(path) as let_go:
        if decisions.stored(path) != decided:
            raise StoreBusy(
                f"The settings of store {path.stem!r} were changed while it was being repaired.",
                "The store is as it was before. Repair it again.",
            )
        decisions.save(path, now_decided, decided)  # the run set the embedder and forgot removed folders
        if not system.rules.moves_open_files:
            let_go()
            close()
        kept = take_place(new, path)
    system.sync(path.parent)
    return kept


# --- what the old file says -------------------------------------------------------------


def _old(path: Path) -> _Old:
    try:
        db = connect(path, "ro")
    except StoreDamaged:
        return _Old(None, [], [])
    with closing(db):
        sql = "SELECT DISTINCT source_id, path FROM documents NOT INDEXED WHERE typeof(path) = 'blob'"
        rows = _rows(db, sql)
        requests = _rows(db, f"SELECT kind, payload, created_at FROM requests WHERE {_IS_REQUEST}")
        retired = _rows(db, "SELECT key, value FROM meta WHERE key GLOB 'retired *'")
    paths: dict[int, list[bytes]] = {}
    for source_id, file in rows or ():
        paths.setdefault(source_id, []).append(file)
    return _Old(None if rows is None else paths, requests or [], retired or [])


def _rows(db: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]] | None:
    """Return all rows of a statement, or None if they cannot be read."""
    with _damage_ignored():
        return [tuple(row) for row in db.execute(sql)]
    return None


@contextmanager
def _damage_ignored() -> Iterator[None]:
    """Context manager: ignore errors that a damaged file causes. Others are raised."""
    try:
        yield
    except StoreDamaged:
        pass
    except sqlite3.DatabaseError as error:
        if not blames_file(error):
            raise


def _whole_vectors(path: Path, dimensions: dict[int, int]) -> Iterator[tuple[int, bytes, bytes, int]]:
    """Yield (identity id, text hash, vector, checksum) for each vector with the right checksum. After
    unreadable rows it skips ahead in growing steps, and so loses at most as many vectors as are damaged."""
    try:
        db = connect(path, "ro")
    except StoreDamaged:
        return
    sql = (
        "SELECT id, identity_id, hash, vector, crc32 FROM embeddings NOT INDEXED"
        " WHERE id > ? AND id < ? ORDER BY id"
    )
    after, step = 0, 1
    with closing(db):
        while after < _LAST_ID:
            with _damage_ignored():
                for row_id, identity_id, text_hash, vector, crc32 in db.execute(sql, (after, _LAST_ID)):
                    after, step = max(row_id, after), 1
                    if is_whole_vector(text_hash, vector, crc32, dimensions.get(identity_id, 0)):
                        yield identity_id, text_hash, vector, crc32
                return
            after, step = after + step, step * 2


def _require_folders(name: str, decided: Decisions, old: _Old) -> None:
    """Raise StoreError unless every folder of the store that has documents can be read again."""
    if "attached" in decided["meta"]:
        raise StoreError(
            f"Store {name!r} is damaged. It cannot be repaired here: its files are on the computer whose"
            " index it uses.",
            "Delete it here, where nothing else is lost, and attach it again.",
        )
    for folder in decided["sources"]:
        root = folder["root"]
        has_documents = not folder["removed"] and (old.paths is None or folder["id"] in old.paths)
        if has_documents and not os.path.isdir(root):  # noqa: PTH112  (it may hold a NUL)
            raise StoreError(
                f"Store {name!r} is damaged, and its folder {root!r} is not there to be read again.", _FOLDER
            )


# --- the new file -----------------------------------------------------------------------


def _begin(new: Path, path: Path, decided: Decisions, old: _Old) -> int:
    """Create the file ``new`` with the decisions and the undamaged vectors of a store. Returns the number of
    vectors."""
    new.touch(mode=0o600)
    dimensions = {row["id"]: row["dimension"] for row in decided["identities"]}
    with closing(new_file(new)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # a partly written file is of no use
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        db.execute("DELETE FROM meta")
        decisions.write(db, decided)
        db.executemany("INSERT INTO meta VALUES (?, ?)", [("generation", new_generation()), *old.retired])
        db.executemany(
            "INSERT OR IGNORE INTO embeddings (identity_id, hash, vector, crc32) VALUES (?, ?, ?, ?)",
            _whole_vectors(path, dimensions),
        )
        signs.put_all_signs(db)
        outbox.recheck(db, wanted=bool(outbox.target(db) or outbox.address(db)))
        taken = db.execute("SELECT count(*) FROM embeddings").fetchone()[0]
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")
    return int(taken)


def _request_all(store: Store, old: _Old) -> list[str]:
    """Request a run over all folders, and over the known files of paused ones. Returns the paused folders
    whose files are not known."""
    unread = []
    with store.note() as db:
        jobs.add_request(db, "index")
        for source in sources.all_sources(db):
            if source.removed or not source.paused:
                continue
            if old.paths is None:
                unread.append(source.root)
            elif source.id in old.paths:
                jobs.add_request(db, "index", [source.id], force=True, paths=old.paths[source.id])
    return unread


def _require_read(store: Store, name: str, old: _Old, job: Job | None) -> None:
    """Raise StoreError if the run ``job`` could not read a folder, or if a folder that had documents is empty
    now."""
    message = job.message if job else ""
    if job and job.state != "done":  # the disk may be full
        raise StoreError(f"Store {name!r} cannot be repaired now. {message}", "Nothing was changed.")
    with store.read() as db:
        counts, failed = sources.counts(db), _failed_files(db, job)
        roots = {source.id: source.root for source in sources.all_sources(db) if not source.removed}
    empty = [root for number, root in roots.items() if number in (old.paths or {}) and number not in counts]
    is_unread = any(display(os.fsencode(root)) in failed for root in roots.values())
    if is_unread or empty:
        why = message if is_unread else f"Nothing is left in its folder {empty[0]!r}."
        raise StoreError(f"Store {name!r} is damaged, and not all of it can be read again. {why}", _FOLDER)


def _failed_files(db: sqlite3.Connection, job: Job | None) -> set[str]:
    """Return the files that a run could not read."""
    problems = problems_of_job(db, job.id) if job else []
    return {path for problem in problems for path in problem.files}


@contextmanager
def _unwritten(path: Path) -> Iterator[Callable[[], None]]:
    """Context manager: keep other processes from writing to a store, if the store can be locked at all.
    Yields a function that ends this early."""
    try:
        db = connect(path, "rw")
    except StoreDamaged:
        yield lambda: None
        return
    with closing(db):
        with _damage_ignored():
            db.execute("BEGIN IMMEDIATE")
        yield db.close
