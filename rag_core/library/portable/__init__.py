"""One portable file a store: written while the app runs, and imported from anywhere.

The file is a zip archive of ``manifest.json`` and ``store.db``, a consistent copy of the store without its
runs and requests. Private notes are in it.
"""

from rag_core.library.portable.archive import SUFFIX, Exported, Packed, Report, Transfer, opened
from rag_core.library.portable.exporting import export_store
from rag_core.library.portable.importing import import_store

__all__ = ["SUFFIX", "Exported", "Packed", "Report", "Transfer", "export_store", "import_store", "opened"]
