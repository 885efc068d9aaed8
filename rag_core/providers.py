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
    before_dimension: str = (
        ""  #: What the dimension follows that is wanted of a model; '' if it has one only.
    )


_NOTHING = Form()


@dataclass(frozen=True, slots=True)
class Provider:
    """What is known of a provider before its module is imported."""

    name: str  #: As settings and the names of its models have it.
    label: str  #: Its name for people.
    after: Form = _NOTHING
    _: KW_ONLY
    kind: ConnectionKind
    opens: str = ""  #: ``module:function`` below rag_core, which opens it.
    checks: str = ""  #: The live check in that module, given a `Need`; '' leaves it out of the connections.
    facts: str = ""  #: What knows there the shape of a model that is not installed.
    usual: str | None = None  #: The model that the name alone means; None if one must be named.
    server: str = ""  #: The option that holds the address of its server; '' if it runs in this process.
    goes: str = ""  #: Where text goes, in words, if no option tells.
    is_scale: bool = False  #: Whether its similarities mean the same in every store.
    loggers: tuple[str, ...] = ()  #: Of its packages, which log what they send at debug level.

    @property
    def written(self) -> str:
        """How people write one of its models or indexes; '' if it is not offered."""
        if self.after.word:
            return f"{self.name}:{self.after.word}"
        return "" if self.after.pattern else self.name

    @property
    def pattern(self) -> str:
        """The pattern of the names of its models."""
        after = f":(?:{self.after.pattern})" if self.after.pattern else ""
        return re.escape(self.name) + (after if self.usual is None or not after else f"(?:{after})?")

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


def _table(*rows: Provider) -> Mapping[str, Provider]:
    return {row.name: row for row in rows}


_MODEL = Form("MODEL", r"[^\s\x00-\x1f\x7f]{1,300}", "@")
_FOLDER = Form("FOLDER", r"[^\x00-\x1f\x7f]{1,300}")

_embedder = partial(Provider, kind="embedder")
EMBEDDERS = _table(
    _embedder(
        "minilm",
        "Built-in model",
        opens="models.minilm:open_minilm",
        checks="check_built_in",
        facts="facts_of_minilm",
        usual="",
        is_scale=True,
    ),
    _embedder(
        "hashing",
        "Spelling only",
        Form("", "[0-9]{1,9}", ":"),
        opens="models.hashing:open_hashing",
        facts="facts_of_hashing",
        usual="",
        is_scale=True,
    ),
    _embedder(
        "ollama",
        "Ollama",
        _MODEL,
        opens="models.ollama:open_ollama",
        checks="check_ollama",
        server="ollama_url",
        usual="embeddinggemma",
        loggers=("ollama",),
    ),
    _embedder(
        "openai",
        "OpenAI-compatible server",
        _MODEL,
        opens="models.openai:open_openai",
        checks="check_openai",
        server="openai_url",
    ),
    _embedder("onnx", "ONNX models", _FOLDER, opens="models.onnx_folder:open_onnx", checks="check_onnx"),
    _embedder(
        "sentence-transformers",
        "sentence-transformers",
        _FOLDER,
        opens="models.folder:open_folder",
        checks="check_folder",
    ),
    _embedder("mlx", "MLX", _FOLDER, opens="models.folder:open_folder", checks="check_folder"),
)
"""What turns text into vectors; the name begins the names of its models."""

_vectors = partial(Provider, kind="vectors")
VECTOR_INDEXES = _table(
    _vectors(LOCAL, "In the store's own file"),
    _vectors(
        "s3vectors",
        "Amazon S3 Vectors",
        Form("//BUCKET/INDEX"),
        opens="vectors.s3vectors:S3Vectors",
        checks="check_s3vectors",
        goes="goes to Amazon",
        loggers=("boto3", "botocore"),
    ),
    _vectors(
        "qdrant",
        "Qdrant",
        Form("//HOST:PORT/COLLECTION#STORE"),
        opens="vectors.qdrant:Qdrant",
        checks="QdrantService.check",
        server="url",
        loggers=("qdrant_client",),
    ),
    _vectors(
        "chroma",
        "Chroma",
        Form("//HOST:PORT/COLLECTION"),
        opens="vectors.chroma:Chroma",
        checks="ChromaService.check",
        server="url",
        loggers=("chromadb",),
    ),
)
"""Where vectors can be; the name begins the addresses of an index outside a store's file."""

PROVIDERS = (*EMBEDDERS.values(), *VECTOR_INDEXES.values())
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
