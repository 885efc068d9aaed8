"""The vector index in Chroma: one collection for each store, named after the store.

An upsert keeps the keys of an old record that the new record lacks, so each record names every key. Metadata
is flat, and its lists are never empty. A collection learns its dimension from the first vector.

The package's own client waits for ever, uses a proxy even for this machine, and turns a failing server into a
plain Exception. So it gets an HTTP client of ours. Its default embedding function would download a model.
"""

from __future__ import annotations

import itertools
import json
import re
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rag_core.config.options import setting
from rag_core.errors import VectorError
from rag_core.models.addresses import straight_to
from rag_core.models.server import Server, probe, retry_after_s
from rag_core.types import Filters, Vectors
from rag_core.vectors import VectorRecord, payload
from rag_core.vectors.payload import DOC, MAY_BE_UNFILTERED, UNFILTERED
from rag_core.vectors.remote import KEYS_A_PAGE, RECORDS_A_PAGE, Remote, Shape, Undo, short_mark, unless
from rag_core.vectors.service import CONNECT_S, SEARCH_ATTEMPTS, Busy, Program, ProgramOptions

if TYPE_CHECKING:
    import httpx

HNSW = {"max_neighbors": 32, "ef_construction": 200, "ef_search": 400}
"""With these values, over 99 of 100 of the nearest ten are found, even among random directions. With the
defaults, a third are missed."""

METADATA_KEYS = ("file_type", "folder", "folders", "names", "private", "tags", "page", "date", UNFILTERED)
"""Every key that ``payload.metadata`` may return."""

_MAX_ALTERNATIVES = 500
"""Maximum number of values in one filter, as they are looked up in SQLite, which takes no more than 1,000."""

_OWNER, _DIMENSION = "commonplace:owner", "commonplace:dimension"
_NUMBER_BYTES = 6  # maximum, in base64
_RECORD_BYTES = 256
_NAMES_A_PAGE = 100
_COLLECTION = re.compile(r"[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]{1,510}[A-Za-z0-9]")
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChromaOptions(ProgramOptions):
    """How to reach Chroma."""

    url: str = setting("chroma_url", "")
    path: Path = setting("chroma_folder", Path())
    port = 8000


class ChromaService(Program[ChromaOptions]):
    """Chroma, on a server or in a folder."""

    name, extra, package, module = "Chroma", "chroma", "chromadb", "chromadb"
    access = "Use a server without a key, or let a proxy on this machine add it."
    wanted = "Chroma 1.0 or newer"

    @staticmethod
    def version_at(server: Server, options: ChromaOptions) -> str | None:  # noqa: ARG004
        _, said = probe(server, "/api/v2/heartbeat")
        if not isinstance(said, dict) or "nanosecond heartbeat" not in said:
            return None
        version = probe(server, "/api/v2/version")[1]
        return version if isinstance(version, str) else ""

    def _connect(self) -> Any:
        import httpx

        api = self._wired(
            chroma_api_impl="chromadb.api.fastapi.FastAPI",
            chroma_server_host=self.options.server,
            chroma_server_http_port=self.options.port,
        )
        api._session.close()
        api._session = session = httpx.Client(
            headers=api._session.headers,
            timeout=httpx.Timeout(self.options.timeout, connect=min(self.options.timeout, CONNECT_S)),
            **straight_to(self.options.server),
            event_hooks={"response": [self._check]},
        )
        weakref.finalize(self, session.close)
        return api

    def _start(self, folder: Path) -> Any:
        local = "chromadb.api.rust.RustBindingsAPI"
        try:
            return self._wired(chroma_api_impl=local, is_persistent=True, persist_directory=str(folder))
        except self.imported("chromadb.errors").ChromaError as error:
            raise self.damage(error) from error

    def _wired(self, **settings: Any) -> Any:
        """Return the package's API object with these settings, and with telemetry off."""
        config = self.imported("chromadb.config")
        quiet = {"_env_file": None, "anonymized_telemetry": False, "chroma_otel_collection_endpoint": ""}
        system = config.System(config.Settings(**settings, **quiet))
        api = system.instance(self.imported("chromadb.api").ServerAPI)
        system.start()
        return api

    @staticmethod
    def _stop(engine: Any) -> None:
        if session := getattr(engine, "_session", None):
            session.close()
        engine._system.stop()

    def explained(self, error: Exception) -> Exception:
        import httpx

        errors = self.imported("chromadb.errors")
        match error:
            case httpx.TransportError():
                return Busy(type(error).__name__)
            case errors.InternalError():  # of the engine in this process; a server's comes as an answer
                return self.damage(error)
            case errors.ChromaError():
                return self.refusal(error.code(), str(error))
            case ValueError() if not isinstance(error, json.JSONDecodeError):
                return self.refusal(400, str(error))  # the package refuses what it is given
            case ValueError() | TypeError() | LookupError() | AttributeError():
                return self.mistaken() if self.options.url else self.refusal(400, str(error))
        return error

    def _check(self, response: httpx.Response) -> None:
        if response.status_code >= 300:
            response.read()
            raise self.answered(response.status_code, response.text, retry_after_s(response.headers))


