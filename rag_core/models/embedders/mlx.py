"""Embedding with MLX on Apple's processors.

Untested on hardware: the contract is tested with a stand-in for the package, as `mlx-embeddings` 0.1.0
is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_core.models.embedders.local import CONTEXT, LocalModel, open_local
from rag_core.models.embedders.options import EmbedderName, EmbedderOptions, Prompts

_REMEDY = "Check that the folder holds a whole model in MLX's format."


def open_mlx(name: EmbedderName, options: EmbedderOptions) -> LocalModel:
    """The embedder ``mlx:FOLDER``; raises what ``open_local`` does."""
    return open_local(name, options, "mlx-embeddings", _Model, _REMEDY)


class _Model:
    """A model and its tokenizer, with the function of the package that joins them."""

    prompts: Prompts | None = None

    def __init__(self, package: Any, where: str, options: EmbedderOptions) -> None:  # noqa: ARG002 - a Load
        self._model, self._tokenizer = package.load(where)
        self._generate = package.generate
        said = getattr(self._model.config, "max_position_embeddings", None)
        self.max_tokens = min(int(said), CONTEXT) if said else None

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        found = self._generate(
            self._model, self._tokenizer, texts=list(texts), max_length=self.max_tokens or CONTEXT
        )
        return np.array(found.text_embeds.tolist(), np.float64)  # its numbers may have a type numpy lacks

    def count(self, text: str) -> int:
        return len(self._tokenizer(text, truncation=False)["input_ids"])
