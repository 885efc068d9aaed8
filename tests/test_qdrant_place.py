"""Where in Qdrant a store's vectors are: names, addresses, and what cannot be one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rag_core.errors import InvalidInput
from rag_core.types import EmbedderIdentity
from rag_core.vectors.qdrant import Qdrant
from rag_core.vectors.qdrant_place import (
    QdrantOptions,
    QdrantPlace,
    parse_qdrant,
    qdrant_address,
    qdrant_metric,
)

KEY = "sesame-opens"


def test_stores_share_a_collection_unless_they_switch_the_embedder() -> None:
    first, second = (EmbedderIdentity("ollama", "m", digest, 768, "none") for digest in "ab")
    there = QdrantOptions(url="http://example.org:6333")
    assert qdrant_address("work", there) == "qdrant://example.org:6333/notes#work"
    assert qdrant_address("work", replace(there, collection="mine")) == "qdrant://example.org:6333/mine#work"
    old, new, other = (qdrant_address("work", there, identity) for identity in (None, first, second))
    assert len({old, new, other}) == 3
    assert new == qdrant_address("work", there, first)
    assert new.startswith("qdrant://example.org:6333/notes-")


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("qdrant://example.org:7000/notes#work", ("example.org:7000", "notes", "work")),
        ("qdrant://example.org/notes#work", ("example.org:6333", "notes", "work")),
        ("qdrant://[::1]:6333/behind/a/proxy/notes#w-1", ("[::1]:6333/behind/a/proxy", "notes", "w-1")),
        ("qdrant:///notes#work", ("", "notes", "work")),
    ],
)
def test_addresses_are_read(address: str, parts: tuple[str, str, str]) -> None:
    assert parse_qdrant(address) == parts


@pytest.mark.parametrize(
    "address",
    [
        "s3vectors://notes", "qdrant://host/notes", "qdrant://host/#work", "qdrant://host/a b#work", "qdrant://",
        "qdrant://host/notes#a/b", "qdrant://me:open-sesame@host/notes#work", "qdrant://host:x/notes#work",
        "qdrant://host/..#work",
    ],
)  # fmt: skip
def test_bad_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_qdrant(address)
    assert "open-sesame" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["host:6333", "ftp://host", "http://me:open-sesame@host", "http://host?key=open-sesame", "http://"]
)
def test_a_server_without_an_address_or_with_a_key_in_it_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="not the address of a server") as caught:
        QdrantOptions(url=url)
    assert "open-sesame" not in str(caught.value)


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(QdrantOptions(url="http://host", api_key=KEY))


def test_every_metric_has_a_name_here() -> None:
    names = [qdrant_metric(metric) for metric in ("cosine", "euclidean", "dot_product")]
    assert names == ["Cosine", "Euclid", "Dot"]


@pytest.mark.parametrize("dimension", [0, 65_537])
def test_a_dimension_that_qdrant_has_not_is_refused(dimension: int) -> None:
    with pytest.raises(InvalidInput, match=f"dimension {dimension}"):
        QdrantPlace("", "notes", "work", dimension)


def test_without_server_and_folder_it_says_what_to_set() -> None:
    with pytest.raises(InvalidInput, match="qdrant_url"):
        Qdrant(QdrantPlace("", "notes", "work", 16), QdrantOptions())
