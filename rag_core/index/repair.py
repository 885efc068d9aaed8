"""Making a damaged store anew: a new file from its folders, in place of the old one.

The folders are read by an ordinary run into a file that nobody sees yet. The old file gives the vectors that
are as they were written, so none of their texts is embedded again; the copy beside it gives the owner's
decisions. When all is there, the new file takes the name of the old one, which is kept beside it.
Killed at any moment, the store is the old one or the new one.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.errors import StoreBusy, StoreDamaged, StoreError
from rag_core.index.courtesy import Courtesy
from rag_core.index.embedding import Tools
from rag_core.index.index import Limits, Runner
from rag_core.models import Embedder
from rag_core.reports import Health, Repair
from rag_core.store import Store, decisions, embeddings, lock, outbox, sources, work
from rag_core.store.connection import blames_file, connect
from rag_core.store.decisions import Decisions
from rag_core.store.errors import not_written
from rag_core.store.file import new_file, remove_log, take_place, unmet_generation
from rag_core.store.health import DECISIONS, any_text, check, is_whole_vector
from rag_core.store.work import is_request
from rag_core.store.workroom import require_space, sync, workroom
from rag_core.types import Job
from rag_core.wording import plural

_LAST_ID = 2**48  # no store gets there, but a damaged page may say so
_DELETE = "Delete the store, then import its export or index its folders again."
_FOLDER = "Nothing was changed. Make the folder available, or remove it from the store; then repair again."


@dataclass(frozen=True, slots=True)
class Old:
    """What a damaged store tells beside the owner's decisions: the paths of the documents of each folder
    (None where they cannot be read), what was asked of it, which remote indexes are to be deleted."""

    paths: dict[int, list[bytes]] | None
    requests: list[tuple[Any, ...]]
    retired: list[tuple[Any, ...]]


def repair(
    path: Path,
    open_embedder: Callable[[Store], Embedder],
    limits: Limits,
    courtesy: Courtesy,
) -> Repair:
    """Make the store ``path`` anew if it is damaged; what was done is there to be read, nothing when sound.

    Raises StoreBusy while it is indexed or changed, InUpkeep while others mend or move it, StoreError when
    it cannot be made anew now, because its folders are not there or the disk is full. It is then as it was.
    """
    started = time.perf_counter()
    with lock.hold(path, "repair"), _explained(path):
        done, to_embed = _mended(path, open_embedder, limits, courtesy)
    return Repair(path.stem, done, to_embed, (time.perf_counter() - started) * 1000)


def _mended(
    path: Path, open_embedder: Callable[[Store], Embedder], limits: Limits, courtesy: Courtesy
) -> tuple[tuple[str, ...], int]:
    """What was done, and how many texts are to be embedded."""
    health = _health(path)
    if health and health.sound:
        return (), 0
    if health and _only_copy_is_damaged(path, health):
        _keep_decisions(path)
        return ("The copy of your decisions beside the store was written anew.",), 0
    return _renew(path, open_embedder, limits, courtesy)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, sqlite3.Error) and blames_file(error):  # a mistake in the program
            raise
        raise not_written(path.stem, "repaired", path.parent, error, "the store is as it was") from error


def _health(path: Path) -> Health | None:
    """What the checks of a store find; None when it is too damaged for them."""
    try:
        with closing(Store(path)) as store:
            return check(store)
    except StoreDamaged:
        return None


def _only_copy_is_damaged(path: Path, health: Health) -> bool:
    faults = [finding.check for finding in health.findings if finding.severity == "fault"]
    return faults == [DECISIONS] and decisions.kept(path) is None


def _keep_decisions(path: Path) -> None:
    with closing(Store(path)) as store:
        store.keep_decisions()


def _renew(
    path: Path, open_embedder: Callable[[Store], Embedder], limits: Limits, courtesy: Courtesy
) -> tuple[tuple[str, ...], int]:
    """Put a new file in the place of a damaged one; gives what ``_mended`` does."""
    decided = _decisions(path)
    old = _old(path)
    _require_folders(path.stem, decided, old)
    with workroom(path.parent) as room:
        require_space(room, path.stat().st_size, f"A new file for store {path.stem!r}")
        new = room / path.name
        taken = _begin(new, path, decided, old)
        with closing(Store(new)) as store:
            unread = _ask(store, old)
            tools = Tools(lambda: open_embedder(store), courtesy=courtesy)
            _require_read(store, path.stem, old, Runner(store, tools, limits, words_only=True).run())
            to_embed, read = _end(store, old)
        _fold(new)
        kept = _take_place(new, path, decided)
    _keep_decisions(path)
    done = [
        f"{plural(read, 'document')} read again into a new file, {plural(taken, 'vector')} taken over.",
        "The history of runs begins anew.",
        f"The damaged file is kept as {kept.name!r} beside the new one; delete it when nothing is missing.",
    ]
    if unread:
        done.append(f"Paused folders whose files are not known any more were not read: {', '.join(unread)}.")
    return tuple(done), to_embed


# --- what the old file says -------------------------------------------------------------


def _decisions(path: Path) -> Decisions:
    """The owner's decisions: the copy beside the store, or those of a store where they are whole."""
    if found := decisions.kept(path):
        return found
    try:
        with closing(connect(path, "ro")) as db:
            tables = ("meta", "identities", "sources", "exclusions")
            if all(db.execute(f"PRAGMA integrity_check({table})").fetchone()[0] == "ok" for table in tables):
                return decisions.read(db)
    except (StoreDamaged, sqlite3.DatabaseError, UnicodeDecodeError) as error:
        if isinstance(error, sqlite3.DatabaseError) and not blames_file(error):
            raise
    raise StoreError(
        f"Store {path.stem!r} is damaged beyond repair: neither it nor the copy of your decisions beside it"
        " can be read.",
        _DELETE,
    )


