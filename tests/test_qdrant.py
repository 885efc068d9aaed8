"""The vector index in Qdrant: what it creates, sends, refuses and survives."""

from __future__ import annotations

import gc
import json
import logging
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qdrant_client import QdrantClient, models

from rag_core.errors import InvalidInput, VectorError, VectorsUnreachable
from rag_core.types import EmbedderIdentity, Filters
from rag_core.vectors import Receipt, VectorRecord, unit
from rag_core.vectors.qdrant import Qdrant
from rag_core.vectors.qdrant_place import (
    QdrantOptions,
    QdrantPlace,
    collection_name,
    parse_qdrant,
    qdrant_address,
    qdrant_metric,
)
from rag_core.vectors.qdrant_points import INDEXED
from tests.qdrant_server import QdrantServer
from tests.standin import Asked, Refusal, StandIn, nobody, serving
from tests.vector_bench import vault, vectors

ME = "owner-1"
KEY = "sesame-opens"
SEED_KEYS = {
    "vault_id", "vault_name", "note_id", "rel_path", "folder", "heading_path", "chunk_index", "note_title",
}  # fmt: skip

pytestmark = pytest.mark.usefixtures("no_waiting_for_the_disk")


@pytest.fixture
def server() -> Iterator[QdrantServer]:
    with serving(QdrantServer()) as stand_in:
        yield stand_in


def options(server: StandIn, **changes: Any) -> QdrantOptions:
    return replace(QdrantOptions(url=server.url, backoff=0.01), **changes)


def place(options: QdrantOptions, store: str = "notes", **changes: Any) -> QdrantPlace:
    return replace(QdrantPlace(options.server, options.collection, store, 16), **changes)


def opened(options: QdrantOptions, store: str = "notes", owner: str = ME, **changes: Any) -> Qdrant:
    index = Qdrant(place(options, store, **changes), options)
    index.prepare(owner)
    return index


def record(key: str = "", **changes: Any) -> VectorRecord:
    made = VectorRecord(key or str(uuid.uuid4()), vectors(1, 16)[0], "A text", {"path": "a.md"})
    return replace(made, **changes)


QUERY = vectors(1, 16, seed=5)[0]


# --- names ------------------------------------------------------------------------------


def test_stores_share_a_collection_unless_they_switch_the_embedder() -> None:
    first, second = (EmbedderIdentity("ollama", "m", digest, 768, "none") for digest in "ab")
    there = QdrantOptions(url="http://example.org:6333")
    assert qdrant_address("work", there) == "qdrant://example.org:6333/notes#work"
    assert qdrant_address("work", replace(there, collection="mine")) == "qdrant://example.org:6333/mine#work"
    assert collection_name("notes", first) == collection_name("notes", first)
    assert len({"notes", collection_name("notes", first), collection_name("notes", second)}) == 3
    assert qdrant_address("work", there, first).endswith(f"/{collection_name('notes', first)}#work")


@pytest.mark.parametrize(
    ("address", "parts"),
    [
        ("qdrant://example.org:7000/notes#work", ("example.org:7000", "notes", "work")),
        ("qdrant://example.org/notes#work", ("example.org:6333", "notes", "work")),
        ("qdrant://[::1]:6333/behind/a/proxy/notes#w-1", ("[::1]:6333/behind/a/proxy", "notes", "w-1")),
        ("qdrant:///notes#work", ("", "notes", "work")),
    ],
)
def test_addresses_are_read(address: str, parts: tuple[str, str, str]) -> None:
    assert parse_qdrant(address) == parts


@pytest.mark.parametrize(
    "address",
    [
        "s3vectors://notes", "qdrant://host/notes", "qdrant://host/#work", "qdrant://host/a b#work", "qdrant://",
        "qdrant://host/notes#a/b", "qdrant://me:hunter2@host/notes#work", "qdrant://host:x/notes#work",
        "qdrant://host/..#work",
    ],
)  # fmt: skip
def test_bad_addresses_are_refused(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_qdrant(address)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["host:6333", "ftp://host", "http://me:hunter2@host", "http://host?key=hunter2", "http://"]
)
def test_a_server_without_an_address_or_with_a_key_in_it_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="not the address of a server") as caught:
        QdrantOptions(url=url)
    assert "hunter2" not in str(caught.value)


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(QdrantOptions(url="http://host", api_key=KEY))


