"""Models in a folder of this machine, run by sentence-transformers or MLX where the owner installed them. MLX
is untested on hardware: its contract is tested with a stand-in written after `mlx-embeddings` 0.1.0."""

from __future__ import annotations

import hashlib
import importlib
import platform
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.extensions import install_line
from rag_core.models.check import Found, package_version
from rag_core.models.embedder import EmbedderName, EmbedderOptions, unit_rows
from rag_core.models.families import NO_PROMPTS, Prompts, family_of, is_latin, prompt_scheme, told_prompts
from rag_core.models.transformer import well_formed
from rag_core.types import EmbedderIdentity, Vectors

CONTEXT = 512  # tokens that are read where neither the model nor its family tells
_MOST_TOKENS = 8192
_PROBE = "How many numbers does a vector have?"
_PARTS = {".safetensors", ".bin", ".json", ".txt", ".model"}


class FolderModel(ABC):
    """An embedder whose model this process runs. One thread at a time: tokenizers allow no more."""

    server = ""
    package: ClassVar[str]
    module: ClassVar[str]
    remedy: ClassVar[str]

    def __init__(self, package: Any, where: str, name: EmbedderName, options: EmbedderOptions) -> None:
        model = Path(name.model).name
        family = family_of(model)
        self._model, self._tokenizer, limit, told = self._load(package, where, options)
        self._limit = limit
        self._prompts = options.prompts_of(name) or (told if told != NO_PROMPTS else family.prompts)
        self._latin = family.latin
        self._lock = threading.Lock()
        reads = limit or family.max_tokens or CONTEXT
        self.max_tokens = min(reads, options.context or reads) - self.count_tokens(self._prompts.document)
        dimension = self._encode([_PROBE]).shape[1]
        digest, scheme = _digest(Path(where)), prompt_scheme(self._prompts)
        self.identity = EmbedderIdentity(name.provider, model, digest, dimension, scheme)

    @abstractmethod
    def _load(self, package: Any, where: str, options: EmbedderOptions) -> tuple[Any, Any, int, Prompts]:
        """The model, its tokenizer, how many tokens it reads and its prompts; 0 and NO_PROMPTS if unknown."""

    @abstractmethod
    def _encode(self, texts: list[str]) -> npt.NDArray[np.float64]:
        """The vectors of the texts as they are, of any length, shape (len(texts), dimension)."""

    def count_tokens(self, text: str) -> int:
        """The exact number of tokens of the whole ``text``."""
        with self._lock:
            return len(self._tokenizer(well_formed(text), truncation=False)["input_ids"])

    def reads(self, text: str) -> bool:
        return not self._latin or is_latin(text)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        return self._embedded([self._prompts.document + well_formed(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return np.asarray(self._embedded([self._prompts.query + well_formed(text)])[0])

    def _embedded(self, texts: list[str]) -> Vectors:
        with self._lock:
            vectors = unit_rows(self._encode(texts))
        if vectors is None:
            said = f"The model {self.identity.model!r} gives no numbers for a text."
            raise EmbedderError(said, "Its words are found.")
        return vectors


class _SentenceTransformer(FolderModel):
    package, module = "sentence-transformers", "sentence_transformers"
    remedy = "Check that the folder holds a whole model, and that the device is there."

    def _load(self, package: Any, where: str, options: EmbedderOptions) -> tuple[Any, Any, int, Prompts]:
        model = package.SentenceTransformer(where, device=options.device, local_files_only=options.offline)
        limit = min(int(model.max_seq_length or 0), _MOST_TOKENS)
        return model, model.tokenizer, limit, told_prompts(model.prompts or {})

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float64]:
        found = self._model.encode(
            texts, prompt="", convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(found, np.float64)


class _MLX(FolderModel):
    package, module = "mlx-embeddings", "mlx_embeddings"
    remedy = "Check that the folder holds a whole model in MLX's format."

    def _load(self, package: Any, where: str, options: EmbedderOptions) -> tuple[Any, Any, int, Prompts]:  # noqa: ARG002
        self._generate = package.generate
        model, tokenizer = package.load(where)
        said = getattr(model.config, "max_position_embeddings", None)
        return model, tokenizer, min(int(said or 0), CONTEXT), NO_PROMPTS

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float64]:
        found = self._generate(self._model, self._tokenizer, texts=texts, max_length=self._limit or CONTEXT)
        return np.array(found.text_embeds.tolist(), np.float64)  # numpy may lack the type of its numbers


_KINDS: dict[str, type[FolderModel]] = {"sentence-transformers": _SentenceTransformer, "mlx": _MLX}


def open_folder(name: EmbedderName, options: EmbedderOptions) -> FolderModel:
    """The embedder ``sentence-transformers:FOLDER`` or ``mlx:FOLDER``. Raises ModelMissing when there is no
    such folder, EmbedderError when the package is not installed or cannot load it."""
    kind = _KINDS[name.provider]
    folder = Path(name.model).expanduser()
    there = folder.is_absolute() and folder.is_dir()
    if not there and (options.offline or folder.is_absolute()):
        step = f"Write the whole path, like {name.provider}:/home/me/models/NAME; nothing is fetched while"
        raise ModelMissing(f"There is no folder {name.model!r} with a model.", f"{step} `offline` is true.")
    try:
        imported = importlib.import_module(kind.module)
    except ImportError:
        said = f"The package {kind.package!r} is not installed."
        raise EmbedderError(said, f"Run {install_line(name.provider)}.") from None
    try:
        return kind(imported, str(folder) if there else name.model, name, options)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        said = f"{kind.package} cannot load {name.model!r} ({type(error).__name__})."
        raise EmbedderError(said, kind.remedy) from error


def _digest(folder: Path) -> str:
    """The SHA-256 of a model's files, which are all read; '' without a folder."""
    if not folder.is_dir():
        return ""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _PARTS and path.is_file()):
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def check_package(provider: str, needed: Sequence[str], *, offline: bool) -> Found:
    """Whether the provider's package is installed, and the folders of the models that stores need."""
    if provider == "mlx" and (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        return Found("not set up", f"It runs on Apple's processors only; this is {platform.machine()}.")
    kind = _KINDS[provider]
    number = package_version(kind.package, kind.module)
    if not number:
        sentence = f"The package {kind.package!r} is not installed."
        return Found("not set up", sentence, f"Run {install_line(provider)}.")
    here = f"The package {kind.package!r} {number} is installed"
    for name in needed:
        if offline and not Path(name).expanduser().is_dir():
            sentence = f"{here}. A store needs a model that is not there: {name!r}."
            return Found("not set up", sentence, "Put the folder back, or mount its disk.")
    sentence = f"{here}; it takes models from folders of this computer."
    return Found("ready", sentence, f"Name the folder in the embedder: `{provider}:FOLDER`.")
