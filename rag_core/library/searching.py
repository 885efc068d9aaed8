"""Searching: the query is sent to every store that the viewer may see, and the answers become one list."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from heapq import nlargest
from threading import Thread

from rag_core.errors import EmbedderError, InvalidInput, NotFound, RagError, StoreError, VectorError
from rag_core.library.freshness import file_states
from rag_core.library.recent import Recent
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.library.store_files import Opened, no_document, no_store
from rag_core.models import DEFAULT_EMBEDDER, Embedder
from rag_core.models.built_in import BUILT_IN, BuiltInEmbedder
from rag_core.search.gather import Scope
from rag_core.search.query import MAX_LENGTH, asked
from rag_core.search.retrieve import SearchOptions, search
from rag_core.search.similar import mean_vector, similar
from rag_core.search.understand import Interpreted, understand
from rag_core.store import Store, documents, embeddings, find, listing, suggest
from rag_core.store.calibration import of_active, of_guests
from rag_core.store.connection import kept
from rag_core.store.file import Known, active_identity, meta, now
from rag_core.store.questions import HIGHEST
from rag_core.store.view import document
from rag_core.text.tokens import estimate_tokens
from rag_core.text.words import is_unspaced
from rag_core.types import (
    MAX_DEPTH,
    Answer,
    DocumentView,
    FileState,
    Filters,
    Group,
    Hit,
    Mode,
    Named,
    Notice,
    Query,
    Similar,
    Sort,
    Suggestions,
    Viewer,
)

MAX_TOP_K = MAX_DEPTH
MOST_OTHERS = 20
MOST_SIMILAR = 100
_MOST_FAILED = 3
_WAIT_S = 0.25  # seconds to wait for the files of a store, as a disk may hang
_CHARACTERS_A_TOKEN = 16  # maximum in nearly all texts; embedders read no more of a text

_OTHER_SCRIPT = "書"  # not Latin
_MAKE_NEW = "`commonplace store switch` makes new vectors."


class Searching(Service):
    """Searches the stores of a library."""

    def __init__(self, shared: Shared) -> None:
        super().__init__(shared)
        self._recent = Recent(shared.settings.data_dir, shared.settings.busy_timeout_s)

    @open_to_all
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
        group: Group = "none",
        facets: bool = False,
        sort: Sort = "best",
    ) -> Answer:
        """Return the best passages for a query, which may contain filters of the query language.

        Args:
            viewer: Who is asking.
            text: The query. Of more than 2,000 characters, the beginning and the rarest words are searched.
            stores: Names of stores; none for all that the viewer may see. ``store:`` in the text takes
                precedence.
            mode: Words, meaning or both. None means the setting, also for the next two and ``max_tokens``.
            top_k: Number of hits.
            min_score: Minimum score of a hit, 0 to 1.
            filters: What a document must match in addition to the filters in the text.
            max_tokens: Maximum number of tokens of all hits together; only the first hits are kept.
            offset: Number of first hits to skip, up to 1,000 together with ``top_k``.
            group: ``document`` returns each document once, at the rank of its best passage, and lists places
                of nearly equal passages as its copies. All numbers then count documents.
            facets: Whether to count what fits by type, tag, folder, store and year. The counts are lower
                bounds if the answer's ``counts_more`` is true.
            sort: The order of hits that fit. It applies to the 1,000 best of each store; in a query without
                words, to all that match.

        Raises:
            InvalidInput: The query is empty or a number out of range.
            NotFound: This viewer has no such store.
            StoreError: None of the stores can be read.

        """
        started = time.perf_counter()
        options = SearchOptions(
            mode=mode or self._settings.mode,
            top_k=self._settings.top_k if top_k is None else top_k,
            min_score=self._settings.min_score if min_score is None else min_score,
            offset=offset,
            k_lex=self._settings.k_lex,
            k_vec=self._settings.k_vec,
            group=group,
            facets=facets,
            reranker=self._shared.reranker,
            recency=self._settings.recency,
            sort=sort,
            max_tokens=self._settings.max_tokens if max_tokens is None else max_tokens,
        )
        _check_range(options)
        answer = self._answer(viewer, asked(text, filters), filters, stores, options)
        return replace(answer, query_time_ms=(time.perf_counter() - started) * 1000)

    def _answer(
        self,
        viewer: Viewer,
        query: Query,
        filters: Filters | None,
        names: Sequence[str],
        options: SearchOptions,
    ) -> Answer:
        """Interpret the query and search the stores named in it or in ``names``."""
        timestamp = now()
        opened, failed = self._stores.each(viewer, query.stores or names)
        if not opened:
            raise no_store(viewer, "There is no store yet.")
        with self._shared.priority.searching():
            interpreted = self._understood(viewer, query, filters, opened, options.mode)
            scope_of = partial(self._scope, viewer, interpreted.query, options.mode)
            answer = replace(search(opened, scope_of, interpreted, options), timestamp=timestamp)
        for error in failed:
            answer = replace(answer, notices=(*answer.notices, Notice.of(error.as_message())))
        if options.max_tokens is not None:
            answer = _within(answer, options.max_tokens)
        if answer.pending and answer.query.text and not answer.convincing:
            answer = _with_notice(answer, "too_new", count=answer.pending)
        count = len(answer.hits)
        answer = self.with_file_states(viewer, answer)
        if len(answer.hits) < count:
            answer = _with_notice(answer, "gone", count=count - len(answer.hits))
        return answer

    @open_to_all
    def others(
        self, viewer: Viewer, text: str, hit: Hit, *, mode: Mode | None = None, filters: Filters | None = None
    ) -> tuple[Hit, ...]:
        """Return the other passages of a hit's document that fit the query, best first, at most
        `MOST_OTHERS`. Raises InvalidInput for a query that cannot be searched, and NotFound if the store is
        gone."""
        inside = replace(filters or Filters(), paths=(hit.document.path,))
        answer = self.search(viewer, text, [hit.store], mode=mode, top_k=MOST_OTHERS + 1, filters=inside)
        others: list[Hit] = []
        for other in answer.hits:
            is_here = (other.store, other.document.id) == (hit.store, hit.document.id)
            if is_here and other.relevant and other.key != hit.key:
                others.append(other)
        return tuple(others[:MOST_OTHERS])

    def failed_files(self, viewer: Viewer, answer: Answer) -> list[Notice]:
        """Return notices about unreadable files whose names match the query. If there are other results, only
        files whose whole name is in the query are included."""
        text, whole = answer.query.text, answer.convincing
        failed: list[Notice] = []
        for name in answer.stores:
            with suppress(StoreError, NotFound), self._stores.reading(viewer, name) as db:
                for path, reason in documents.failed(db, text, _MOST_FAILED, whole=whole):
                    failed.append(Notice("failed_file", {"path": path, "reason": reason}, (name,)))
        return failed

    @open_to_all
    def similar(
        self, viewer: Viewer, store: str, path: str = "", *, key: str = "", text: str = "", limit: int = 8
    ) -> list[Similar]:
        """Return the documents of a store that are nearest in meaning to a passage, a text or a document,
        nearest first.

        The first of ``key`` (of a passage), ``text`` and ``path`` (of a document) that is given is compared.
        The document itself and its copies are left out. Documents linked with it are marked. The list is
        empty while nothing is embedded.

        Raises:
            NotFound: there is no such store, passage or document.
            InvalidInput: none of the three is given, or ``limit`` is outside 1 to 100.
            EmbedderError: ``text`` cannot be compared now.

        """
        if not (path or key or text):
            raise InvalidInput("There is nothing to compare with.", "Give a path, a passage or a text.")
        if not 1 <= limit <= MOST_SIMILAR:
            raise InvalidInput(f"limit is {limit}.", f"Use a number from 1 to {MOST_SIMILAR}.")
        opened = self._stores.open(viewer, store)
        view, scope = self._compared(viewer, opened, path, key)
        if text and not key:
            scope = self._scope(viewer, Query(text, text[:MAX_LENGTH]), "vector", opened)
            if scope.trouble:
                raise scope.trouble
        links = (*view.links_out, *view.links_in) if view else ()
        linked = {link.path for link in links if link.path}
        with self._shared.priority.searching():
            return similar(scope, viewer, limit, without=view.document.id if view else None, linked=linked)

    def _compared(
        self, viewer: Viewer, opened: Opened, path: str, key: str
    ) -> tuple[DocumentView | None, Scope]:
        """Return the document to compare with (None for a text), and a scope with the vector to search for.
        The vector is the mean of the document's passages, or the vector of the passage ``key``."""
        scope, store = Scope(opened.store, opened.local), opened.store.name
        with opened.store.read() as db:
            if rows := find.chunks_around(db, key, find.visible(viewer), 0) if key else []:
                path = rows[0]["path"]
            view = document(db, store, path, viewer, key) if path and bool(key) == bool(rows) else None
            if view is None and (path or key):
                no_passage = f"Store {store!r} has no passage {key!r}."
                raise NotFound(no_passage, "Search again.") if key else no_document(store, path)
            if view is None or (active := active_identity(db)) is None:
                return view, scope
            keys = [key] if key else [chunk.key for chunk in view.chunks]
            ids = find.chunk_ids(db, keys, find.visible(viewer))
            vector = mean_vector(db, active.id, [ids[key] for key in keys if key in ids])
        if vector is None:
            return view, scope
        return view, Scope(opened.store, self._stores.index(opened), vector, active.id)

    @open_to_all
    def with_file_states(self, viewer: Viewer, answer: Answer) -> Answer:
        """Update a cached ``answer``: each hit gets the present FileState of its file (``unknown`` on a slow
        disk), and hits whose file is gone are removed. A guest's answer is not changed."""
        if not viewer.is_owner:
            return answer
        ids_of: dict[str, set[int]] = {}
        for hit in answer.hits:
            ids_of.setdefault(hit.store, set()).add(hit.document.id)
        states: dict[str, dict[int, FileState]] = {}
        for store, ids in ids_of.items():
            with suppress(StoreError, NotFound):  # then all are unknown
                with self._stores.open(viewer, store).store.read() as db:
                    rows = listing.document_rows(db, viewer, ids)
                of_store = states.setdefault(store, {})
                look = Thread(
                    target=lambda f, r: f.update(file_states(r)), args=(of_store, rows), daemon=True
                )
                look.start()
                look.join(_WAIT_S)
        hits = []
        for hit in answer.hits:
            state = states.get(hit.store, {}).get(hit.document.id, "unknown")
            if state != "missing":
                hits.append(replace(hit, document=replace(hit.document, state=state)))
        return replace(answer, hits=tuple(hits))

    @open_to_all
    def suggest(self, viewer: Viewer, text: str, stores: Sequence[str] = (), limit: int = 6) -> Suggestions:
        """Suggest documents and tags whose names complete ``text``. Without text, return the documents
        changed last; the owner also gets the last searches and opened documents. Stores that cannot be read
        are left out."""
        opened, _ = self._stores.each(viewer, stores)
        names = list(opened)
        named: list[Named] = []
        tags: Counter[str] = Counter()
        changed: list[tuple[int, Named]] = []
        for name in names:
            with suppress(StoreError, NotFound), self._stores.reading(viewer, name) as db:
                if beginning := text.strip()[:MAX_LENGTH]:
                    named += suggest.titled(db, name, beginning, viewer, limit)
                    tags.update(suggest.tags(db, beginning, viewer))
                else:
                    changed += suggest.changed(db, name, viewer, limit)
        is_start = viewer.is_owner and not text.strip()
        return Suggestions(
            documents=tuple(
                sorted(named, key=lambda document: (len(document.title), document.title))[:limit]
            ),
            tags=tuple(tags.most_common(limit)),
            searches=tuple(self._recent.searches()[:limit]) if is_start else (),
            opened=tuple(self._opened(viewer, names)[:limit]) if is_start else (),
            changed=tuple([change[1] for change in nlargest(limit, changed, key=lambda change: change[0])]),
        )

    def remember(self, viewer: Viewer, text: str = "", document: tuple[str, str] | None = None) -> None:
        """Remember a searched text, and the (store, path) of an opened document, for `suggest`."""
        self._recent.add(text.strip()[:MAX_LENGTH], document)

    def forget(self, viewer: Viewer) -> None:
        """Forget the last searches and opened documents."""
        self._recent.clear()

    def _opened(self, viewer: Viewer, stores: Sequence[str]) -> list[Named]:
        """Return the documents opened last that still exist, newest first."""
        places = [place for place in self._recent.documents() if place[0] in stores]
        existing: dict[tuple[str, str], Named] = {}
        for store in {store for store, _ in places}:
            with suppress(StoreError, NotFound), self._stores.reading(viewer, store) as db:
                paths = [path for name, path in places if name == store]
                for path, document in suggest.of_paths(db, store, paths, viewer).items():
                    existing[store, path] = document
        return [existing[place] for place in places if place in existing]

    @open_to_all
    def warm(self, name: str = DEFAULT_EMBEDDER) -> str:
        """Load an embedder before its first use. Return '', or why loading failed."""
        try:
            self._embedders.get(name).embed_query("warm")
        except RagError as error:
            return str(error)
        return ""

    def _understood(
        self, viewer: Viewer, query: Query, filters: Filters | None, opened: Mapping[str, Opened], mode: Mode
    ) -> Interpreted:
        stores = [open_store.store for open_store in opened.values()]
        known = self._known_words(stores, query) if mode == "hybrid" else frozenset[str]()
        return understand(query, filters, stores, viewer, mode, known)

    def _known_words(self, stores: Sequence[Store], query: Query) -> frozenset[str]:
        """Return the query's words that the built-in model of one of the stores has as whole words, also in
        the plural.

        They are not typing errors, even if no passage has them: meaning finds notes about them.
        """
        known: set[str] = set()
        for store in stores:
            with suppress(EmbedderError, StoreError):
                with store.read() as db:
                    name = kept(db, meta)["embedder"]
                if name not in BUILT_IN:
                    continue
                embedder = self._embedders.get(name)
                one = embedder.count_tokens("a")
                for word, _ in query.terms.typed:
                    if one in (embedder.count_tokens(word), embedder.count_tokens(f"{word}s")):
                        known.add(word)
        return frozenset(known)

    def _scope(self, viewer: Viewer, query: Query, mode: Mode, opened: Opened) -> Scope:
        """Prepare a store for searching. It is searched by words only if its embedder is unavailable or is
        not the one that made its vectors. Only the owner is told why, as the reason may name a server."""
        if mode == "lexical" or not query.text:
            return Scope(opened.store, opened.local)
        with opened.store.read() as db:
            name, active = kept(db, meta)["embedder"], kept(db, active_identity)
            measured = kept(db, of_active if viewer.is_owner else of_guests)
        try:
            with self._embedders.breaker.guard(name):
                embedder = self._embedders.get(name)
                if active is None:  # there are no vectors yet
                    return Scope(opened.store, opened.local)
                if active.identity != embedder.identity:
                    raise EmbedderError(
                        f"The vectors are from {active.identity}, but the model here is {embedder.identity}.",
                        _MAKE_NEW,
                    )
                text = query.text[: _CHARACTERS_A_TOKEN * embedder.max_tokens]
                if not embedder.reads(text):
                    raise _OtherScript("The model reads only Latin script, and this query has another.")
                if not active.identity.digest:
                    self._require_same_model(active, embedder)
                vector = self._embedders.vector(embedder, text, "query")
            scale = measured.for_question(vector) if measured else None
            return Scope(
                opened.store,
                self._stores.index(opened),
                vector,
                active.id,
                scale,
                measured.highest if measured else HIGHEST,
                _real(embedder, query),
                partial(embedder.nearness, text) if isinstance(embedder, BuiltInEmbedder) else None,
            )
        except (EmbedderError, VectorError, InvalidInput) as error:
            may_know = viewer.is_owner or isinstance(error, _OtherScript)
            trouble = (
                error
                if may_know
                else EmbedderError("The model that compares meanings is not available just now.")
            )
            return Scope(opened.store, opened.local, trouble=trouble)

    def _require_same_model(self, active: Known, embedder: Embedder) -> None:
        """Raise EmbedderError if an embedder without a digest is a different model now. Only comparing
        vectors can tell."""
        now = self._embedders.vector(embedder, embeddings.CANARY_TEXT, "passage")
        if not embeddings.same_canary(active.canary, now):
            called = active.identity.model
            problem = f"The vectors are from a different model with the same name, {called!r}."
            raise EmbedderError(problem, _MAKE_NEW)


