"""The people with access besides the owner at this computer, their visits, and the tokens of scripts, in
``state.db`` in the data folder. A person is a login verified by Tailscale, in lower case."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_core.store.state import State

if TYPE_CHECKING:
    from rag_core.reports import Person

_TABLES = """
CREATE TABLE IF NOT EXISTS people (
    login TEXT PRIMARY KEY, is_owner INTEGER NOT NULL, may_ask INTEGER NOT NULL, since TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS grants (
    login TEXT NOT NULL REFERENCES people (login), store TEXT NOT NULL, PRIMARY KEY (login, store)
);
CREATE TABLE IF NOT EXISTS visits (
    id INTEGER PRIMARY KEY, login TEXT NOT NULL, door TEXT NOT NULL, refused INTEGER NOT NULL,
    started_at TEXT NOT NULL, last_at TEXT NOT NULL, requests INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS visits_by_login ON visits (login, door, refused, last_at);
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY COLLATE NOCASE, hash TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL
);
"""


class AccessList:
    """Stores who has access to which stores. Reading creates no file. Every method may raise StoreError."""

    def __init__(self, data_dir: Path, busy_timeout_s: float) -> None:
        self._state = State(
            data_dir,
            busy_timeout_s,
            tables=_TABLES,
            called="The access list",
            without="Without it only the owner at this computer has access.",
        )
        self.rows = self._state.rows

    @contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Context manager: a connection in one transaction. At the end, guests without stores are removed."""
        with self._state.open() as db:
            yield db
            db.execute("DELETE FROM people WHERE NOT is_owner AND login NOT IN (SELECT login FROM grants)")

    def people(self) -> dict[str, Person]:
        """Return all people with access, by login."""
        from rag_core.reports import Person

        rows = self.rows(
            """SELECT login, is_owner, may_ask, since, (
                   SELECT json_group_array(store) FROM (
                       SELECT store FROM grants WHERE grants.login = people.login ORDER BY store))
               FROM people ORDER BY login"""
        )
        return {
            login: Person(login, bool(is_owner), tuple(json.loads(stores)), bool(may_ask), since)
            for login, is_owner, may_ask, since, stores in rows
        }

    def forget_store(self, store: str) -> None:
        """Withdraw every grant for a store that was deleted or is about to be created."""
        if self._state.is_there:
            with self.change() as db:
                db.execute("DELETE FROM grants WHERE store = ?", (store,))

    def rename_store(self, store: str, new_name: str) -> None:
        """Move the grants of a store to its new name."""
        if self._state.is_there:
            with self._state.open() as db:
                db.execute("DELETE FROM grants WHERE store = ?", (new_name,))
                db.execute("UPDATE grants SET store = ? WHERE store = ?", (new_name, store))
