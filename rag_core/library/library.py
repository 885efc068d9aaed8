"""The library of one owner: one object that every interface (app, CLI, REST, MCP) calls."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rag_core import config
from rag_core.files import EVERYTHING
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
from rag_core.library.service import OwnersCall, Shared
from rag_core.library.sharing import Sharing
from rag_core.library.sources import Sources
from rag_core.library.stores import Stores
from rag_core.library.upkeep import Upkeep
from rag_core.types import OWNER, Job

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings


class Library:
    """All stores of one owner, as services. Cheap to open, safe to share between threads.

    A service checks the viewer of each call: only the owner may call a method that is not open to guests.

    What a script needs most is here as well, for the owner of this computer:
    ``Library.open().search("green tea")``.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._shared = shared = Shared(settings)
        self.sources = Sources(shared)
        self.jobs = Jobs(shared)
        self.files = Files(shared)
        self.documents = Documents(shared, self.files)
        self.originals = Originals(shared)
        self.searching = Searching(shared)
        self.saved = Saved(shared, self.searching)
        self.pictures = Pictures(shared)
        self.asking = Asking(shared, self.searching, self.documents, self.jobs)
        self.evaluating = Evaluating(shared, self.searching, self.documents)
        self.sharing = Sharing(shared)
        self.privacy = PrivateRules(shared)
        self.placement = Placement(shared)
        self.stores = Stores(shared, self.sources, self.jobs, self.saved)
        self.languages = Languages(shared, self.jobs, self.placement)
        self.models = Models(shared)
        self.upkeep = Upkeep(shared, self.stores, self.searching)

        self.create_store = OwnersCall(self.stores.create)
        self.add_source = OwnersCall(self.sources.add)
        self.index = OwnersCall(self.jobs.index)
        self.search = OwnersCall(self.searching.search)
        self.ask = OwnersCall(self.asking.ask)

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """Open the library that ``settings`` describe; by default those of the environment."""
        return cls(config.load() if settings is None else settings)

    def add(self, folder: str | Path, store: str = "", include: Sequence[str] = EVERYTHING) -> Job | None:
        """Index a folder in this thread, and again later what changed in it.

        Args:
            folder: Its path; ``~`` is the home folder.
            store: The store that takes it, made if there is none; by default named after the folder.
            include: Globs of its files.

        Returns:
            How the job ended; None if another process is running it.

        Raises:
            RagError: as `sources.add`, `stores.create` and `jobs.index`.

        """
        name = store or self.sources.name_for(OWNER, folder)
        self.stores.make_if_needed(OWNER, name)
        self.sources.add(OWNER, name, folder, include)
        return self.jobs.index(OWNER, name)

    def close(self) -> None:
        """Close every store and end the process that draws pictures."""
        self.pictures.close(OWNER)
        self._shared.stores.close()
