"""The vector index in Amazon S3 Vectors: what it creates, sends, refuses and survives."""

from __future__ import annotations

import itertools
import posixpath
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.store import find
from rag_core.types import OWNER, Filters, Query
from rag_core.vectors import Receipt
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.s3vectors import MAX_FILTERABLE, compiled, fitted, metadata_bytes
from tests.vectors.s3_index import ADDRESS, BUCKET, ME, opened, record
from tests.vectors.s3vectors import Server, rules
from tests.vectors.s3vectors.faults import Faults
from tests.vectors.vector_bench import Bench, Note, bench_store, vault, vectors

FIELDS = [field.name for field in fields(Filters)]

# --- create or adopt --------------------------------------------------------------------


def test_bucket_and_index_are_created_as_configured(amazon: Server) -> None:
    key = "arn:aws:kms:eu-central-1:123456789012:key/1234"
    opened(amazon, kms_key=key, tags=(("team", "notes"),))
    index = amazon.service.index(BUCKET, "main")
    assert index.about["dimension"] == 16
    assert index.about["distanceMetric"] == "cosine"
    assert {*index.about["metadataConfiguration"]["nonFilterableMetadataKeys"]} == {"text", "doc"}
    assert index.about["encryptionConfiguration"] == {"sseType": "aws:kms", "kmsKeyArn": key}
    assert index.tags == {"team": "notes", "commonplace:owner": ME}


def test_a_dropped_index_takes_its_bucket_with_it_unless_another_is_there(amazon: Server) -> None:
    old, new = opened(amazon), opened(amazon, f"{ADDRESS}-2")
    old.drop(ME)
    assert [*new.keys()] == []
    new.drop(ME)
    new.drop(ME)
    with pytest.raises(VectorError, match="vector bucket could not be found"):
        [*new.keys()]


# --- what is sent -----------------------------------------------------------------------


def test_requests_are_as_full_as_the_service_takes(amazon: Server) -> None:
    index = opened(amazon)
    receipts: list[Receipt] = []
    total = index.put((note.record for note in vault(1001, 16)), receipts.append)
    assert [len(receipt.sent) for receipt in receipts] == [500, 500, 1]
    assert [*itertools.chain(*(receipt.sent for receipt in receipts))] == [*total.sent]
    assert sorted(seen.count for seen in amazon.seen if seen.operation == "PutVectors") == [1, 500, 500]
    index.delete([note.key for note in vault(1001, 16)])
    assert [seen.count for seen in amazon.seen if seen.operation == "DeleteVectors"] == [500, 500, 1]


def test_requests_stay_below_the_largest_body(amazon: Server) -> None:
    index = opened(amazon)
    long = "ü" * 20_000  # 40,000 bytes to keep, 120,000 to send
    receipt = index.put(record(f"{n}", text=long) for n in range(200))
    assert len(receipt.sent) == 200
    sizes = [seen.size for seen in amazon.seen if seen.operation == "PutVectors"]
    assert len(sizes) == 2
    assert 19 * 2**20 < max(sizes) <= 20 * 2**20
    assert amazon.count("PutVectors", 400) == 0


