"""What the readers of Word and PowerPoint files share."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from rag_core.extract.building import needs_password, one_line

_ENCRYPTED = b"\xd0\xcf\x11\xe0"  # an OLE file, in which Office puts the encrypted archive


def refuse_encrypted(data: bytes, path: PurePosixPath) -> None:
    """Raise ExtractError for a file that needs a password."""
    if data.startswith(_ENCRYPTED):
        raise needs_password(path)


def facts_of(properties: Any) -> tuple[str, dict[str, Any]]:
    """The title, and the date and author, in core properties."""
    changed = properties.modified or properties.created
    author = one_line(properties.author or "")
    return one_line(properties.title or ""), {
        "date": changed.date().isoformat() if changed else None,
        "metadata": {"author": author} if author else {},
    }
