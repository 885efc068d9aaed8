"""The facts that Word and PowerPoint files state of themselves."""

from __future__ import annotations

from typing import Any

from rag_core.extract.building import one_line


def facts_of(properties: Any) -> tuple[str, dict[str, Any]]:
    """The title, and the date and author, in core properties."""
    changed = properties.modified or properties.created
    author = one_line(properties.author or "")
    return one_line(properties.title or ""), {
        "date": changed.date().isoformat() if changed else None,
        "metadata": {"author": author} if author else {},
    }
