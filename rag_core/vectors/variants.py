"""Names of indexes that stand side by side: a switch of the embedder builds the new one beside the old."""

from __future__ import annotations

import hashlib

from rag_core.types import EmbedderIdentity

MARK_LENGTH = 8


def mark(text: str) -> str:
    """A short word that is the same for the same text only."""
    return hashlib.sha256(text.encode()).hexdigest()[:MARK_LENGTH]


def beside(name: str, identity: EmbedderIdentity | None) -> str:
    """``name``, or that of what is built beside it for ``identity``."""
    return f"{name}-{mark(str(identity))}" if identity else name
