"""Switches a store to another embedder or vector index, while searches continue to use the old vectors.

    begin     queue every text without a vector of the new embedder, and every chunk for the new index
    (runs)    embed and send as usual; new and changed texts only for the new embedder and index
    finish    in one transaction, make searches use the new embedder and index
    abandon   keep the old ones, and queue the texts that came meanwhile for them

Searches use one embedder at a time. Text that comes after ``begin`` is found only by words until ``finish``.
The index that is no longer used is *retired*: it is deleted as soon as possible.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from rag_core.extract.filetypes import TO_CUT
from rag_core.store import chunks, outbox
from rag_core.store.file import active_identity, meta, spec_rows
from rag_core.types import ChunkSpec

_RETIRED = "retired "
_NEXT = ("next_embedder", "next_identity_id", "next_backend", "next_remote")


@dataclass(frozen=True, slots=True)
class Switch:
    """The embedder and vector index that a store switches to. ``identity_id`` is the embedder's row id.
    ``address`` is '' if the vectors are in the store's own file."""

    embedder: str
    identity_id: int
    backend: str
    address: str = ""


def under_way(db: sqlite3.Connection) -> Switch | None:
    """Return the switch that was begun and is not finished, or None."""
    about = meta(db)
    if not (about.keys() >= {*_NEXT[:3]} and about["next_identity_id"].isdecimal()):
        return None
    embedder, identity_id, backend = (about[key] for key in _NEXT[:3])
    return Switch(embedder, int(identity_id), backend, about.get("next_remote", ""))


def begin(db: sqlite3.Connection, to: Switch) -> None:
    """Begin to switch the store to the embedder or index in ``to``. A switch that is not finished is dropped.
    The store must already have the identity ``to.identity_id``."""
    doubtful = outbox.wants_recheck(db) and to.address == outbox.target(db)
    _drop_next(db, to.address)
    values = (to.embedder, str(to.identity_id), to.backend, to.address)
    db.executemany("INSERT INTO meta VALUES (?, ?)", zip(_NEXT, values, strict=True))
    if not to.address:
        db.execute("DELETE FROM meta WHERE key = 'next_remote'")
    outbox.recheck(db, wanted=doubtful or to.address in retired(db))
    forget_retired(db, to.address)
    _queue_again(db, to.identity_id)


def finish(db: sqlite3.Connection) -> None:
    """Make searches use the embedder and index of the switch under way. Does nothing if there is none."""
    to = under_way(db)
    if to is None:
        return
    old = outbox.address(db)
    current = {"embedder": to.embedder, "identity_id": str(to.identity_id), "backend": to.backend}
    if to.address:
        current["remote"] = to.address
    else:
        outbox.disconnect(db)
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", current.items())
    _drop_next(db, to.address)
    retire(db, old)


def abandon(db: sqlite3.Connection) -> None:
    """End a switch. Searches keep their embedder and index. The next run first compares that index with the
    store, because nothing was removed from the index during the switch."""
    if not meta(db).keys().isdisjoint(_NEXT):
        _drop_next(db)
        outbox.recheck(db, wanted=bool(outbox.address(db)))
        _queue_again(db)


def _drop_next(db: sqlite3.Connection, kept: str = "") -> None:
    """Drop the switch under way, and retire its index unless the index has the address ``kept``."""
    begun = meta(db).get("next_remote", "")
    db.execute(f"DELETE FROM meta WHERE key IN {_NEXT}")
    if begun != kept:
        retire(db, begun)


def _queue_again(db: sqlite3.Connection, identity_id: int = 0) -> None:
    """Queue the texts that are not embedded or sent yet. If no embedder is active, remove all embedders
    except ``identity_id``."""
    if active_identity(db) is None:
        db.execute("DELETE FROM identities WHERE id <> ?", (identity_id,))
    db.execute("DELETE FROM queue")
    chunks.enqueue(db)
    outbox.queue_all(db)


def mark_attached(db: sqlite3.Connection, address: str) -> None:
    """Mark a store as a read-only copy of the index at ``address``, which another installation fills."""
    db.execute("INSERT OR REPLACE INTO meta VALUES ('remote', ?), ('attached', '1')", (address,))


def is_attached(db: sqlite3.Connection) -> bool:
    """Whether the store is a read-only copy of an index that another installation fills."""
    return "attached" in meta(db)


def take_over(db: sqlite3.Connection) -> None:
    """Let an attached store fill its index itself from now on. The next run first compares the two."""
    db.execute("DELETE FROM meta WHERE key = 'attached'")
    outbox.recheck(db, wanted=True)


def keep_local(db: sqlite3.Connection) -> None:
    """Keep vectors and private notes on this machine from now on. Remote indexes are not changed."""
    abandon(db)
    outbox.disconnect(db)
    db.execute("DELETE FROM meta WHERE key IN ('attached', 'sends_private') OR key GLOB 'retired *'")
    db.execute("UPDATE meta SET value = 'local' WHERE key = 'backend'")


def retire(db: sqlite3.Connection, address: str) -> None:
    """Mark the index at ``address`` for deletion by a later run, unless it is in use or being prepared."""
    if address not in ("", outbox.address(db), meta(db).get("next_remote")):
        db.execute("INSERT OR REPLACE INTO meta VALUES (?, '')", (_RETIRED + address,))


def retired(db: sqlite3.Connection) -> list[str]:
    """Return the addresses of remote indexes that are no longer used and still have to be deleted."""
    sql = f"SELECT substr(key, {len(_RETIRED) + 1}) FROM meta WHERE key GLOB 'retired *' ORDER BY 1"
    return [address for (address,) in db.execute(sql)]


def forget_retired(db: sqlite3.Connection, address: str) -> None:
    """Record that a retired index no longer has to be deleted."""
    db.execute("DELETE FROM meta WHERE key = ?", (_RETIRED + address,))


def uncut(db: sqlite3.Connection) -> bool:
    """Whether a document in a folder that is not paused still has to be split into passages again."""
    sql = """SELECT 1 FROM documents d JOIN sources s ON s.id = d.source_id
             WHERE d.extractor = ? AND d.state = 'indexed' AND NOT s.paused LIMIT 1"""
    return db.execute(sql, (TO_CUT,)).fetchone() is not None


def cut_again(db: sqlite3.Connection, spec: ChunkSpec) -> None:
    """Make the next run read every document again and split it into passages of the sizes in ``spec``."""
    db.execute("UPDATE documents SET extractor = ? WHERE state = 'indexed'", (TO_CUT,))
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", spec_rows(spec).items())
