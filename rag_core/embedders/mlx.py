"""Embedding with MLX on Apple's processors.

Untested on hardware: the contract is tested with a stand-in for the package, as `mlx-embeddings` 0.1.0
is written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_core.embedders.local import CONTEXT, LocalModel, digest_of, folder_of
from rag_core.embedders.options import EmbedderName, EmbedderOptions, Prompts
from rag_core.errors import EmbedderError

INSTALL_HINT = "Install it: `pip install 'commonplace[mlx]'`."


def open_mlx(name: EmbedderName, options: EmbedderOptions) -> LocalModel:
    """The embedder ``mlx:FOLDER``.

    Raises ModelMissing when there is no such folder (no network is asked while `offline` holds), and
    EmbedderError without the package or when it cannot load the folder.
    """
    folder = folder_of(name, options)
    try:
        from mlx_embeddings import generate, load
    except ImportError:
        raise EmbedderError("The package 'mlx-embeddings' is not installed.", INSTALL_HINT) from None
    try:
        model, tokenizer = load(str(folder or name.model))
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise EmbedderError(
            f"mlx-embeddings cannot load {name.model!r} ({type(error).__name__}).",
            "Check that the folder holds a whole model in MLX's format.",
        ) from error
    return LocalModel(name, digest_of(folder), _Model(model, tokenizer, generate), options)


class _Model:
    """A model and its tokenizer, with the function of the package that joins them."""

    prompts: Prompts | None = None

    def __init__(self, model: Any, tokenizer: Any, generate: Any) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._generate = generate
        said = getattr(model.config, "max_position_embeddings", None)
        self.max_tokens = min(int(said), CONTEXT) if said else None

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        found = self._generate(
            self._model, self._tokenizer, texts=list(texts), max_length=self.max_tokens or CONTEXT
        )
        return np.array(found.text_embeds.tolist(), np.float64)  # its numbers may have a type numpy lacks

    def count(self, text: str) -> int:
        return len(self._tokenizer(text, truncation=False)["input_ids"])
