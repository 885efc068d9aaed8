"""The facts in a transformer's configuration files: maximum tokens, pooling and prompts. Published models
have these files, in the form of sentence-transformers and of the tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.models.families import Prompts, prompts_in_config
from rag_core.models.transformer import Pooling

GRAPHS = ("model.onnx", "onnx/model.onnx")
TOKENIZER = "tokenizer.json"
MODULES = "modules.json"
SETTINGS = (
    MODULES,
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
    "config.json",
)
"""Files that are read if they exist. `modules.json` names the folder with the pooling's own file."""

_CONTEXT = 512  # tokens, if no file tells
_MOST_TOKENS = 8192
_UNLIMITED = 10**9  # tokenizers write 10**30 if they know no limit
_BEHIND_PADDING = {"roberta", "xlm-roberta", "camembert", "mpnet"}  # two positions are never used
_POOLINGS: dict[str, Pooling] = {
    "mean_tokens": "mean", "mean_sqrt_len_tokens": "mean", "cls_token": "cls", "lasttoken": "lasttoken",
    "mean": "mean", "cls": "cls",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ModelCard:
    """The facts about a model in the files of its folder."""

    graph: Path  #: The file with the graph.
    tokenizer: Path  #: The file with the tokenizer.
    max_tokens: int
    pooling: Pooling
    prompts: Prompts
    more: str = ""  #: A layer after the pooling. Only a graph with its own pooling can contain it.
    reranks: bool = False  #: Whether it scores pairs of texts.

    @property
    def files(self) -> list[Path]:
        """The files that determine vectors: the graph with its weight files, and the tokenizer."""
        return [*sorted(self.graph.parent.glob(f"{self.graph.name}*")), self.tokenizer]


def read_card(folder: Path) -> ModelCard:
    """Read the card of the model in ``folder``. Raises FileNotFoundError if a file is missing, ValueError for
    an unknown pooling, and the errors of parsing invalid files."""
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
    if graph is None or not (folder / TOKENIZER).is_file():
        raise FileNotFoundError(TOKENIZER if graph else GRAPHS[0])
    modules = _read(folder / MODULES, [])
    kinds = {str(module["type"]).rpartition(".")[2]: folder / module["path"] for module in modules}
    more = next((kind for kind in kinds if kind not in ("Transformer", "Pooling", "Normalize")), "")
    told = _read(folder / "config_sentence_transformers.json", {}).get("prompts") or {}
    pooling = _pooling(_read(kinds["Pooling"] / "config.json", {})) if "Pooling" in kinds else "mean"
    most, prompts = _max_tokens(folder), prompts_in_config(told)
    return ModelCard(graph, folder / TOKENIZER, most, pooling, prompts, more, reranks(folder))


def reranks(folder: Path) -> bool:
    """Whether the model's configuration says that the model scores pairs of texts, as rerankers do."""
    kinds = _read(folder / "config.json", {}).get("architectures") or []
    return any(str(kind).endswith("ForSequenceClassification") for kind in kinds)


def _pooling(pooling_config: dict[str, Any]) -> Pooling:
    """Return the pooling that a configuration switches on, or mean if it names none. Raises ValueError for an
    unknown pooling."""
    named = pooling_config.get("pooling_mode")
    chosen = [named] if isinstance(named, str) else named or [
        key.removeprefix("pooling_mode_")
        for key, value in pooling_config.items() if key.startswith("pooling_mode_") and value
    ]  # fmt: skip
    unknown = len(chosen) > 1 or any(mode not in _POOLINGS for mode in chosen)
    if unknown or pooling_config.get("include_prompt") is False:
        raise ValueError("it pools in a way that is not known here")
    return _POOLINGS[chosen[0]] if chosen else "mean"


def _max_tokens(folder: Path) -> int:
    config = _read(folder / "config.json", {})
    positions = config.get("max_position_embeddings")
    if positions and config.get("model_type") in _BEHIND_PADDING:
        positions -= 2
    limits = (
        _read(folder / "sentence_bert_config.json", {}).get("max_seq_length"),
        _read(folder / "tokenizer_config.json", {}).get("model_max_length"),
        positions,
    )
    known = [int(limit) for limit in limits if limit and limit < _UNLIMITED]
    return min([_MOST_TOKENS, *known]) if known else _CONTEXT


def _read(path: Path, otherwise: Any) -> Any:
    return json.loads(path.read_text("utf-8")) if path.is_file() else otherwise
