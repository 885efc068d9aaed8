"""Rerankers: models that read a query together with a passage and score how well they fit. A reranker is a
cross-encoder exported to ONNX, run in this process, or runs on a server with `/v1/rerank`, as Jina, Cohere,
vLLM and llama.cpp do."""

from __future__ import annotations

import math
import os
import threading
import time
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from rag_core.config.options import setting
from rag_core.errors import EmbedderError, Unreachable
from rag_core.models.addresses import leaves
from rag_core.models.deadline import in_background
from rag_core.models.onnx_folder import MODEL_ERRORS, cannot_run, folder_of, installed_models, opened_card
from rag_core.models.openai import failure_of
from rag_core.models.registry import CircuitBreaker
from rag_core.models.server import Failure, Server, http_client, http_failures
from rag_core.models.tokenizer import PublishedTokenizer
from rag_core.models.transformer import Transformer, as_value_error
from rag_core.providers import RERANKERS, Provider
from rag_core.text.words import well_formed

_LISTS = 32  # number of lists whose scores are cached
_RETRY_S = 0.05
_LEAST_S = 0.01


class Reranker(Protocol):
    """Scores how well passages fit a query. Threads may share a reranker."""

    def scores(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        """Return one number for each passage, in order; higher fits better. Raises TimeoutError after
        ``until`` (a time of time.monotonic), and EmbedderError if there are no scores."""


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """The owner's settings for rerankers. ``name`` is the chosen reranker ('' for none), and ``server`` is
    its address ('' if it runs in this process)."""

    name: str = setting("reranker", "")
    key: str = setting("reranker_api_key", "", secret=True)
    budget_s: float = setting("rerank_budget_ms", 0.3, lambda milliseconds: milliseconds / 1000)
    model_dir: Path = setting("model_dir", Path())

    @property
    def server(self) -> str:
        return "" if self.row.name else self.name.partition("@")[2]

    @property
    def row(self) -> Provider:
        """The row of the reranker's provider in the tables of `providers`."""
        return RERANKERS.get(self.name.partition(":")[0], RERANKERS[""])


class CrossEncoder:
    """The reranker ``onnx:FOLDER``. Raises ModelMissing if there is no such folder, and EmbedderError if the
    model cannot be run."""

    def __init__(self, options: RerankerOptions) -> None:
        self._name = options.name.removeprefix("onnx:")
        try:
            card, _ = opened_card(folder_of(self._name, options.model_dir))
            self._model = Transformer(card.graph)
            with as_value_error("its tokenizer cannot be loaded"):
                self._tokenizer = PublishedTokenizer(card.tokenizer).library
        except MODEL_ERRORS as error:
            raise cannot_run(self._name, error) from error
        self._tokenizer.enable_truncation(card.max_tokens)
        outputs = self._model.outputs
        self._output = "logits" if "logits" in outputs else next(iter(outputs))
        self._pool = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="reranker")

    def scores(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        pairs = [(well_formed(query), well_formed(passage)) for passage in passages]
        try:
            encoded = self._tokenizer.encode_batch_fast(pairs)
            return [*self._pool.map(partial(self._score, until), encoded)]
        except ValueError as error:
            raise cannot_run(self._name, error) from None

    def _score(self, until: float, pair: Any) -> float:
        if time.monotonic() > until:
            raise TimeoutError
        logits = self._model.run(self._output, pair.ids, pair.type_ids).reshape(-1)
        if logits.size not in (1, 2):
            message = (
                f"The model {self._name!r} is no reranker: it gives {logits.size} numbers for two texts."
            )
            raise EmbedderError(message, "Choose a reranker (a cross-encoder), which gives one number.")
        return float(logits[-1] - (logits[0] if logits.size > 1 else 0))


class RerankServer:
    """The reranker ``MODEL@URL``. If ``URL`` has no path, /v1 is used."""

    def __init__(self, options: RerankerOptions) -> None:
        model, _, url = options.name.partition("@")
        base = url.removesuffix("/").removesuffix("/rerank")
        base = base if urlsplit(base).path else f"{base}/v1"
        allow = "Set COMMONPLACE_RERANKER_API_KEY, best in .env."
        start, fetch = "Start it, or set `reranker` to where it is.", "Check the model's name in `reranker`."
        self._server = Server("The reranking server", base, start, allow, model, fetch)
        self._key = options.key
        self._client = http_client(base, self._key, options.budget_s)
        weakref.finalize(self, self._client.close)

    def scores(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        with self._server.explained():
            try:
                return self._once(query, passages, until)
            except Failure as failure:
                wait_s = failure.backoff_s(0, _RETRY_S)
                if failure.kind not in ("away", "busy", "failed") or time.monotonic() + wait_s > until:
                    raise
                time.sleep(wait_s)
            return self._once(query, passages, until)

    def _once(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        body = {"model": self._server.model, "query": query, "documents": [*passages], "top_n": len(passages)}
        left_s = max(_LEAST_S, until - time.monotonic())
        with http_failures("its answer holds no scores"):
            answer = self._client.post(f"{self._server.url}/rerank", json=body, timeout=left_s)
            if answer.status_code != 200:
                raise failure_of(answer, self._key, [query, *passages])
            scores = {
                int(result["index"]): float(result["relevance_score"]) for result in answer.json()["results"]
            }
            if scores.keys() != {*range(len(passages))} or not all(map(math.isfinite, scores.values())):
                raise Failure("failed", f"it scored {len(scores)} of {len(passages)} passages")
            return [scores[number] for number in range(len(passages))]


def open_reranker(options: RerankerOptions) -> Reranker:
    """Open the reranker in the settings. A server is not asked yet. Raises ModelMissing if there is no such
    folder, and EmbedderError if the model cannot be run."""
    reranker: Reranker = options.row.opener(options)
    return reranker


def fetched_rerankers(options: RerankerOptions) -> list[str]:
    """Return the names of the rerankers that were downloaded from the hub."""
    return [f"onnx:{name}" for name in installed_models(options.model_dir, reranking=True)]


class SharedReranker:
    """The one reranker of a process, opened at its first use. Threads may share it."""

    def __init__(self, options: RerankerOptions) -> None:
        self._options = options
        self._lock, self._opening = threading.Lock(), threading.Lock()
        self._opened: Reranker | None = None
        self._breaker = CircuitBreaker()
        self._known: OrderedDict[tuple[str, ...], list[float] | EmbedderError] = OrderedDict()

    @property
    def leaves(self) -> bool:
        """Whether passages are sent to another machine."""
        return leaves(self._options.server)

    def scores(self, query: str, passages: Sequence[str], *, again: bool = False) -> list[float]:
        """Return one number for each passage, in order; higher fits better. Results are cached. Raises
        EmbedderError if they are not ready in time. With ``again``, a cached error is raised again, so that
        all pages of a list agree."""
        key = (query, *passages)
        known = self._known.get(key)
        if known is None or (isinstance(known, EmbedderError) and not again):
            known = self._asked(query, passages)
            with self._lock:
                self._known[key] = known
                while len(self._known) > _LISTS:
                    self._known.popitem(last=False)
        if isinstance(known, EmbedderError):
            raise type(known)(known.message, known.suggestion)
        return known

    def _asked(self, query: str, passages: Sequence[str]) -> list[float] | EmbedderError:
        """Return the scores, or an error if they are not ready in time. Slower work continues, so that the
        model is open for the next search."""
        server, budget_s = self._options.server, self._options.budget_s
        until = time.monotonic() + budget_s

        def work() -> list[float]:
            with self._opening:
                self._opened = self._opened or open_reranker(self._options)
            return self._opened.scores(query, passages, until)

        try:
            with self._breaker.guard(server) if server else nullcontext():
                try:
                    return in_background("reranking", work).result(budget_s)
                except TimeoutError:
                    problem = (
                        f"The reranker {self._options.name!r} took longer than {budget_s * 1000:.0f} ms."
                    )
                    raise Unreachable(
                        problem, "Set `rerank_budget_ms` higher, or choose another reranker."
                    ) from None
        except EmbedderError as error:
            return error
