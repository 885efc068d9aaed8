"""A stand-in for servers with `/v1/rerank`: as strict as vLLM in what it takes; a passage's score is how many
of the query's words it repeats, so the more often, the better."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from tests.support.standin import Asked, Refusal, StandIn

MODEL = "bge-reranker-v2-m3"


@dataclass
class RerankServer(StandIn):
    """The server's state; ``lacking`` passages get no score."""

    key: str = ""
    lacking: int = 0
    delay_s: float = 0.0

    def answer(self, asked: Asked) -> Any:
        if self.key and asked.headers.get("authorization") != f"Bearer {self.key}":
            raise Refusal(401, {"error": {"message": f"Incorrect key: {asked.headers.get('authorization')}"}})
        if (asked.method, asked.path) != ("POST", "/v1/rerank"):
            raise Refusal(404, {"detail": "Not Found"})
        body = asked.body
        if body.keys() != {"model", "query", "documents", "top_n"} or body["model"] != MODEL:
            raise Refusal(400, {"error": {"message": "unknown model or fields"}})
        if not body["documents"] or not all(isinstance(text, str) and text for text in body["documents"]):
            raise Refusal(400, {"error": {"message": "documents must be texts"}})
        words = set(body["query"].lower().split())
        scores = [sum(word in words for word in text.lower().split()) for text in body["documents"]]
        best = sorted(range(len(scores)), key=lambda at: -scores[at])[self.lacking : body["top_n"]]
        time.sleep(self.delay_s)
        results = [{"index": at, "relevance_score": scores[at] - 4.5} for at in best]
        return {"id": "rerank-1", "model": MODEL, "usage": {"total_tokens": 1}, "results": results}