def _real(embedder: Embedder, query: Query) -> frozenset[str]:
    """Return the query's words that are in the embedder's vocabulary; nothing for an embedder on a server."""
    real: set[str] = set()
    one, has_all_scripts = embedder.count_tokens("a"), embedder.reads(_OTHER_SCRIPT)
    for word, _ in query.terms.typed if not embedder.server else ():
        if embedder.count_tokens(word) <= one + (_more_tokens(word) if has_all_scripts else 0):
            real.add(word)
    return frozenset(real)


def _more_tokens(word: str) -> int:
    """Return how many tokens more than one a real word may have in a vocabulary for all scripts.

    Such a vocabulary has few whole words of each script. In a language, 90 to 100 % of the words are within
    this number, and 0 to 15 % of gibberish in the same letters. In Chinese and Japanese half is, as runs of
    words are counted.
    """
    return len(word) * 5 // 8 if is_unspaced(word) else max(1, len(word) // 4)


class _OtherScript(EmbedderError):
    """A query in a script that the model cannot read."""


def _within(answer: Answer, max_tokens: int) -> Answer:
    """Keep only the first hits whose texts together have at most ``max_tokens``."""
    tokens = 0
    for count, hit in enumerate(answer.hits):
        tokens += estimate_tokens(hit.content)
        if tokens > max_tokens:
            answer = replace(answer, hits=answer.hits[:count], has_more=True)
            break
    else:
        return answer
    return answer if answer.hits else _with_notice(answer, "max_tokens", tokens=tokens, limit=max_tokens)


def _with_notice(answer: Answer, code: str, **data: int) -> Answer:
    return replace(answer, notices=(*answer.notices, Notice(code, data)))


def _check_range(options: SearchOptions) -> None:
    top_k, min_score, offset = options.top_k, options.min_score, options.offset
    max_tokens = options.max_tokens
    for name, value, fits, advice in (
        ("top_k", top_k, 1 <= top_k <= MAX_TOP_K, f"Use a number from 1 to {MAX_TOP_K}."),
        ("offset", offset, 0 <= offset <= MAX_DEPTH - top_k, f"Use 0 to {MAX_DEPTH:,} minus top_k."),
        ("min_score", min_score, min_score is None or 0 <= min_score <= 1, "Use a number from 0 to 1."),
        ("max_tokens", max_tokens, max_tokens is None or max_tokens > 0, "Use a number above 0."),
    ):
        if not fits:
            raise InvalidInput(f"{name} is {value}.", advice)
