"""The vector index in Qdrant: what it creates, sends, refuses and survives."""

from __future__ import annotations

import gc
import logging
import uuid
from dataclasses import replace
from pathlib import Path

import pytest
from qdrant_client import QdrantClient, models

from rag_core.errors import VectorError
from rag_core.types import Filters
from rag_core.vectors.qdrant import INDEXED, QdrantOptions
from tests.support.standin import Refusal
from tests.vectors.qdrant_index import ME, QUERY, opened, options, record, unprepared
from tests.vectors.qdrant_server import QdrantServer
from tests.vectors.vector_bench import vault

KEY = "sesame-opens"
SEED_KEYS = {
    "vault_id", "vault_name", "note_id", "rel_path", "folder", "heading_path", "chunk_index", "note_title",
}  # fmt: skip

pytestmark = [pytest.mark.usefixtures("no_waiting_for_the_disk"), pytest.mark.thorough]


# --- create or adopt --------------------------------------------------------------------


def test_a_collection_is_created_with_its_shape_and_indexes(qdrant: QdrantServer) -> None:
    opened(options(qdrant))
    [made] = [
        asked.body for asked in qdrant.asked if (asked.method, asked.path) == ("PUT", "/collections/notes")
    ]
    assert made["vectors"] == {
        "size": 16,
        "distance": "Cosine",
        "hnsw_config": {"m": 32, "ef_construct": 200},
    }
    assert qdrant.indexes["notes"].keys() == INDEXED.keys()
    asked = {body["field_name"]: body["field_schema"] for body in qdrant.bodies("/collections/notes/index")}
    assert asked["vault_name"] == {"type": "keyword", "is_tenant": True}
    assert asked["filter.date"] == "integer"


def test_a_collection_of_another_kind_is_refused(qdrant: QdrantServer) -> None:
    named = {"image": models.VectorParams(size=16, distance=models.Distance.COSINE)}
    qdrant.engine.create_collection("notes", named)
    with pytest.raises(VectorError, match="was not made for notes"):
        opened(options(qdrant))


def test_notes_that_another_program_put_there_are_not_taken_for_ours(qdrant: QdrantServer) -> None:
    opened(options(qdrant), "other")
    theirs = {"vault_name": "notes", "rel_path": "a.md"}
    qdrant.engine.upsert("notes", [models.PointStruct(id=7, vector=[1.0] * 16, payload=theirs)])
    index = unprepared(options(qdrant))
    with pytest.raises(VectorError, match="belongs to somebody else"):
        index.prepare(ME)
    assert index.owner() == ""
    index.prepare(ME, take_over=True)
    assert index.owner() == ME


def test_a_dropped_store_takes_the_collection_with_it_unless_another_is_there(qdrant: QdrantServer) -> None:
    first, second = opened(options(qdrant), "first"), opened(options(qdrant), "second")
    for index in (first, second):
        index.put([record()])
    first.drop(ME)
    assert len([*second.keys()]) == 1
    assert second.owner() == ME
    first.drop(ME)
    second.drop(ME)
    second.drop(ME)
    assert not qdrant.engine.collection_exists("notes")
    assert first.owner() == second.owner() == ""


# --- several stores ---------------------------------------------------------------------


def test_a_store_sees_and_deletes_only_what_is_its_own(qdrant: QdrantServer) -> None:
    mine, yours = opened(options(qdrant), "mine"), opened(options(qdrant), "yours", "owner-2")
    notes = vault(20, 16)
    mine.put(note.record for note in notes[:12])
    yours.put(note.record for note in notes[12:])
    first = {note.key for note in notes[:12]}
    assert {*mine.keys()} == {each.key for each in mine.records()} == first
    assert {match.key for match in mine.search(QUERY, 100)} == first
    mine.delete(note.key for note in notes)
    assert [*mine.keys()] == []
    assert {*yours.keys()} == {note.key for note in notes[12:]}


def test_a_passage_of_another_store_is_not_overwritten(qdrant: QdrantServer) -> None:
    mine, yours = opened(options(qdrant), "mine"), opened(options(qdrant), "copy", "owner-2")
    same, new = record(text="mine"), record(text="new")
    mine.put([same])
    receipt = yours.put([replace(same, text="yours"), new])
    assert receipt.sent == (new.key,)
    assert "Another store" in receipt.refused[same.key]
    assert [each.text for each in mine.records()] == ["mine"]


# --- what is sent -----------------------------------------------------------------------


def test_a_point_has_exactly_the_keys_that_other_programs_read_and_ours(qdrant: QdrantServer) -> None:
    index = opened(options(qdrant), "Work")
    doc = {
        "path": "projects/alpha/meeting-notes.md",
        "title": "Meetings",
        "chunk_index": 3,
        "heading_path": ["Meetings", "Weekly Standup"],
        "headings": "# Meetings > ## Weekly Standup",
    }
    note = record(doc=doc, metadata={"folder": "projects/alpha", "tags": ("a",)})
    index.put([note])
    [point] = qdrant.engine.retrieve("notes", [note.key])
    payload = point.payload
    assert payload is not None
    assert payload.keys() == SEED_KEYS | {"text", "doc", "filter"}
    assert isinstance(payload["vault_id"], int)
    assert uuid.UUID(payload["note_id"])
    found = {key: payload[key] for key in SEED_KEYS - {"vault_id", "note_id"}}
    assert found == {
        "vault_name": "Work",
        "rel_path": "projects/alpha/meeting-notes.md",
        "folder": "projects/alpha",
        "heading_path": "# Meetings > ## Weekly Standup",
        "chunk_index": 3,
        "note_title": "Meetings",
    }


# --- searching --------------------------------------------------------------------------


def test_filters_are_asked_of_this_store_only(qdrant: QdrantServer) -> None:
    opened(options(qdrant)).search(QUERY, 5, Filters(tags=("a", "b"), after="2026-01-02"))
    [body] = qdrant.bodies("/collections/notes/points/query")
    assert body["filter"]["must"] == [
        {"key": "vault_name", "match": {"value": "notes"}},
        {"key": "filter.tags", "match": {"any": ["a", "b"]}},
        {
            "should": [
                {"key": "filter.date", "range": {"gte": 20260102}},
                {"key": "filter.unfiltered", "match": {"value": "date"}},
            ]
        },
    ]


# --- keys and folders -------------------------------------------------------------------


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


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # which the package leaves
def test_a_folder_that_another_program_has_open_in_qdrant_is_told(tmp_path: Path) -> None:
    here = QdrantOptions(path=tmp_path / "qdrant")
    other = QdrantClient(path=str(here.path))
    try:
        with pytest.raises(VectorError, match="already accessed by another"):
            opened(here)
    finally:
        other.close()
        gc.collect()
    assert opened(here).owner() == ME
