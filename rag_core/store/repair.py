"""Mending a store: what is derived is made anew, and what cannot be trusted is read again.

The files are the truth, so a document whose rows contradict one another is marked, and the next run
reads it as if it were new; until then it is found by what is left of it.
"""

from __future__ import annotations

import posixpath
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rag_core.errors import StoreDamaged, StoreError
from rag_core.reports import Repair
from rag_core.store import faults, privacy, schema, switch
from rag_core.store.check import any_text, check, compare_words
from rag_core.store.chunks import embed_hash, title_terms
from rag_core.store.connection import RESTORE, blames_file, damage
from rag_core.store.documents import BEST_TARGET, link_key, put_tags
from rag_core.store.file import Store, now, unmet_generation
from rag_core.store.identities import active_identity
from rag_core.store.rescue import BeyondRepair, rescue, take_out_orphans
from rag_core.store.sources import shown_path
from rag_core.types import embedded_text
from rag_core.wording import plural

LOST = "What was read of it was lost; the next run reads it again."


@dataclass(frozen=True, slots=True)
class Mend:
    """One step. ``act`` mends what it finds and says how much; that is told as ``3 {noun}s {done}.``"""

    noun: str
    done: str
    act: Callable[[sqlite3.Connection], int]


def repair(store: Store) -> Repair:
    """Mend what ``check`` calls a fault, a short transaction a step; what was done is there to be read.

    Raises StoreBusy while the store is being indexed, InUpkeep while somebody else mends or moves it,
    StoreError when it is beyond repair.
    """
    started = time.perf_counter()
    done: list[str] = []
    with store.hold("repair"):
        try:
            try:
                _mend(store, done)
                done.extend(_taken(store, (LEFTOVERS,)))
            except _Torn:
                with _finding_damage():
                    done += rescue(store)
                _mend(store, done)  # the next run may read the texts again whose vectors are left over
        except (_Torn, BeyondRepair) as error:
            raise StoreError(f"Store {store.name!r} is damaged beyond repair: {error}.", RESTORE) from error
        with store.read() as db:
            reread = db.execute("SELECT count(*) FROM documents WHERE extractor = 0").fetchone()[0]
    return Repair(store.name, tuple(done), reread, (time.perf_counter() - started) * 1000)


def _mend(store: Store, done: list[str]) -> None:
    """Take every step, and add what was mended to ``done``. Raises _Torn when the store is not sound then."""
    _require_whole(store)  # before anything is written: what is freed may be another table's page
    done.extend(_taken(store, MENDS))
    for finding in check(store).findings:
        if finding.severity == "fault":
            raise _Torn(finding.sentence.rstrip("."))


def _taken(store: Store, steps: Iterable[Mend]) -> Iterator[str]:
    """Take ``steps``; what was mended, in sentences."""
    for mend in steps:
        if count := _take(store, mend):
            yield f"{plural(count, mend.noun)} {mend.done}."


def _require_whole(store: Store) -> None:
    """Raises _Torn when SQLite finds its own file broken. An index could be made anew from its table, but
    nobody knows which of the two is right."""
    with _finding_damage(), store.read() as db:
        wrong = next(faults.structure(db), None)
    if wrong:
        raise _Torn(wrong.shown)


def _take(store: Store, mend: Mend) -> int:
    with _finding_damage(), store.note() as db, any_text(db):
        count = _act(mend, db)
        if count:
            db.execute("UPDATE meta SET value = value + 1 WHERE key = 'generation'")
        return count


@contextmanager
def _finding_damage() -> Iterator[None]:
    """Raises _Torn where the store says that it is damaged."""
    try:
        yield
    except StoreDamaged as error:
        raise _Torn(str(error.__cause__ or error.message.rstrip("."))) from error


def _act(mend: Mend, db: sqlite3.Connection) -> int:
    try:
        return mend.act(db)
    except (_Torn, BeyondRepair):
        raise
    except Exception as error:
        if what := damage(db, error):
            raise _Torn(what) from error
        raise


class _Torn(Exception):
    """The file is damaged where rows cannot be mended one by one."""


# --- the file and its schema ------------------------------------------------------------


def _schema(db: sqlite3.Connection) -> int:
    """Drop what a new store has not, and make what it has, but tables, whose rows would be lost."""
    differences = list(schema.differences(db))
    lost = schema.lost_tables(db)
    if tables := [name for name in lost if not _is_words(name)]:
        raise _Torn(f"it has not the table {', '.join(tables)} that it should have")
    wrong = {each.name for each in differences} | {
        name for name in schema.parts(db) if lost and _is_words(name)
    }
    for kind in ("trigger", "view", "index", "table"):  # what hangs on others first
        for name, part in schema.parts(db).items():
            if part.kind == kind and name in wrong:
                db.execute(f"DROP {kind} IF EXISTS " + '"' + name.replace('"', '""') + '"')
    for name, sql in schema.statements().items():
        if name not in schema.parts(db):
            db.execute(sql)
    return len(differences)


