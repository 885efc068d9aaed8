"""One SQLite file for each store. ``Store`` opens it; every other module reads or writes one kind of
thing in it: documents, chunks, vectors, jobs …"""

from rag_core.store.file import Store

__all__ = ["Store"]
