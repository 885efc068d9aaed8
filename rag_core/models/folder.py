"""Models in a folder of this machine, run by the packages sentence-transformers or MLX, if installed. MLX is
untested on hardware: its contract is tested with a stand-in written after `mlx-embeddings` 0.1.0."""

from __future__ import annotations

import hashlib
import importlib
import platform
import threading
from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.installation import install_line
from rag_core.models.check import Found, Need, package_version
from rag_core.models.embedder import PROBE, EmbedderName, EmbedderOptions, InProcess
from rag_core.models.families import NO_PROMPTS, Prompts, family_of, prompt_scheme, prompts_in_config
from rag_core.text.words import well_formed
from rag_core.types import EmbedderIdentity

_CONTEXT = 512  # maximum tokens if neither the model nor its family tells
_MOST_TOKENS = 8192
_PARTS = {".safetensors", ".bin", ".json", ".txt", ".model"}


class FolderModel(InProcess):
    """An embedder that an installed package runs from a folder. Only one thread at a time uses it, as
    tokenizers require."""

    package: ClassVar[str]
    module: ClassVar[str]
    remedy: ClassVar[str]

    def __init__(self, package: Any, where: str, name: EmbedderName, options: EmbedderOptions) -> None:
        model = Path(name.model).name
        family = family_of(model)
        self._lock = threading.Lock()
        self._model, self._tokenizer, self._limit, told = self._load(package, where, options)
        prompts = options.prompts_of(name, told)
        reads = self._limit or family.max_tokens or _CONTEXT
        most = min(reads, options.context or reads) - self.count_tokens(prompts.document)
        digest, dimension = _digest(Path(where)), self._encode([PROBE]).shape[1]
        identity = EmbedderIdentity(name.provider, model, digest, dimension, prompt_scheme(prompts))
        super().__init__(identity, most, prompts, latin=family.latin)

    @abstractmethod
    def _load(self, package: Any, where: str, options: EmbedderOptions) -> tuple[Any, Any, int, Prompts]:
        """Return the model, its tokenizer, its maximum tokens (0: unknown) and its prompts (NO_PROMPTS:
        unknown)."""

    @abstractmethod
    def _run(self, texts: list[str]) -> Any:
        """Return the vectors that the package computes for well-formed texts."""

    def _encode(self, texts: list[str]) -> npt.NDArray[np.float64]:
        with self._lock:
            return np.asarray(self._run([well_formed(text) for text in texts]), np.float64)

    def count_tokens(self, text: str) -> int:
        with self._lock:
            return len(self._tokenizer(well_formed(text), truncation=False)["input_ids"])


class _SentenceTransformer(FolderModel):
    package, module = "sentence-transformers", "sentence_transformers"
    remedy = "Check that the model's files are complete, and that `device` is a device of this computer."

    def _load(self, package: Any, where: str, options: EmbedderOptions) -> tuple[Any, Any, int, Prompts]:
        model = package.SentenceTransformer(where, device=options.device, local_files_only=options.offline)
        limit = min(int(model.max_seq_length or 0), _MOST_TOKENS)
        return model, model.tokenizer, limit, prompts_in_config(model.prompts or {})

    def _run(self, texts: list[str]) -> Any:
        return self._model.encode(
            texts, prompt="", convert_to_numpy=True, normalize_embeddings=True, show_progress_bar=False
        )


class _MLX(FolderModel):
    package, module = "mlx-embeddings", "mlx_embeddings"
    remedy = "Check that the folder holds a whole model in MLX's format."

    def _load(self, package: Any, where: str, options: EmbedderOptions) -> tuple[Any, Any, int, Prompts]:  # noqa: ARG002
        self._generate = package.generate
        model, tokenizer = package.load(where)
        limit = getattr(model.config, "max_position_embeddings", None)
        return model, tokenizer, min(int(limit or 0), _CONTEXT), NO_PROMPTS

    def _run(self, texts: list[str]) -> Any:
        output = self._generate(self._model, self._tokenizer, texts=texts, max_length=self._limit or _CONTEXT)
        return output.text_embeds.tolist()  # numpy may lack the type of its numbers


_KINDS: dict[str, type[FolderModel]] = {"sentence-transformers": _SentenceTransformer, "mlx": _MLX}


def open_folder(name: EmbedderName, options: EmbedderOptions) -> FolderModel:
    """Open the embedder ``sentence-transformers:FOLDER`` or ``mlx:FOLDER``. Raises ModelMissing if there is
    no such folder, and EmbedderError if the package is not installed or cannot load the model."""
    kind = _KINDS[name.provider]
    folder = Path(name.model).expanduser()
    there = folder.is_absolute() and folder.is_dir()
    if not there and (options.offline or folder.is_absolute()):
        raise ModelMissing(
            f"There is no folder {name.model!r} with a model.",
            f"Write the whole path, like {name.provider}:/home/me/models/NAME. Nothing is fetched while"
            " `offline` is true.",
        )
    try:
        imported = importlib.import_module(kind.module)
    except ImportError:
        message = f"The package {kind.package!r} is not installed."
        raise EmbedderError(message, f"Run {install_line(name.provider)}.") from None
    try:
        return kind(imported, str(folder) if there else name.model, name, options)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError, AttributeError) as error:
        message = f"{kind.package} cannot load {name.model!r} ({type(error).__name__})."
        raise EmbedderError(message, kind.remedy) from error


def _digest(folder: Path) -> str:
    """Compute the SHA-256 of all files of a model; '' if there is no folder."""
    if not folder.is_dir():
        return ""
    total = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.suffix in _PARTS and path.is_file()):
        with path.open("rb") as file:
            total.update(hashlib.file_digest(file, "sha256").digest())
    return total.hexdigest()


def check_local(need: Need) -> Found:
    """Live check: whether the provider's package is installed, and whether the folders that stores need
    exist."""
    provider = need.name
    if provider == "mlx" and (platform.system(), platform.machine()) != ("Darwin", "arm64"):
        return Found("not set up", f"It runs on Apple's processors only; this is {platform.machine()}.")
    kind = _KINDS[provider]
    number = package_version(kind.package, kind.module)
    if not number:
        sentence = f"The package {kind.package!r} is not installed."
        return Found("not set up", sentence, f"Run {install_line(provider)}.")
    here = f"The package {kind.package!r} {number} is installed."
    for name in need.models:
        if need.options.offline and not Path(name).expanduser().is_dir():
            sentence = f"{here} A store needs a model that is not there: {name!r}."
            return Found("not set up", sentence, "Put the folder back, or mount its disk.")
    sentence = f"{here} It takes models from folders of this computer."
    return Found("ready", sentence, f"Name the folder in the embedder: `{provider}:FOLDER`.")
