"""The providers of models and services: one row each, which settings, pages, checks and openers read.

A row names its functions as ``module:name``; the module is imported when one of them is first used. A new
provider is a file and its row here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

LOCAL = "local"
"""The vector index of a store in its own file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What is known of a provider before its module is imported."""

    name: str  #: As settings and the names of its models have it.
    label: str  #: Its name for people.
    form: str = ""  #: How people write the name of one of its models, or the address of one of its indexes.
    opens: str = ""  #: What opens it.
    checks: str = ""  #: Its live check, given a `models.check.Need`; '' leaves it out of the connections.
    server: str = ""  #: The option that holds the address of its server; '' if it runs in this process.
    goes: str = ""  #: Where text goes, in words, if no option tells.
    loggers: tuple[str, ...] = ()  #: Of its packages, which log what they send at debug level.

    @property
    def opener(self) -> Any:
        """What opens it, imported."""
        return imported(self.opens)

    @property
    def check(self) -> Any:
        """Its live check, imported."""
        return imported(self.checks)


def imported(target: str) -> Any:
    """What ``module:name`` or ``module:class.name`` means."""
    module, _, name = target.partition(":")
    return reduce(getattr, name.split("."), import_module(module))


def one_of(words: list[str], last: str = "or") -> str:
    """The words in a sentence: ``a, b or c``; ``last`` stands before the last one."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def _table(*rows: Provider) -> Mapping[str, Provider]:
    return {row.name: row for row in rows}


VECTOR_INDEXES = _table(
    Provider(name=LOCAL, label="In the store's own file"),
    Provider(
        name="s3vectors",
        label="Amazon S3 Vectors",
        form="s3vectors://BUCKET/INDEX",
        opens="rag_core.vectors.s3vectors:S3Vectors",
        checks="rag_core.vectors.s3vectors:check_s3vectors",
        goes="goes to Amazon",
        loggers=("boto3", "botocore"),
    ),
    Provider(
        name="qdrant",
        label="Qdrant",
        form="qdrant://HOST:PORT/COLLECTION#STORE",
        opens="rag_core.vectors.qdrant:Qdrant",
        checks="rag_core.vectors.qdrant:QdrantService.check",
        server="url",
        loggers=("qdrant_client",),
    ),
    Provider(
        name="chroma",
        label="Chroma",
        form="chroma://HOST:PORT/COLLECTION",
        opens="rag_core.vectors.chroma:Chroma",
        checks="rag_core.vectors.chroma:ChromaService.check",
        server="url",
        loggers=("chromadb",),
    ),
)
"""Where vectors can be; the name begins the addresses of an index outside a store's file."""

PROVIDERS = (*VECTOR_INDEXES.values(),)
"""All rows."""