def test_every_metric_has_a_name_here() -> None:
    names = [qdrant_metric(metric) for metric in ("cosine", "euclidean", "dot_product")]
    assert names == ["Cosine", "Euclid", "Dot"]


@pytest.mark.parametrize("dimension", [0, 65_537])
def test_a_dimension_that_qdrant_has_not_is_refused(dimension: int) -> None:
    with pytest.raises(InvalidInput, match=f"dimension {dimension}"):
        QdrantPlace("", "notes", "work", dimension)


def test_without_server_and_folder_it_says_what_to_set() -> None:
    with pytest.raises(InvalidInput, match="qdrant_url"):
        Qdrant(QdrantPlace("", "notes", "work", 16), QdrantOptions())


# --- create or adopt --------------------------------------------------------------------


def test_a_collection_is_created_with_its_shape_and_indexes(server: QdrantServer) -> None:
    opened(options(server))
    [made] = [
        asked.body for asked in server.asked if (asked.method, asked.path) == ("PUT", "/collections/notes")
    ]
    assert made["vectors"] == {
        "size": 16, "distance": "Cosine", "hnsw_config": {"m": 32, "ef_construct": 200},
    }  # fmt: skip
    assert server.indexes["notes"].keys() == INDEXED.keys()
    asked = {body["field_name"]: body["field_schema"] for body in server.bodies("/collections/notes/index")}
    assert asked["vault_name"] == {"type": "keyword", "is_tenant": True}
    assert asked["filter.date"] == "integer"


def test_indexes_are_made_once(server: QdrantServer) -> None:
    opened(options(server))
    server.asked.clear()
    opened(options(server))
    opened(options(server), "another")
    assert server.bodies("/collections/notes/index") == []


def test_in_this_process_nothing_is_indexed_and_nobody_is_warned(tmp_path: Path) -> None:
    index = opened(QdrantOptions(path=tmp_path / "qdrant"))
    index.put(note.record for note in vault(20, 16))
    assert len(index.search(QUERY, 5, Filters(tags=("aws",)))) == 5


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"dimension": 32}, "dimension 16 instead of 32"),
        ({"metric": "Euclid"}, "distance 'Cosine' instead of 'Euclid'"),
    ],
)
def test_a_collection_of_another_shape_is_refused_with_the_difference(
    server: QdrantServer, changes: dict[str, Any], difference: str
) -> None:
    opened(options(server))
    with pytest.raises(VectorError, match=f"'notes'.* {difference}") as caught:
        opened(options(server), "another", **changes)
    assert "qdrant_collection" in caught.value.suggestion


def test_a_collection_of_another_kind_is_refused(server: QdrantServer) -> None:
    named = {"image": models.VectorParams(size=16, distance=models.Distance.COSINE)}
    server.engine.create_collection("notes", named)
    with pytest.raises(VectorError, match="was not made for notes"):
        opened(options(server))


def test_each_store_has_an_owner_of_its_own(server: QdrantServer) -> None:
    mine, yours = opened(options(server), "mine"), opened(options(server), "yours", "owner-2")
    assert (mine.owner(), yours.owner()) == (ME, "owner-2")
    with pytest.raises(VectorError, match=r"notes#mine.* belongs to another installation"):
        mine.prepare("owner-2")
    mine.prepare("owner-2", take_over=True)
    assert mine.owner() == "owner-2"
    with pytest.raises(VectorError, match="belongs to another installation"):
        mine.prepare(ME)


def test_notes_that_another_program_put_there_are_not_taken_for_ours(server: QdrantServer) -> None:
    opened(options(server), "other")
    theirs = {"vault_name": "notes", "rel_path": "a.md"}
    server.engine.upsert("notes", [models.PointStruct(id=7, vector=[1.0] * 16, payload=theirs)])
    index = Qdrant(place(options(server)), options(server))
    with pytest.raises(VectorError, match="belongs to somebody else"):
        index.prepare(ME)
    assert index.owner() == ""
    index.prepare(ME, take_over=True)
    assert index.owner() == ME


