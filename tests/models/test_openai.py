"""What only the embedder at ``/v1/embeddings`` must do, against a stand-in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rag_core.errors import EmbedderError, InvalidInput, ModelMissing, Unreachable
from rag_core.models import Embedder, EmbedderOptions, open_embedder, remote
from rag_core.models.remote import TRIES
from tests.support.openai_server import OpenAIServer
from tests.support.standin import Refusal, nobody, serving

KEY = "sk-sesame-42"
Open = Callable[..., Embedder]


@pytest.fixture
def opened(openai: OpenAIServer) -> Open:
    """Open an embedder at the stand-in that does not wait between tries."""

    def opened(name: str = "openai:nomic-embed-text", **options: Any) -> Embedder:
        return open_embedder(name, EmbedderOptions(**{"openai_url": openai.url, "retry_s": 0, **options}))

    return opened


def test_the_dimension_is_found_by_one_vector(openai: OpenAIServer, opened: Open) -> None:
    openai.models["wide"] = 1024
    assert opened("openai:wide").identity.dimension == 1024
    assert len(openai.asked) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [1.0] * 384}] * 2},
        {"data": [{"index": 0, "embedding": [1.0] * 384}, {"index": 7, "embedding": [1.0] * 384}]},
        {"data": [{"embedding": [None] * 384}] * 2},
        {"data": [{"embedding": "AAAA"}] * 2},
        {"object": "list"},
        ["nothing"],
        "<html>",
    ],
)
def test_an_answer_without_the_vectors_is_refused(openai: OpenAIServer, opened: Open, answer: object) -> None:
    embedder = opened()
    openai.fail("/embeddings", *[Refusal(200, answer)] * TRIES)
    with pytest.raises(EmbedderError):
        embedder.embed_documents(["one", "two"])


def test_a_smaller_dimension_is_asked_for_or_cut_here(openai: OpenAIServer, opened: Open) -> None:
    for shortens in (True, False):
        openai.shortens = shortens
        vectors = opened("openai:nomic-embed-text@128").embed_documents(["one"])
        assert vectors.shape == (1, 128)
        assert np.linalg.norm(vectors) == pytest.approx(1, abs=1e-5)
    assert openai.asked[-1].body["dimensions"] == 128
    with pytest.raises(InvalidInput, match="cannot give vectors of 512"):
        opened("openai:nomic-embed-text@512")


def test_a_missing_model_and_a_missing_server_are_told_apart(opened: Open) -> None:
    with pytest.raises(ModelMissing, match="does not have the model 'gone'"):
        opened("openai:gone")
    with pytest.raises(Unreachable, match="is not running"):
        opened(openai_url=nobody())


def test_the_key_is_sent_and_a_refused_one_is_not_repeated(openai: OpenAIServer, opened: Open) -> None:
    openai.key = KEY
    assert opened(openai_key=KEY).identity.dimension == 384
    with pytest.raises(Unreachable, match="refuses access") as caught:
        opened(openai_key="sk-sesame-wrong")
    assert "sk-sesame-wrong" not in str(caught.value)
    assert "COMMONPLACE_EMBEDDING_API_KEY" in caught.value.suggestion


def test_a_key_in_what_the_server_says_is_not_shown(openai: OpenAIServer, opened: Open) -> None:
    embedder = opened(openai_key=KEY)
    openai.fail("/embeddings", Refusal(400, {"error": {"message": f"bad header: Bearer {KEY}"}}))
    with pytest.raises(EmbedderError, match="bad header") as caught:
        embedder.embed_documents(["one"])
    assert KEY not in str(caught.value)
    assert KEY not in repr(EmbedderOptions(openai_key=KEY))


def test_neither_text_nor_key_follows_a_redirect(openai: OpenAIServer, opened: Open) -> None:
    with serving(OpenAIServer()) as elsewhere:
        openai.fail("/embeddings", Refusal(308, "", Location=f"{elsewhere.url}/v1/embeddings"))
        with pytest.raises(Unreachable, match="redirects to another address"):
            opened(openai_key=KEY)
        assert elsewhere.asked == []


def test_a_server_that_asks_to_wait_is_given_the_time(
    openai: OpenAIServer, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(remote, "_sleep", waits.append)
    embedder = opened()
    openai.fail("/embeddings", Refusal(429, {"error": "slow down"}, Retry_After="7"), Refusal(503, "x"))
    embedder.embed_documents(["one"])
    assert waits == [7.0, 0]


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "This model's maximum context length is 512 tokens"),
        (500, "input is too large to process. increase the physical batch size"),
        (413, "payload"),
    ],
)
def test_a_text_that_is_too_long_is_shortened_however_that_is_said(
    openai: OpenAIServer, opened: Open, status: int, said: str
) -> None:
    embedder = opened()
    openai.fail("/embeddings", Refusal(status, {"error": {"message": said}}))
    embedder.embed_documents(["word " * 100])
    assert 60 < len(openai.texts[-1].split()) < 100
