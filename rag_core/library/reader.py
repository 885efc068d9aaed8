"""What may be read of a library: each method takes the viewer first and gives nothing that viewer
may not see."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Self

from rag_core import config
from rag_core.errors import (
    EmbedderError,
    InvalidInput,
    NotFound,
    RagError,
    StoreError,
    VectorError,
)
from rag_core.extract.chunk import estimate_tokens
from rag_core.index.courtesy import Courtesy
from rag_core.library.freshness import file_states_soon
from rag_core.library.people import People
from rag_core.library.stores import Opened, Stores, no_store
from rag_core.models import (
    DEFAULT_EMBEDDER,
    EmbedderOptions,
    LLMOptions,
    Prompts,
    SharedEmbedders,
    known_facts,
)
from rag_core.models.addresses import OLLAMA_URL
from rag_core.search.notices import over_budget, pasted
from rag_core.search.query import asked, is_pasted
from rag_core.search.rank import calibration_for
from rag_core.search.retrieve import Scope, SearchOptions, rarest, search
from rag_core.store import about, find, identities, view
from rag_core.store.errors import for_viewer
from rag_core.store.file import generation, now
from rag_core.text import tags
from rag_core.types import (
    MAX_DEPTH,
    Answer,
    Document,
    DocumentView,
    Filters,
    Hit,
    Metric,
    Mode,
    Neighbour,
    Notice,
    Query,
    StoreInfo,
    Vectors,
    Viewer,
)
from rag_core.vectors import RemoteIndex
from rag_core.vectors.backends import open_remote, vector_options

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

MAX_TOP_K = MAX_DEPTH
MAX_AROUND = 20
_CHARACTERS_A_TOKEN = 16  # at most, nearly always: no embedder reads more of a text


class Reader:
    """Every store of one owner, for reading. Cheap to make, safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._vector_options = vector_options(settings)
        self._people = People(settings.data_dir, settings.busy_timeout_s)
        self._stores = Stores(settings.store_dir, settings.busy_timeout_s, self._open_remote, self._people)
        self._embedders = SharedEmbedders(embedder_options(settings))
        self._courtesy = Courtesy()

    def _open_remote(self, address: str, dimension: int, metric: Metric) -> RemoteIndex:
        return open_remote(address, dimension, metric, self._vector_options)

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """The library that ``settings`` (default: the environment's) describe."""
        return cls(config.load() if settings is None else settings)

    def close(self) -> None:
        """Close every store."""
        self._stores.close()

    # --- stores -------------------------------------------------------------------------

    def store_names(self, viewer: Viewer) -> list[str]:
        """The names of the stores that ``viewer`` may see, sorted without regard to case."""
        return self._stores.names(viewer)

    def store_info(self, viewer: Viewer, name: str) -> StoreInfo:
        """A store's counts, sizes and sources."""
        opened = self._stores.open(viewer, name)
        try:
            info = about.info(opened.store, viewer)
        except StoreError as error:
            raise for_viewer(error, viewer, name) from error
        return replace(info, dimension=info.dimension or self._dimension(info.embedder))

    def _dimension(self, embedder: str) -> int:
        """How many numbers its vectors have; 0 where only its server can tell, or nobody."""
        opened = self._embedders.known(embedder)
        if opened is not None:
            return opened.identity.dimension
        try:
            facts = known_facts(embedder)
        except InvalidInput:
            return 0
        return facts.dimension if facts else 0

    def generations(self, viewer: Viewer, names: Sequence[str] = ()) -> tuple[tuple[str, int], ...]:
        """(store, generation) of the named stores (none: all) that can be read: what a cache keys on. Raises
        StoreError where none of them can."""
        found: list[tuple[str, int]] = []
        opened, failed = self._stores.each(viewer, names)
        for each in opened:
            try:
                with self._stores.reading(viewer, each.store.name) as db:
                    found.append((each.store.name, generation(db)))
            except StoreError as error:
                failed.append(error)
        if failed and not found:
            raise failed[0]
        return tuple(found)

    # --- passages and documents ---------------------------------------------------------

    def search(
        self,
        viewer: Viewer,
        text: str,
        stores: Sequence[str] = (),
        *,
        mode: Mode | None = None,
        top_k: int | None = None,
        min_score: float | None = None,
        filters: Filters | None = None,
        max_tokens: int | None = None,
        offset: int = 0,
    ) -> Answer:
        """The best passages for a query, which may carry filters of the query language.

        ``stores``: none means all that the viewer may see; ``store:`` in the text wins over it.
        ``offset`` passes over the first hits; one list, up to 1,000 long, is behind every
        ``offset`` and ``top_k``, so pages fit together as long as no store changes.
        A text of more than 2,000 characters is searched by its beginning and its rarest words.
        ``max_tokens`` keeps the first hits whose text fits. ``mode`` and the numbers are as the
        settings have them where they are None. Raises InvalidInput for an empty
        query or a number out of range, NotFound for a store that is not there for this viewer.
        """
        started, timestamp = time.perf_counter(), now()
        usual = self.settings
        mode, top_k = mode or usual.mode, usual.top_k if top_k is None else top_k
        min_score = usual.min_score if min_score is None else min_score
        max_tokens = usual.max_tokens if max_tokens is None else max_tokens
        _check_range(top_k, min_score, max_tokens, offset)
        query = asked(text, filters)
        opened, failed = self._stores.each(viewer, query.stores or stores)
        if not opened:
            raise no_store(viewer, "There is no store yet.")
        scopes = {each.store.name: partial(self._scope, viewer, each, query, mode) for each in opened}
        options = SearchOptions(mode, top_k, min_score, offset, usual.k_lex, usual.k_vec)
        long = is_pasted(text)
        with self._courtesy.searching():
            ranked = rarest(query, [each.store for each in opened], viewer) if long else query
            answer = search(scopes, ranked, options, viewer)
        hits = answer.hits if max_tokens is None else _within(answer.hits, max_tokens)
        said = [pasted(len(text), len(ranked.words), mode)] if long else []
        said += [Notice(str(error)) for error in failed]
        if answer.hits and max_tokens is not None and not hits:
            tokens = estimate_tokens(answer.hits[0].content)
            said.append(over_budget(answer.hits, tokens, max_tokens, goes_on=answer.has_more))
        answer = replace(
            answer,
            hits=hits,
            notices=(*answer.notices, *said),
            has_more=answer.has_more or len(hits) < len(answer.hits),
        )
        answer = self.compared(viewer, answer)
        return replace(answer, query_time_ms=(time.perf_counter() - started) * 1000, timestamp=timestamp)

    def compared(self, viewer: Viewer, answer: Answer) -> Answer:
        """An answer with the FileState that the file of each hit has on disk just now; what a disk does not
        say soon is ``unknown``. For an answer that was kept for a while; a guest's stays as it is."""
        if not viewer.is_owner:
            return answer
        shown: dict[str, set[int]] = {}
        for hit in answer.hits:
            shown.setdefault(hit.store, set()).add(hit.document.id)
        states: dict[tuple[str, int], str] = {}
        for store, ids in shown.items():
            rows: list[sqlite3.Row] = []
            with suppress(StoreError), self._stores.reading(viewer, store) as db:  # else all are unknown
                rows = find.stat_rows(db, ids)
            for number, state in file_states_soon(rows).items():
                states[store, number] = state
        hits: list[Hit] = []
        for hit in answer.hits:
            found = states.get((hit.store, hit.document.id), "unknown")
            hits.append(replace(hit, document=replace(hit.document, state=found)))
        return replace(answer, hits=tuple(hits))

    def neighbours(self, viewer: Viewer, store: str, key: str, around: int = 1) -> list[Neighbour]:
        """The chunk called ``key`` with ``around`` chunks before and behind it, in reading order.

        Raises InvalidInput unless ``around`` is 0 to 20, NotFound when the chunk is gone.
        """
        if not 0 <= around <= MAX_AROUND:
            raise InvalidInput(f"around is {around}.", f"Use a number from 0 to {MAX_AROUND}.")
        with self._stores.reading(viewer, store) as db:
            rows = find.neighbours(db, key, find.visible(viewer), around)
        if not rows:
            raise NotFound("This passage is no longer in the store.", "Search again; its file was changed.")
        return view.neighbours(rows, key)

    def document(self, viewer: Viewer, store: str, path: str, key: str = "") -> DocumentView:
        """The document called ``path`` as it was indexed, the chunk called ``key`` marked.

        Raises NotFound when there is none that this viewer may see.
        """
        with self._stores.reading(viewer, store) as db:
            found = view.document(db, store, path, viewer, key)
        if found is None:
            raise NotFound(
                f"Store {store!r} has no document {path!r}.",
                "It may have moved or be gone; search for it.",
            )
        return found

    def documents(self, viewer: Viewer, store: str) -> list[Document]:
        """Every document of a store by path; for the owner also those that could not be read."""
        with self._stores.reading(viewer, store) as db:
            return find.documents(db, store, viewer)

    def facets(self, viewer: Viewer, names: Sequence[str] = ()) -> dict[str, dict[str, int]]:
        """``{"types", "tags", "folders"}``: each value with its number of documents, most first, in the
        stores that can be read. A tag counts those below it, too, as it finds them."""
        total: dict[str, dict[str, int]] = {"types": {}, "tags": {}, "folders": {}}
        for opened in self._stores.each(viewer, names)[0]:
            with suppress(StoreError), self._stores.reading(viewer, opened.store.name) as db:
                for kind, counts in find.facets(db, viewer).items():
                    for value, count in counts.items():
                        total[kind][value] = total[kind].get(value, 0) + count
        total["tags"] = tags.joined(total["tags"].items())
        return {k: dict(sorted(v.items(), key=lambda item: (-item[1], item[0]))) for k, v in total.items()}

    # --- models -------------------------------------------------------------------------

    def warm(self, name: str = DEFAULT_EMBEDDER) -> str:
        """Load an embedder ahead of its first use; returns '' or the sentence that says why not."""
        try:
            self._embedders.get(name).embed_query("warm")
        except RagError as error:
            return str(error)
        return ""

    def _embedder_missing(self, name: str) -> RagError | None:
        """Why the embedder ``name`` cannot be had here, for somebody who waits; None where it can."""
        try:
            with self._embedders.guard(name):
                self._embedders.get(name)
        except (EmbedderError, InvalidInput) as error:
            return error
        return None

    def _scope(self, viewer: Viewer, opened: Opened, query: Query, mode: Mode) -> Scope:
        """A store ready to search; without its embedder it is searched by words, and says so: to the owner
        why, which may name a server that is nobody else's business."""
        embedder = opened.store.embedder
        calibration = calibration_for(embedder)
        if mode == "lexical" or not query.text:
            return Scope(opened.store, opened.local, None, calibration)
        try:
            with self._embedders.guard(embedder):
                identity_id, vector = self._query_vector(opened, embedder, query.text)
            index = self._stores.index(opened)
        except (EmbedderError, VectorError, InvalidInput) as error:
            may_know = viewer.is_owner or isinstance(error, _OtherScript)
            trouble = error if may_know else EmbedderError("The embedder is not at hand just now.")
            return Scope(opened.store, opened.local, None, calibration, trouble=trouble)
        return Scope(opened.store, index, vector, calibration, identity_id)

    def _query_vector(self, opened: Opened, name: str, text: str) -> tuple[int, Vectors | None]:
        """The row id there of ``name``, a store's embedder, and the vector of a query by it; None while the
        store has no vectors.

        Raises EmbedderError when the embedder cannot be had, or is not the one of the store's vectors.
        """
        embedder = self._embedders.get(name)
        text = text[: _CHARACTERS_A_TOKEN * embedder.max_tokens]
        with opened.store.read() as db:
            active = identities.active_identity(db)
        if active is None:
            return 0, None
        identity_id, identity, canary = active
        if identity != embedder.identity:
            raise EmbedderError(f"The vectors are from {identity}, this machine has {embedder.identity}.")
        if not embedder.reads(text):
            raise _OtherScript("The model reads only Latin script, and this query has another.")
        if not identity.digest:  # then only vectors tell whether it is the same model still
            now = self._embedders.passage_vector(embedder, identities.CANARY_TEXT)
            if not identities.same_canary(canary, now):
                raise EmbedderError(f"The vectors are from another model that was called {identity.model!r}.")
        return identity_id, self._embedders.query_vector(embedder, text)


