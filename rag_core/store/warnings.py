"""The warnings of a document as they are stored and shown."""

from __future__ import annotations

from collections.abc import Iterable

from rag_core.types import Extracted

READ_IN_PART = "Some of this document could not be read."
"""The first warning of a document of which a part could not be read."""


def warnings_of(document: Extracted) -> list[str]:
    """Return the warnings of a document as they are stored and shown."""
    return [*[READ_IN_PART] * document.in_part, *document.warnings]


def with_unread_part(warnings: Iterable[str], sentence: str) -> list[str]:
    """Return the stored ``warnings`` of a document with a ``sentence`` about a part that could not be
    read."""
    return [READ_IN_PART, *(warning for warning in warnings if warning != READ_IN_PART), sentence]
