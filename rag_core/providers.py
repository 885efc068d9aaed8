"""The providers of models and services: one row each, which settings, pages, checks and openers read.

A row names its functions; their module is imported when one of them is first used. A new provider is a file
and its row here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cache, partial, reduce
from importlib import import_module
from typing import Any, NamedTuple

from rag_core.extensions import Extension, catalogue
from rag_core.reports import ConnectionKind

LOCAL = "local"
"""The vector index of a store in its own file."""


class Form(NamedTuple):
    """What may stand after the name of a provider and a colon."""

    word: str = ""  #: For people; '' if it is not offered.
    pattern: str = ""  #: A regular expression.
    before_dimension: str = ""  #: What the dimension follows that is wanted of a model; '': it has its own.


_NOTHING = Form()


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a provider before its module is imported."""

    name: str  #: As settings and the names of its models have it.
    label: str  #: Its name for people.
    opens: str = ""  #: ``module:function`` below rag_core, which opens it.
    checks: str = ""  #: The live check in that module, given a `Need`; '' leaves it out of the connections.
    server: str = ""  #: The option that holds the address of its server; '' if it runs in this process.
    _: KW_ONLY
    kind: ConnectionKind
    after: Form = _NOTHING
    usual: str | None = None  #: The model that the name alone means; None if one must be named.
    shape: tuple[int, ...] = ()  #: The dimension and the tokens of its only model.
    lists: str = ""  #: What lists there, given the options, the names of the models that can be chosen now.
    goes: str = ""  #: Where text goes, in words, if no option tells.
    is_scale: bool = False  #: Whether its similarities mean the same in every store.
    keys: str = ""  #: The pattern of variables of the environment with its keys, which packages do not see.
    loggers: tuple[str, ...] = ()  #: Of its packages, which log what they send at debug level.

    @property
    def written(self) -> str:
        """How people write one of its models or indexes; '' if it is not offered."""
        if self.after.word:
            return f"{self._prefix}{self.after.word}"
        return "" if self.after.pattern else self.name

    @property
    def pattern(self) -> str:
        """The pattern of the names of its models."""
        if not self.after.pattern:
            return re.escape(self.name)
        whole = f"{re.escape(self._prefix)}(?:{self.after.pattern})"
        return whole if self.usual is None else f"{whole}|{re.escape(self.name)}"

    @property
    def _prefix(self) -> str:
        return f"{self.name}:" if self.name else ""

    @property
    def opener(self) -> Any:
        """What opens it, imported."""
        return self.imported(self.opens.partition(":")[2])

    def imported(self, name: str) -> Any:
        """What is called ``name``, or ``class.name``, in its module."""
        module = import_module(f"rag_core.{self.opens.partition(':')[0]}")
        return reduce(getattr, name.split("."), module)


@dataclass(frozen=True, slots=True, kw_only=True)
class Added(Provider):
    """A provider that an installed package adds by an entry point."""

    extension: Extension


