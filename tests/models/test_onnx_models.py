"""Models exported to ONNX that the owner chose, run as their own configuration files say."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np
import pytest

from rag_core.config import Settings
from rag_core.errors import EmbedderError, ModelMissing
from rag_core.models import EmbedderOptions, Prompts, open_embedder
from rag_core.models.built_in import MINILM
from rag_core.models.check import Need
from rag_core.models.onnx_folder import OnnxEmbedder, check_onnx
from tests.models.onnx_models import embedding_model, rows, unit
from tests.support.model_fixture import installed_model_dir


def opened(folder: Path | str, **options: Any) -> OnnxEmbedder:
    embedder = open_embedder(f"onnx:{folder}", EmbedderOptions(**options))
    assert isinstance(embedder, OnnxEmbedder)
    return embedder


@pytest.mark.parametrize(
    ("pooling", "pooled"),
    [
        ("mean_tokens", lambda states: states.mean(0)),
        ("cls_token", lambda states: states[0]),
        ("lasttoken", lambda states: states[-1]),
    ],
)
def test_states_are_pooled_as_the_model_says(tmp_path: Path, pooling: str, pooled: Any) -> None:
    embedder = opened(embedding_model(tmp_path / "model", pooling))
    assert np.allclose(embedder.embed_documents(["cat dog"])[0], unit(pooled(rows("cat dog"))), atol=1e-6)


def test_the_newer_name_of_pooling_is_read_and_none_means_the_mean(tmp_path: Path) -> None:
    newer = {"1_Pooling/config": {"pooling_mode": "cls"}}
    found = opened(embedding_model(tmp_path / "a", **newer)).embed_query("cat")
    assert np.allclose(found, unit(rows("cat")[0]), atol=1e-6)
    found = opened(embedding_model(tmp_path / "b", modules=[])).embed_query("cat")
    assert np.allclose(found, unit(rows("cat").mean(0)), atol=1e-6)


def test_a_long_text_is_cut_to_the_models_length_with_its_last_mark(tmp_path: Path) -> None:
    embedder = opened(embedding_model(tmp_path / "model"))
    assert embedder.max_tokens == 6
    assert embedder.count_tokens("cat dog boat ship tax") == 7
    found = embedder.embed_query("cat dog boat ship tax form the a " * 40)
    assert np.allclose(found, unit(rows("cat dog boat ship").mean(0)), atol=1e-6)


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        ({"sentence_bert_config": {}, "config": {}}, 512),
        ({"sentence_bert_config": {}, "config": {"max_position_embeddings": 40}}, 40),
        (
            {
                "sentence_bert_config": {},
                "config": {"max_position_embeddings": 514, "model_type": "xlm-roberta"},
            },
            512,
        ),
        ({"sentence_bert_config": {}, "tokenizer_config": {"model_max_length": 32}}, 32),
        ({"sentence_bert_config": {"max_seq_length": 100_000}, "config": {}}, 8192),
    ],
)
def test_the_length_is_the_least_that_a_file_tells(tmp_path: Path, files: Any, tokens: int) -> None:
    assert opened(embedding_model(tmp_path / "model", **files)).max_tokens == tokens


def test_prompts_are_the_models_own_unless_the_owner_sets_others(tmp_path: Path) -> None:
    told = {"config_sentence_transformers": {"prompts": {"query": "query: ", "document": "passage: "}}}
    folder = embedding_model(tmp_path / "model", **told)
    embedder = opened(folder)
    assert np.allclose(embedder.embed_query("cat"), unit(rows("query : cat").mean(0)), atol=1e-6)
    assert np.allclose(embedder.embed_documents(["cat"])[0], unit(rows("passage : cat").mean(0)), atol=1e-6)
    assert embedder.max_tokens < 6, "the prompt takes room"
    mine = opened(folder, prompts=((f"onnx:{folder}", Prompts("the ", "a ")),))
    assert np.allclose(mine.embed_query("cat"), unit(rows("the cat").mean(0)), atol=1e-6)
    assert mine.identity != embedder.identity


def test_the_identity_follows_the_files_and_not_the_place(tmp_path: Path) -> None:
    first = opened(embedding_model(tmp_path / "a" / "model")).identity
    assert opened(embedding_model(tmp_path / "b" / "model")).identity == first
    assert opened(embedding_model(tmp_path / "c" / "model", "cls_token")).identity != first


def test_the_built_in_models_own_files_in_that_layout_give_its_vectors(tmp_path: Path) -> None:
    built_in = installed_model_dir() / MINILM.model
    folder = embedding_model(tmp_path / MINILM.model, sentence_bert_config={"max_seq_length": 256})
    for path in (*built_in.glob("model.onnx*"), built_in / "tokenizer.json"):
        copyfile(path, (folder if path.suffix == ".json" else folder / "onnx") / path.name)
    texts = ["How do I renew a passport?", "word " * 900, "naïve café", ""]
    embedder, expected = opened(folder), open_embedder("minilm", EmbedderOptions(built_in.parent))
    assert np.allclose(embedder.embed_documents(texts), expected.embed_documents(texts), atol=1e-6)
    assert [*map(embedder.count_tokens, texts)] == [*map(expected.count_tokens, texts)]
    assert embedder.max_tokens == expected.max_tokens
    assert embedder.reads("passport")
    assert not embedder.reads("паспорт"), "all-MiniLM learnt English"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"1_Pooling/config": {"pooling_mode_weightedmean_tokens": True}}, "pools in a way"),
        (
            {"1_Pooling/config": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": True}},
            "pools in",
        ),
        ({"modules": [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]}, "layer 'Dense'"),
        ({"modules": "x"}, "cannot be run"),
        ({"config": []}, "cannot be run"),
    ],
)
def test_a_model_that_cannot_be_run_as_it_says_is_refused(tmp_path: Path, files: Any, said: str) -> None:
    with pytest.raises(EmbedderError, match=said):
        opened(embedding_model(tmp_path / "model", **files))


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_a_part_that_is_missing_or_damaged_is_named(tmp_path: Path, name: str) -> None:
    folder = embedding_model(tmp_path / "model")
    (folder / name).write_bytes(b"damaged")
    with pytest.raises(EmbedderError, match="cannot be loaded"):
        opened(folder)
    (folder / name).unlink()
    with pytest.raises(EmbedderError, match=f"{Path(name).name} is missing"):
        opened(folder)


@pytest.mark.parametrize("name", ["ORG/NAME", "../outside", "/nowhere/model"])
def test_a_model_that_is_not_there_says_how_to_get_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "outside").mkdir()
    with pytest.raises(ModelMissing, match="no model") as caught:
        opened(name, model_dir=tmp_path / "models")
    assert "commonplace model install hf:ORG/NAME" in caught.value.suggestion


def need(models: Path, *names: str) -> Need:
    return Need(Settings(models, models, ()), EmbedderOptions(model_dir=models), models=names)


def test_the_check_offers_installed_models_and_names_a_missing_folder(tmp_path: Path) -> None:
    assert check_onnx(need(tmp_path)).state == "not set up"
    folder = embedding_model(tmp_path / "org" / "name")
    (folder / "manifest.json").write_text(json.dumps({"files": {}}), "utf-8")
    assert check_onnx(need(tmp_path, "org/name")).embedders == ("onnx:org/name",)
    assert "/gone" in check_onnx(need(tmp_path, "/gone")).sentence