class Chroma(Remote[ChromaService]):
    """The collection of one store."""

    service_type = ChromaService
    options_type = ChromaOptions
    form = "chroma://HOST:PORT/COLLECTION"
    pattern = re.compile(rf"chroma://(?P<server>.*)/(?P<collection>{_COLLECTION.pattern})")
    metrics = {"cosine": "cosine", "euclidean": "l2", "dot_product": "ip"}  # noqa: RUF012
    max_dimension = 65_536
    max_batch = 2000
    max_bytes = 16 * 2**20  # a server accepts 40 MB by default
    other_place = "To make a separate index for this store, give the store another name."

    @staticmethod
    def address_of(store: str, variant: str, options: ChromaOptions) -> str:
        name = store if _COLLECTION.fullmatch(store) else f"{store.rstrip('-_')}-{short_mark(store)}"
        return f"chroma://{options.host}/{name}{variant and f'-{variant}'}"

    @classmethod
    def visible(cls, options: ChromaOptions) -> Iterator[str]:
        """Yield the addresses of the server's collections that belong to a store of Commonplace. Raises
        VectorError if they cannot be listed."""
        with closing(ChromaService(options)) as service:
            for start in itertools.count(step=_NAMES_A_PAGE):
                page = service.ask(methodcaller("list_collections", limit=_NAMES_A_PAGE, offset=start))
                ours = [found.name for found in page if _OWNER in (found.metadata or {})]
                yield from (f"chroma://{options.host}/{name}" for name in ours)
                if len(page) < _NAMES_A_PAGE:
                    return

    def _locate(self, names: Mapping[str, str]) -> None:
        self.service.require(self.address, names["server"])
        self._collection = names["collection"]

    def _describe(self) -> Any:
        return self.service.ask(lambda api: api.get_collection(self._collection))

    def _shape(self, found: Any) -> Shape:
        hnsw = found.configuration_json.get("hnsw")
        dimension = (found.metadata or {}).get(_DIMENSION) or found.dimension
        if not hnsw or not (dimension or self._owner_of(found)):
            raise VectorError(
                f"The collection {self._collection!r} of {self.service.called} was not made for notes.",
                "Check its name, and use a Chroma server of your own: hosted Chroma has no HNSW index.",
            )
        return dimension, hnsw["space"]

    def _owner_of(self, found: Any) -> str:
        return str((found.metadata or {}).get(_OWNER, ""))

    def _create(self, owner: str, undo: Undo) -> None:
        undo.append(partial(self.drop, owner))
        made = {
            "metadata": {_OWNER: owner, _DIMENSION: self.dimension},
            "configuration": {"hnsw": {"space": self.metric, **HNSW}, "embedding_function": None},
        }
        self.service.ask(lambda api: api.create_collection(self._collection, **made, get_or_create=True))

    def _give_to(self, found: Any, owner: str) -> None:
        mine = {**(found.metadata or {}), _OWNER: owner, _DIMENSION: self.dimension}
        # the collection's own method for it warns of its embedding function
        self._with(lambda collection: collection._client._modify(id=collection.id, new_metadata=mine))

    def drop(self, owner: str) -> None:
        if self.owner() == owner:
            unless((404,), partial(self.service.ask, lambda api: api.delete_collection(self._collection)))

    def _encode(self, record: VectorRecord) -> tuple[tuple[Any, ...], int] | str:
        given = payload.values(record.metadata)
        asked = {key: value for key, value in given.items() if value != []}
        metadata = {**dict.fromkeys(METADATA_KEYS), **asked, DOC: payload.document(record)}
        texts = len(json.dumps(metadata)) + len(json.dumps(record.text))
        size = texts + record.vector.size * _NUMBER_BYTES + _RECORD_BYTES
        return (record.vector, record.text, metadata), size

    def _put(self, items: dict[str, tuple[Any, ...]]) -> None:
        vectors, texts, metadata = map(list, zip(*items.values(), strict=True))
        given = {"embeddings": vectors, "documents": texts, "metadatas": metadata}
        self._with(lambda collection: collection.upsert(ids=[*items], **given))

    def _delete(self, keys: list[str]) -> None:
        self._with(lambda collection: collection.delete(ids=keys))

    def _nearest(self, query: Vectors, k: int, filters: Filters) -> Iterator[tuple[str, float]]:
        where = payload.filter_objects(filters, _MAX_ALTERNATIVES, "$contains", MAY_BE_UNFILTERED)
        asked = {"query_embeddings": [query], "n_results": k, "where": where, "include": ["distances"]}
        found = self._with(methodcaller("query", **asked), SEARCH_ATTEMPTS)
        for key, distance in zip(found["ids"][0], found["distances"][0], strict=True):
            yield key, 1 - distance / 2 if self.metric == "l2" else 1 - distance  # l2 is squared

    def keys(self) -> Iterator[str]:
        for page in self._pages(KEYS_A_PAGE, []):
            yield from page["ids"]

    def records(self) -> Iterator[VectorRecord]:
        for page in self._pages(RECORDS_A_PAGE, ["embeddings", "documents", "metadatas"]):
            columns = page["ids"], page["embeddings"], page["documents"], page["metadatas"]
            for key, vector, text, metadata in zip(*columns, strict=True):
                kept = dict(metadata or {})
                yield payload.rebuilt(key, vector, text or "", kept.pop(DOC, "{}"), kept)

    def _pages(self, count: int, include: list[str]) -> Iterator[dict[str, Any]]:
        for start in itertools.count(step=count):
            page = self._with(methodcaller("get", limit=count, offset=start, include=include))
            yield page
            if len(page["ids"]) < count:
                return

    def _with(self, act: Callable[[Any], _T], attempts: int = 0) -> _T:
        """Call ``act`` with the package's Collection object, and return its result. Raises as
        VectorService.ask."""

        def use(api: Any) -> _T:
            from chromadb.api.models.Collection import Collection

            found = api.get_collection(self._collection)
            return act(Collection(client=api, model=found, embedding_function=None))

        return self.service.ask(use, attempts)
