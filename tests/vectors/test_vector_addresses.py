"""The addresses of indexes outside a store's file: made of a store's name, read, and refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.errors import InvalidInput, VectorError
from rag_core.vectors.backends import address_of, open_remote
from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.qdrant import QdrantOptions
from rag_core.vectors.s3vectors import S3Options

OPTIONS: dict[str, Any] = {
    "s3vectors": S3Options(),
    "qdrant": QdrantOptions(url="http://example.org:6333", api_key="sesame-opens"),
    "chroma": ChromaOptions(url="http://example.org"),
}
KINDS = pytest.mark.parametrize("kind", OPTIONS)


@pytest.mark.parametrize(
    ("kind", "store", "address"),
    [
        ("s3vectors", "notes", "s3vectors://commonplace-notes/main"),
        ("s3vectors", "My-Notes", "s3vectors://commonplace-my-notes/main"),
        ("qdrant", "work", "qdrant://example.org:6333/notes#work"),
        ("chroma", "notes", "chroma://example.org:8000/notes"),
    ],
)
def test_an_address_is_made_of_the_name_of_a_store(kind: str, store: str, address: str) -> None:
    assert address_of(kind, store, OPTIONS) == address


@KINDS
def test_stores_whose_names_differ_have_different_addresses_that_can_be_opened(kind: str) -> None:
    names = ["a-b", "a_b", "a__b", "a-", "a_", "a", "ab", "abc-", "x" * 63, "x" * 62 + "y", "a_b_c"]
    addresses = {address_of(kind, name, OPTIONS) for name in names}
    assert len(addresses) == len(names)
    for address in addresses:
        open_remote(address, 16, "cosine", OPTIONS)


@pytest.mark.parametrize("prefix", ["", "Big", "under_score", "-x", "p" * 60, "dot.ted"])
def test_a_prefix_that_makes_no_bucket_name_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a vector bucket"):
        address_of("s3vectors", "notes", {"s3vectors": S3Options(bucket_prefix=prefix)})


@pytest.mark.parametrize(
    ("address", "url"),
    [
        ("qdrant://example.org:7000/notes#work", "http://example.org:7000"),
        ("qdrant://example.org/notes#work", "http://example.org:6333"),
        ("qdrant://[::1]:6333/behind/a/proxy/notes#w-1", "http://[::1]:6333/behind/a/proxy"),
        ("qdrant:///notes#work", ""),
        ("chroma://example.org:9000/notes", "http://example.org:9000"),
        ("chroma://example.org/behind/notes", "http://example.org:8000/behind/"),
        ("chroma:///notes", ""),
    ],
)
def test_an_index_is_only_opened_where_its_server_is_configured(address: str, url: str) -> None:
    kind = address.partition(":")[0]
    there = replace(OPTIONS[kind], url=url, path=Path("x"))
    assert open_remote(address, 16, "cosine", {kind: there}).server.startswith(url.rstrip("/"))
    elsewhere = replace(there, url="http://127.0.0.1:1")
    with pytest.raises(VectorError, match=rf"not where `{kind}_url` points to \(127\.0\.0\.1:1\)"):
        open_remote(address, 16, "cosine", {kind: elsewhere})


@pytest.mark.parametrize(
    "address",
    [
        "s3vectors:///main", "s3vectors://My_Bucket/main", "qdrant://host/notes", "qdrant://host/#work",
        "qdrant://host/a b#work", "qdrant://", "qdrant://host/notes#a/b", "qdrant://host:x/notes#work",
        "qdrant://me:open-sesame@host/notes#work", "qdrant://host/..#work", "chroma://", "chroma://host/",
        "chroma://me:open-sesame@host/notes", "chroma:///a", "chroma:///a..b",
    ],
)  # fmt: skip
def test_bad_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        open_remote(address, 16, "cosine", OPTIONS)
    assert "open-sesame" not in str(caught.value)


def test_a_key_is_not_shown() -> None:
    assert "sesame-opens" not in repr(OPTIONS["qdrant"])