def one_of(words: list[str], last: str = "or") -> str:
    """The words in a sentence: ``a, b or c``; ``last`` stands before the last one."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def offered(table: Mapping[str, Provider]) -> list[str]:
    """How people write the models of a table, each in quotes."""
    return [repr(row.written) for row in table.values() if row.written]


def _table(*rows: Provider) -> Mapping[str, Provider]:
    return {row.name: row for row in rows}


_MODEL = Form("MODEL", r"[^\s\x00-\x1f\x7f]{1,300}", "@")
_AT_SERVER = Form("MODEL@URL", r"[^\s@\x00-\x1f\x7f]{1,200}@https?://[^\s@?#\x00-\x1f\x7f]{1,300}")
_FOLDER = Form("FOLDER", r"[^\x00-\x1f\x7f]{1,300}")

_embedder = partial(Provider, kind="embedder")
_here = partial(_embedder, usual="", is_scale=True)
_served = partial(_embedder, after=_MODEL)
_folder = partial(_embedder, after=_FOLDER)
EMBEDDERS = _table(
    _here("minilm", "Built-in model", "models.minilm:open_minilm", "check_built_in", shape=(384, 256)),
    _here("hashing", "Spelling only", "models.hashing:open_hashing", after=Form("", "[0-9]{1,9}", ":")),
    _served(
        "ollama", "Ollama", "models.ollama:open_ollama", "check_ollama", "ollama_url", usual="embeddinggemma"
    ),
    _served("openai", "OpenAI-compatible server", "models.openai:open_openai", "check_openai", "openai_url"),
    _folder("onnx", "ONNX models", "models.onnx_folder:open_onnx", "check_onnx"),
    _folder("sentence-transformers", "sentence-transformers", "models.folder:open_folder", "check_folder"),
    _folder("mlx", "MLX", "models.folder:open_folder", "check_folder"),
)
"""What turns text into vectors; the name begins the names of its models."""

_llm = partial(Provider, kind="llm", after=_MODEL)
CHAT_MODELS = _table(
    _llm("ollama", "Ollama", "models.ollama:OllamaChat", "", "ollama_url", lists="answering_ollama"),
    _llm("openai", "OpenAI", "models.openai:OpenAIChat", "", "openai_url", lists="answering_openai"),
)
"""What answers questions; the name begins the names of its models."""

_reranker = partial(Provider, kind="reranker")
RERANKERS = _table(
    _reranker("onnx", "ONNX models", "models.rerank:CrossEncoder", after=_FOLDER, lists="fetched_rerankers"),
    _reranker("", "A server with /v1/rerank", "models.rerank:RerankServer", after=_AT_SERVER),
)
"""What sorts hits again. The one without a name takes what no other does."""

_engine = partial(Provider, kind="pictures")
_seeing = partial(_engine, after=_MODEL)
_GOOGLE = Form("MODEL", "[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_google = partial(_engine, after=_GOOGLE, usual="gemini-2.5-flash")
PICTURE_READERS = _table(
    _engine("tesseract", "Tesseract", "extract.tesseract:Tesseract"),
    _engine("rapidocr", "RapidOCR", "extract.rapidocr:RapidOCR"),
    _seeing("ollama", "Ollama", "models.ollama:OllamaOcr", keys="OLLAMA_API_KEY$", loggers=("ollama",)),
    _google("gemini", "Gemini", "models.google:gemini", keys="GEMINI_API_KEY$"),
    _google("vertex_ai", "Vertex AI", "models.google:vertex"),
)
"""What reads the text in pictures: engines of this computer, the preferred one first, and models on servers,
whose names begin with the name."""

_vectors = partial(Provider, kind="vectors")
VECTOR_INDEXES = _table(
    _vectors(LOCAL, "In the store's own file"),
    _vectors(
        "s3vectors",
        "Amazon S3 Vectors",
        "vectors.s3vectors:S3Vectors",
        "check_s3vectors",
        goes="goes to Amazon",
        keys="AWS_",
        loggers=("boto3", "botocore"),
    ),
    _vectors(
        "qdrant", "Qdrant", "vectors.qdrant:Qdrant", "QdrantService.check", "url", loggers=("qdrant_client",)
    ),
    _vectors(
        "chroma", "Chroma", "vectors.chroma:Chroma", "ChromaService.check", "url", loggers=("chromadb",)
    ),
)
"""Where vectors can be; the name begins the addresses of an index outside a store's file."""

_TABLES = EMBEDDERS, CHAT_MODELS, RERANKERS, PICTURE_READERS, VECTOR_INDEXES
PROVIDERS = tuple(row for table in _TABLES for row in table.values())
"""All rows."""


@cache
def added_embedders() -> Mapping[str, Added]:
    """A row for each embedder that an installed package adds, even under a name that is built in."""
    package = partial(Added, kind="embedder", opens="models.foreign:open_foreign", checks="check_foreign")
    row = partial(package, after=_FOLDER, goes="goes where its package sends it")
    return _rows(row, catalogue("embedders", EMBEDDERS))


@cache
def added_vector_indexes() -> Mapping[str, Added]:
    """A row for each vector index that an installed package adds, even under a name that is built in."""
    row = partial(Added, kind="vectors", opens="vectors.foreign:backend_of")
    return _rows(row, catalogue("vector_indexes", VECTOR_INDEXES))


def _rows(row: Callable[..., Added], found: Mapping[str, Extension]) -> Mapping[str, Added]:
    return {name: row(name, name, extension=extension) for name, extension in found.items()}
