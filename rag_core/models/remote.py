"""An embedder whose model is on a server. It sends one request at a time, with as many texts as the server
can take, and retries."""

from __future__ import annotations

import math
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import Protocol, TypeVar

import numpy as np

from rag_core.errors import Unreachable
from rag_core.models.deadline import in_background
from rag_core.models.embedder import EmbedderName, EmbedderOptions, unit_rows
from rag_core.models.families import Family, is_latin, prompt_scheme
from rag_core.models.server import Failure, Server
from rag_core.text.tokens import estimate_tokens
from rag_core.types import EmbedderIdentity, Vectors

TRIES = 4
QUESTION_TRIES = 2
QUESTION_PATIENCE_S = 10.0  # seconds that a search waits for a model to load or for its turn
MOST_TEXTS = 64  # maximum texts in a request: hosted servers refuse more, and larger requests are not faster
_MOST_TOKENS = 16_384
_LEAST_TOKENS = 1024
_REQUEST_S = 3.0  # a question waits for one request, so none should take longer
_CAUTION = 1.25  # tokens are only estimated
_CHARACTERS_A_TOKEN = 8  # hardly any text has more
_SHORTER = 0.8
_SHORTEST = 32
_CRASHING = 2000  # characters: some builds crash on longer texts that they should be able to read
_SPECIAL_TOKENS = 4

_T = TypeVar("_T")
_sleep = time.sleep


class EmbeddingServer(Protocol):
    """A server with one embedding model. Every method may raise Failure, or EmbedderError if a retry would
    not help. ``stays_loaded_s`` is how long an unused model stays in memory, infinite if the server
    decides."""

    server: Server
    stays_loaded_s: float

    def load(self) -> None:
        """Load the model into memory, without a time limit."""

    def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]]:
        """Return the vectors of the texts, in order, without adding prompts. The time limit is shorter for a
        ``question``."""


