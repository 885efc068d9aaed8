"""What every built-in index outside a store's file does beyond searching: who owns it, what it refuses, and
what comes back. Searching is tried in test_vector_contract."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.providers import VECTOR_INDEXES
from rag_core.types import Filters
from rag_core.vectors import VectorRecord
from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.qdrant import QdrantOptions
from rag_core.vectors.remote import Remote
from rag_core.vectors.s3vectors import S3Vectors
from tests.vectors.vector_bench import vault, vectors
from tests.vectors.vector_services import S3_SWITCH, Services, some_thorough

pytestmark = [pytest.mark.usefixtures("no_waiting_for_the_disk"), pytest.mark.thorough]

ME = "owner-1"
QUERY = vectors(1, 16, seed=5)[0]


class Place(NamedTuple):
    """A kind of index, and an address of its own for this test."""

    kind: type[Remote[Any]]
    address: str
    options: Any

    def open(self, **shape: Any) -> Remote[Any]:
        return self.kind(self.address, options=self.options, **{"dimension": 16, "metric": "cosine", **shape})


KINDS: dict[str, tuple[str, Callable[[Services], Any]]] = {
    "s3vectors": ("s3vectors", lambda services: services.s3),
    "qdrant_folder": ("qdrant", lambda services: QdrantOptions(path=services.folder / "qdrant")),
    "qdrant_server": ("qdrant", lambda services: services.qdrant),
    "chroma_folder": ("chroma", lambda services: ChromaOptions(path=services.folder / "chroma")),
    "chroma_server": ("chroma", lambda services: services.chroma),
}


@pytest.fixture(params=some_thorough(KINDS))
def place(request: pytest.FixtureRequest, services: Services) -> Iterator[Place]:
    if not os.environ.get(S3_SWITCH):
        request.getfixturevalue("aws")
    name, options_of = KINDS[request.param]
    options, unique = options_of(services), f"contract-{uuid.uuid4().hex[:12]}"
    if name == "qdrant":
        options = replace(options, collection=unique)
    kind = VECTOR_INDEXES[name].opener
    made = Place(kind, kind.address_of(unique, "", options), options)
    yield made
    index = made.open()
    if owner := index.owner():
        index.drop(owner)


@pytest.fixture
def index(place: Place) -> Remote[Any]:
    made = place.open()
    made.prepare(ME)
    return made


def record(**changes: Any) -> VectorRecord:
    made = VectorRecord(str(uuid.uuid4()), vectors(1, 16)[0], "A text", {"path": "a.md"})
    return replace(made, **changes)


# --- whose it is ------------------------------------------------------------------------


def test_an_index_of_the_same_shape_and_owner_is_adopted_with_what_is_in_it(
    place: Place, index: Remote[Any]
) -> None:
    kept = record()
    index.put([kept])
    again = place.open()
    again.prepare(ME)
    assert (again.owner(), [*again.keys()]) == (ME, [kept.key])


def test_an_index_of_another_shape_is_refused_with_the_difference(place: Place, index: Remote[Any]) -> None:
    for shape, difference in (
        ({"dimension": 32}, "has dimension 16 and distance .* instead of 32 and "),
        ({"metric": "euclidean"}, "distance '[Cc]osine' instead of 16 and '[Ee]uclid|l2"),
    ):
        with pytest.raises(VectorError, match=difference) as caught:
            place.open(**shape).prepare(ME)
        assert place.address in caught.value.message


def test_an_index_of_another_owner_is_refused_until_it_is_taken_over(index: Remote[Any]) -> None:
    kept = record()
    index.put([kept])
    with pytest.raises(VectorError, match="belongs to another installation"):
        index.prepare("owner-2")
    assert index.owner() == ME
    index.prepare("owner-2", take_over=True)
    assert (index.owner(), [*index.keys()]) == ("owner-2", [kept.key])
    with pytest.raises(VectorError, match="belongs to another installation"):
        index.prepare(ME)


def test_an_index_with_records_is_among_those_that_can_be_seen(place: Place, index: Remote[Any]) -> None:
    others = {*place.kind.visible(place.options)} - {place.address}
    index.put([record()])
    assert {*place.kind.visible(place.options)} == {place.address, *others}
    index.drop(ME)
    assert {*place.kind.visible(place.options)} == others


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_an_index_can_be_opened_by_its_address_alone(place: Place, metric: str) -> None:
    with pytest.raises(VectorError) as caught:
        place.kind.existing(place.address, place.options)
    assert not isinstance(caught.value, VectorsUnreachable)
    made = place.open(metric=metric)
    made.prepare(ME)
    there = place.kind.existing(place.address, place.options)
    assert (there.dimension, there.metric, there.owner()) == (16, made.metric, ME)


def test_only_its_owner_drops_an_index_and_dropping_it_again_is_no_error(index: Remote[Any]) -> None:
    index.drop("owner-2")
    assert index.owner() == ME
    index.drop(ME)
    index.drop(ME)
    assert index.owner() == ""


def test_searching_an_index_that_is_not_there_says_so(place: Place) -> None:
    absent = r"could not be found|does not exist|not found|doesn't exist"
    with pytest.raises(VectorError, match=absent) as caught:
        place.open().search(QUERY, 5)
    assert not isinstance(caught.value, VectorsUnreachable)


# --- what is sent, and comes back -------------------------------------------------------


def test_everything_comes_back_as_it_was_put(index: Remote[Any]) -> None:
    notes = vault(300, 16)
    index.put(note.record for note in notes)
    found = {each.key: each for each in index.records()}
    assert {*index.keys()} == found.keys() == {note.key for note in notes}
    for note in notes:
        there, put = found[note.key], note.record
        assert (there.text, there.doc, there.metadata) == (put.text, put.doc, put.metadata)
        assert np.abs(there.vector - note.vector).max() < 1e-3


@pytest.mark.posix
def test_halves_of_characters_are_replaced_before_they_fail_a_request(index: Remote[Any]) -> None:
    odd = record(
        text="a\ud800b", doc={"path": "\udcff.md"}, metadata={"folder": "x\udfff", "tags": ("\ud800",)}
    )
    assert index.put([odd]).sent == (odd.key,)
    [there] = index.records()
    kept = {"folder": "x?", "tags": ("?",)}
    assert (there.text, there.doc["path"], there.metadata) == ("a?b", "?.md", kept)


def test_one_bad_record_is_refused_alone(index: Remote[Any]) -> None:
    good = [note.record for note in vault(20, 16)]
    bad = [
        record(vector=np.full(16, np.nan, np.float32)),
        record(vector=np.zeros(16, np.float32)),
        record(vector=np.ones(8, np.float32)),
    ]
    receipt = index.put([*good[:10], *bad, *good[10:]])
    assert {*receipt.refused} == {each.key for each in bad}
    assert {*index.keys()} == {*receipt.sent} == {each.key for each in good}


def test_what_has_no_length_finds_nothing(index: Remote[Any]) -> None:
    index.put([record()])
    assert index.search(np.zeros(16, np.float32), 5) == []
    assert index.search(np.full(16, np.nan, np.float32), 5) == []


def test_a_note_whose_date_cannot_be_asked_for_is_not_missed(index: Remote[Any]) -> None:
    odd = record(metadata={"unfiltered": ("date",)})
    index.put([odd, record(metadata={"date": 20200101})])
    assert [match.key for match in index.search(QUERY, 5, Filters(after="2026-01-01"))] == [odd.key]


def test_the_server_that_gets_texts_is_named(place: Place) -> None:
    options = place.options
    said = options.endpoint_url if place.kind is S3Vectors else options.url
    assert place.open().server == said


def test_an_index_in_a_folder_is_not_looked_for_on_a_server(tmp_path: Path) -> None:
    for kind, address, in_folder in (
        ("qdrant", "qdrant://example.org/notes#work", QdrantOptions(path=tmp_path)),
        ("chroma", "chroma://example.org/notes", ChromaOptions(path=tmp_path)),
    ):
        with pytest.raises(VectorError, match=r"points to \(nowhere\)"):
            Place(VECTOR_INDEXES[kind].opener, address, in_folder).open()
