"""Passages are compared with a question token by token, by what a built-in model makes of each token."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest

from rag_core.errors import EmbedderError
from rag_core.models import EmbedderOptions, open_embedder
from rag_core.models.built_in import BUILT_IN, BuiltInEmbedder
from rag_core.models.built_in_install import install
from rag_core.models.token_states import nearness
from rag_core.models.transformer import Encoder
from tests.support.packed_model import WIDTH, packed_model


@pytest.fixture
def models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the tiny model installed in the place of the one for every language."""
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
    install(row, tmp_path / "models", tmp_path / "source")
    return tmp_path / "models"


@pytest.mark.parametrize("text", ["cat", "dog and cat, dog", "機械学習 кошка", "word " * 60])
def test_the_vector_of_a_text_is_the_mean_of_those_of_its_tokens(models: Path, text: str) -> None:
    row = BUILT_IN["multilingual"]
    files = models / row.model
    encode = partial(Encoder, files / "model.onnx", files / row.tokenizer, row.max_tokens)
    without, encoder = encode(), encode(width=WIDTH)
    [ids] = encoder.tokens([text])
    states = encoder.states(text, len(ids))
    assert states.shape == (len(ids), WIDTH)
    assert np.array_equal(without.embed(text), encoder.embed(text))
    mean = states.mean(0)
    assert np.allclose(mean / np.linalg.norm(mean), encoder.embed(text), atol=1e-5)
    assert len(encoder.states(text, 3)) == 3


def test_the_same_words_are_nearest(models: Path) -> None:
    embedder = open_embedder("multilingual", EmbedderOptions(models))
    assert isinstance(embedder, BuiltInEmbedder)
    same, other, empty = embedder.nearness("dog and cat", ["dog and cat", "機械学習", ""])
    weight = BUILT_IN["multilingual"].token_weight
    assert weight >= same > other
    assert other >= empty - weight


def test_a_text_that_the_model_fails_on_is_an_error_of_the_embedder(
    models: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise ValueError("it fails on a text (Fail)")

    embedder = open_embedder("multilingual", EmbedderOptions(models))
    assert isinstance(embedder, BuiltInEmbedder)
    monkeypatch.setattr(Encoder, "states", fails)
    with pytest.raises(EmbedderError, match="fails on a text"):
        embedder.nearness("dog", ["cat"])


def test_nearness_is_the_mean_of_the_best_cosines() -> None:
    question = np.array([[1, 0], [0, 2]], np.float32)
    passage = np.array([[3, 0], [1, 1]], np.float32)
    assert nearness(question, passage) == pytest.approx((1 + 0.5**0.5) / 2)
    assert nearness(question, passage[:0]) == nearness(question[:0], passage) == 0.0
