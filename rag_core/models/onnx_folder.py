"""Sentence-embedding models exported to ONNX, run in this process. They are in a folder, or were downloaded
by `commonplace model install hf:ORG/NAME`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.models.card import GRAPHS, TOKENIZER, ModelCard, read_card, reranks
from rag_core.models.check import Found, Need
from rag_core.models.embedder import PROBE, EmbedderName, EmbedderOptions, InProcess
from rag_core.models.families import NO_PROMPTS, Prompts, family_of, prompt_scheme
from rag_core.models.installed import MANIFEST_FILE, read_checked_manifest, sha256_of
from rag_core.models.transformer import Encoder
from rag_core.types import EmbedderIdentity

MODEL_ERRORS = (OSError, ValueError, LookupError, TypeError, AttributeError)
"""Errors when reading a folder whose files are missing, damaged, or contain unusual values."""

_PARTS = f"The folder must hold {TOKENIZER} and {' or '.join(GRAPHS)}."


class OnnxEmbedder(InProcess):
    """An embedder on onnxruntime; each usable core embeds one text at a time. ``max_tokens`` is the encoder's
    maximum, without the passage's prompt."""

    def __init__(
        self,
        encoder: Encoder,
        identity: EmbedderIdentity,
        max_tokens: int,
        prompts: Prompts = NO_PROMPTS,
        *,
        latin: bool = True,
    ) -> None:
        super().__init__(identity, max_tokens, prompts, latin=latin)
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(cores, thread_name_prefix=identity.provider)
        self._encoder = encoder

    def count_tokens(self, text: str) -> int:
        return len(self._encoder.tokens([text])[0])

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float64]:
        with self._explained():
            return np.array([*self._pool.map(self._encoder.embed, texts)], np.float64)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Context manager: turn the ValueError of a model that fails on a text into an EmbedderError."""
        try:
            yield
        except ValueError as error:
            message = f"The model {self.identity.model!r}: {error}."
            raise EmbedderError(message, "The text can still be found by words.") from None


def open_onnx(name: EmbedderName, options: EmbedderOptions) -> OnnxEmbedder:
    """Open the embedder ``onnx:FOLDER``. Raises ModelMissing if there is no such folder or an installed file
    has changed, and EmbedderError if the model cannot be run."""
    folder = folder_of(name.model, options.model_dir)
    try:
        card, digest = opened_card(folder)
        if card.reranks:
            raise ValueError("it is a reranker, which the setting `reranker` takes")
        encoder = Encoder(card.graph, card.tokenizer, card.max_tokens, card.pooling)
        if card.more and not encoder.pools:
            raise ValueError(f"its graph lacks the layer {card.more!r}")
        dimension = len(encoder.embed(PROBE))
    except MODEL_ERRORS as error:
        raise cannot_run(name.model, error) from error
    prompts = options.prompts_of(name, card.prompts)
    digest = hashlib.sha256(f"{digest} {card.pooling} {card.max_tokens}".encode()).hexdigest()
    model = folder.name if Path(name.model).is_absolute() else name.model
    identity = EmbedderIdentity(name.provider, model, digest, dimension, prompt_scheme(prompts))
    most = min(card.max_tokens, options.context or card.max_tokens)
    most -= len(encoder.tokens([prompts.document])[0]) if prompts.document else 0
    return OnnxEmbedder(encoder, identity, most, prompts, latin=family_of(name.model).latin)


def folder_of(model: str, model_dir: Path) -> Path:
    """Return the folder of ``model``: an absolute path, or the ORG/NAME of an installed model. Raises
    ModelMissing if there is no such folder."""
    folder = model_dir / Path(model).expanduser()  # an absolute path stays what it is
    if not folder.is_dir() or ".." in Path(model).parts:
        step = (
            "Write the whole path of a folder, or download it with `commonplace model install hf:ORG/NAME`."
        )
        raise ModelMissing(f"There is no model {model!r}.", step)
    return folder


def opened_card(folder: Path) -> tuple[ModelCard, str]:
    """Return the card of the model in ``folder``, and a digest of its graph and tokenizer. Raises one of
    `MODEL_ERRORS` if a file is missing or invalid, and ModelMissing if a file of an installed model has
    changed."""
    if (folder / MANIFEST_FILE).is_file():
        remedy = "Install it again: `commonplace model install hf:ORG/NAME`."
        read_checked_manifest(folder, f"The model {folder.name!r}", remedy)
    card = read_card(folder)
    return card, hashlib.sha256(" ".join(map(sha256_of, card.files)).encode()).hexdigest()


def cannot_run(model: str, error: BaseException) -> EmbedderError:
    """Return the error that a model cannot be run here."""
    missing = isinstance(error, FileNotFoundError)
    why = f"{error} is missing" if missing else " ".join(str(error).split())[:200]
    message = f"The model {model!r} cannot be run: {why}."
    return EmbedderError(message, _PARTS if missing else "Choose another model.")


def installed_models(model_dir: Path, *, reranking: bool) -> list[str]:
    """Return the ORG/NAME of each downloaded model: rerankers with ``reranking``, else embedders."""
    folders = (path.parent for path in model_dir.glob(f"*/*/{MANIFEST_FILE}"))
    return sorted(str(folder.relative_to(model_dir)) for folder in folders if reranks(folder) is reranking)


def check_onnx(need: Need) -> Found:
    """Live check: the installed models, and whether the folders that stores need exist."""
    installed = installed_models(need.options.model_dir, reranking=False)
    for name in need.models:
        try:
            read_card(folder_of(name, need.options.model_dir))
        except MODEL_ERRORS as error:
            failed = cannot_run(name, error)
            return Found("not set up", failed.message, failed.suggestion)
        except ModelMissing as error:
            return Found("not set up", error.message, error.next_step)
    names = tuple(f"onnx:{name}" for name in installed)
    if not names and not need.models:
        step = "Download one with `commonplace model install hf:ORG/NAME`, or name a folder: `onnx:FOLDER`."
        return Found("not set up", "No embedding model was downloaded.", step)
    step = "Name one as the embedder of a store: `onnx:ORG/NAME` or `onnx:FOLDER`."
    sentence = f"Models from the hub that are installed: {', '.join(installed) or 'none'}."
    return Found("ready", sentence, step, embedders=names)
