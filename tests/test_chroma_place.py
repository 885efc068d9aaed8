"""Where in Chroma a store's vectors are: names, addresses, and what cannot be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import InvalidInput
from rag_core.types import EmbedderIdentity
from rag_core.vectors.chroma import Chroma
from rag_core.vectors.chroma_place import (
    ChromaOptions,
    ChromaPlace,
    chroma_address,
    chroma_metric,
    collection_name,
    parse_chroma,
)


def test_a_collection_is_named_after_its_store() -> None:
    there = ChromaOptions(url="http://example.org:8000")
    assert chroma_address("notes", there) == "chroma://example.org:8000/notes"
    assert chroma_address("notes", ChromaOptions(path=Path("x"))) == "chroma:///notes"


def test_collections_of_stores_whose_names_differ_are_different_and_valid() -> None:
    names = ["a", "ab", "abc", "a-", "ab-", "abc-", "abc_", "a_b", "x" * 63]
    found = [collection_name(name) for name in names]
    assert len({*found}) == len(names)
    for name in found:
        ChromaPlace("", name, 1)


def test_the_collection_beside_it_is_named_after_the_embedder() -> None:
    first, second = (EmbedderIdentity("ollama", "m", digest, 768, "none") for digest in "ab")
    assert len({"notes", collection_name("notes", first), collection_name("notes", second)}) == 3
    assert collection_name("notes", first).startswith("notes-")


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("chroma://example.org:9000/notes", ("example.org:9000", "notes")),
        ("chroma://example.org/behind/notes", ("example.org:8000/behind", "notes")),
        ("chroma:///notes", ("", "notes")),
    ],
)
def test_addresses_are_read(address: str, parts: tuple[str, str]) -> None:
    assert parse_chroma(address) == parts


@pytest.mark.parametrize(
    "address",
    [
        "qdrant://host/notes",
        "chroma://",
        "chroma://host/",
        "chroma://me:open-sesame@host/notes",
        "chroma:///a",
    ],
)
def test_bad_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_chroma(address)
    assert "open-sesame" not in str(caught.value)


def test_every_metric_has_a_name_here() -> None:
    names = [chroma_metric(metric) for metric in ("cosine", "euclidean", "dot_product")]
    assert names == ["cosine", "l2", "ip"]


def test_without_server_and_folder_it_says_what_to_set() -> None:
    with pytest.raises(InvalidInput, match="chroma_url"):
        Chroma(ChromaPlace("", "notes", 16), ChromaOptions())
