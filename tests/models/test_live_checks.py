"""The live checks of the reranker and of what reads pictures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.extract.eyes import SEEN, GoogleServer
from tests.models.onnx_models import embedding_model, reranking_model
from tests.models.rerank_server import MODEL, RerankServer
from tests.support.connected import KEY, Make, connection
from tests.support.standin import nobody, serving


def test_a_reranker_scores_passages(make: Make, tmp_path: Path) -> None:
    found = connection(make(reranker=f"onnx:{reranking_model(tmp_path / 'model')}"), "reranking")
    assert (found.state, found.kind, found.goes) == ("ready", "reranker", "stays on this machine")
    assert "ms for the 50 hits of a search. It may take 300 ms." in found.sentence


def test_a_reranker_on_a_server_is_asked_with_its_key(make: Make) -> None:
    with serving(RerankServer(key=KEY)) as server:
        named = f"{MODEL}@{server.url}"
        found = connection(make(reranker=named, reranker_api_key=KEY), "reranking")
        assert (found.state, len(server.bodies("/v1/rerank"))) == ("ready", 1)
        refused = connection(make(reranker=named, reranker_api_key="another"), "reranking")
    assert (refused.state, refused.is_missed) == ("unreachable", True)
    assert "COMMONPLACE_RERANKER_API_KEY" in str(refused.next_step)
    assert KEY not in repr(found)


def test_a_reranker_that_is_too_slow_for_a_search_is_said_to_be(make: Make) -> None:
    with serving(RerankServer(delay_s=0.2)) as server:
        found = connection(make(reranker=f"{MODEL}@{server.url}"), "reranking")
    assert (found.state, found.is_missed) == ("ready", False)
    assert str(found.next_step).startswith("Set `rerank_budget_ms` to ")


def test_a_reranker_that_cannot_be_used_says_what_to_do(make: Make, tmp_path: Path) -> None:
    none = connection(make(), "reranking")
    assert (none.state, none.is_missed) == ("not set up", False)
    assert "Write `reranker: onnx:ORG/NAME` into " in str(none.next_step)
    missing = connection(make(reranker="onnx:org/name"), "reranking")
    assert (missing.state, missing.is_missed) == ("not set up", True)
    assert "commonplace model install hf:ORG/NAME" in str(missing.next_step)
    embeds = connection(make(reranker=f"onnx:{embedding_model(tmp_path / 'model')}"), "reranking")
    assert "Choose a reranker" in str(embeds.next_step)
    assert "is not running" in connection(make(reranker=f"{MODEL}@{nobody()}"), "reranking").sentence


@pytest.mark.skipif(not shutil.which("tesseract"), reason="Tesseract is not installed")
def test_the_engine_that_auto_chose_reads_a_picture(make: Make) -> None:
    found = connection(make(ocr="auto"), "pictures")
    assert (found.state, found.kind, found.goes) == ("ready", "pictures", "stays on this machine")
    assert found.sentence.startswith("`auto` chose tesseract; it reads a test picture in ")


def test_an_engine_that_is_not_there_is_missed_only_if_it_was_chosen(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.models.live_checks.find_engine", lambda _: None)
    found = [connection(make(ocr=each), "pictures") for each in ("auto", "tesseract", "off")]
    assert [each.is_missed for each in found] == [False, True, False]
    assert "[ocr]" in str(found[0].next_step)
    assert "are not read" in found[2].sentence


def test_a_model_on_a_server_that_reads_another_word_is_not_ready(make: Make) -> None:
    with serving(GoogleServer()) as google:
        settings = {"ocr": "gemini", "gemini_base_url": google.url, "gemini_api_key": "a-right-key"}
        found = connection(make(**settings), "pictures")
        wrong = connection(make(**{**settings, "gemini_api_key": "wrong"}), "pictures")
    assert (found.state, found.is_missed) == ("unreachable", True)
    assert "did not read the word" in found.sentence
    assert SEEN not in found.sentence
    assert "COMMONPLACE_GEMINI_API_KEY" in wrong.sentence
