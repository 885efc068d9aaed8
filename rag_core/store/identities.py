"""The embedders of a store's vectors: the active one of searches, and during a switch the target of runs."""

from __future__ import annotations

import sqlite3
from functools import partial
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
    """An identity as a store keeps it: its row id, and the vector of its canary."""

    id: int
    identity: EmbedderIdentity
    canary: Vectors


def _known(db: sqlite3.Connection, which: str) -> Known | None:
    sql = f"SELECT id, canary, provider, model, digest, dimension, prompts FROM identities WHERE id = {which}"
    if (row := db.execute(sql).fetchone()) is None:
        return None
    number, canary, *identity = row
    return Known(number, EmbedderIdentity(*identity), np.frombuffer(canary, np.float32))


active_identity = partial(_known, which=ACTIVE)
"""The identity whose vectors are searched, if there are any yet."""

target_identity = partial(_known, which=TARGET)
"""The identity that texts are embedded for, if an embedder was ever used."""


def add_identity(db: sqlite3.Connection, identity: EmbedderIdentity, canary: Vectors) -> int:
    """Add an embedder to the store, unless it is there; returns its row id. If the known one gave the canary
    another vector, it was another model of this name: that row gets the digest ``former N``."""
    columns = (identity.provider, identity.model, identity.digest, identity.dimension, identity.prompts)
    names = "provider, model, digest, dimension, prompts"
    sql = f"SELECT id, canary FROM identities WHERE ({names}) = (?, ?, ?, ?, ?)"
    known = db.execute(sql, columns).fetchone()
    if known is not None:
        if same_canary(np.frombuffer(known["canary"], np.float32), canary):
            return int(known["id"])
        db.execute("UPDATE identities SET digest = ? WHERE id = ?", (f"former {known['id']}", known["id"]))
    sql = f"INSERT INTO identities ({names}, canary) VALUES (?, ?, ?, ?, ?, ?) RETURNING id"
    row = db.execute(sql, (*columns, canary.astype(np.float32).tobytes())).fetchone()
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
    """Whether the store knows an embedder that is not used any more: its vectors may still be here."""
    sql = f"SELECT 1 FROM identities WHERE id NOT IN ({ACTIVE}, {TARGET}) LIMIT 1"
    return db.execute(sql).fetchone() is not None


def drop_unused_identities(db: sqlite3.Connection) -> None:
    """Remove the embedders that no vector is from, but for the active and the target."""
    sql = f"""DELETE FROM identities WHERE id NOT IN ({ACTIVE}, {TARGET})
              AND NOT EXISTS (SELECT 1 FROM embeddings WHERE identity_id = identities.id)"""
    db.execute(sql)
