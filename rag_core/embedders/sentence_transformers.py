"""Embedding with sentence-transformers, for a model that the owner has in a folder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rag_core.embedders.local import LocalModel, digest_of, folder_of
from rag_core.embedders.options import NO_PROMPTS, EmbedderName, EmbedderOptions, Prompts
from rag_core.errors import EmbedderError

INSTALL_HINT = "Install it: `pip install 'commonplace[sentence-transformers]'`."

_MOST_TOKENS = 8192


def open_sentence_transformers(name: EmbedderName, options: EmbedderOptions) -> LocalModel:
    """The embedder ``sentence-transformers:FOLDER``.

    Raises ModelMissing when there is no such folder (no network is asked while `offline` holds), and
    EmbedderError without the package or when it cannot load the folder.
    """
    folder = folder_of(name, options)
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise EmbedderError("The package 'sentence-transformers' is not installed.", INSTALL_HINT) from None
    try:
        model = SentenceTransformer(
            str(folder or name.model), device=options.device, local_files_only=options.offline
        )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        raise EmbedderError(
            f"sentence-transformers cannot load {name.model!r} ({type(error).__name__}).",
            "Check that the folder holds a whole model, and that the device is there.",
        ) from error
    return LocalModel(name, digest_of(folder), _Model(model), options)


class _Model:
    """A SentenceTransformer. Prompts are put in front by us, so it is given an empty one."""

    def __init__(self, model: Any) -> None:
        self._model = model
        said = model.max_seq_length
        self.max_tokens = min(int(said), _MOST_TOKENS) if said else None
        known: dict[str, str] = model.prompts or {}
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
