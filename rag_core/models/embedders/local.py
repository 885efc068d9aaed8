"""Models in a folder of this machine, run by a package that the owner installed."""

from __future__ import annotations

import hashlib
import importlib
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.extensions import install_line
from rag_core.models.embedders.models import family_of, scheme
from rag_core.models.embedders.options import NO_PROMPTS, EmbedderName, EmbedderOptions, Prompts
from rag_core.models.embedders.script import is_latin
from rag_core.models.embedders.unit import unit_rows
from rag_core.types import EmbedderIdentity, Vectors

CONTEXT = 512
"""How many tokens a model reads that does not say it."""

_PROBE = "How many numbers does a vector have?"
_PARTS = {".safetensors", ".bin", ".json", ".txt", ".model"}


class Runner(Protocol):
    """A model in memory, as a package runs it. ``max_tokens`` and ``prompts`` are None where it does not
    say them."""

    max_tokens: int | None
    prompts: Prompts | None

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The vectors of the texts as they are, of any length, shape (len(texts), dimension)."""

    def count(self, text: str) -> int:
        """How many tokens ``text`` takes, special ones included."""


class LocalModel:
    """An embedder whose model this process runs. One thread at a time: tokenizers want no more."""

    server = ""

    def __init__(self, name: EmbedderName, digest: str, runner: Runner, options: EmbedderOptions) -> None:
        family = family_of(Path(name.model).name)
        self._runner = runner
        self._prompts = (
            options.prompts_of(name) or runner.prompts or (family.prompts if family else NO_PROMPTS)
        )
        self._latin = family is not None and family.latin
        self._lock = threading.Lock()
        reads = runner.max_tokens or (family.max_tokens if family else CONTEXT)
        self.max_tokens = min(reads, options.context or reads) - runner.count(self._prompts.document)
        dimension = runner.encode([_PROBE]).shape[1]
        self.identity = EmbedderIdentity(
            name.provider, Path(name.model).name, digest, dimension, scheme(self._prompts)
        )

    def count_tokens(self, text: str) -> int:
        """The exact number of tokens of the whole ``text``."""
        with self._lock:
            return self._runner.count(_clean(text))

    def reads(self, text: str) -> bool:
        """Whether the model learnt the script of ``text``, as far as anything is known of it."""
        return not self._latin or is_latin(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Vectors of length 1, float32, shape (len(texts), dimension), in order.

        Raises EmbedderError when the model gives no numbers for one of them.
        """
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        return self._embedded([self._prompts.document + _clean(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """The vector of a question, shape (dimension,)."""
        vector: Vectors = self._embedded([self._prompts.query + _clean(text)])[0]
        return vector

    def _embedded(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            found = self._runner.encode(texts)
        vectors = unit_rows(found)
        if vectors is None:
            raise EmbedderError(
                f"The model {self.identity.model!r} gives no numbers for a text.", "Its words are found."
            )
        return vectors


Load = Callable[[Any, str, EmbedderOptions], Runner]
"""Bring a model into memory: the package, where the model is, the options."""


def open_local(
    name: EmbedderName, options: EmbedderOptions, package: str, load: Load, remedy: str
) -> LocalModel:
    """The embedder of the model that ``name`` says, run by a package that may not be installed.

    Raises ModelMissing when there is no such folder (no network is asked while `offline` holds), and
    EmbedderError without the package or when it cannot load the folder, for which ``remedy`` says what
    to do.
    """
    folder = folder_of(name, options)
    try:
        imported = importlib.import_module(package.replace("-", "_"))
    except ImportError:
        raise EmbedderError(
            f"The package {package!r} is not installed.",
            f"Run {install_line(name.provider)}.",
        ) from None
    try:
        runner = load(imported, str(folder or name.model), options)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        raise EmbedderError(
            f"{package} cannot load {name.model!r} ({type(error).__name__}).", remedy
        ) from error
    return LocalModel(name, digest_of(folder), runner, options)


def folder_of(name: EmbedderName, options: EmbedderOptions) -> Path | None:
    """The folder that a model is in; None for one that its package may fetch by its name.

    Raises ModelMissing when there is no such folder and nothing may be fetched.
    """
    folder = Path(name.model).expanduser()
    if folder.is_absolute() and folder.is_dir():
        return folder
    if options.offline or folder.is_absolute():
        raise ModelMissing(
            f"There is no folder {name.model!r} with a model.",
            f"Write the whole path, like {name.provider}:/home/me/models/NAME; nothing is fetched while"
            " `offline` is true.",
        )
    return None


def digest_of(folder: Path | None) -> str:
    """The SHA-256 of a model's files, '' where they are not in a folder of ours. Reads them all."""
    if folder is None:
        return ""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _PARTS and path.is_file()):
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