def test_two_that_take_the_same_store_at_once_do_not_both_have_it(server: QdrantServer) -> None:
    first, second = (Qdrant(place(options(server)), options(server)) for _ in range(2))
    first._create()
    second._create()  # found nothing a moment before
    first._mark("owner-1", only_if_new=True)
    second._mark("owner-2", only_if_new=True)  # so here
    assert first.owner() == second.owner() == "owner-1"
    with pytest.raises(VectorError, match="belongs to another installation"):
        second.prepare("owner-2")


def test_an_index_can_be_opened_by_its_address_alone(server: QdrantServer) -> None:
    there = opened(options(server), "mine", metric="Euclid")
    found = Qdrant.at(str(there.place), options(server))
    assert found.place == there.place
    assert found.owner() == ME
    with pytest.raises(VectorError, match=r"There is no store at 'qdrant://.*#yours'"):
        Qdrant.at(str(replace(there.place, store="yours")), options(server))
    with pytest.raises(VectorError, match="`other` doesn't exist"):
        Qdrant.at(str(replace(there.place, collection="other")), options(server))


def test_an_address_sends_notes_and_keys_only_where_it_is_configured(server: QdrantServer) -> None:
    there = place(options(server))
    here = QdrantOptions(url="http://127.0.0.1:1", api_key=KEY)
    elsewhere = r"not where `qdrant_url` points to \(127\.0\.0\.1:1\)"
    with pytest.raises(VectorError, match=elsewhere):
        Qdrant.at(str(there), here)
    with pytest.raises(VectorError, match=elsewhere):
        Qdrant(there, here)
    assert server.asked == []


def test_an_index_in_a_folder_is_not_looked_for_on_a_server() -> None:
    with pytest.raises(VectorError, match="Take `qdrant_url` away"):
        Qdrant(QdrantPlace("", "notes", "work", 16), QdrantOptions(url="http://127.0.0.1:1"))
    with pytest.raises(VectorError, match=r"points to \(nowhere\)"):
        Qdrant(QdrantPlace("example.org:6333", "notes", "work", 16), QdrantOptions(path=Path("x")))


def test_the_server_that_gets_texts_is_named(server: QdrantServer, tmp_path: Path) -> None:
    assert opened(options(server)).server == server.url
    assert opened(QdrantOptions(path=tmp_path / "qdrant")).server == ""


def test_a_dropped_store_takes_the_collection_with_it_unless_another_is_there(server: QdrantServer) -> None:
    first, second = opened(options(server), "first"), opened(options(server), "second")
    for index in (first, second):
        index.put([record()])
    first.drop()
    assert len([*second.keys()]) == 1
    assert second.owner() == ME
    first.drop()
    second.drop()
    second.drop()
    assert not server.engine.collection_exists("notes")
    assert first.owner() == second.owner() == ""


# --- several stores ---------------------------------------------------------------------


def test_a_store_sees_and_deletes_only_what_is_its_own(server: QdrantServer) -> None:
    mine, yours = opened(options(server), "mine"), opened(options(server), "yours", "owner-2")
    notes = vault(20, 16)
    mine.put(note.record for note in notes[:12])
    yours.put(note.record for note in notes[12:])
    first = {note.key for note in notes[:12]}
    assert {*mine.keys()} == {each.key for each in mine.records()} == first
    assert {match.key for match in mine.search(QUERY, 100)} == first
    mine.delete(note.key for note in notes)
    assert [*mine.keys()] == []
    assert {*yours.keys()} == {note.key for note in notes[12:]}


def test_a_passage_of_another_store_is_not_overwritten(server: QdrantServer) -> None:
    mine, yours = opened(options(server), "mine"), opened(options(server), "copy", "owner-2")
    same, new = record(text="mine"), record(text="new")
    mine.put([same])
    receipt = yours.put([replace(same, text="yours"), new])
    assert receipt.sent == (new.key,)
    assert "Another store" in receipt.refused[same.key]
    assert [each.text for each in mine.records()] == ["mine"]


# --- what is sent -----------------------------------------------------------------------