def _old(path: Path) -> Old:
    try:
        db = connect(path, "ro")
    except StoreDamaged:
        return Old(None, [], [])
    with closing(db):
        found = _rows(db, "SELECT source_id, path FROM documents NOT INDEXED")
        requests = _rows(db, "SELECT kind, payload, created_at FROM requests WHERE kind = 'index'")
        retired = _rows(db, "SELECT key, value FROM meta WHERE key GLOB 'retired *'")
    paths: dict[int, list[bytes]] | None = None if found is None else {}
    for source_id, file in found or ():
        if paths is not None and isinstance(file, bytes):
            paths.setdefault(source_id, []).append(file)
    return Old(paths, [row for row in requests or () if is_request(row[1])], retired or [])


def _rows(db: sqlite3.Connection, sql: str) -> list[tuple[Any, ...]] | None:
    """All rows of a statement, None where they cannot be read."""
    try:
        return [tuple(row) for row in db.execute(sql)]
    except sqlite3.DatabaseError as error:
        if not blames_file(error):
            raise
        return None


def _whole_vectors(path: Path, dimensions: dict[int, int]) -> Iterator[tuple[int, bytes, bytes, int]]:
    """(identity, text hash, vector, checksum) of each vector that is as it was written.

    Behind what cannot be read it looks ever further on, and so passes over at most as many as are lost.
    """
    try:
        db = connect(path, "ro")
    except StoreDamaged:
        return
    sql = (
        "SELECT id, identity_id, hash, vector, crc32 FROM embeddings NOT INDEXED"
        " WHERE id > ? AND id < ? ORDER BY id"
    )
    after, step = 0, 1
    with closing(db), any_text(db):
        while after < _LAST_ID:
            try:
                for row_id, identity_id, text_hash, vector, crc32 in db.execute(sql, (after, _LAST_ID)):
                    after, step = max(row_id, after), 1
                    if is_whole_vector(text_hash, vector, crc32, dimensions.get(identity_id, 0)):
                        yield identity_id, text_hash, vector, crc32
                return
            except sqlite3.DatabaseError as error:
                if not blames_file(error):
                    raise
                after, step = after + step, step * 2


def _require_folders(name: str, decided: Decisions, old: Old) -> None:
    """Raise StoreError unless everything that the store was read from is there to be read again."""
    if decisions.settings(decided).get("attached") == "1":
        raise StoreError(
            f"Store {name!r} is damaged, and its files are with the installation that fills its index.",
            "Delete the store and attach it again.",
        )
    for number, root in decisions.folders(decided).items():
        has_documents = old.paths is None or number in old.paths
        if has_documents and not os.path.isdir(root):  # noqa: PTH112  (it may hold a NUL)
            raise StoreError(
                f"Store {name!r} is damaged, and its folder {root!r} is not there to be read again.",
                _FOLDER,
            )