def _is_words(name: str) -> bool:
    return name == "words" or name.startswith("words_")


def _words(db: sqlite3.Connection) -> int:
    try:
        compare_words(db)
    except sqlite3.Error as error:
        if not blames_file(error):
            raise
        db.execute("INSERT INTO words (words) VALUES ('rebuild')")
        return 1
    return 0


def _references(db: sqlite3.Connection) -> int:
    if any(wrong.id == ("documents", "sources") for wrong in faults.references(db)):
        raise BeyondRepair("it does not say any more which folder its documents are from")
    return take_out_orphans(db)


# --- what the store says about itself ---------------------------------------------------


def _about(db: sqlite3.Connection) -> int:
    wrong = {each.id for each in faults.about(db)}
    if "generation" in wrong:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('generation', ?)", (unmet_generation(),))
    if "identity" in wrong:
        _choose_identity(db)
    if "switch" in wrong:
        switch.abandon(db)
    if "private rules" in wrong:
        privacy.put_rules(db, privacy.rules(db))
    return len(wrong)


def _choose_identity(db: sqlite3.Connection) -> None:
    """Keep the embedders that can be compared with one; if that of the vectors is not among them, take the
    one with most vectors, but none that a switch only prepares."""
    sound = {identity_id for identity_id, _ in faults.sound_identities(db)}
    for (identity_id,) in db.execute("SELECT id FROM identities").fetchall():
        if identity_id not in sound:
            db.execute("DELETE FROM identities WHERE id = ?", (identity_id,))  # its vectors go with it
    if active_identity(db) is not None:
        return
    db.execute("DELETE FROM meta WHERE key = 'identity_id'")
    db.execute(
        "INSERT INTO meta SELECT 'identity_id', CAST(i.id AS TEXT) FROM identities i"
        " WHERE i.id NOT IN (SELECT value FROM meta WHERE key = 'next_identity_id')"
        " ORDER BY (SELECT count(*) FROM embeddings e WHERE e.identity_id = i.id) DESC, i.id LIMIT 1"
    )


def _values(db: sqlite3.Connection) -> int:
    wrong = [each.id for each in faults.values(db)]
    for table, row_id in wrong:
        row = db.execute(f"SELECT * FROM {table} WHERE id = ?", (row_id,)).fetchone()
        mended = faults.mended_values(table, row)
        if table == "sources":
            raise BeyondRepair("the patterns of a folder cannot be read")
        columns = ", ".join(f'"{column}" = ?' for column in mended)
        db.execute(f"UPDATE {table} SET {columns} WHERE id = ?", (*mended.values(), row_id))
        if table in ("documents", "chunks", "links"):
            _read_again(db, [row_id if table == "documents" else row["document_id"]])
    return len(wrong)


def _jobs(db: sqlite3.Connection) -> int:
    """Nothing runs while the lock is held here."""
    wrong = [(now(), each.id) for each in faults.jobs(db)]
    db.executemany("UPDATE jobs SET state = 'interrupted', end_time = ? WHERE id = ?", wrong)
    return len(wrong)


# --- documents --------------------------------------------------------------------------


def _read_again(db: sqlite3.Connection, document_ids: Iterable[int]) -> None:
    """Mark documents so that the next run neither passes over them nor moves them."""
    ids = [(document_id,) for document_id in document_ids]
    db.executemany("UPDATE documents SET file_hash = '', extractor = 0 WHERE id = ?", ids)


def _marked(db: sqlite3.Connection, wrong: Iterable[faults.Wrong]) -> list[int]:
    """The documents ``wrong``, marked."""
    ids = [each.id for each in wrong]
    _read_again(db, ids)
    return ids


def _states(db: sqlite3.Connection) -> int:
    ids = _marked(db, faults.states(db))
    db.executemany("UPDATE documents SET state = 'failed', reason = ? WHERE id = ?", [(LOST, i) for i in ids])
    return len(ids)


def _places(db: sqlite3.Connection) -> int:
    ids = _marked(db, faults.places(db))
    for document_id in ids:
        row = db.execute(
            "SELECT d.path, d.title, s.label, (SELECT tags FROM chunks WHERE document_id = d.id) AS tags"
            " FROM documents d JOIN sources s ON s.id = d.source_id WHERE d.id = ?",
            (document_id,),
        ).fetchone()
        shown = shown_path(row["label"], row["path"])
        db.execute(
            "UPDATE documents SET display = ?, folder = ? WHERE id = ?",
            (shown, posixpath.dirname(shown), document_id),
        )
        db.execute(
            "UPDATE chunks SET path = ?, title = ?, title_terms = ? WHERE document_id = ?",
            (shown, row["title"], title_terms(row["title"], row["tags"] or "", shown), document_id),
        )
    return len(ids)