def test_a_point_has_exactly_the_keys_that_other_programs_read_and_ours(server: QdrantServer) -> None:
    index = opened(options(server), "Work")
    doc = {
        "path": "projects/work/meeting-notes.md", "title": "Meetings", "chunk_index": 3,
        "heading_path": ["Meetings", "Weekly Standup"],
    }  # fmt: skip
    note = record(doc=doc, metadata={"folder": "projects/work", "tags": ("a",)})
    index.put([note])
    [point] = server.engine.retrieve("notes", [note.key])
    payload = point.payload
    assert payload is not None
    assert payload.keys() == SEED_KEYS | {"text", "doc", "filter"}
    assert isinstance(payload["vault_id"], int)
    assert uuid.UUID(payload["note_id"])
    found = {key: payload[key] for key in SEED_KEYS - {"vault_id", "note_id"}}
    assert found == {
        "vault_name": "Work",
        "rel_path": "projects/work/meeting-notes.md",
        "folder": "projects/work",
        "heading_path": "# Meetings > ## Weekly Standup",
        "chunk_index": 3,
        "note_title": "Meetings",
    }


def test_a_note_in_the_root_has_no_folder_and_its_chunks_share_its_id(server: QdrantServer) -> None:
    index = opened(options(server))
    first, second = (
        record(doc={"path": "a.md", "chunk_index": 0}),
        record(doc={"path": "a.md", "chunk_index": 1}),
    )
    other = record(doc={"path": "b.md"})
    index.put([first, second, other])
    points = server.engine.retrieve("notes", [first.key, second.key, other.key])
    payloads = [point.payload or {} for point in points]
    assert [payload["folder"] for payload in payloads] == ["", "", ""]
    assert len({payload["note_id"] for payload in payloads}) == 2


@pytest.mark.parametrize("metric", ["Cosine", "Euclid", "Dot"])
def test_vectors_have_the_length_one_there(server: QdrantServer, metric: str) -> None:
    index = opened(options(server), metric=metric)
    note = record(vector=vectors(1, 16)[0] * np.float32(7))
    index.put([note])
    [point] = server.engine.retrieve("notes", [note.key], with_vectors=True)
    assert np.linalg.norm(np.array(point.vector)) == pytest.approx(1, abs=1e-6)
    for query in (note.vector * np.float32(3), -note.vector, QUERY):
        [match] = index.search(query, 1)
        assert match.similarity == pytest.approx(float(unit(query) @ unit(note.vector)), abs=1e-6)


def test_everything_comes_back_as_it_was_put(server: QdrantServer) -> None:
    index = opened(options(server))
    notes = vault(30, 16)
    index.put(note.record for note in notes)
    found = {each.key: each for each in index.records()}
    for note in notes:
        there, put = found[note.key], note.record
        assert (there.text, there.doc, there.metadata) == (put.text, put.doc, put.metadata)
        assert np.abs(there.vector - note.vector).max() < 1e-3


def test_many_records_are_listed_page_by_page(server: QdrantServer) -> None:
    index = opened(options(server))
    notes = vault(600, 16)
    index.put(note.record for note in notes)
    assert {each.key for each in index.records()} == {note.key for note in notes}
    assert len(server.bodies("/collections/notes/points/scroll")) == 3


def sizes(server: QdrantServer) -> list[int]:
    """How many points each request held, but for the owner's mark."""
    bodies = [
        asked.body for asked in server.asked if asked.method == "PUT" and asked.path.endswith("/points")
    ]
    return [len(body["points"]) for body in bodies if "update_filter" not in body]


def test_requests_hold_500_points_at_most(server: QdrantServer) -> None:
    index = opened(options(server))
    receipts: list[Receipt] = []
    total = index.put((note.record for note in vault(1001, 16)), receipts.append)
    assert sizes(server) == [len(receipt.sent) for receipt in receipts] == [500, 500, 1]
    assert len(total.sent) == 1001


def test_requests_stay_below_what_a_server_takes(server: QdrantServer) -> None:
    index = opened(options(server))
    receipt = index.put(record(text="ü" * 40_000) for _ in range(150))  # 240,000 bytes to send, each
    assert len(receipt.sent) == 150
    bodies = [
        asked.body for asked in server.asked if asked.method == "PUT" and asked.path.endswith("/points")
    ]
    largest = max(len(json.dumps(body)) for body in bodies)
    assert 20 * 2**20 < largest < 26 * 2**20
    assert len(sizes(server)) == 2


