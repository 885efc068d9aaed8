"""Which embedder a store's vectors are from: the one that searches use, and the one that runs embed with.

They differ only during a switch; see ``switch``.
"""

from __future__ import annotations

import sqlite3
from typing import NamedTuple

import numpy as np

from rag_core.types import EmbedderIdentity, Vectors

CANARY_TEXT = "The commonplace book keeps what its owner reads and thinks."
CANARY_COSINE = 0.999

ACTIVE = "(SELECT value FROM meta WHERE key = 'identity_id')"
"""SQL for the row id of the identity whose vectors are searched."""

TARGET = "(SELECT value FROM meta WHERE key IN ('identity_id', 'next_identity_id') ORDER BY key DESC LIMIT 1)"
"""SQL for the row id of the identity that texts are embedded for."""


class Known(NamedTuple):
    """An identity as a store keeps it: its row, and the vector that it gave the canary."""

    id: int
    identity: EmbedderIdentity
    canary: Vectors


def active_identity(db: sqlite3.Connection) -> Known | None:
    """The identity whose vectors are searched, if there are any yet."""
    return _known(db, ACTIVE)


def target_identity(db: sqlite3.Connection) -> Known | None:
    """The identity that texts are embedded for, if an embedder was ever at work."""
    return _known(db, TARGET)


def _known(db: sqlite3.Connection, which: str) -> Known | None:
    row = db.execute(
        f"""SELECT id, canary, provider, model, digest, dimension, prompts FROM identities
            WHERE id = {which}"""
    ).fetchone()
    if row is None:
        return None
    number, canary, *identity = row
    return Known(number, EmbedderIdentity(*identity), np.frombuffer(canary, np.float32))


def add_identity(db: sqlite3.Connection, identity: EmbedderIdentity, canary: Vectors) -> int:
    """Let the store know an embedder; returns its row id.

    One that it knows already keeps its row. If that gave the canary another vector, it was another model of
    this name, and is known by another digest from now on: it cannot be had again to compare it.
    """
    columns = (identity.provider, identity.model, identity.digest, identity.dimension, identity.prompts)
    known = db.execute(
        "SELECT id, canary FROM identities WHERE (provider, model, digest, dimension, prompts)"
        " = (?, ?, ?, ?, ?)",
        columns,
    ).fetchone()
    if known is not None and same_canary(np.frombuffer(known["canary"], np.float32), canary):
        return int(known["id"])
    if known is not None:
        former = f"former {known['id']}"
        db.execute("UPDATE identities SET digest = ? WHERE id = ?", (former, known["id"]))
    row = db.execute(
        "INSERT INTO identities (provider, model, digest, dimension, prompts, canary)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (*columns, canary.astype(np.float32).tobytes()),
    ).fetchone()
    return int(row[0])


def set_identity(db: sqlite3.Connection, identity: EmbedderIdentity, canary: Vectors) -> int:
    """Make ``identity`` the one the store's vectors belong to; returns its row id."""
    identity_id = add_identity(db, identity, canary)
    db.execute("INSERT OR REPLACE INTO meta VALUES ('identity_id', ?)", (str(identity_id),))
    return identity_id


def same_canary(known: Vectors, now: Vectors) -> bool:
    """Whether two vectors of the canary are from one model: servers differ in the last digits."""
    return known.shape == now.shape and float(np.dot(known, now)) >= CANARY_COSINE


def has_unused(db: sqlite3.Connection) -> bool:
    """Whether the store knows an embedder that is at work no more: its vectors may be here still."""
    row = db.execute(f"SELECT 1 FROM identities WHERE id NOT IN ({ACTIVE}, {TARGET}) LIMIT 1").fetchone()
    return row is not None


def drop_unused_identities(db: sqlite3.Connection) -> None:
    """Forget the embedders that no vector is from, but for those at work."""
    db.execute(
        f"""DELETE FROM identities WHERE id NOT IN ({ACTIVE}, {TARGET})
            AND NOT EXISTS (SELECT 1 FROM embeddings WHERE identity_id = identities.id)"""
    )
