"""Updates the furniture of a store (lines that many documents repeat) during a run, after files are read and
before texts are embedded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rag_core.store import Store, furniture

_FIRST = 32  # number of files read before shapes are counted for the first time
_DOCUMENTS_A_WRITE = 50


@dataclass
class Furniture:
    """Finds furniture during one run, under the store's lock. ``repeated`` holds the hashes of lines that
    count as furniture now. ``look`` is called between writes and may raise to stop the run."""

    store: Store
    look: Callable[[], bool]
    repeated: frozenset[int]
    changed: bool = False  # whether passages lost or got text to embed
    _read: int = 0
    _next: int = _FIRST

    def count_file(self) -> None:
        """Count a file that was read. `settle` runs each time the number of files has doubled, so that few
        documents are written twice."""
        self._read += 1
        if self._read >= self._next:
            self.settle()
            self._next = 2 * self._read

    def settle(self) -> None:
        """Count again which lines many public documents repeat. If other lines are furniture now, the
        affected documents are processed again."""
        self._renew()  # what a killed run left, and the documents of an older version
        with self.store.read() as db:
            now = furniture.count(db)
        if now == self.repeated:
            return
        with self.store.write() as db:
            furniture.put_repeated(db, now)
        self.repeated = now
        self.changed = True
        self._renew()

    def _renew(self) -> None:
        """Find the furniture of all stale documents again."""
        while True:
            with self.store.read() as db:
                stale = furniture.stale(db, _DOCUMENTS_A_WRITE)
            if not stale:
                return
            self.look()
            with self.store.write() as db:
                for document_id in stale:
                    furniture.renew_furniture(db, document_id, self.repeated)