def test_halves_of_characters_are_replaced_before_they_fail_a_request(server: QdrantServer) -> None:
    index = opened(options(server))
    odd = record(
        text="a\ud800b", doc={"path": "\udcff.md"}, metadata={"folder": "x\udfff", "tags": ("\ud800",)}
    )
    assert index.put([odd]).sent == (odd.key,)
    [there] = index.records()
    assert (there.text, there.doc["path"], there.metadata) == (
        "a?b",
        "?.md",
        {"folder": "x?", "tags": ("?",)},
    )


def test_one_bad_record_is_refused_alone(server: QdrantServer) -> None:
    index = opened(options(server))
    good = [note.record for note in vault(20, 16)]
    bad = [
        record(vector=np.full(16, np.nan, np.float32)),
        record(vector=np.zeros(16, np.float32)),
        record(vector=np.ones(8, np.float32)),
        record("no-uuid"),
        record(str(uuid.uuid4()).upper()),
    ]
    receipt = index.put([*good[:10], *bad, *good[10:]])
    assert {*receipt.refused} == {each.key for each in bad}
    assert {*index.keys()} == {*receipt.sent} == {each.key for each in good}
    assert sizes(server) == [20]


def test_a_record_that_only_the_server_refuses_is_found_and_refused_alone(server: QdrantServer) -> None:
    index = opened(options(server))
    server.poison = "devil"
    records = [record(text="devil" if n in (3, 17) else "text") for n in range(20)]
    receipt = index.put(records)
    assert {*receipt.refused} == {records[3].key, records[17].key}
    assert "poisoned" in receipt.refused[records[3].key]
    assert {*index.keys()} == {each.key for each in records} - receipt.refused.keys()


def test_what_has_no_length_finds_nothing(server: QdrantServer) -> None:
    index = opened(options(server))
    index.put([record()])
    assert index.search(np.zeros(16, np.float32), 5) == []
    assert index.search(np.full(16, np.nan, np.float32), 5) == []


def test_keys_that_are_no_ids_are_gone_already(server: QdrantServer) -> None:
    index = opened(options(server))
    assert index.delete(["no-uuid"]).sent == ("no-uuid",)


# --- searching --------------------------------------------------------------------------


def test_a_search_looks_at_400_candidates_or_at_all(server: QdrantServer) -> None:
    opened(options(server)).search(QUERY, 5)
    opened(options(server, exact=True)).search(QUERY, 5)
    bodies = server.bodies("/collections/notes/points/query")
    assert [body["params"] for body in bodies] == [{"hnsw_ef": 400, "exact": False}, {"exact": True}]


def test_filters_are_asked_of_this_store_only(server: QdrantServer) -> None:
    opened(options(server)).search(QUERY, 5, Filters(tags=("a", "b"), after="2026-01-02"))
    [body] = server.bodies("/collections/notes/points/query")
    assert body["filter"]["must"] == [
        {"key": "vault_name", "match": {"value": "notes"}},
        {"key": "filter.tags", "match": {"any": ["a", "b"]}},
        {"should": [
            {"key": "filter.date", "range": {"gte": 20260102}},
            {"key": "filter.unfiltered", "match": {"value": "date"}},
        ]},
    ]  # fmt: skip


def test_a_note_whose_date_cannot_be_asked_for_is_not_missed(server: QdrantServer) -> None:
    index = opened(options(server))
    odd = record(metadata={"unfiltered": ("date",)})
    index.put([odd, record(metadata={"date": 20200101})])
    assert [match.key for match in index.search(QUERY, 5, Filters(after="2026-01-01"))] == [odd.key]


@pytest.mark.parametrize("in_process", [True, False])
def test_searching_a_collection_that_is_not_there_says_so(
    server: QdrantServer, tmp_path: Path, in_process: bool
) -> None:
    here = QdrantOptions(path=tmp_path / "qdrant") if in_process else options(server)
    with pytest.raises(VectorError, match=r"(?i)collection .notes.") as caught:
        Qdrant(place(here), here).search(QUERY, 5)
    assert not isinstance(caught.value, VectorsUnreachable)


# --- failures ---------------------------------------------------------------------------


def test_a_busy_server_is_asked_again_until_it_has_time(server: QdrantServer) -> None:
    index = opened(options(server))
    busy = [Refusal(429, {}), Refusal(503, "busy"), Refusal(429, {}, Retry_After="0"), Refusal(0, "")]
    server.fail("/points/query", *busy[:2])
    assert index.search(QUERY, 5) == []
    server.fail("/points", *busy)
    assert len(index.put([record()]).sent) == 1


