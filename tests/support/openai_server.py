"""A stand-in for servers that speak OpenAI's protocol for embeddings.

Like several of them it gives vectors of any length, in any order, wants a key if it has one, refuses
an empty text, and fails a whole request for one bad input.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from tests.support.standin import Asked, Refusal, StandIn, vector_of

LENGTH = 4.8
_WORD = re.compile(r"[\u3040-\u9fff]|[^\s\u3040-\u9fff]{1,12}")


@dataclass
class OpenAIServer(StandIn):
    """The server's state; a text with ``bad`` cannot be embedded."""

    models: dict[str, int] = field(default_factory=lambda: {"nomic-embed-text": 384})
    context: int = 512
    key: str = ""
    shortens: bool = True
    bad: str = "⊥nan"
    turn: int = 0
    texts: list[str] = field(default_factory=list)

    def answer(self, asked: Asked) -> Any:
        if self.key and asked.headers.get("authorization") != f"Bearer {self.key}":
            said = f"Incorrect API key provided: {asked.headers.get('authorization', 'none')}."
            raise Refusal(401, {"error": {"message": said, "type": "invalid_request_error"}})
        match asked.method, asked.path:
            case "POST", "/v1/embeddings":
                return self._embeddings(asked.body)
            case "GET", "/v1/models":
                return {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]}
            case _:
                raise Refusal(404, {"error": {"message": f"Invalid URL ({asked.method} {asked.path})"}})

    def _embeddings(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["model"] not in self.models:
            raise Refusal(404, {"error": {"message": f"The model `{body['model']}` does not exist."}})
        texts = body["input"]
        if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            raise Refusal(400, {"error": {"message": "'$.input' is invalid."}})
        if body.get("encoding_format", "float") != "float":
            raise Refusal(400, {"error": {"message": "only float is spoken here"}})
        rows = [self._one(text, body) for text in texts]
        data = [
            {"object": "embedding", "index": at, "embedding": [LENGTH * number for number in row]}
            for at, row in enumerate(rows)
        ]
        usage = {"prompt_tokens": 0, "total_tokens": 0}
        return {"object": "list", "model": body["model"], "data": data[::-1], "usage": usage}

    def _one(self, text: str, body: dict[str, Any]) -> list[float]:
        words = _WORD.findall(text)
        if len(words) + 2 > self.context:
            said = f"This model's maximum context length is {self.context} tokens, not {len(words)}."
            raise Refusal(400, {"error": {"message": said, "code": "context_length_exceeded"}})
        if self.bad in text:
            raise Refusal(500, {"error": {"message": "the model gave no numbers"}})
        self.texts.append(text)
        row: list[float] = vector_of(words, self.models[body["model"]]).tolist()
        row = row[-self.turn :] + row[: -self.turn] if self.turn else row
        return row[: body["dimensions"]] if self.shortens and body.get("dimensions") else row
