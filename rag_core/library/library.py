"""The library of one owner: one object that every interface (app, CLI, REST, MCP) calls."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

from rag_core import config
from rag_core.files import EVERYTHING
from rag_core.library.service import OwnersCall, Shared
from rag_core.types import OWNER, Job

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings
    from rag_core.library.asking import Asking
    from rag_core.library.documents import Documents
    from rag_core.library.evaluating import Evaluating
    from rag_core.library.files import Files
    from rag_core.library.jobs import Jobs
    from rag_core.library.languages import Languages
    from rag_core.library.models import Models
    from rag_core.library.originals import Originals
    from rag_core.library.pictures import Pictures
    from rag_core.library.placement import Placement
    from rag_core.library.privacy import PrivateRules
    from rag_core.library.saved import Saved
    from rag_core.library.searching import Searching
    from rag_core.library.sharing import Sharing
    from rag_core.library.sources import Sources
    from rag_core.library.stores import Stores
    from rag_core.library.upkeep import Upkeep

SERVICES = {
    "asking": ("Asking", "searching documents jobs"),
    "documents": ("Documents", "files"),
    "evaluating": ("Evaluating", "searching documents"),
    "files": ("Files", ""),
    "jobs": ("Jobs", ""),
    "languages": ("Languages", "jobs placement"),
    "models": ("Models", ""),
    "originals": ("Originals", ""),
    "pictures": ("Pictures", ""),
    "placement": ("Placement", ""),
    "privacy": ("PrivateRules", ""),
    "saved": ("Saved", "searching"),
    "searching": ("Searching", ""),
    "sharing": ("Sharing", ""),
    "sources": ("Sources", ""),
    "stores": ("Stores", "sources jobs saved"),
    "upkeep": ("Upkeep", "stores searching"),
}
"""Name of a service and of its module → its class, and the services passed to the class."""


class Library:
    """All stores of one owner, as services. A library opens quickly and can be shared between threads.

    A service checks the viewer of each call. Guests may call only methods marked `open_to_all`. The module of
    a service is imported when it is first used.

    For scripts of the owner, the most important methods are here as well: ``Library.open().search("green
    tea")``.
    """

    asking: Asking
    documents: Documents
    evaluating: Evaluating
    files: Files
    jobs: Jobs
    languages: Languages
    models: Models
    originals: Originals
    pictures: Pictures
    placement: Placement
    privacy: PrivateRules
    saved: Saved
    searching: Searching
    sharing: Sharing
    sources: Sources
    stores: Stores
    upkeep: Upkeep

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._shared = Shared(settings)
        self._making = RLock()  # threads create services, each one once

        self.create_store = OwnersCall(lambda: self.stores.create)
        self.add_source = OwnersCall(lambda: self.sources.add)
        self.index = OwnersCall(lambda: self.jobs.index)
        self.search = OwnersCall(lambda: self.searching.search)
        self.ask = OwnersCall(lambda: self.asking.ask)

    def __getattr__(self, name: str) -> Any:
        """Create a service when it is first used."""
        if name not in SERVICES:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._making:
            if name not in vars(self):
                called, needed = SERVICES[name]
                service = getattr(import_module(f"rag_core.library.{name}"), called)
                parts = [getattr(self, part) for part in needed.split()]
                vars(self)[name] = service(self._shared, *parts)
            return vars(self)[name]

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """Open the library that ``settings`` describe. The default settings are those of the environment."""
        return cls(config.load() if settings is None else settings)

    def add(self, folder: str | Path, store: str = "", include: Sequence[str] = EVERYTHING) -> Job | None:
        """Index a folder in this thread. Later calls index what has changed in it.

        Args:
            folder: Its path; ``~`` is the home folder.
            store: The store for the folder, created if needed; by default it has the folder's name.
            include: Globs of the files to index.

        Returns:
            The finished job; None if another process indexed the folder meanwhile.

        Raises:
            InvalidInput: The folder, the name or a glob cannot be used, or no file matches.
            EmbedderError: The model for a new store is missing.
            StoreBusy: Another process is indexing the store. It reads the folder, too.

        """
        name = store or self.sources.name_for(OWNER, folder)
        self.stores.make_if_needed(OWNER, name)
        self.sources.add(OWNER, name, folder, include)
        return self.jobs.index(OWNER, name)

    def close(self) -> None:
        """Close every store and end the process that draws pictures."""
        if "pictures" in vars(self):
            self.pictures.close(OWNER)
        self._shared.stores.close()