def test_metadata_is_counted_as_the_service_counts_it(amazon: Server) -> None:
    index = opened(amazon)
    rest: dict[str, str | int | bool | tuple[str, ...]] = {"b": 1, "c": True, "d": ("xy", "ä")}
    room = MAX_FILTERABLE - metadata_bytes({"a": "", "b": 1, "c": True, "d": ["xy", "ä"]})
    exact, larger = {**rest, "a": "ü" * (room // 2)}, {**rest, "a": "ü" * (room // 2 + 1)}
    assert metadata_bytes(fitted(exact)) in (MAX_FILTERABLE, MAX_FILTERABLE - 1)
    assert "unfiltered" not in fitted(exact)
    assert "unfiltered" in fitted(larger)
    assert len(index.put([record("1", metadata=exact), record("2", metadata=larger)]).sent) == 2
    assert amazon.count("PutVectors", 400) == 0


def test_a_record_that_is_too_large_is_refused_alone(amazon: Server) -> None:
    index = opened(amazon)
    bad = [record("large", text="x" * 41_000)]
    receipt = index.put([record("good"), *bad])
    assert (receipt.sent, {*receipt.refused}) == (("good",), {each.key for each in bad})
    assert amazon.count("PutVectors", 400) == 0
    assert "41," in receipt.refused["large"]


def test_a_record_that_only_the_service_refuses_is_found_and_refused_alone(
    amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = rules.check_metadata

    def stricter(metadata: Any, non_filterable: set[str], key: str, path: str) -> None:
        check(metadata, non_filterable, key, path)
        if "devil" in metadata["text"]:
            raise rules.invalid(f"Invalid record for key '{key}'", path)

    monkeypatch.setattr(rules, "check_metadata", stricter)
    index = opened(amazon)
    records = [record(f"{n}", text="devil" if n in (3, 17) else "text") for n in range(20)]
    receipt = index.put(records)
    assert {*receipt.refused} == {"3", "17"}
    assert {*index.keys()} == {f"{n}" for n in range(20)} - {"3", "17"}


def test_a_request_that_is_refused_for_its_key_is_no_fault_of_the_records(
    amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def locked(body: Any) -> Any:
        asked.append(body)
        raise rules.ServiceError(400, "KmsDisabledException", "The key is disabled")

    index = opened(amazon)
    monkeypatch.setattr(amazon.service, "PutVectors", locked)
    with pytest.raises(VectorError, match="The key is disabled"):
        index.put(record(f"{n}") for n in range(20))
    assert len(asked) == 1


# --- searching --------------------------------------------------------------------------


def test_hits_beyond_a_hundred_are_fetched_page_by_page_and_no_further(amazon: Server) -> None:
    index = opened(amazon)
    index.put(note.record for note in vault(450, 16))
    amazon.seen.clear()
    assert len(index.search(vectors(1, 16)[0], 250)) == 250
    assert amazon.count("QueryVectors") == 3


def test_filters_are_sent_as_the_service_takes_them(amazon: Server) -> None:
    index = opened(amazon)
    index.search(vectors(1, 16)[0], 5, Filters(types=("md", "py"), tags=("a", "b"), after="2026-01-02"))
    [body] = amazon.asked("QueryVectors")
    assert body["filter"] == {
        "$and": [
            {"$or": [{"date": {"$gte": 20260102}}, {"unfiltered": {"$eq": "date"}}]},
            {"$or": [{"file_type": {"$in": ["markdown", "python"]}}, {"unfiltered": {"$eq": "file_type"}}]},
            {"$or": [{"tags": {"$eq": "a"}}, {"tags": {"$eq": "b"}}, {"unfiltered": {"$eq": "tags"}}]},
        ]
    }
    index.search(vectors(1, 16)[0], 5)
    assert "filter" not in amazon.asked("QueryVectors")[1]


def test_no_filter_leaves_out_what_fits(tmp_path: Path) -> None:
    """Ten thousand pairs of odd notes and odd filters: whatever the store lets pass, the index does."""
    random = Random(4)
    names = [*"a|A b|É|E\u0301|ß|SS|100%|x_y|[z]|?|*| q |İ|n.o".split("|"), "a" * 700]

    def path() -> str:
        suffix = random.choice([".md", ".py", "", ".MD"])
        return "/".join(random.choices(names, k=random.randint(1, 4))) + suffix

    def few(values: list[str]) -> tuple[str, ...]:
        return tuple(random.sample(values, random.randint(0, 2)))

    row = vectors(1, 8)[0]
    days = ["", "2024-02-29", "0099-01-01", "2026-07-09", "9999-12-31", "26-1-1"]
    notes = [
        Note(path(), row, few(names), random.choice(days), random.choice(["", "1", "É"]), said=str(n))
        for n in range(100)
    ]
    with bench_store(tmp_path, 8) as store:
        bench = Bench(store, lambda bench: (LocalVectors(bench.store), None), 8)
        bench.put(*notes)
        passed = 0
        for _ in range(100):
            known = random.choice(notes).path
            around = [known.swapcase(), posixpath.dirname(known), f"{known[:5]}*", f"/{known}/"]
            filters = Filters(
                types=few(["md", "python", "text"]),
                tags=few([*names, "a/b"]),
                paths=few([known, *around, "", "*", path()]),
                files=few([posixpath.basename(known), known.lower(), path()]),
                pages=few(["1", "É", "2"]),
                after=random.choice([None, None, *days[1:-1]]),
                before=random.choice([None, None, *days[1:-1]]),
            )
            one_or_two = {name: getattr(filters, name) for name in random.sample(FIELDS, 2)}
            condition = compiled(replace(Filters(), **one_or_two))
            if condition is not None:
                rules.check_filter(condition, {"text", "doc"})
            allowed = find.eligible(Query("", "", filters=replace(Filters(), **one_or_two)), OWNER)
            with store.read() as db:
                fitting = find.chunk_ids(db, [note.key for note in notes], allowed)
            for note in (note for note in notes if note.key in fitting):
                passed += 1
                fits = condition is None or rules.fits(condition, dict(fitted(note.metadata)))
                assert fits, (note, one_or_two)
        assert passed > 1000


# --- failures ---------------------------------------------------------------------------


def test_a_busy_service_is_asked_again_until_it_has_time(amazon: Server) -> None:
    index = opened(amazon, backoff=0.01)
    amazon.faults = Faults(0.5, seed=1, kinds=("429",))
    index.put(note.record for note in vault(1600, 16))
    assert len([*index.keys()]) == 1600
    assert amazon.count("PutVectors", 429) > 0


def test_missing_credentials_are_told_with_the_next_step(
    amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(VectorError, match="credentials") as caught:
        opened(amazon)
    assert not isinstance(caught.value, VectorsUnreachable)
    assert amazon.seen == []
