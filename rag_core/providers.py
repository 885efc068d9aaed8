"""The providers of models and services, one row each. Settings, pages, checks and openers read these rows.

A row names its functions; their module is imported when one of them is first used. To add a provider, write
its module and add its row here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache, reduce
from importlib import import_module
from typing import Any, NamedTuple

from rag_core.extensions import Extension, catalogue

LOCAL = "local"
"""The vector index of a store in its own file."""


class Form(NamedTuple):
    """The text after a provider's name and a colon, such as a model's name."""

    word: str = ""  #: The placeholder shown to people, such as ``MODEL``; '' if the provider is not offered.
    pattern: str = ""  #: A regular expression for it.
    #: The character between a model and the dimension wanted of it; '' if the dimension cannot be chosen.
    before_dimension: str = ""
    #: The model that the provider's name alone means; None if something must follow the name.
    usual: str | None = None


_NOTHING = Form()


@dataclass(frozen=True, slots=True)
class Provider:
    """All that is known about a provider without importing its module."""

    name: str  #: The name used in settings and in the names of its models.
    label: str  #: The name that people read.
    opens: str = ""  #: ``module:function`` below rag_core; the function opens a model or an index.
    #: The function of that module that checks the connection, given a `Need`; '' if there is no such check.
    checks: str = ""
    server: str = ""  #: The option with the address of its server; '' if the provider runs in this process.
    after: Form = _NOTHING
    _: KW_ONLY
    shape: tuple[int, ...] = ()  #: The dimension and the maximum tokens of its only model.
    #: The function of that module that takes the options and returns the names of the available models.
    lists: str = ""
    goes: str = ""  #: Where text is sent, in words, if no option tells.
    #: Regular expression for the environment variables that hold its keys. Packages do not see them.
    keys: str = ""
    loggers: tuple[str, ...] = ()  #: The loggers of its packages, which log what they send at debug level.

    @property
    def written(self) -> str:
        """How people write a model or an index of this provider, such as ``ollama:MODEL``; '' if it is not
        offered."""
        if self.after.word:
            return f"{self.name}:{self.after.word}".lstrip(":")
        return "" if self.after.pattern else self.name

    @property
    def pattern(self) -> str:
        """A regular expression that matches the names of the provider's models."""
        if not self.after.pattern:
            return re.escape(self.name)
        whole = f"{re.escape(self.name)}:(?:{self.after.pattern})".lstrip(":")
        return whole if self.after.usual is None else f"{whole}|{re.escape(self.name)}"

    @property
    def opener(self) -> Any:
        """The function that opens a model or an index of this provider. Its module is imported first."""
        return self.imported(self.opens.partition(":")[2])

    def imported(self, name: str) -> Any:
        """Import the provider's module and return the object called ``name`` or ``class.name`` in it."""
        module = import_module(f"rag_core.{self.opens.partition(':')[0]}")
        return reduce(getattr, name.split("."), module)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added(Provider):
    """A provider that an installed package adds by an entry point."""

    extension: Extension


