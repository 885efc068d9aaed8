"""Models by name: opening and sharing them, and known facts about embedders that are not open."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from rag_core.errors import Unreachable, VectorsUnreachable
from rag_core.models.embedder import Embedder, EmbedderOptions, dimension_error, parse_name
from rag_core.providers import CHAT_MODELS, PICTURE_READERS
from rag_core.types import Vectors

if TYPE_CHECKING:
    from rag_core.models.chat import LLM, LLMOptions
    from rag_core.models.ocr import OcrOptions, RemoteOcr, VisionModel

_VECTORS = 256
_LONG_S = 0.3  # seconds; a failure after a longer wait opens the circuit
_OPEN_S = 15.0

Open = Callable[[str], Embedder]
"""Opens an embedder by its name."""


def open_embedder(name: str, options: EmbedderOptions) -> Embedder:
    """Open the embedder called ``name``. A server is asked for its model.

    Raises:
        InvalidInput: the name is unknown.
        ModelMissing: the weights are not on this machine.
        Unreachable: the server does not answer.
        EmbedderError: the package is not installed.

    """
    parsed = parse_name(name)
    embedder: Embedder = parsed.row.opener(parsed, options)
    return embedder


class Facts(NamedTuple):
    """The properties of an embedder that a new store needs."""

    dimension: int
    max_tokens: int


def known_facts(name: str) -> Facts | None:
    """Return the facts of an embedder; None if only its model can tell them. Raises InvalidInput for an
    unknown name."""
    row = parse_name(name).row
    if row.shape:
        return Facts(*row.shape)
    if row.checks:  # something may be missing
        return None
    return _facts(open_embedder(name, EmbedderOptions()))


def facts_of(name: str, open_it: Open) -> Facts:
    """Return the facts of an embedder. Only if they are not known, it is opened by ``open_it``. Raises
    InvalidInput for an unknown name, and EmbedderError if it cannot be opened."""
    return known_facts(name) or _facts(open_it(name))


def _facts(opened: Embedder) -> Facts:
    return Facts(opened.identity.dimension, opened.max_tokens)


def takes_dimension(name: str) -> bool:
    """Whether a dimension can be added to the name of this embedder, to shorten its vectors. False if the
    name has one already."""
    parsed = parse_name(name)
    mark = parsed.row.after.before_dimension
    return parsed.dimension is None if mark == "@" else bool(mark) and not parsed.model


def with_dimension(name: str, dimension: int | None, opened: Open) -> str:
    """Return the full name of the embedder with vectors of ``dimension`` numbers (None: as ``name`` has it).
    Raises InvalidInput for an unknown name or an impossible dimension, and EmbedderError if ``opened`` cannot
    open it."""
    parsed = parse_name(name)
    if dimension is None or dimension == facts_of(str(parsed), opened).dimension:
        return str(parsed)
    if not takes_dimension(name):
        raise dimension_error(name, dimension, facts_of(name, opened).dimension)
    chosen = f"{parsed}{parsed.row.after.before_dimension}{dimension}"
    facts_of(chosen, opened)
    return chosen


def open_llm(name: str, options: LLMOptions) -> LLM:
    """Return the answering model called ``name``. Its server is not asked yet. Raises InvalidInput for an
    unknown name or a missing address."""
    from rag_core.models.chat import parse_llm

    provider, model = parse_llm(name)
    llm: LLM = CHAT_MODELS[provider].opener(model, options)
    return llm


def open_ocr(name: str, options: OcrOptions) -> RemoteOcr | None:
    """Return the OCR on a server that the setting ``ocr`` names; None for a value that needs no server."""
    from rag_core.extract.ocr import is_remote
    from rag_core.models.ocr import RemoteOcr

    if not is_remote(name):
        return None
    provider, _, model = name.partition(":")
    row = PICTURE_READERS[provider]
    backend: VisionModel = row.opener(model or row.after.usual, options)
    described = "+description" if options.describe else ""
    return RemoteOcr(f"{provider}:{backend.server.model}{described}", backend, options.retry_s)


class CircuitBreaker:
    """Fails requests at once for 15 seconds after a server kept a search waiting in vain. Threads may share
    it."""

    def __init__(self) -> None:
        self._failed: dict[str, tuple[float, Unreachable | VectorsUnreachable]] = {}

    @contextmanager
    def guard(self, server: str) -> Iterator[None]:
        """Context manager around requests to ``server``. Within 15 seconds after a request that failed
        slowly, its error is raised at once instead."""
        failed_at, error = self._failed.get(server, (0.0, None))
        if error is not None and time.monotonic() - failed_at < _OPEN_S:
            raise type(error)(error.message, error.suggestion)
        started = time.monotonic()
        try:
            yield
        except (Unreachable, VectorsUnreachable) as error:
            if time.monotonic() - started > _LONG_S:
                self._failed[server] = time.monotonic(), error
            raise

    def reset(self, server: str) -> None:
        """Close the circuit of a server, so that the server is asked again."""
        self._failed.pop(server, None)


class SharedEmbedders:
    """The embedders of one process, each opened once. Threads may share them."""

    def __init__(self, options: EmbedderOptions) -> None:
        self.options = options
        self._lock = threading.Lock()
        self._opening: dict[str, threading.Lock] = {}
        self._open: dict[str, Embedder] = {}
        self._vector = lru_cache(_VECTORS)(_vector)
        self.breaker = CircuitBreaker()

    def get(self, name: str) -> Embedder:
        """Return the embedder called ``name``, opened once. Raises InvalidInput for an unknown name, and
        EmbedderError if it cannot be opened."""
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        with opening:
            if name not in self._open:
                self._open[name] = open_embedder(name, self.options)
            return self._open[name]

    def known(self, name: str) -> Embedder | None:
        """Return the embedder called ``name`` if it is already open, else None."""
        return self._open.get(name)

    def renewed(self, name: str) -> Embedder:
        """Return the embedder called ``name``, asking a server for its model again. Index runs use this,
        searches do not."""
        if (known := self._open.get(name)) and known.server:
            self._open.pop(name, None)
            self._vector.cache_clear()
        embedder = self.get(name)
        self.breaker.reset(name)
        return embedder

    def vector(self, embedder: Embedder, text: str, kind: Literal["query", "passage"]) -> Vectors:
        """Return the vector of ``text`` as a query or as a passage. Recent vectors are cached."""
        return self._vector(cast("Hashable", embedder), text, kind)


def _vector(embedder: Embedder, text: str, kind: Literal["query", "passage"]) -> Vectors:
    return embedder.embed_query(text) if kind == "query" else embedder.embed_documents([text])[0]
