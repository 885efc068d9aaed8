"""The base of a library's services: what they share, and the one check of who may call them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, wraps
from inspect import isfunction
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from rag_core.config.options import options_from
from rag_core.errors import EmbedderError, Forbidden, InvalidInput, RagError, StoreError
from rag_core.index.priority import SearchPriority
from rag_core.library.store_files import StoreFiles
from rag_core.models import EmbedderOptions, SharedEmbedders, known_facts
from rag_core.people.access_list import AccessList
from rag_core.store import Store, about, documents, switch
from rag_core.store.errors import for_viewer
from rag_core.types import OWNER, Metric, StoreInfo, Viewer
from rag_core.vectors import RemoteIndex
from rag_core.vectors.backends import VectorOptions, open_remote, vector_options

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings
    from rag_core.index.reading import Limits
    from rag_core.models.rerank import SharedReranker

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


class Shared:
    """The settings, open stores, embedders and access list of one library."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.access = AccessList(settings.data_dir, settings.busy_timeout_s)
        self.stores = StoreFiles(settings, self.open_remote, self.access)
        self.embedders = SharedEmbedders(options_from(settings, EmbedderOptions))
        self.reranker = _reranker(settings) if settings.reranker else None
        self.priority = SearchPriority()

    @cached_property
    def vector_options(self) -> VectorOptions:
        """The vector index options from the settings. Reading this imports all vector indexes."""
        return vector_options(self.settings)

    def open_remote(self, address: str, dimension: int, metric: Metric) -> RemoteIndex:
        """Open the vector index at ``address``. Raises VectorError if its package is not installed, and
        InvalidInput for an address that cannot be used."""
        return open_remote(address, dimension, metric, self.vector_options)

    def info(self, viewer: Viewer, name: str) -> StoreInfo:
        """Return a store's counts, sizes and sources. Raises NotFound, StoreError."""
        opened = self.stores.open(viewer, name)
        try:
            info = about.info(opened.store, viewer)
        except StoreError as error:
            raise for_viewer(error, viewer, name) from error
        if info.dimension:
            return info
        try:
            known = self.embedders.known(info.embedder)
            facts = known.identity if known else known_facts(info.embedder)
        except InvalidInput:
            return info
        return replace(info, dimension=facts.dimension if facts else 0)

    def limits(self, store: str) -> Limits:
        """Return the limits and the OCR for a job of ``store``, from the settings."""
        from rag_core.extract.ocr import is_remote
        from rag_core.index.reading import Limits
        from rag_core.models import OcrOptions, open_ocr

        known = self.settings
        remote = open_ocr(known.ocr, options_from(known, OcrOptions)) if is_remote(known.ocr) else None
        if remote and remote.leaves and store not in known.ocr_stores:
            remote = None
        return Limits(
            known.batch_size,
            known.max_file_bytes,
            known.extractor_timeout_s,
            "auto" if is_remote(known.ocr) else known.ocr,
            known.data_dir / "ocr",
            remote,
            tuple((folder.resolve(), codec) for folder, codec in known.encodings),
            known.cloud_files == "read",
        )

    def prune_pictures(self) -> None:
        """Remove cached texts of pictures that are in no store any more. Nothing is removed if a store cannot
        be read."""
        from rag_core.extract import ocr

        held: set[str] = set()
        with suppress(StoreError, OSError):
            for name in self.stores.names(OWNER):
                with self.stores.reading(OWNER, name) as db:
                    held |= documents.hashes(db)
            ocr.prune(self.settings.data_dir / "ocr", held)

    def embedder_missing(self, name: str) -> RagError | None:
        """Return the error that prevents using the embedder ``name`` now; None if it works."""
        try:
            with self.embedders.breaker.guard(name):
                self.embedders.get(name)
        except (EmbedderError, InvalidInput) as error:
            return error
        return None


def _reranker(settings: Settings) -> SharedReranker:
    from rag_core.models.rerank import RerankerOptions, SharedReranker

    return SharedReranker(options_from(settings, RerankerOptions))


def open_to_all(method: _Method) -> _Method:
    """Decorator: let guests call a method of a service, too. The method must return only data that its viewer
    may see."""
    method.__dict__["open_to_all"] = True
    return method


class Service:
    """A part of a library. Public methods take the viewer first. They raise Forbidden for everyone except the
    owner, unless they are `open_to_all`."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._settings = shared.settings
        self._stores = shared.stores
        self._access = shared.access
        self._embedders = shared.embedders

    def __init_subclass__(cls) -> None:
        for name, method in list(vars(cls).items()):
            if isfunction(method) and not name.startswith("_") and "open_to_all" not in vars(method):
                setattr(cls, name, _for_the_owner(method))

    def _own(self, viewer: Viewer, name: str) -> Store:
        """Open the store ``name`` for a change. Raises NotFound, InvalidInput for an attached store, and as
        `StoreFiles.require_own_disk`."""
        self._stores.require_own_disk()
        store = self._stores.open(viewer, name).store
        with store.read() as db:
            if switch.is_attached(db):
                raise InvalidInput(
                    f"Store {name!r} is attached to another installation's index and only read here.",
                    "Take it over (`commonplace store take-over`), or make the change on the computer"
                    " that keeps that index.",
                )
        return store


class OwnersCall(Generic[_Args, _Result]):
    """A method of a service, for scripts: if the first argument of a call is no `Viewer`, the owner calls it.
    ``method`` returns the service's method, and is called at each call."""

    def __init__(self, method: Callable[[], Callable[Concatenate[Viewer, _Args], _Result]]) -> None:
        self._method = method

    @overload
    def __call__(self, viewer: Viewer, /, *args: _Args.args, **named: _Args.kwargs) -> _Result: ...
    @overload
    def __call__(self, /, *args: _Args.args, **named: _Args.kwargs) -> _Result: ...
    def __call__(self, /, *args: Any, **named: Any) -> _Result:
        viewer = () if args and isinstance(args[0], Viewer) else (OWNER,)
        return self._method()(*viewer, *args, **named)


def _for_the_owner(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def checked(self: Service, viewer: Viewer, *args: Any, **named: Any) -> Any:
        if not viewer.is_owner:
            raise Forbidden("Only the owner may do this.", "Ask the owner of this library.")
        return method(self, viewer, *args, **named)

    return checked
