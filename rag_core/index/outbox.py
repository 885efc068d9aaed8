"""Keeping a remote vector index like its store: send what is queued, compare, and send the differences.

Only the store's runner flushes, under its lock, so two never send at once. Searches go on meanwhile,
by words where the index cannot be reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rag_core.errors import VectorError
from rag_core.store import Store
from rag_core.store import outbox as rows
from rag_core.vectors import Receipt, RemoteIndex, VectorRecord
from rag_core.vectors.payload import metadata

_ROWS_A_READ = 500

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between an index and a store: keys that are missing, and keys too many. Queued keys
    are only counted."""

    missing: tuple[str, ...]
    extra: tuple[str, ...]
    queued: int
    refused: int


def flush(
    store: Store, index: RemoteIndex, *, private: bool = False, progress: Progress | None = None
) -> tuple[int, int, int]:
    """Send everything queued. Returns the number of copies put, deleted and refused.

    ``progress`` gets the number of settled copies after each request; an exception from it ends the flush.
    Raises VectorError; copies that are settled by then stay so, the rest stays queued.
    """
    with store.read() as db:
        is_doubtful, maker = rows.wants_recheck(db), rows.maker(db, store.name)
    if is_doubtful:
        _queue_differences(store, index, private)
    # Deletes first: a note that was private and is not any more may be sent again after them.
    deletes = _Sending(store, "delete", private, progress)
    deleted = index.delete((entry.key for entry in deletes), deletes.settled)
    puts = _Sending(store, "put", private, progress)
    put = index.put((_record(entry, maker) for entry in puts), puts.settled)
    return len(put.sent), len(deleted.sent), len(put.refused) + len(deleted.refused)


def remove_missing(store: Store, index: RemoteIndex, *, private: bool = False) -> None:
    """Remove from ``index`` the chunks that are deleted or private now, if the index belongs to the store.
    Raises VectorError."""
    with store.read() as db:
        keys = rows.gone(db, private=private)
    if keys and index.owner() == store.id:
        index.delete(keys)


@dataclass
class _Sending:
    """One pass over the rows of the outbox that exist at its beginning, for one action. No database
    connection is held while something is sent."""

    store: Store
    action: rows.Action
    private: bool
    progress: Progress | None
    _ids: dict[str, int] = field(default_factory=dict)  # of what is being sent, by key

    def __iter__(self) -> Iterator[rows.Entry]:
        with self.store.read() as db:
            newest = rows.newest_row(db)
        last = 0
        while True:
            with self.store.read() as db:
                page = rows.entries(db, last, newest, _ROWS_A_READ, private=self.private)
            if not page:
                return
            last = page[-1].id
            for entry in page:
                if entry.action == self.action:
                    self._ids[entry.key] = entry.id
                    yield entry

    def settled(self, receipt: Receipt) -> None:
        """Remove the sent chunks from the outbox, and record the refused ones."""
        done = [self._ids.pop(key) for key in receipt.sent]
        refused = {self._ids.pop(key): reason for key, reason in receipt.refused.items()}
        with self.store.note() as db:
            rows.settle_rows(db, done, refused)
        if self.progress is not None:
            self.progress(len(done) + len(refused))


def _record(entry: rows.Entry, maker: Mapping[str, Any]) -> VectorRecord:
    chunk, vector = entry.chunk, entry.vector
    assert chunk is not None and vector is not None  # noqa: S101, PT018 - so it is for every put
    same = {name: chunk[name] for name in ("file_type", "date", "anchor_type", "anchor_ref")}
    private = bool(chunk["private"])
    about = metadata(chunk["display"], folded_tags=entry.folded_tags, private=private, **same)
    return VectorRecord(entry.key, vector, chunk["text"], rows.doc(chunk, maker), about)


def compare(store: Store, index: RemoteIndex, *, private: bool = False) -> Comparison:
    """Compare all keys in ``index`` with the chunks that it should have. Changes nothing."""
    there = {*index.keys()}
    with store.read() as db:
        wanted, queued = rows.expected(db, private=private), rows.queued(db)
        waiting = rows.backlog(db)
    missing, extra = sorted(wanted - there - queued), sorted(there - wanted - queued)
    return Comparison(tuple(missing), tuple(extra), waiting.queued, waiting.refused)


def heal(store: Store, index: RemoteIndex, *, private: bool = False) -> Comparison:
    """Send missing chunks, remove surplus ones, and try refused ones again. Returns the differences found.
    Raises VectorError if the index has another owner."""
    if index.owner() != store.id:
        message = f"The vector index of store {store.name!r} belongs to another installation."
        raise VectorError(message, "Nothing was changed there. To use it for this store, take it over first.")
    differences = _queue_differences(store, index, private)
    with store.note() as db:
        rows.retry(db)
    flush(store, index, private=private)
    return differences


def _queue_differences(store: Store, index: RemoteIndex, private: bool) -> Comparison:
    """Queue the chunks that index and store differ in; returns the comparison."""
    differences = compare(store, index, private=private)
    with store.note() as db:
        rows.queue(db, (*differences.missing, *differences.extra))
        rows.recheck(db, wanted=False)
    return differences
