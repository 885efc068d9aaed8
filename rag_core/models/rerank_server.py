"""Rerankers on a server with `/v1/rerank`, as Jina, Cohere, vLLM and llama.cpp have it: the query and the
passages go there, and an index with a score comes back for each."""

from __future__ import annotations

import math
import time
import weakref
from collections.abc import Sequence
from urllib.parse import urlsplit

from rag_core.models.openai import failure_of
from rag_core.models.rerank import RerankerOptions
from rag_core.models.server import Failure, Server, asked, http_client

_TRIES = 2
_RETRY_S = 0.05
_LEAST_S = 0.01


class RerankServer:
    """The reranker ``MODEL@URL``; see Reranker. ``URL`` is the address of the server, with its path if that
    is another than /v1."""

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
            for attempt in range(_TRIES - 1):
                try:
                    return self._once(query, passages, until)
                except Failure as failure:
                    wait_s = failure.backoff_s(attempt, _RETRY_S)
                    if failure.kind not in ("away", "busy", "failed") or time.monotonic() + wait_s > until:
                        raise
                    time.sleep(wait_s)
            return self._once(query, passages, until)

    def _once(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        body = {"model": self._server.model, "query": query, "documents": [*passages], "top_n": len(passages)}
        left_s = max(_LEAST_S, until - time.monotonic())
        with asked("its answer holds no scores"):
            answer = self._client.post(f"{self._server.url}/rerank", json=body, timeout=left_s)
            if answer.status_code != 200:
                raise failure_of(answer, self._key, [query, *passages])
            found = {int(each["index"]): float(each["relevance_score"]) for each in answer.json()["results"]}
            if found.keys() != {*range(len(passages))} or not all(map(math.isfinite, found.values())):
                raise Failure("failed", f"it scored {len(found)} of {len(passages)} passages")
            return [found[at] for at in range(len(passages))]
