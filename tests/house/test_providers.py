"""A provider is one file and its row: nothing else in the program knows it by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.config.options import options_from
from rag_core.models.rerank import RerankerOptions
from rag_core.providers import PROVIDERS, Provider, one_of

ROOT = Path(__file__).parents[2]
TABLE = "rag_core/providers.py"
SETTINGS = "rag_core/config/settings.py"

ALSO_IN = {
    "minilm": {
        "rag_core/models/embedder.py",  # the default
        "rag_core/store/calibration.py",  # its similarities are the scale
        "rag_core/wording.py",  # sentences say what it is for
    },
    "multilingual": {"rag_core/wording.py"},
    "hashing": {"rag_core/store/calibration.py"},  # its similarities have no scale
    "ollama": {"rag_core/reports.py", "ui/settings/ollama_models.py"},  # its models can be listed and fetched
    "onnx": {
        "rag_core/models/hub.py",
        "rag_core/models/live_checks.py",
    },  # what was fetched is one; an example
    "s3vectors": {
        "rag_core/api/answers.py",  # the fields of an answer that only it has
        "ui/stores/placement.py",  # the example of an address
    },
}
"""The files that name a provider beside its own, its row and its settings."""

MENTIONS = {"s3vectors": r"s3.?vectors", "qdrant": "qdrant", "chroma": "chroma"}
"""How a mention of a vector index is recognised, in comments and in sentences for people, too."""

MENTIONED_IN = {
    "s3vectors": {
        "rag_core/cli/stores.py",  # the example of an address, and the metric that it lacks
        "ui/settings/connections.py",  # the button that asks it, which costs money
    },
}


@cache
def sources() -> dict[str, str]:
    """The text of each module of the program, by its path."""
    folders = (ROOT / top for top in ("rag_core", "ui", "pages"))
    paths = [ROOT / "app.py", *(path for folder in folders for path in folder.rglob("*.py"))]
    return {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in paths}


@cache
def constants(path: str) -> frozenset[str]:
    """The texts in the code of a module, without its docstrings."""
    tree = ast.parse(sources()[path])
    alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    every = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in alone)
    return frozenset(node.value for node in every if isinstance(node.value, str))


def own_files(name: str) -> set[str]:
    """The modules that open the provider."""
    rows = (row for row in PROVIDERS if row.name == name and row.opens)
    return {f"rag_core/{row.opens.partition(':')[0].replace('.', '/')}.py" for row in rows}


def files_that_use(name: str) -> Iterator[str]:
    for path in sources():
        if any(re.match(rf"{re.escape(name)}(:|$)", text) for text in constants(path)):
            yield path


@pytest.mark.parametrize("name", sorted({row.name for row in PROVIDERS if row.name}))
def test_code_knows_a_provider_in_its_file_its_row_and_its_settings(name: str) -> None:
    known = own_files(name) | {TABLE, SETTINGS}
    assert set(files_that_use(name)) - known == ALSO_IN.get(name, set())


@pytest.mark.parametrize("name", MENTIONS)
def test_only_these_files_mention_a_vector_index(name: str) -> None:
    mentioned = {path for path, text in sources().items() if re.search(MENTIONS[name], text, re.IGNORECASE)}
    known = own_files(name) | {TABLE, SETTINGS} | ALSO_IN.get(name, set())
    assert mentioned == known | MENTIONED_IN.get(name, set())


@pytest.mark.parametrize("row", PROVIDERS, ids=lambda row: row.opens)
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
