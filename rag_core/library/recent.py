"""The owner's last searches and opened documents, in ``state.db`` in the data folder."""

from __future__ import annotations

from pathlib import Path

from rag_core.store.state import State

KEPT = 20
"""Number of searches, and of documents, that are remembered."""
_TABLES = ("recent_searches", "recent_documents")
_SQL = """
CREATE TABLE IF NOT EXISTS recent_searches (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS recent_documents (
    id INTEGER PRIMARY KEY, store TEXT NOT NULL, path TEXT NOT NULL, UNIQUE (store, path)
);
"""


class Recent:
    """Stores the last searches and opened documents. Reading creates no file. Every method may raise
    StoreError."""

    def __init__(self, data_dir: Path, busy_timeout_s: float) -> None:
        self._state = State(
            data_dir,
            busy_timeout_s,
            tables=_SQL,
            called="What was searched last",
            without="Without it nothing is remembered.",
        )

    def searches(self) -> list[str]:
        """Return the last searched texts, newest first."""
        return [text for (text,) in self._state.rows("SELECT text FROM recent_searches ORDER BY id DESC")]

    def documents(self) -> list[tuple[str, str]]:
        """Return the documents opened last, as (store, path), newest first."""
        return self._state.rows("SELECT store, path FROM recent_documents ORDER BY id DESC")

    def add(self, text: str, document: tuple[str, str] | None) -> None:
        """Remember a text and a document as the newest. '' and None are ignored."""
        with self._state.open() as db:
            if text:
                db.execute("INSERT OR REPLACE INTO recent_searches (text) VALUES (?)", (text,))
            if document:
                db.execute("INSERT OR REPLACE INTO recent_documents (store, path) VALUES (?, ?)", document)
            for table in _TABLES:
                newest = f"SELECT id FROM {table} ORDER BY id DESC LIMIT ?"
                db.execute(f"DELETE FROM {table} WHERE id NOT IN ({newest})", (KEPT,))

    def rename_store(self, store: str, new_name: str) -> None:
        """Replace the name of a renamed store in the opened documents."""
        sql = "UPDATE OR REPLACE recent_documents SET store = ? WHERE store = ?"
        self._state.rows(sql, new_name, store)

    def forget_store(self, store: str) -> None:
        """Forget the opened documents of a store."""
        self._state.rows("DELETE FROM recent_documents WHERE store = ?", store)

    def clear(self) -> None:
        """Forget all searches and documents."""
        for table in _TABLES:
            self._state.rows(f"DELETE FROM {table}")
