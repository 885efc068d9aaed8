"""Models in a folder, run by packages that need not be there; stand-ins take the packages' place."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.installation import install_line
from rag_core.models import EmbedderOptions, Prompts, open_embedder
from rag_core.models.folder import FolderModel
from tests.models.model_packages import MAX_TOKENS, SentenceTransformer, install, model_folder

PACKAGES = {"sentence-transformers": "sentence-transformers", "mlx": "mlx-embeddings"}
PROVIDERS = list(PACKAGES)


@pytest.fixture(autouse=True)
def packages(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return model_folder(tmp_path / "my-model")


def opened(name: str, **options: object) -> FolderModel:
    embedder = open_embedder(name, EmbedderOptions(**options))  # type: ignore[arg-type]
    assert isinstance(embedder, FolderModel)
    return embedder


def seen(embedder: FolderModel) -> list[str]:
    """What the model was given behind the probe."""
    return embedder._model.seen[1:]  # type: ignore[attr-defined, no-any-return]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("model", ["all-MiniLM-L6-v2", "intfloat/multilingual-e5-small", "/nowhere/model"])
def test_a_name_that_is_no_folder_fails_before_its_package_is_asked(
    monkeypatch: pytest.MonkeyPatch, provider: str, model: str
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setitem(sys.modules, "mlx_embeddings", None)
    with pytest.raises(ModelMissing, match="no folder") as caught:
        opened(f"{provider}:{model}")
    assert "`offline`" in caught.value.suggestion


def test_the_network_is_for_those_who_allowed_it(folder: Path) -> None:
    opened(f"sentence-transformers:{folder}", device="mps")
    opened("sentence-transformers:some/model", offline=False)
    assert SentenceTransformer.opened == [
        {"name": str(folder), "device": "mps", "local": True},
        {"name": "some/model", "device": None, "local": False},
    ]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_identity_follows_the_weights_and_not_the_place(tmp_path: Path, provider: str) -> None:
    first, moved, other = (
        opened(f"{provider}:{model_folder(tmp_path / place / 'model', weights)}").identity
        for place, weights in (("a", b"one"), ("b", b"one"), ("c", b"two"))
    )
    assert first == moved
    assert first != other
    assert first.digest


@pytest.mark.parametrize(("provider", "package"), PACKAGES.items())
def test_without_its_package_the_line_that_installs_it_is_named(
    monkeypatch: pytest.MonkeyPatch, folder: Path, provider: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package.replace("-", "_"), None)
    with pytest.raises(EmbedderError, match=f"'{package}' is not installed") as caught:
        opened(f"{provider}:{folder}")
    assert install_line(provider) in caught.value.suggestion


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_folder_without_a_model_is_said_to_be_so(tmp_path: Path, provider: str) -> None:
    with pytest.raises(EmbedderError, match="cannot load"):
        opened(f"{provider}:{tmp_path}")


def test_configured_prompts_win_over_those_of_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def given(embedder: FolderModel) -> list[str]:
        embedder.embed_query("why?")
        embedder.embed_documents(["Because."])
        return seen(embedder)

    known = f"sentence-transformers:{model_folder(tmp_path / 'multilingual-e5-small')}"
    assert given(opened(known)) == ["query: why?", "passage: Because."]
    mine = ((known, Prompts("q: ", "d: ")),)
    assert given(opened(known, prompts=mine)) == ["q: why?", "d: Because."]

    made = SentenceTransformer.__init__

    def with_prompts(self: SentenceTransformer, *args: object, **kwargs: object) -> None:
        made(self, *args, **kwargs)  # type: ignore[arg-type]
        self.prompts = {"query": "Q ", "passage": "P "}

    monkeypatch.setattr(SentenceTransformer, "__init__", with_prompts)
    assert given(opened(known)) == ["Q why?", "P Because."]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_tokens_are_counted_by_the_models_own_tokenizer(folder: Path, provider: str) -> None:
    embedder = opened(f"{provider}:{folder}")
    assert embedder.count_tokens("one two three") == 5
    assert embedder.count_tokens("word " * 1000) == 1002
    assert MAX_TOKENS - 4 < embedder.max_tokens <= MAX_TOKENS
    assert opened(f"{provider}:{folder}", context=100).max_tokens < 100
