"""A stand-in for Ollama's server (v0.30 and later), as strict as the real one.

What it does is what was found out about the real one: inputs are embedded one after the other, one bad
input fails all and is not named, a text that does not fit into the batch is an error or is cut without a
word, vectors have length 1, the first use loads the model, and some errors have a status that misleads.
Its vectors are those of the hashing embedder, so texts that share words are near each other.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

import numpy as np

from tests.support.standin import Asked, Refusal, StandIn, vector_of

SPECIAL_TOKENS = 2
EOF = 'do embedding request: Post "http://127.0.0.1:41837/embedding": EOF'
BUSY = "server busy, please try again.  maximum pending requests exceeded"
TOO_LONG = "the input length exceeds the context length"
NAN = "embedding contains NaN or Inf values"
_DURATION = re.compile(r"-?([0-9.]+(ns|us|ms|s|m|h))+")
_WORD = re.compile(r"[\u3040-\u9fff]|[^\s\u3040-\u9fff]{1,12}")


@dataclass
class Model:
    """A model on the server; ``version`` changes its digest, ``turn`` also its vectors."""

    architecture: str = "gemma3"
    dimension: int = 768
    context: int = 2048
    version: str = "1"
    turn: int = 0
    capabilities: tuple[str, ...] = ("embedding",)

    @property
    def digest(self) -> str:
        return sha256(f"{self.architecture} {self.dimension} {self.version}".encode()).hexdigest()


@dataclass
class OllamaServer(StandIn):
    """The server's state. A text with ``nan`` gets no numbers; one with ``crash`` ends the model."""

    models: dict[str, Model] = field(default_factory=lambda: {"embeddinggemma:latest": Model()})
    seconds_a_text: float = 0.0
    seconds_to_load: float = 0.0
    max_queue: int = 512
    nan: str = "⊥nan"
    crash: str = "⊥crash"
    old_errors: bool = False
    loaded: dict[str, str] = field(default_factory=dict)
    loads: int = 0
    texts: list[str] = field(default_factory=list)
    runner: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, asked: Asked) -> Any:
        match asked.method, asked.path:
            case "GET", "/api/version":
                return {"version": "0.33.0"}
            case "GET", "/api/tags":
                return {"models": [self._listed(name) for name in self.models]}
            case "GET", "/api/ps":
                return {"models": [self._listed(name) for name in self.loaded]}
            case "POST", ("/api/show" | "/api/embed" | "/api/pull") if not isinstance(asked.body, dict):
                raise Refusal(400, {"error": "missing request body"})
            case "POST", "/api/show":
                return self._show(asked.body)
            case "POST", "/api/embed":
                return self._embed(asked.body)
            case "POST", "/api/pull":
                return self._pull(asked.body)
            case _:
                raise Refusal(404, "404 page not found")

    # --- models -------------------------------------------------------------------------

    def _named(self, body: dict[str, Any]) -> str:
        name = body.get("model", "")
        full = name if ":" in name.rpartition("/")[2] else f"{name}:latest"
        if full not in self.models:
            raise Refusal(404, {"error": f"model '{name}' not found"})
        return full

    def _listed(self, name: str) -> dict[str, Any]:
        model = self.models[name]
        details = {"format": "gguf", "family": model.architecture, "families": [model.architecture]}
        return {
            "name": name,
            "model": name,
            "modified_at": "2026-01-02T03:04:05Z",
            "size": 1,
            "digest": model.digest,
            "details": details,
        }

    def _show(self, body: dict[str, Any]) -> dict[str, Any]:
        model = self.models[self._named(body)]
        arch = model.architecture
        return {
            "modelfile": "FROM x",
            "details": {"family": arch},
            "model_info": {
                "general.architecture": arch,
                f"{arch}.embedding_length": model.dimension,
                f"{arch}.context_length": model.context,
            },
            "capabilities": list(model.capabilities),
            "modified_at": "2026-01-02T03:04:05Z",
        }

    def _pull(self, body: dict[str, Any]) -> Any:
        name = body["model"] if ":" in body["model"] else f"{body['model']}:latest"

        def steps() -> Iterator[dict[str, Any]]:
            yield {"status": "pulling manifest"}
            digest = f"sha256:{'0' * 64}"
            yield {"status": f"pulling {digest[7:19]}", "digest": digest, "total": 100}
            yield {"status": f"pulling {digest[7:19]}", "digest": digest, "total": 100, "completed": 100}
            yield {"status": "verifying sha256 digest"}
            yield {"status": "writing manifest"}
            self.models.setdefault(name, Model())
            yield {"status": "success"}

        return steps()

    # --- embedding ----------------------------------------------------------------------

    def _embed(self, body: dict[str, Any]) -> bytes:
        given = body.get("input", "")
        texts = given if isinstance(given, list) else [given] if given else []
        if not all(isinstance(text, str) for text in texts):
            raise Refusal(400, {"error": "invalid input type"})
        _check_keep_alive(body.get("keep_alive"))
        name = self._named(body)
        if self.at_once > self.max_queue:
            raise Refusal(503, {"error": BUSY})
        with self.runner:
            started = time.perf_counter_ns()
            self._load(name, body.get("options") or {})
            loaded = time.perf_counter_ns()
            counted = []
            for at, text in enumerate(texts, 1):
                counted.append(self._one(name, text, body))
                if at < len(texts):
                    _sleep_until(loaded / 1e9 + at * self.seconds_a_text)
            answer = {
                "model": body["model"],
                "embeddings": [vector for vector, _ in counted],
                "total_duration": time.perf_counter_ns() - started,
                "load_duration": loaded - started,
                "prompt_eval_count": sum(tokens for _, tokens in counted),
            }
            encoded = json.dumps(answer).encode()  # Python's slowness in this is no part of what is measured
            _sleep_until(loaded / 1e9 + len(texts) * self.seconds_a_text)
        return encoded

    def _load(self, name: str, options: dict[str, Any]) -> None:
        """Other options load it again."""
        if self.loaded.get(name) != repr(sorted(options.items())):
            time.sleep(self.seconds_to_load)
            self.loads += 1
            self.loaded[name] = repr(sorted(options.items()))

    def _one(self, name: str, text: str, body: dict[str, Any]) -> tuple[list[float], int]:
        model = self.models[name]
        options = body.get("options") or {}
        context = min(options.get("num_ctx", 4096), model.context)
        room = min(context, options.get("num_batch", min(2048, context))) - SPECIAL_TOKENS
        words = [match.group() for match in _WORD.finditer(text)]
        if self.crash in text:
            self.loaded.pop(name, None)
            raise Refusal(500 if self.old_errors else 400, {"error": EOF})
        if len(words) > room and not body.get("truncate", True):
            raise Refusal(400, {"error": TOO_LONG})
        if self.nan in text:
            if self.old_errors:
                raise Refusal(500, {"error": "failed to encode response: json: unsupported value: NaN"})
            raise Refusal(400, {"error": NAN})
        self.texts.append(text)
        vector = np.roll(vector_of(words[:room], model.dimension), model.turn)
        wanted = body.get("dimensions") or 0
        if 0 < wanted < len(vector):
            vector = vector[:wanted] / max(float(np.linalg.norm(vector[:wanted])), 1e-12)
        return vector.tolist(), min(len(words), room) + SPECIAL_TOKENS


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.perf_counter()))


def _check_keep_alive(value: Any) -> None:
    if isinstance(value, str) and not _DURATION.fullmatch(value):
        raise Refusal(400, {"error": f'time: missing unit in duration "{value}"'})
