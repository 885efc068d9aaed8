"""The library: one object that every interface calls. Methods that read or write take a `Viewer` first."""

from rag_core.library.library import Library

__all__ = ["Library"]
