"""Tokens with which a script acts as its owner, in ``state.db`` in the data folder.

Only the hash of a token is kept. It is 32 random bytes, so a plain hash of it cannot be guessed back.
"""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from pathlib import Path

from rag_core.config.keys import STORE_NAME
from rag_core.errors import InvalidInput, NotFound
from rag_core.reports import NewToken, Token
from rag_core.store.state import State

_PREFIX = "cpl_"  # tells anybody who finds one what it is
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

    def __init__(self, data_dir: Path, busy_timeout_s: float) -> None:
        self._state = State(
            data_dir, busy_timeout_s, tables=_TABLE, called="The tokens", without="there are no tokens"
        )

    def create(self, name: str) -> NewToken:
        """A new token, shown only now. Raises InvalidInput for a name that is taken or cannot be one."""
        if not STORE_NAME.fullmatch(name):
            raise InvalidInput(
                f"{name[:80]!r} cannot be a token's name.",
                "Use 1 to 63 letters, digits, hyphens and underscores, starting with a letter or digit.",
            )
        secret = _PREFIX + secrets.token_urlsafe(_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._state.open() as db:
            if db.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)).fetchone():
                raise InvalidInput(
                    f"A token called {name!r} exists already.", "Choose another name, or revoke that one."
                )
            db.execute("INSERT INTO tokens VALUES (?, ?, ?)", (name, _hash(secret), now))
        return NewToken(name, secret, now)

    def all(self) -> list[Token]:
        """Every token by name."""
        if not self._state.is_there:
            return []
        with self._state.open() as db:
            rows = db.execute("SELECT name, created_at FROM tokens ORDER BY name").fetchall()
        return [Token(name, created_at) for name, created_at in rows]

    def revoke(self, name: str) -> None:
        """Delete a token. Raises NotFound."""
        names = [token.name for token in self.all()]
        if name not in names:
            advice = f"There are: {', '.join(names)}." if names else "There is none at all."
            raise NotFound(f"There is no token called {name[:80]!r}.", advice)
        with self._state.open() as db:
            db.execute("DELETE FROM tokens WHERE name = ?", (name,))

    def knows(self, secret: str) -> bool:
        """Whether this is a token that was not revoked."""
        if not self._state.is_there:
            return False
        with self._state.open() as db:
            return db.execute("SELECT 1 FROM tokens WHERE hash = ?", (_hash(secret),)).fetchone() is not None


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