class _OtherScript(EmbedderError):
    """A query in a script that the model never learnt."""


def embedder_options(settings: Settings) -> EmbedderOptions:
    """What of the settings embedders are opened with."""
    return EmbedderOptions(
        model_dir=settings.model_dir,
        ollama_url=settings.ollama_url or OLLAMA_URL,
        openai_url=settings.embedding_url,
        openai_key=settings.embedding_key,
        timeout_s=settings.embedding_timeout_s,
        context=settings.embedding_context,
        prompts=tuple((name, Prompts(*written)) for name, written in settings.prompts),
        device=settings.device,
        offline=settings.offline,
    )


def llm_options(settings: Settings) -> LLMOptions:
    """What of the settings a model that answers is opened with."""
    return LLMOptions(
        ollama_url=settings.ollama_url or OLLAMA_URL,
        openai_url=settings.chat_base_url or "",
        openai_key=settings.chat_api_key or "",
        temperature=settings.llm_temperature,
        max_tokens=settings.llm_max_tokens,
        context=settings.llm_context,
        timeout_s=settings.llm_timeout_s,
    )


def _check_range(top_k: int, min_score: float | None, max_tokens: int | None, offset: int) -> None:
    if not 1 <= top_k <= MAX_TOP_K:
        raise InvalidInput(f"top_k is {top_k}.", f"Use a number from 1 to {MAX_TOP_K}.")
    if not 0 <= offset <= MAX_DEPTH - top_k:
        raise InvalidInput(
            f"offset is {offset} with top_k {top_k}.",
            f"Use 0 or more, and at most {MAX_DEPTH:,} for both together; a narrower query finds the rest.",
        )
    if min_score is not None and not 0 <= min_score <= 1:
        raise InvalidInput(f"min_score is {min_score}.", "Use a number from 0 to 1.")
    if max_tokens is not None and max_tokens < 1:
        raise InvalidInput(f"max_tokens is {max_tokens}.", "Use a number above 0.")


def _within(hits: Sequence[Hit], max_tokens: int) -> tuple[Hit, ...]:
    """The hits, best first, whose whole text fits the budget together."""
    kept: list[Hit] = []
    for hit in hits:
        max_tokens -= estimate_tokens(hit.content)
        if max_tokens < 0:
            break
        kept.append(hit)
    return tuple(kept)
