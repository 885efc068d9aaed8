"""Embedding with sentence-transformers, for a model that the owner has in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_core.models.embedders.local import LocalModel, open_local
from rag_core.models.embedders.options import NO_PROMPTS, EmbedderName, EmbedderOptions, Prompts

_MOST_TOKENS = 8192
_REMEDY = "Check that the folder holds a whole model, and that the device is there."


def open_sentence_transformers(name: EmbedderName, options: EmbedderOptions) -> LocalModel:
    """The embedder ``sentence-transformers:FOLDER``; raises what ``open_local`` does."""
    return open_local(name, options, "sentence-transformers", _Model, _REMEDY)


class _Model:
    """A SentenceTransformer. Prompts are put in front by us, so it is given an empty one."""

    def __init__(self, package: Any, where: str, options: EmbedderOptions) -> None:
        self._model = package.SentenceTransformer(
            where, device=options.device, local_files_only=options.offline
        )
        said = self._model.max_seq_length
        self.max_tokens = min(int(said), _MOST_TOKENS) if said else None
        known: dict[str, str] = self._model.prompts or {}
        document = next((known[key] for key in ("document", "passage", "corpus") if known.get(key)), "")
        prompts = Prompts(known.get("query") or "", document)
        self.prompts = prompts if prompts != NO_PROMPTS else None

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        found = self._model.encode(
            list(texts), prompt="", convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(found, np.float64)

    def count(self, text: str) -> int:
        return len(self._model.tokenizer(text, truncation=False)["input_ids"])
