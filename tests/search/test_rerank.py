"""The best hits in the order of a reranker: one list for all pages, honest scores, a time limit, privacy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.models.rerank import CrossEncoder, RerankerOptions
from rag_core.types import OWNER, Answer, Viewer
from tests.conftest import index
from tests.models.onnx_models import embedding_model, reranking_model, rows
from tests.models.rerank_server import MODEL, RerankServer
from tests.support.standin import Refusal, nobody, serving
from tests.support.trees import write

QUERY = "cat boat"
NOTES = {f"n{at}.md": f"# Note {at}\n\nThe cat has a boat. {'cat ' * at}\n" for at in range(70)}
NOTES |= {f"b{at}.md": f"# Boat {at}\n\nA boat, and a form for the tax {at}.\n" for at in range(10)}
PRIVATE = "---\nprivate: true\n---\n# Diary\n\nThe cat has a boat. " + "cat " * 30 + "sesame\n"
GUEST = Viewer("guest@example.com", stores=frozenset({"pets"}))

Make = Callable[..., Library]


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with serving(RerankServer()) as server:
        yield server


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Make]:
    """Opens libraries with one store, each with other settings."""
    write(tmp_path / "pets", {**NOTES, "diary.md": PRIVATE})
    opened: list[Library] = []

    def make(**settings: Any) -> Library:
        known = {"embedder": "hashing", "rerank_budget_ms": 30_000, **settings}
        library = Library.open(Settings(tmp_path / "data", tmp_path / "models", (tmp_path,), **known))
        if not opened:
            index(library, "pets", tmp_path / "pets")
        opened.append(library)
        return library

    yield make
    for library in opened:
        library.close()


def at(server: RerankServer) -> str:
    return f"{MODEL}@{server.url}/v1"


def keys(answer: Answer) -> list[str]:
    return [hit.key for hit in answer.hits]


def test_the_first_hits_are_in_the_rerankers_order_and_keep_their_scores(
    made: Make, server: RerankServer
) -> None:
    plain = made().search(OWNER, QUERY, top_k=80)
    found = made(reranker=at(server)).search(OWNER, QUERY, top_k=80)
    assert keys(found) != keys(plain)
    assert sorted(keys(found)) == sorted(keys(plain))
    assert keys(found)[50:] == keys(plain)[50:]
    counts = [hit.content.count("cat") + hit.content.count("boat") for hit in found.hits[:50]]
    assert counts == sorted(counts, reverse=True)
    own = {hit.key: (hit.score, hit.relevant) for hit in plain.hits}
    assert {hit.key: (hit.score, hit.relevant) for hit in found.hits} == own
    assert [hit.score for hit in found.hits] != sorted((hit.score for hit in found.hits), reverse=True)
    assert (plain.reordered, found.reordered) == (False, True)
    assert (found.convincing, found.fitting) == (plain.convincing, plain.fitting)
    assert [hit.rank for hit in found.hits] == [*range(1, len(found.hits) + 1)]
    assert found.notices == plain.notices


def test_pages_continue_one_list(made: Make, server: RerankServer) -> None:
    library = made(reranker=at(server))
    whole = keys(library.search(OWNER, QUERY, top_k=60))
    pages = [keys(library.search(OWNER, QUERY, top_k=15, offset=start)) for start in (0, 15, 30, 45)]
    assert [key for page in pages for key in page] == whole
    assert len(server.asked) == 1, "further pages have the order of the first"


def test_a_page_after_a_plain_one_stays_plain(made: Make, server: RerankServer) -> None:
    plain, library = keys(made().search(OWNER, QUERY, top_k=20)), made(reranker=at(server))
    server.fail("/v1/rerank", Refusal(400, {"error": "no"}))
    first = library.search(OWNER, QUERY, top_k=10)
    assert "results are in their usual order" in first.notices[0].message
    assert keys(first) + keys(library.search(OWNER, QUERY, top_k=10, offset=10)) == plain
    assert keys(library.search(OWNER, QUERY, top_k=10)) != plain[:10], "a new search asks anew"


def test_behind_the_budget_the_plain_list_stands(made: Make, server: RerankServer) -> None:
    plain = keys(made().search(OWNER, QUERY))
    server.delay_s = 20.0
    found = made(reranker=at(server), rerank_budget_ms=50).search(OWNER, QUERY)
    assert keys(found) == plain
    assert "longer than 50 ms" in found.notices[0].message or "in time" in found.notices[0].message


def test_the_owner_is_told_what_is_wrong_and_a_guest_only_that(made: Make) -> None:
    library = made(reranker=f"{MODEL}@{nobody()}/v1")
    assert "is not running" in library.search(OWNER, QUERY).notices[0].message
    said = library.search(GUEST, QUERY).notices[0].message
    assert "results are in their usual order" in said
    assert "127.0.0.1" not in said


def test_a_key_goes_to_the_server_and_nowhere_else(made: Make, server: RerankServer) -> None:
    server.key = "sesame-key"
    wrong = made(reranker=at(server), reranker_api_key="other-key").search(OWNER, QUERY)
    assert "refuses access" in wrong.notices[0].message
    assert "other-key" not in str(wrong.notices)
    assert not made(reranker=at(server), reranker_api_key="sesame-key").search(OWNER, QUERY).notices


@pytest.mark.parametrize("refusal", [Refusal(503, "busy"), Refusal(500, "x"), Refusal(0, "")])
def test_a_short_failure_is_tried_again(made: Make, server: RerankServer, refusal: Refusal) -> None:
    server.fail("/v1/rerank", refusal)
    found = made(reranker=at(server)).search(OWNER, QUERY)
    assert bool(found.notices) == (refusal.status == 0), "a server that hangs up may do so for the texts"


def test_scores_that_lack_a_passage_are_no_order(made: Make, server: RerankServer) -> None:
    server.lacking = 1
    assert "scored 49 of 50" in made(reranker=at(server)).search(OWNER, QUERY).notices[0].message


def test_private_notes_go_only_to_a_server_on_this_machine(
    made: Make, server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    made(reranker=at(server)).search(OWNER, QUERY, top_k=50)
    assert "sesame" in str(server.bodies("/v1/rerank"))
    server.asked.clear()
    monkeypatch.setattr("rag_core.models.rerank.leaves", lambda url: url == f"{server.url}/v1")
    library = made(reranker=at(server))
    found = library.search(OWNER, QUERY, top_k=50)
    place = next(hit.rank for hit in made().search(OWNER, QUERY, top_k=50).hits if hit.document.private)
    assert found.hits[place - 1].document.private, "it keeps its place"
    assert server.asked
    assert "sesame" not in str(server.bodies("/v1/rerank"))
    library.placement.let_private_leave(OWNER, "pets", allowed=True)
    library.search(OWNER, QUERY, top_k=50)
    assert "sesame" in str(server.bodies("/v1/rerank"))


def test_a_guests_order_is_made_without_private_notes(made: Make, server: RerankServer) -> None:
    library = made(reranker=at(server))
    library.search(GUEST, QUERY)
    assert server.asked
    assert "sesame" not in str(server.bodies("/v1/rerank"))


def test_a_search_by_filters_alone_is_not_reranked(made: Make, server: RerankServer) -> None:
    made(reranker=at(server)).search(OWNER, "type:markdown")
    assert not server.asked


def test_what_would_fit_without_the_filters_is_counted_and_not_reranked(
    made: Make, server: RerankServer
) -> None:
    answer = made(reranker=at(server)).search(OWNER, "cat path:b1.md")
    assert [notice.code for notice in answer.notices] == ["too_narrow"]
    assert not server.asked


# --- in this process --------------------------------------------------------------------


def test_a_cross_encoder_scores_pairs(tmp_path: Path) -> None:
    encoder = CrossEncoder(RerankerOptions(f"onnx:{reranking_model(tmp_path / 'reranker')}"))
    passages = ["dog ship", "cat boat", "cat dog"]
    found = encoder.scores("cat boat", passages, float("inf"))
    expected = [
        -float((((rows("cat boat").sum(0) - rows(text)[1:].sum(0)) / 2) ** 2).sum()) for text in passages
    ]
    assert found == pytest.approx(expected, rel=1e-4)
    assert max(found) == found[1]
    with pytest.raises(TimeoutError):
        encoder.scores("cat boat", passages, 0.0)


def test_a_folder_reranks_a_search(made: Make, tmp_path: Path) -> None:
    folder = reranking_model(tmp_path / "reranker")
    plain, found = made().search(OWNER, "cat"), made(reranker=f"onnx:{folder}").search(OWNER, "cat")
    assert not found.notices
    assert keys(found) != keys(plain)


def test_a_folder_that_is_no_reranker_is_said_to_be_none(made: Make, tmp_path: Path) -> None:
    folder = embedding_model(tmp_path / "embedder")
    assert "Choose a reranker" in made(reranker=f"onnx:{folder}").search(OWNER, QUERY).notices[0].message
    assert "no model" in made(reranker="onnx:ORG/NAME").search(OWNER, QUERY).notices[0].message


def test_a_page_says_that_more_fits_wherever_the_reranker_put_it(made: Make, server: RerankServer) -> None:
    """The stand-in counts words: it puts the longest notes first, whatever their scores."""
    least = 0.9 * made().search(OWNER, QUERY, top_k=1).hits[0].score
    library = made(reranker=at(server), min_score=least)
    whole = library.search(OWNER, QUERY, top_k=100)
    assert len(whole.hits) == whole.score_counts[0] or all(hit.score >= least for hit in whole.hits)
    for offset in range(len(whole.hits) - 1):
        page = library.search(OWNER, QUERY, top_k=1, offset=offset)
        assert page.has_more == any(hit.relevant for hit in whole.hits[offset + 1 :])


def test_another_order_is_not_reranked(made: Make, server: RerankServer) -> None:
    found = made(reranker=at(server)).search(OWNER, QUERY, sort="name")
    assert not found.reordered
    assert not server.asked
