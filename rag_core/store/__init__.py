"""One SQLite file per store. ``Store`` opens it; each module beside reads or writes one noun."""

from rag_core.store.file import Store

__all__ = ["Store"]
