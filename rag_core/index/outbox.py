"""Keeps a remote vector index equal to its store: sends queued changes, compares the two, and sends the
differences.

Only the store's runner sends changes, under the store's lock, so two processes never send at once. Searches
continue meanwhile. They use words only if the index cannot be reached.
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
    """The differences between a remote index and its store. Queued and refused keys are only counted."""

    missing: tuple[str, ...]  #: Keys that the index lacks.
    extra: tuple[str, ...]  #: Keys in the index that the store no longer has.
    queued: int  #: Number of keys queued for sending.
    refused: int  #: Number of keys that the index refused.


def flush(
    store: Store, index: RemoteIndex, *, private: bool = False, progress: Progress | None = None
) -> tuple[int, int, int]:
    """Send all queued changes. Returns the number of copies put, deleted and refused. ``private`` tells
    whether private notes may be sent.

    ``progress`` is called after each request with the number of copies that it sent, deleted or had refused.
    An exception from it ends the sending. Raises VectorError if the index fails; changes not sent yet stay
    queued.
    """
    with store.read() as db:
        is_doubtful, maker = rows.wants_recheck(db), rows.maker(db, store.name)
    if is_doubtful:
        _queue_differences(store, index, private)
    # Deletes come first: a note that is no longer private may be sent again after them.
    deletes = _Sending(store, "delete", private, progress)
    deleted = index.delete((entry.key for entry in deletes), deletes.settled)
    puts = _Sending(store, "put", private, progress)
    put = index.put((_record(entry, maker) for entry in puts), puts.settled)
    return len(put.sent), len(deleted.sent), len(put.refused) + len(deleted.refused)


def remove_missing(store: Store, index: RemoteIndex, *, private: bool = False) -> None:
    """Remove deleted chunks from ``index``, and newly private ones unless ``private`` is true. Does nothing
    if the index belongs to another installation. Raises VectorError if the index fails."""
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
    _ids: dict[str, int] = field(default_factory=dict)  # row ids of the copies being sent, by key

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
    """Compare all keys in ``index`` with the chunks that it should hold, with private ones if ``private`` is
    true. Changes nothing. Raises VectorError if the index fails."""
    there = {*index.keys()}
    with store.read() as db:
        wanted, queued = rows.expected(db, private=private), rows.queued(db)
        waiting = rows.backlog(db)
    missing, extra = sorted(wanted - there - queued), sorted(there - wanted - queued)
    return Comparison(tuple(missing), tuple(extra), waiting.queued, waiting.refused)


def heal(store: Store, index: RemoteIndex, *, private: bool = False) -> Comparison:
    """Send missing chunks, remove surplus chunks, and try refused chunks again. ``private`` tells whether
    private chunks may be sent. Returns the differences found. Raises VectorError if the index fails or has
    another owner."""
    if index.owner() != store.id:
        message = f"The vector index of store {store.name!r} belongs to another installation."
        raise VectorError(message, "Nothing was changed there. To use it for this store, take it over first.")
    differences = _queue_differences(store, index, private)
    with store.note() as db:
        rows.retry(db)
    flush(store, index, private=private)
    return differences


def _queue_differences(store: Store, index: RemoteIndex, private: bool) -> Comparison:
    """Queue all chunks in which index and store differ. Returns the comparison."""
    differences = compare(store, index, private=private)
    with store.note() as db:
        rows.queue(db, (*differences.missing, *differences.extra))
        rows.recheck(db, wanted=False)
    return differences