def _names(db: sqlite3.Connection) -> int:
    ids = _marked(db, faults.names(db))
    for document_id in ids:
        row = db.execute(f"{faults.NAMED} WHERE d.id = ?", (document_id,)).fetchone()
        db.execute("DELETE FROM names WHERE document_id = ? AND kind <> 1", (document_id,))
        rows = [(document_id, key, kind) for kind, key in faults.expected_names(row)]
        db.executemany("INSERT INTO names VALUES (?, ?, ?)", rows)
    return len(ids)


def _tags(db: sqlite3.Connection) -> int:
    ids = _marked(db, faults.tags(db))
    for document_id in ids:
        tags = db.execute("SELECT tag FROM tags WHERE document_id = ? AND tag IS NOT NULL", (document_id,))
        put_tags(db, document_id, [row["tag"] for row in tags.fetchall()])
    return len(ids)


def _links(db: sqlite3.Connection) -> int:
    ids = [each.id for each in faults.links(db)]
    for link_id in ids:
        row = db.execute(
            "SELECT h.folder, l.target FROM links l JOIN documents h ON h.id = l.document_id WHERE l.id = ?",
            (link_id,),
        ).fetchone()
        db.execute("UPDATE links SET key = ? WHERE id = ?", (link_key(row["folder"], row["target"]), link_id))
        db.execute(f"UPDATE links SET target_id = ({BEST_TARGET}) WHERE id = ?", (link_id,))
    return len(ids)


# --- passages and vectors ---------------------------------------------------------------


def _numbering(db: sqlite3.Connection) -> int:
    ids = _marked(db, faults.numbering(db))
    for document_id in ids:
        rows = db.execute(
            "SELECT id, text FROM chunks WHERE document_id = ? ORDER BY chunk_index, start, id",
            (document_id,),
        ).fetchall()
        first = {row["text"]: row["id"] for row in reversed(rows)}
        kept = [row["id"] for row in rows if first[row["text"]] == row["id"]]
        db.executemany("DELETE FROM chunks WHERE id = ?", [(r["id"],) for r in rows if r["id"] not in kept])
        db.executemany("UPDATE chunks SET chunk_index = ? WHERE id = ?", enumerate(kept))
    return len(ids)


def _offsets(db: sqlite3.Connection) -> int:
    ids = [each.id for each in faults.offsets(db)]
    for row in _chunks(db, ids):
        start, line = max(row["start"], 0), max(row["start_line"], 1)
        db.execute(
            'UPDATE chunks SET start = ?, "end" = ?, start_line = ?, end_line = ? WHERE id = ?',
            (start, start + len(row["text"]), line, max(line, row["end_line"]), row["id"]),
        )
        _read_again(db, [row["document_id"]])
    return len(ids)


def _hashes(db: sqlite3.Connection) -> int:
    ids = [each.id for each in faults.hashes(db)]
    for row in _chunks(db, ids):
        digest = embed_hash(embedded_text(row["prefix"], row["text"]))
        db.execute("UPDATE chunks SET embed_hash = ? WHERE id = ?", (digest, row["id"]))
        _read_again(db, [row["document_id"]])
    return len(ids)


def _chunks(db: sqlite3.Connection, ids: Iterable[int]) -> Iterable[sqlite3.Row]:
    return (db.execute("SELECT * FROM chunks WHERE id = ?", (chunk_id,)).fetchone() for chunk_id in ids)


def _delete(table: str, find: faults.Find) -> Callable[[sqlite3.Connection], int]:
    def act(db: sqlite3.Connection) -> int:
        ids = [(each.id,) for each in find(db)]
        db.executemany(f"DELETE FROM {table} WHERE id = ?", ids)
        return len(ids)

    return act


def _unembedded(db: sqlite3.Connection) -> int:
    ids = [(each.id,) for each in faults.unembedded(db)]
    db.executemany("INSERT OR IGNORE INTO queue (hash) SELECT embed_hash FROM chunks WHERE id = ?", ids)
    return len(ids)


# Each step may count on those before it.
MENDS: tuple[Mend, ...] = (
    Mend("part", "of the schema put right", _schema),
    Mend("index", "of words built anew", _words),
    Mend("row", "that belonged to nothing taken out", _references),
    Mend("fact", "about the store itself put right", _about),
    Mend("value", "that could not be read put right", _values),
    Mend("document", "filed under one path and title again", _places),
    Mend("document", "marked as the rules for private notes say", privacy.apply),
    Mend("document", "with tags filed anew", _tags),
    Mend("document", "with passages numbered anew", _numbering),
    Mend("passage", "with a possible place again", _offsets),
    Mend("passage", "with a new hash", _hashes),
    Mend("document", "marked as failed, because its text was lost", _states),
    Mend("document", "with new names", _names),
    Mend("link", "resolved anew", _links),
    Mend("useless vector", "dropped", _delete("embeddings", faults.vectors)),
    Mend("text", "taken off the queue", _delete("queue", faults.queue)),
    Mend("passage", "put into the queue", _unembedded),
    Mend("run", "marked as interrupted", _jobs),
)
LEFTOVERS = Mend("vector", "that no passage needs dropped", _delete("embeddings", faults.leftovers))