def test_a_server_asks_to_wait_and_is_given_the_time(
    server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    index = opened(options(server))
    monkeypatch.setattr(time, "sleep", waits.append)
    server.fail("/points/query", Refusal(429, {}, Retry_After="3"), Refusal(429, {}, Retry_After="9999"))
    index.search(QUERY, 5)
    assert waits == [3, 20]
    server.fail("/points/query", Refusal(429, {}, Retry_After="Wed, 21 Oct 2026 07:28:00 GMT"))
    assert index.search(QUERY, 5) == []


@pytest.mark.parametrize("attempts", [1, 4])
def test_a_server_that_stays_busy_is_given_up_after_so_many_attempts(
    server: QdrantServer, attempts: int
) -> None:
    index = opened(options(server, attempts=attempts))
    server.fail("/points", *[Refusal(503, "busy")] * 9)
    server.asked.clear()
    with pytest.raises(
        VectorsUnreachable, match=r"Qdrant at 127\.0\.0\.1:\d+ cannot be used: it answered 503"
    ):
        index.put([record()])
    assert len(server.asked) == attempts


def test_an_answer_that_never_comes_is_not_waited_for() -> None:
    class Silent(StandIn):
        def answer(self, asked: Asked) -> None:
            time.sleep(1.5)

    with serving(Silent()) as silent:
        index = Qdrant(place(options(silent)), options(silent, timeout=0.5, attempts=1))
        with pytest.raises(VectorsUnreachable, match="ReadTimeout"):
            index.search(QUERY, 5)


def test_a_server_that_is_not_there_is_unreachable() -> None:
    there = QdrantOptions(url=nobody(), backoff=0.01, attempts=2)
    with pytest.raises(VectorsUnreachable, match="cannot be used: ConnectError") as caught:
        Qdrant(place(there), there).prepare(ME)
    assert "is sent with the next run" in caught.value.suggestion


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_refused_is_told_with_where_to_set_it(server: QdrantServer, status: int) -> None:
    server.fail("", Refusal(status, f"The key {KEY} is wrong"))
    there = options(server, api_key=KEY)
    with pytest.raises(VectorError, match=f"refuses the key \\(status {status}\\)") as caught:
        Qdrant(place(there), there).prepare(ME)
    assert not isinstance(caught.value, VectorsUnreachable)
    assert "COMMONPLACE_QDRANT_API_KEY" in caught.value.suggestion
    assert len(server.asked) == 1
    assert KEY not in str(caught.value)


def test_a_key_travels_in_a_header_and_is_never_logged_or_quoted(
    server: QdrantServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.key = KEY
    with caplog.at_level(logging.DEBUG):
        index = opened(options(server, api_key=KEY))
        server.fail("/points/query", Refusal(400, {"status": {"error": f"not with {KEY}"}}))
        with pytest.raises(VectorError, match="not with …") as caught:
            index.search(QUERY, 5)
    assert {asked.headers["api-key"] for asked in server.asked} == {KEY}
    assert KEY not in caplog.text
    assert KEY not in str(caught.value)
    assert caught.value.__cause__ is None
    assert not [asked for asked in server.asked if KEY in asked.path]


@pytest.mark.parametrize("answer", ["<html>Welcome</html>", {}, {"result": None}, [1]])
def test_a_server_that_is_not_qdrant_is_told(answer: Any) -> None:
    class Other(StandIn):
        def answer(self, asked: Asked) -> Any:
            return answer

    with serving(Other()) as other, pytest.raises(VectorError, match="is not Qdrant") as caught:
        opened(options(other))
    assert not isinstance(caught.value, VectorsUnreachable)


def test_a_server_that_sends_us_elsewhere_is_not_followed(server: QdrantServer) -> None:
    with serving(StandIn()) as elsewhere:
        server.fail("", Refusal(307, "", Location=f"{elsewhere.url}/collections"))
        with pytest.raises(VectorError, match="sends us elsewhere"):
            opened(options(server, api_key=KEY))
    assert elsewhere.asked == []


def test_a_proxy_learns_nothing_of_what_stays_on_this_machine(
    server: QdrantServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(variable, nobody())
    assert opened(options(server)).owner() == ME


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