def one_of(words: list[str], last: str = "or") -> str:
    """Join words for a sentence: ``a, b or c``. ``last`` is the word before the last of them."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def spellings(table: Mapping[str, Provider]) -> list[str]:
    """Return how people write the models of each provider in a table, as quoted words."""
    return [repr(row.written) for row in table.values() if row.written]


def _table(*rows: Provider) -> Mapping[str, Provider]:
    return {row.name: row for row in rows}


_SIZE = Form("", "[0-9]{1,9}", ":", "")
_DIR = Form("FOLDER", r"[^\x00-\x1f\x7f]{1,300}")
_ID = Form("MODEL", r"[^\s\x00-\x1f\x7f]{1,300}", "@")
_OLLAMA = _ID._replace(usual="embeddinggemma")
_GOOGLE = Form("MODEL", "[A-Za-z0-9][A-Za-z0-9._-]{0,99}", usual="gemini-2.5-flash")
_RERANKING = Form("MODEL@URL", r"[^\s@\x00-\x1f\x7f]{1,200}@https?://[^\s@?#\x00-\x1f\x7f]{1,300}")

_BUILT_IN = "models.built_in:open_built_in", "check_built_in", "", Form(usual="")

EMBEDDERS = _table(
    Provider("minilm", "Built-in model for English", *_BUILT_IN, shape=(384, 256)),
    Provider("multilingual", "Built-in model for every language", *_BUILT_IN, shape=(384, 508)),
    Provider("hashing", "Spelling only", "models.hashing:open_hashing", after=_SIZE),
    Provider("ollama", "Ollama", "models.ollama:open_ollama", "check_ollama", "ollama_url", _OLLAMA),
    Provider(
        "openai", "OpenAI-compatible server", "models.openai:open_openai", "check_openai", "openai_url", _ID
    ),
    Provider("onnx", "ONNX models", "models.onnx_folder:open_onnx", "check_onnx", "", _DIR),
    Provider(
        "sentence-transformers", "sentence-transformers", "models.folder:open_folder", "check_local", "", _DIR
    ),
    Provider("mlx", "MLX", "models.folder:open_folder", "check_local", "", _DIR),
)
"""The providers of embedders. The name of each model begins with the name of its provider."""

CHAT_MODELS = _table(
    Provider("ollama", "Ollama", "models.ollama:OllamaChat", "", "ollama_url", _ID, lists="answering_ollama"),
    Provider("openai", "OpenAI", "models.openai:OpenAIChat", "", "openai_url", _ID, lists="answering_openai"),
)
"""The providers of models that answer questions. The name of each model begins with its provider's name."""

RERANKERS = _table(
    Provider("onnx", "ONNX models", "models.rerank:CrossEncoder", after=_DIR, lists="fetched_rerankers"),
    Provider("", "A server with /v1/rerank", "models.rerank:RerankServer", after=_RERANKING),
)
"""The providers of rerankers. A name that begins with no other provider belongs to the one without a name."""

PICTURE_READERS = _table(
    Provider("tesseract", "Tesseract", "extract.tesseract:Tesseract"),
    Provider("rapidocr", "RapidOCR", "extract.rapidocr:RapidOCR"),
    Provider(
        "ollama", "Ollama", "models.ollama:OllamaOcr", after=_ID, keys="OLLAMA_API_KEY$", loggers=("ollama",)
    ),
    Provider("gemini", "Gemini", "models.google:gemini", after=_GOOGLE, keys="GEMINI_API_KEY$"),
    Provider("vertex_ai", "Vertex AI", "models.google:vertex", after=_GOOGLE),
)
"""The readers of text in pictures: first the engines on this computer (with `is_installed` and `read`), the
preferred one first, then models on servers, whose names begin with the provider's name."""

VECTOR_INDEXES = _table(
    Provider(LOCAL, "In the store's own file"),
    Provider(
        "s3vectors",
        "Amazon S3 Vectors",
        "vectors.s3vectors:S3Vectors",
        "check_s3vectors",
        goes="goes to Amazon",
        keys="AWS_",
        loggers=("boto3", "botocore"),
    ),
    Provider(
        "qdrant", "Qdrant", "vectors.qdrant:Qdrant", "QdrantService.check", "url", loggers=("qdrant_client",)
    ),
    Provider(
        "chroma", "Chroma", "vectors.chroma:Chroma", "ChromaService.check", "url", loggers=("chromadb",)
    ),
)
"""The providers of vector indexes. The address of an index outside the store's file begins with the name."""

_TABLES = EMBEDDERS, CHAT_MODELS, RERANKERS, PICTURE_READERS, VECTOR_INDEXES
PROVIDERS = tuple(row for table in _TABLES for row in table.values())
"""All rows."""


@cache
def added_embedders() -> Mapping[str, Added]:
    """Return a provider for each embedder from installed packages, even if a built-in one has its name."""
    row = "models.foreign:open_foreign", "check_foreign", "", _DIR
    goes, extensions = "goes where its package sends it", catalogue("embedders", EMBEDDERS)
    return {name: Added(name, name, *row, goes=goes, extension=added) for name, added in extensions.items()}


@cache
def added_vector_indexes() -> Mapping[str, Added]:
    """Return a provider for each vector index from installed packages, even if a built-in one has its
    name."""
    opens, extensions = "vectors.foreign:package_backend", catalogue("vector_indexes", VECTOR_INDEXES)
    return {name: Added(name, name, opens, extension=added) for name, added in extensions.items()}
