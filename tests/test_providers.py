"""A provider is one file and its row: nothing else in the program knows it by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.config.options import options_from
from rag_core.models.rerank import RerankerOptions
from rag_core.providers import PROVIDERS, VECTOR_INDEXES, Provider, one_of

ROOT = Path(__file__).parents[1]
TABLE = "rag_core/providers.py"
SETTINGS = "rag_core/config/settings.py"

VECTORS = {
    "s3vectors": r"s3.?vectors",
    "qdrant": "qdrant",
    "chroma": "chroma",
}
"""How the name of a vector index is recognised."""

ALSO_IN = {
    "s3vectors": {
        "rag_core/api/answers.py",  # the fields of an answer that only it has
        "rag_core/cli/stores.py",  # the example of an address, and the metric that it lacks
        "ui/connections.py",  # the button that asks it, which costs money
        "ui/placement.py",  # the example of an address
    },
}
"""The files that name a provider beside its own, its row and its settings."""


def test_every_vector_index_outside_a_store_is_looked_for() -> None:
    assert {name for name, row in VECTOR_INDEXES.items() if row.opens} == set(VECTORS)


@pytest.mark.parametrize("name", VECTORS)
def test_a_vector_index_is_known_in_its_file_its_row_and_its_settings(name: str) -> None:
    own = f"rag_core/vectors/{name}.py"
    assert set(_files_that_say(VECTORS[name])) == {own, TABLE, SETTINGS} | ALSO_IN.get(name, set())


def _files_that_say(pattern: str) -> Iterator[str]:
    for path in (
        ROOT / "app.py",
        *(path for top in ("rag_core", "ui", "pages") for path in (ROOT / top).rglob("*.py")),
    ):
        if re.search(pattern, path.read_text("utf-8"), re.IGNORECASE):
            yield str(path.relative_to(ROOT))


@pytest.mark.parametrize("row", PROVIDERS, ids=lambda row: row.name)
def test_what_a_row_names_is_there(row: Provider) -> None:
    assert not row.opens or callable(row.opener)
    assert not row.checks or callable(row.imported(row.checks))
    assert not row.lists or callable(row.imported(row.lists))


def test_options_are_made_of_settings(tmp_path: Path) -> None:
    known = {"reranker": "onnx:a/b", "rerank_budget_ms": 50, "reranker_api_key": "sk-sesame"}
    made = options_from(Settings(tmp_path, tmp_path / "models", (), **known), RerankerOptions)
    assert made == RerankerOptions("onnx:a/b", "sk-sesame", 0.05, tmp_path / "models")
    assert "sesame" not in repr(made)
    assert options_from(Settings(tmp_path, Path(), ()), RerankerOptions) == RerankerOptions()


def test_words_are_listed_as_in_a_sentence() -> None:
    assert [one_of(list(words)) for words in ("a", "ab", "abc")] == ["a", "a or b", "a, b or c"]
    assert one_of(["a", "b"], "and") == "a and b"
