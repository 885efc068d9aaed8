"""Tokens by which a script shows that its owner sent it, in ``state.db`` in the data folder.

Only the hash of a token is kept. It is 32 random bytes, so a plain hash of it cannot be guessed back.
"""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rag_core.config.keys import STORE_NAME
from rag_core.errors import InvalidInput, NotFound, StoreError
from rag_core.reports import NewToken, Token

_PREFIX = "cpl_"  # so that who finds one knows what it is
_BYTES = 32
_TABLE = """
CREATE TABLE IF NOT EXISTS tokens (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    hash TEXT NOT NULL UNIQUE,
    created_at TEXT NOT NULL
)
"""


class Tokens:
    """The tokens of one owner. Reading makes no file; every method may raise StoreError."""

    def __init__(self, path: Path, busy_timeout_s: float) -> None:
        self._path = path
        self._busy_timeout_s = busy_timeout_s

    def create(self, name: str) -> NewToken:
        """A new token, told this once. Raises InvalidInput for a name that is taken or cannot be one."""
        if not STORE_NAME.fullmatch(name):
            raise InvalidInput(
                f"{name[:80]!r} cannot be a token's name.",
                "Use 1 to 63 letters, digits, hyphens and underscores, starting with a letter or digit.",
            )
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open() as db:
            if db.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)).fetchone():
                raise InvalidInput(
                    f"A token called {name!r} exists already.", "Choose another name, or revoke that one."
                )
            db.execute("INSERT INTO tokens VALUES (?, ?, ?)", (name, _hash(secret), now))
        return NewToken(name, secret, now)

    def all(self) -> list[Token]:
        """Every token by name."""
        if not self._path.exists():
            return []
        with self._open() as db:
            rows = db.execute("SELECT name, created_at FROM tokens ORDER BY name").fetchall()
        return [Token(name, created_at) for name, created_at in rows]

    def revoke(self, name: str) -> None:
        """Let a token open nothing any more. Raises NotFound."""
        names = [token.name for token in self.all()]
        if name not in names:
            advice = f"There are: {', '.join(names)}." if names else "There is none at all."
            raise NotFound(f"There is no token called {name[:80]!r}.", advice)
        with self._open() as db:
            db.execute("DELETE FROM tokens WHERE name = ?", (name,))

    def knows(self, secret: str) -> bool:
        """Whether this is a token that was not revoked."""
        if not self._path.exists():
            return False
        with self._open() as db:
            return db.execute("SELECT 1 FROM tokens WHERE hash = ?", (_hash(secret),)).fetchone() is not None

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A connection in one transaction."""
        try:
            if not self._path.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
                self._path.touch(0o600)
            with closing(sqlite3.connect(self._path, timeout=self._busy_timeout_s)) as db, db:
                db.execute(_TABLE)
                yield db
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"The tokens cannot be read or written: {error}.",
                f"Look at {str(self._path)!r}; without it there are no tokens.",
            ) from None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
