"""Where in Amazon S3 Vectors a store's vectors are, and how to get there.

A store has a bucket of its own, named after a prefix and the store. Its index is ``main``; after a
switch of the embedder the new one is ``main-<identity>``, so that both can stand side by side.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rag_core.errors import InvalidInput
from rag_core.types import EmbedderIdentity, Metric
from rag_core.vectors.agreement import check_dimension
from rag_core.vectors.variants import MARK_LENGTH, beside, mark

DEFAULT_PREFIX = "commonplace"
MAX_DIMENSION = 4096
ADDRESS = "s3vectors://"

S3Metric = Literal["cosine", "euclidean"]

_MAX_NAME = 63
_BUCKET = re.compile(r"[a-z0-9]([a-z0-9-]{1,61})[a-z0-9]")
_INDEX = re.compile(r"[a-z0-9]([a-z0-9.-]{1,61})[a-z0-9]")
_KMS_KEY = re.compile(r"arn:aws[-a-z0-9]*:kms:[-a-z0-9]+:[0-9]{12}:key/.+")
_TAG = re.compile(r"[\w\s.:/=+\-@]*")


@dataclass(frozen=True, slots=True)
class S3Options:
    """How to reach the service. Empty means: as the AWS configuration of this machine says.

    Credentials are never options: they come from the AWS configuration, ``profile`` names which.
    ``kms_key`` and ``tags`` are for what is created; a key is the ARN of one, not an alias.
    ``timeout`` and ``backoff`` (before the first of ``attempts`` − 1 retries, doubled each time) are seconds.
    """

    region: str = ""
    profile: str = ""
    endpoint_url: str = ""
    bucket_prefix: str = DEFAULT_PREFIX
    kms_key: str = ""
    tags: Mapping[str, str] = field(default_factory=dict)
    attempts: int = 7
    timeout: float = 30.0
    backoff: float = 0.25

    def __post_init__(self) -> None:
        if self.kms_key and not _KMS_KEY.fullmatch(self.kms_key):
            raise InvalidInput(
                f"{self.kms_key!r} is not the ARN of a KMS key.",
                "Write it as arn:aws:kms:REGION:ACCOUNT:key/ID; an alias is not accepted.",
            )
        for name, value in self.tags.items():
            if not (1 <= len(name) <= 128 and len(value) <= 256 and _TAG.fullmatch(name + value)):
                raise InvalidInput(
                    f"{name!r}: {value!r} cannot be a tag.",
                    "Use up to 128 characters for the name and 256 for the value: letters, digits, spaces"
                    " and _.:/=+-@.",
                )


@dataclass(frozen=True, slots=True)
class S3Place:
    """One index: its address and the shape it has or shall have."""

    bucket: str
    index: str
    dimension: int
    metric: S3Metric = "cosine"

    def __post_init__(self) -> None:
        _check(self.bucket, _BUCKET, "vector bucket", "lowercase letters, digits and hyphens")
        _check(self.index, _INDEX, "vector index", "lowercase letters, digits, hyphens and dots")
        check_dimension("Amazon S3 Vectors", self.dimension, MAX_DIMENSION)

    def __str__(self) -> str:
        return f"{ADDRESS}{self.bucket}/{self.index}"


def s3_metric(metric: Metric) -> S3Metric:
    """The service's name for ``metric``. It knows no dot product; of unit vectors that is the cosine."""
    return "euclidean" if metric == "euclidean" else "cosine"


def bucket_name(prefix: str, store: str) -> str:
    """The bucket of the store called ``store``; another one for each name that differs in more than case.

    Raises InvalidInput when ``prefix`` leaves no room or has other characters than bucket names have.
    """
    plain = re.sub(r"[^a-z0-9-]", "-", store.lower())
    name = f"{prefix}-{plain}"
    if plain != store.lower() or len(name) > _MAX_NAME or name.endswith("-"):
        room = _MAX_NAME - len(prefix) - MARK_LENGTH - 2
        kept = plain[: max(room, 0)].strip("-")
        name = "-".join(part for part in (prefix, kept, mark(store.lower())) if part)
    _check(name, _BUCKET, "vector bucket", "lowercase letters, digits and hyphens")
    return name


def index_name(identity: EmbedderIdentity | None = None) -> str:
    """``main``, or the name of the index that is built beside it for ``identity``."""
    return beside("main", identity)


def parse_address(address: str) -> tuple[str, str]:
    """Bucket and index of ``s3vectors://BUCKET/INDEX``; the index may be left out. Raises InvalidInput."""
    bucket, _, index = address.removeprefix(ADDRESS).partition("/")
    if not address.startswith(ADDRESS) or not bucket:
        raise InvalidInput(f"{address!r} is not the address of an index.", f"Write {ADDRESS}BUCKET/INDEX.")
    place = S3Place(bucket, index or "main", 1)
    return place.bucket, place.index


def _check(name: str, pattern: re.Pattern[str], noun: str, allowed: str) -> None:
    if not pattern.fullmatch(name):
        raise InvalidInput(
            f"{name!r} cannot be the name of a {noun}.",
            f"Use 3 to {_MAX_NAME} characters, {allowed}, and begin and end with a letter or digit.",
        )