class PriorityLock:
    """Lets one request at a time through in this process. Questions go before waiting documents. Some servers
    return wrong vectors or errors for simultaneous requests."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = False
        self._questions = 0

    @contextmanager
    def hold(self, *, question: bool) -> Iterator[None]:
        """Context manager: hold the lock. Raises TimeoutError if a question does not get it within 10
        seconds; documents wait for any time."""
        timeout_s = QUESTION_PATIENCE_S if question else None
        with self._changed:
            self._questions += question
            free = self._changed.wait_for(
                lambda: not self._taken and (question or not self._questions), timeout_s
            )
            self._questions -= question
            if not free:
                self._changed.notify_all()
                raise TimeoutError
            self._taken = True
        try:
            yield
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()


_LOCKS: defaultdict[str, PriorityLock] = defaultdict(PriorityLock)
"""The lock of each server, the same for all its models."""


class RemoteEmbedder:
    """An embedder whose model is on a server.

    ``context`` is the maximum number of tokens of a text, prompt included. ``digest`` is '' if the server
    does not tell it. ``model`` is the model's name in the identity, by default the one in ``name``.
    """

    def __init__(
        self,
        backend: EmbeddingServer,
        name: EmbedderName,
        options: EmbedderOptions,
        family: Family,
        *,
        dimension: int,
        context: int,
        digest: str = "",
        model: str = "",
    ) -> None:
        self._prompts = options.prompts_of(name)
        scheme = prompt_scheme(self._prompts)
        self.identity = EmbedderIdentity(
            name.provider, model or name.model, digest, name.dimension or dimension, scheme
        )
        self.server = backend.server.url
        self.max_tokens = context - _SPECIAL_TOKENS - _tokens(self._prompts.document)
        self._backend = backend
        self._latin = family.latin
        self._most_characters = context * _CHARACTERS_A_TOKEN
        self._retry_s = options.retry_s
        self._requests = _LOCKS[self.server]
        self._lock = threading.Lock()
        self._loading: Future[None] | None = None
        self._used = -math.inf  # when the model was last known to be in memory
        self._room = _MOST_TOKENS // 2  # tokens that one request may hold

    def count_tokens(self, text: str) -> int:
        """Estimate the number of tokens. The estimate is rather too high, because no server counts tokens."""
        return _tokens(text)

    def reads(self, text: str) -> bool:
        return not self._latin or is_latin(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        self._wake(None)
        parts = self._parts([self._readable(text) for text in texts])
        return np.concatenate([self._embedded(part, question=False) for part in parts])

    def embed_query(self, text: str) -> Vectors:
        self._wake(QUESTION_PATIENCE_S)
        return np.asarray(self._embedded([self._readable(text)], question=True)[0])

    def _readable(self, text: str) -> str:
        """Return ``text`` without characters that servers refuse, cut to about the length that the model
        reads."""
        clean = text[: self._most_characters].encode("utf-8", "replace").decode().replace("\0", " ")
        return clean if clean.strip() else "."

    def _parts(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Split the texts into lists, one for each request."""
        part: list[str] = []
        tokens = 0
        for text in texts:
            more = _tokens(text)
            if part and (tokens + more > self._room or len(part) == MOST_TEXTS):
                yield part
                part, tokens = [], 0
            part.append(text)
            tokens += more
        yield part

    def _embedded(self, texts: list[str], *, question: bool) -> Vectors:
        """Embed the texts of one request. A text that is too long or crashes the model is shortened and sent
        again."""
        crashed = False
        while True:
            try:
                return self._retried(partial(self._request, texts, question=question), question=question)
            except Failure as failure:
                size = len(texts[0])
                if failure.kind == "too long" and len(texts) > 1:
                    halves = texts[: len(texts) // 2], texts[len(texts) // 2 :]
                    return np.concatenate([self._embedded(half, question=question) for half in halves])
                if failure.kind == "too long" and size > _SHORTEST:
                    texts = [texts[0][: int(size * _SHORTER)]]
                elif failure.kind == "crashed" and len(texts) == 1 and not crashed:
                    crashed = True
                    _sleep(self._retry_s)  # the server starts the model again
                    texts = [texts[0][:_CRASHING]]
                else:
                    raise self._backend.server.error(failure) from None

    def _request(self, texts: Sequence[str], *, question: bool) -> Vectors:
        prompt = self._prompts.query if question else self._prompts.document
        try:
            with self._requests.hold(question=question):
                started = time.monotonic()
                rows = self._backend.embed([prompt + text for text in texts], question=question)
                self._used = time.monotonic()
        except TimeoutError:
            message = f"{self._backend.server.called} is busy embedding documents."
            raise Unreachable(message, "Search again in a moment.") from None
        if not question:
            pace = sum(map(_tokens, texts)) / max(self._used - started, 1e-6)
            self._room = int(min(_MOST_TOKENS, max(_LEAST_TOKENS, pace * _REQUEST_S)))
        dimension = self.identity.dimension
        if len(rows) != len(texts) or any(len(row) < dimension for row in rows):
            raise Failure("refused", f"it gave {len(rows)} vectors for {len(texts)} texts, or shorter ones")
        vectors = unit_rows(np.array([row[:dimension] for row in rows], np.float64))
        if vectors is None:
            raise Failure("refused", "the model gave no numbers for it")
        return vectors

    def _retried(self, send: Callable[[], _T], *, question: bool) -> _T:
        """Call ``send`` and return its result. Failures that may pass are retried."""
        for attempt in range((QUESTION_TRIES if question else TRIES) - 1):
            try:
                return send()
            except Failure as failure:
                if failure.kind not in ("away", "busy", "failed"):
                    raise
                _sleep(failure.backoff_s(attempt, self._retry_s))
        return send()

    def _wake(self, timeout_s: float | None) -> None:
        """Wait until the model is in memory. After a timeout, loading continues, because a server whose
        connection is closed would load the model from the beginning."""
        with self._lock:
            if time.monotonic() - self._used < self._backend.stays_loaded_s:
                return
            if self._loading is None or self._loading.done():
                self._loading = in_background("loading a model", self._load)
            loading = self._loading
        try:
            with self._backend.server.explained():
                loading.result(timeout_s)
        except TimeoutError:
            message = f"{self._backend.server.called} is still loading the model {self.identity.model!r}."
            raise Unreachable(message, "Search again in a moment.") from None

    def _load(self) -> None:
        with self._requests.hold(question=False):
            self._retried(self._backend.load, question=False)
        self._used = time.monotonic()


def _tokens(text: str) -> int:
    return math.ceil(_CAUTION * estimate_tokens(text))
