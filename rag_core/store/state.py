"""``state.db`` in the data folder. It holds people, tokens and conversations, each in separate tables."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rag_core.errors import StoreError
from rag_core.store.errors import system_says


class State:
    """The file ``state.db``, for one kind of content. The SQL ``tables`` creates the tables of that kind.

    Error messages call the content ``called``. They end with the sentence ``without``, which says what
    happens without it.
    """

    def __init__(
        self, data_dir: Path, busy_timeout_s: float, *, tables: str, called: str, without: str
    ) -> None:
        self.path = data_dir / "state.db"
        self._busy_timeout_s = busy_timeout_s
        self._tables, self._called, self._without = tables, called, without

    @property
    def is_there(self) -> bool:
        """Whether the file exists. Reading does not create it."""
        return os.path.exists(self.path)  # noqa: PTH110  (no error, however long it is)

    def rows(self, sql: str, *values: object) -> list[Any]:
        """Return the rows of a statement, or [] if the file does not exist. Raises StoreError if the file
        cannot be read."""
        if not self.is_there:
            return []
        with self.open() as db:
            return db.execute(sql, values).fetchall()

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Context manager: open a connection in one transaction, and create the file if needed. Only the
        file's owner can read it, and deleted rows leave no traces. Raises StoreError if the file cannot be
        read or written."""
        try:
            if not self.is_there:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self.path.touch(0o600)
            with closing(sqlite3.connect(self.path, timeout=self._busy_timeout_s)) as db:
                db.execute("PRAGMA secure_delete = ON")
                db.executescript(self._tables)
                with db:
                    yield db
        except (sqlite3.Error, OSError) as error:
            why = system_says(error)
            raise StoreError(
                f"{self._called} cannot be read or written: {why}.",
                "Check that state.db in the data folder is sound and can be written, and that its disk is not"
                f" full. {self._without}",
            ) from None
