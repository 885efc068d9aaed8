"""What the owner searched for and opened last, in ``state.db`` in the data folder."""

from __future__ import annotations

from pathlib import Path

from rag_core.store.state import State

KEPT = 20
"""So many searches and documents are remembered."""
_TABLE = """
CREATE TABLE IF NOT EXISTS recent_searches (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS recent_documents (
    id INTEGER PRIMARY KEY, store TEXT NOT NULL, path TEXT NOT NULL, UNIQUE (store, path)
);
"""


class Recent:
    """The last searches and documents, newest first. Reading creates no file; all may raise StoreError."""

    def __init__(self, data_dir: Path, busy_timeout_s: float) -> None:
        self._state = State(
            data_dir, busy_timeout_s, tables=_TABLE,
            called="What was searched last", without="nothing is remembered",
        )  # fmt: skip

    def searches(self) -> list[str]:
        """The last texts searched for."""
        return [row[0] for row in self._rows("SELECT text FROM recent_searches ORDER BY id DESC")]

    def documents(self) -> list[tuple[str, str]]:
        """The documents opened last, as (store, path)."""
        rows = self._rows("SELECT store, path FROM recent_documents ORDER BY id DESC")
        return [(store, path) for store, path in rows]

    def add_search(self, text: str) -> None:
        """Remember a text as the newest."""
        self._add("recent_searches", "text", text)

    def add_document(self, store: str, path: str) -> None:
        """Remember a document as the newest."""
        self._add("recent_documents", "store, path", store, path)

    def clear(self) -> None:
        """Forget all."""
        if self._state.is_there:
            with self._state.open() as db:
                db.execute("DELETE FROM recent_searches")
                db.execute("DELETE FROM recent_documents")

    def _add(self, table: str, columns: str, *values: str) -> None:
        marks = ", ".join("?" * len(values))
        with self._state.open() as db:
            db.execute(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", values)
            db.execute(
                f"DELETE FROM {table} WHERE id NOT IN (SELECT id FROM {table} ORDER BY id DESC LIMIT ?)",
                (KEPT,),
            )

    def _rows(self, sql: str) -> list[tuple[str, ...]]:
        if not self._state.is_there:
            return []
        with self._state.open() as db:
            return db.execute(sql).fetchall()
