"""One portable file a store: writing it while the app runs, and taking one in that may come from anywhere.

The file is a zip archive of ``manifest.json`` (see `manifest`) and ``store.db``, a consistent copy of the
store without what belongs to a run: requests, and jobs under way. Private notes are in it.
"""

from rag_core.library.portable.container import Packed, opened
from rag_core.library.portable.exporting import export_store
from rag_core.library.portable.importing import import_store, taken
from rag_core.library.portable.manifest import FORMAT, Manifest
from rag_core.library.portable.transfer import SUFFIX, Exported, Report, Transfer

__all__ = [
    "FORMAT",
    "SUFFIX",
    "Exported",
    "Manifest",
    "Packed",
    "Report",
    "Transfer",
    "export_store",
    "import_store",
    "opened",
    "taken",
]
