"""Commonplace: search for one person's own knowledge.

The public names are loaded when they are first used, so that importing the package is free.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rag_core.config import Settings
    from rag_core.errors import RagError
    from rag_core.library import Library
    from rag_core.types import OWNER, Answer, Document, Filters, Hit, Job, Viewer

__version__ = "0.1.0"

__all__ = [
    "OWNER", "Answer", "Document", "Filters", "Hit", "Job", "Library", "RagError", "Settings", "Viewer",
]  # fmt: skip

_HOMES = {"Library": "library", "RagError": "errors", "Settings": "config"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"rag_core.{_HOMES.get(name, 'types')}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
