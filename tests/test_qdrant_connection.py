"""Qdrant that is busy, away, closed, damaged or another program; and where its key goes."""

from __future__ import annotations

import gc
import logging
import time
from pathlib import Path
from typing import Any

import pytest
from qdrant_client import QdrantClient

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.vectors.qdrant import QdrantOptions
from tests.qdrant_index import ME, QUERY, opened, options, record, unprepared
from tests.qdrant_server import QdrantServer
from tests.standin import Asked, Refusal, StandIn, nobody, serving

KEY = "sesame-opens"

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")

# --- on a server ---------------------------------------------------------------------------


def test_a_busy_server_is_asked_again_until_it_has_time(qdrant: QdrantServer) -> None:
    index = opened(options(qdrant))
    busy = [Refusal(429, {}), Refusal(503, "busy"), Refusal(429, {}, Retry_After="0"), Refusal(0, "")]
    qdrant.fail("/points/query", *busy[:2])
    assert index.search(QUERY, 5) == []
    qdrant.fail("/points", *busy)
    assert len(index.put([record()]).sent) == 1


def test_a_server_asks_to_wait_and_is_given_the_time(
    qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    index = opened(options(qdrant))
    monkeypatch.setattr(time, "sleep", waits.append)
    qdrant.fail("/points/query", Refusal(429, {}, Retry_After="3"), Refusal(429, {}, Retry_After="9999"))
    index.search(QUERY, 5)
    assert waits == [3, 20]
    qdrant.fail("/points/query", Refusal(429, {}, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"))
    assert index.search(QUERY, 5) == []


@pytest.mark.parametrize("attempts", [1, 4])
def test_a_server_that_stays_busy_is_given_up_after_so_many_attempts(
    qdrant: QdrantServer, attempts: int
) -> None:
    index = opened(options(qdrant, attempts=attempts))
    qdrant.fail("/points", *[Refusal(503, "busy")] * 9)
    qdrant.asked.clear()
    with pytest.raises(
        VectorsUnreachable, match=r"Qdrant at 127\.0\.0\.1:\d+ cannot be used: it answered 503"
    ):
        index.put([record()])
    assert len(qdrant.asked) == attempts


def test_an_answer_that_never_comes_is_not_waited_for() -> None:
    class Silent(StandIn):
        def answer(self, asked: Asked) -> None:
            time.sleep(1.5)

    with serving(Silent()) as silent:
        index = unprepared(options(silent, timeout=0.5, attempts=1))
        with pytest.raises(VectorsUnreachable, match="ReadTimeout"):
            index.search(QUERY, 5)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    there = QdrantOptions(url=nobody(), backoff=0.01, attempts=2)
    with pytest.raises(VectorsUnreachable, match="cannot be used: ConnectError") as caught:
        unprepared(there).prepare(ME)
    assert "is sent with the next run" in caught.value.suggestion


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_told_with_where_to_set_it(qdrant: QdrantServer, status: int) -> None:
    qdrant.fail("", Refusal(status, f"The key {KEY} is wrong"))
    there = options(qdrant, api_key=KEY)
    with pytest.raises(VectorError, match=f"refuses access \\(status {status}\\)") as caught:
        unprepared(there).prepare(ME)
    assert not isinstance(caught.value, VectorsUnreachable)
    assert "COMMONPLACE_QDRANT_API_KEY" in caught.value.suggestion
    assert len(qdrant.asked) == 1
    assert KEY not in str(caught.value)


def test_a_key_travels_in_a_header_and_is_never_logged_or_quoted(
    qdrant: QdrantServer, caplog: pytest.LogCaptureFixture
) -> None:
    qdrant.key = KEY
    with caplog.at_level(logging.DEBUG):
        index = opened(options(qdrant, api_key=KEY))
        qdrant.fail("/points/query", Refusal(400, {"status": {"error": f"not with {KEY}"}}))
        with pytest.raises(VectorError, match="not with …") as caught:
            index.search(QUERY, 5)
    assert {asked.headers["api-key"] for asked in qdrant.asked} == {KEY}
    assert KEY not in caplog.text
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not [asked for asked in qdrant.asked if KEY in asked.path]


@pytest.mark.parametrize("answer", ["<html>Welcome</html>", {}, {"result": None}, [1]])
def test_a_server_that_is_not_qdrant_is_told(answer: Any) -> None:
    class Other(StandIn):
        def answer(self, asked: Asked) -> Any:
            return answer

    with serving(Other()) as other, pytest.raises(VectorError, match="is not Qdrant") as caught:
        opened(options(other))
    assert not isinstance(caught.value, VectorsUnreachable)


def test_a_server_that_sends_us_elsewhere_is_not_followed(qdrant: QdrantServer) -> None:
    with serving(StandIn()) as elsewhere:
        qdrant.fail("", Refusal(307, "", Location=f"{elsewhere.url}/collections"))
        with pytest.raises(VectorError, match="sends us elsewhere"):
            opened(options(qdrant, api_key=KEY))
    assert elsewhere.asked == []


def test_a_proxy_learns_nothing_of_what_stays_on_this_machine(
    qdrant: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, nobody())
    assert opened(options(qdrant)).owner() == ME


# --- in this process --------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # which the package leaves
def test_a_folder_that_another_program_has_open_in_qdrant_is_told(tmp_path: Path) -> None:
    here = QdrantOptions(path=tmp_path / "qdrant")
    other = QdrantClient(path=str(here.path))
    try:
        with pytest.raises(VectorError, match="in use by another program"):
            opened(here)
    finally:
        other.close()
        gc.collect()
    assert opened(here).owner() == ME


def test_a_damaged_folder_is_told(tmp_path: Path) -> None:
    here = QdrantOptions(path=tmp_path / "qdrant")
    (tmp_path / "qdrant").mkdir()
    (tmp_path / "qdrant" / "meta.json").write_text("{")
    with pytest.raises(VectorError, match="cannot be read or written"):
        opened(here)