# --- the new file -----------------------------------------------------------------------


def _begin(new: Path, path: Path, decided: Decisions, old: Old) -> int:
    """Make a file with the decisions and the whole vectors of a store; how many vectors these are."""
    new.touch(mode=0o600)
    dimensions = {row[0]: row[4] for row in decided["identities"]}
    with closing(new_file(new)) as db:
        db.execute("PRAGMA journal_mode = OFF")  # nobody needs a part of it
        db.execute("PRAGMA synchronous = OFF")
        db.execute("BEGIN")
        db.execute("DELETE FROM meta")
        decisions.write(db, decided)
        db.executemany("INSERT INTO meta VALUES (?, ?)", [("generation", unmet_generation()), *old.retired])
        db.executemany(
            "INSERT OR IGNORE INTO embeddings (identity_id, hash, vector, crc32) VALUES (?, ?, ?, ?)",
            _whole_vectors(path, dimensions),
        )
        outbox.recheck(db, wanted=bool(outbox.target(db) or outbox.address(db)))
        taken = db.execute("SELECT count(*) FROM embeddings").fetchone()[0]
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL")
    return int(taken)


def _ask(store: Store, old: Old) -> list[str]:
    """Ask for all folders to be read, of a paused one the files that are known; the folders that are left."""
    unread = []
    with store.note() as db:
        work.add_request(db, "index")
        for source in sources.all_sources(db):
            if source.removed or not source.paused:
                continue
            if old.paths is None:
                unread.append(source.root)
            elif source.id in old.paths:
                work.request_files(db, source.id, old.paths[source.id])
    return unread


def _require_read(store: Store, name: str, old: Old, job: Job | None) -> None:
    """Raise StoreError when a folder could not be read, or looks like a disk that is not mounted."""
    message = job.message if job else ""
    if job and job.state != "done":  # such as a full disk
        raise StoreError(f"Store {name!r} cannot be repaired now. {message}", "Nothing was changed.")
    with store.read() as db:
        begun, found = sources.whole_reads(db), sources.counts(db)
        roots = {source.id: source.root for source in sources.all_sources(db) if not source.removed}
    empty = [root for number, root in roots.items() if number in (old.paths or {}) and number not in found]
    if "" in begun or empty:
        why = message if "" in begun else f"There is nothing any more in its folder {empty[0]!r}."
        raise StoreError(f"Store {name!r} is damaged, and not all of it can be read again. {why}", _FOLDER)


def _end(store: Store, old: Old) -> tuple[int, int]:
    """Take over what was asked of the old store; how many texts are to be embedded, how many documents are
    read."""
    with store.note() as db:
        waiting = embeddings.pending_count(db)
        rows = old.requests
        db.executemany("INSERT INTO requests (kind, payload, created_at) VALUES (?, ?, ?)", rows)
        if waiting or outbox.backlog(db).queued:
            work.add_request(db, "index", [])
        read = db.execute("SELECT count(*) FROM documents WHERE state = 'indexed'").fetchone()[0]
    return waiting, int(read)


def _fold(path: Path) -> None:
    """Have all of a closed store in its own file, on the disk."""
    with closing(connect(path, "rw")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    remove_log(path)
    sync(path)


def _take_place(new: Path, path: Path, decided: Decisions) -> Path:
    """Put the new file in the place of the old one while nobody else writes to that; where that is kept."""
    with _unwritten(path):
        if (decisions.kept(path) or decided) != decided:
            raise StoreBusy(
                f"Something was decided about store {path.stem!r} while it was repaired.",
                "Nothing was changed; repair it again.",
            )
        kept = take_place(new, path)
    sync(path.parent)
    return kept


@contextmanager
def _unwritten(path: Path) -> Iterator[None]:
    """Keep others from writing to a store, as far as it can be written at all."""
    try:
        db = connect(path, "rw")
    except StoreDamaged:
        yield
        return
    with closing(db):
        try:
            db.execute("BEGIN IMMEDIATE")
            decisions.settle(path, decisions.read(db))  # those of a process that was killed meanwhile
        except sqlite3.DatabaseError as error:
            if not blames_file(error):
                raise
        yield
