"""One SQLite file for each store. ``Store`` opens the file. Every other module reads or writes one kind of
content in it: documents, chunks, vectors, jobs …"""

from rag_core.store.file import Store

__all__ = ["Store"]
