"""The facade of everything: one object, whose methods that read or write take a `Viewer` first."""

from rag_core.library.library import Library

__all__ = ["Library"]
