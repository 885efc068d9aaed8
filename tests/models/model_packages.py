"""Stand-ins for the packages that run models, as strict in what they accept as the real ones.

`sentence_transformers` as version 6.2 is written, `mlx_embeddings` as 0.1. Their vectors are those of the
hashing embedder; a text with ``BAD`` gets no numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rag_core.models.hashing import Hashing

BAD = "⊥nan"
DIMENSION = 384
MAX_TOKENS = 128


def model_folder(folder: Path, weights: bytes = b"weights") -> Path:
    """A folder that looks like one with a model."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}", "utf-8")
    (folder / "model.safetensors").write_bytes(weights)
    return folder


class Tokenizer:
    def __call__(self, text: str, truncation: bool = True) -> dict[str, list[int]]:
        words = text.split()
        return {"input_ids": [0] * (2 + (min(len(words), MAX_TOKENS - 2) if truncation else len(words)))}


def _vectors(texts: Sequence[str], length: float) -> npt.NDArray[np.float32]:
    hashing = Hashing(DIMENSION)
    rows = [hashing.embed_query(" ".join(text.split()[: MAX_TOKENS - 2])) for text in texts]
    found = np.stack(rows) * np.float32(length)
    found[[BAD in text for text in texts]] = np.nan
    return found


class SentenceTransformer:
    """The part that is used, with the real one's names and defaults."""

    opened: list[dict[str, Any]] = []  # noqa: RUF012 - seen by tests

    def __init__(
        self, model_name_or_path: str, device: str | None = None, local_files_only: bool = False
    ) -> None:
        self.opened.append({"name": model_name_or_path, "device": device, "local": local_files_only})
        if local_files_only and not Path(model_name_or_path, "config.json").is_file():
            raise OSError("We couldn't connect to the hub")
        self.max_seq_length = MAX_TOKENS
        self.prompts: dict[str, str] = {"query": "", "document": ""}
        self.tokenizer = Tokenizer()
        self.seen: list[str] = []

    def encode(
        self,
        inputs: list[str],
        prompt: str | None = None,
        show_progress_bar: bool | None = None,
        convert_to_numpy: bool = False,
        normalize_embeddings: bool = False,
    ) -> npt.NDArray[np.float32]:
        assert prompt == "", "a default prompt of the model would be put in front"
        assert convert_to_numpy
        self.seen += inputs
        return _vectors(inputs, 1.0 if normalize_embeddings else 4.8)


def _load(path_or_hf_repo: str) -> tuple[Any, Any]:
    if not Path(path_or_hf_repo, "config.json").is_file():
        raise FileNotFoundError(path_or_hf_repo)
    config = SimpleNamespace(max_position_embeddings=MAX_TOKENS)
    return SimpleNamespace(config=config), Tokenizer()


def _generate(model: Any, processor: Any, texts: list[str], max_length: int = 512) -> Any:
    assert max_length <= model.config.max_position_embeddings
    return SimpleNamespace(text_embeds=SimpleNamespace(tolist=lambda: _vectors(texts, 1.0).tolist()))


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let both packages be importable."""
    packages: dict[str, dict[str, Any]] = {
        "sentence_transformers": {"SentenceTransformer": SentenceTransformer},
        "mlx_embeddings": {"load": _load, "generate": _generate},
    }
    for name, parts in packages.items():
        module = ModuleType(name)
        vars(module).update(parts)
        monkeypatch.setitem(sys.modules, name, module)
    SentenceTransformer.opened.clear()
