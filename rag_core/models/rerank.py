"""What a reranker is: a model that reads a query together with a passage and says how well they fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol


class Reranker(Protocol):
    """Scores passages for a query. Safe to share between threads."""

    def scores(self, query: str, passages: Sequence[str], until: float) -> list[float]:
        """One number for each passage, in order; a higher one fits better. Raises TimeoutError after
        ``until`` (of time.monotonic), EmbedderError when there are no scores."""


@dataclass(frozen=True, slots=True)
class RerankerOptions:
    """The owner's settings for the reranker ``name``, '' for none; ``server`` is where its model is, '' for
    this process."""

    name: str = ""
    key: str = field(default="", repr=False)
    budget_s: float = 0.3
    model_dir: Path = Path()

    @property
    def server(self) -> str:
        return "" if self.name.startswith("onnx:") else self.name.partition("@")[2]
