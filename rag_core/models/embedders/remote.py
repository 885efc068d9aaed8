"""Embedding on a server: what all of them need, whatever they speak.

One request at a time, in parts that a server can take; sent again where that helps; a text that it
finds too long is shortened, as the server itself would do in silence.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TypeVar

import numpy as np

from rag_core.errors import Unreachable
from rag_core.extract.chunk import estimate_tokens
from rag_core.models.background import in_background
from rag_core.models.embedders.script import is_latin
from rag_core.models.embedders.server import Model, Server, error_of, explained
from rag_core.models.embedders.turns import turns_at
from rag_core.models.embedders.unit import unit_rows
from rag_core.models.servers.failure import Failure
from rag_core.types import Vectors

TRIES = 4
QUESTION_TRIES = 2
QUESTION_PATIENCE_S = 10.0
"""How long a search waits for a model that is being loaded, or for a turn; then it goes by words."""

MOST_TEXTS = 64
"""Hosted servers refuse more in one request; the gain of a larger one is nothing."""

MOST_TOKENS = 16_384
_LEAST_TOKENS = 1024
_REQUEST_S = 3.0  # a question waits behind one request, so none should take longer
_LONGEST_WAIT_S = 30.0
_CAUTION = 1.25  # tokens are only estimated
_CHARACTERS_A_TOKEN = 8  # hardly any text has more
_SHORTER = 0.8
_SHORTEST = 32
_CRASHING = 2000  # characters: some builds crash on longer texts that they should be able to read
_SPECIAL_TOKENS = 4

T = TypeVar("T")
_sleep = time.sleep


class Remote:
    """An embedder whose model is on a server."""

    def __init__(self, server: Server, model: Model, retry_s: float) -> None:
        self.identity = model.identity
        self.server = server.url
        self.max_tokens = model.context - _SPECIAL_TOKENS - _tokens(model.prompts.document)
        self._server = server
        self._model = model
        self._retry_s = retry_s
        self._turns = turns_at(server.url)
        self._lock = threading.Lock()
        self._loading: Future[None] | None = None
        self._used = -math.inf  # when it was last known to be in memory
        self._room = MOST_TOKENS // 2  # tokens that one request may hold

    def count_tokens(self, text: str) -> int:
        """About how many tokens ``text`` takes, rather too many than too few: no server counts them."""
        return _tokens(text)

    def reads(self, text: str) -> bool:
        """Whether the model learnt the script of ``text``, as far as anything is known of it."""
        return not self._model.latin or is_latin(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, float32, shape (len(texts), dimension), in order.

        Raises Unreachable or ModelMissing when no text can be embedded, another EmbedderError when it
        may be one of the texts: halves of them tell which.
        """
        vectors = np.empty((len(texts), self.identity.dimension), np.float32)
        if len(texts):
            self._wake(None)
        done = 0
        for part in self._parts([self._readable(text) for text in texts]):
            vectors[done : done + len(part)] = self._embedded(part, question=False)
            done += len(part)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, shape (dimension,); it goes before documents that wait."""
        self._wake(QUESTION_PATIENCE_S)
        vector: Vectors = self._embedded([self._readable(text)], question=True)[0]
        return vector

    # --- what is sent -------------------------------------------------------------------

    def _readable(self, text: str) -> str:
        """``text`` as any server takes it: no lone surrogate, no NUL, never empty, and not far longer
        than the model reads."""
        clean = text[: self._model.context * _CHARACTERS_A_TOKEN].encode("utf-8", "replace").decode()
        clean = clean.replace("\0", " ")
        return clean if clean.strip() else "."

    def _parts(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """The texts in parts for one request each."""
        part: list[str] = []
        tokens = 0
        for text in texts:
            more = _tokens(text)
            if part and (tokens + more > self._room or len(part) == MOST_TEXTS):
                yield part
                part, tokens = [], 0
            part.append(text)
            tokens += more
        if part:
            yield part

    def _embedded(self, texts: list[str], *, question: bool) -> Vectors:
        """The vectors of texts that go in one request; of one that is too long, those of its beginning."""
        crashes = 0
        while True:
            try:
                return self._repeated(partial(self._request, texts, question=question), question=question)
            except Failure as failure:
                if failure.kind == "too long" and len(texts) > 1:
                    halves = texts[: len(texts) // 2], texts[len(texts) // 2 :]
                    return np.concatenate([self._embedded(half, question=question) for half in halves])
                crashes += failure.kind == "crashed"
                again = _worth_trying(texts, failure, crashes)
                if not again:
                    raise error_of(failure, self._server, self.identity.model) from None
                if failure.kind == "crashed":
                    _sleep(self._retry_s)  # the server starts the model anew
                texts = again

    def _request(self, texts: Sequence[str], *, question: bool) -> Vectors:
        prompt = self._model.prompts.query if question else self._model.prompts.document
        with self._turn(question=question):
            started = time.monotonic()
            rows = self._server.embed([prompt + text for text in texts], question=question)
            self._used = time.monotonic()
        if not question:
            pace = sum(map(_tokens, texts)) / max(self._used - started, 1e-6)
            self._room = int(min(MOST_TOKENS, max(_LEAST_TOKENS, pace * _REQUEST_S)))
        return _unit(rows, len(texts), self.identity.dimension)

    # --- patience -----------------------------------------------------------------------

    @contextmanager
    def _turn(self, *, question: bool) -> Iterator[None]:
        try:
            with self._turns.take(question=question, patience_s=QUESTION_PATIENCE_S if question else None):
                yield
        except TimeoutError:
            raise Unreachable(
                f"{self._server.called} is at work on documents.", "Search again in a moment."
            ) from None

    def _repeated(self, send: Callable[[], T], *, question: bool) -> T:
        """What ``send`` gives, sent again while there is hope that it helps."""
        wait_s = self._retry_s
        for left in reversed(range(QUESTION_TRIES if question else TRIES)):
            try:
                return send()
            except Failure as failure:
                if not left or failure.kind not in ("away", "busy", "failed"):
                    raise
                _sleep(min(_LONGEST_WAIT_S, max(wait_s, failure.wait_s)))
                wait_s *= 2
        raise AssertionError("the last try returns or raises")

    def _wake(self, patience_s: float | None) -> None:
        """Wait until the model is in memory. Loading goes on when nobody waits any more, as a server
        that is hung up on begins from the start."""
        with self._lock:
            if time.monotonic() - self._used < self._server.stays_loaded_s:
                return
            if self._loading is None or self._loading.done():
                self._loading = in_background("loading a model", self._load)
            loading = self._loading
        try:
            with explained(self._server, self.identity.model):
                loading.result(patience_s)
        except TimeoutError:
            raise Unreachable(
                f"{self._server.called} is still loading the model {self.identity.model!r}.",
                "Search again in a moment.",
            ) from None

    def _load(self) -> None:
        def load() -> None:
            with self._turn(question=False):
                self._server.load()

        self._repeated(load, question=False)
        self._used = time.monotonic()


def _worth_trying(texts: list[str], failure: Failure, crashes: int) -> list[str]:
    """What of a request may be sent again behind a failure: one text, shorter where that may help."""
    if len(texts) != 1:
        return []
    [text] = texts
    match failure.kind:
        case "too long" if len(text) > _SHORTEST:
            return [text[: int(len(text) * _SHORTER)]]
        case "crashed" if crashes == 1:
            return texts
        case "crashed" if crashes == 2 and len(text) > _CRASHING:
            return [text[:_CRASHING]]
        case _:
            return []


def _unit(rows: Sequence[Sequence[float]], count: int, dimension: int) -> Vectors:
    """What a server gave as vectors of length 1; of longer ones their first numbers."""
    if len(rows) != count or any(len(row) < dimension for row in rows):
        raise Failure("refused", f"it gave {len(rows)} vectors for {count} texts, or shorter ones")
    found = np.array([row[:dimension] for row in rows], np.float64)
    vectors = unit_rows(found)
    if vectors is None:
        raise Failure("refused", "the model gave no numbers for it")
    return vectors


def _tokens(text: str) -> int:
    return math.ceil(_CAUTION * estimate_tokens(text))
