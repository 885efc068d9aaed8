"""The vector index in Amazon S3 Vectors: what it creates, sends, refuses and survives."""

from __future__ import annotations

import itertools
import json
import posixpath
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from random import Random
from typing import Any

import boto3
import numpy as np
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from rag_core.errors import InvalidInput, VectorError, VectorsUnreachable
from rag_core.store import find
from rag_core.types import OWNER, EmbedderIdentity, Filters, Query
from rag_core.vectors import Receipt, VectorRecord
from rag_core.vectors.local import LocalVectors
from rag_core.vectors.s3_metadata import MAX_FILTERABLE, compiled, fitted, size
from rag_core.vectors.s3_place import S3Options, S3Place, bucket_name, index_name, parse_address, s3_metric
from rag_core.vectors.s3vectors import S3Vectors
from tests.s3vectors import Faults, Server, rules
from tests.s3vectors.http import REGION
from tests.vector_bench import Bench, Note, bench_store, vault, vectors

ME = "owner-1"
PLACE = S3Place("commonplace-notes", "main", 16)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as stand_in:
        yield stand_in


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


def options(server: Server, **changes: Any) -> S3Options:
    return replace(S3Options(region=REGION, endpoint_url=server.url, backoff=0.01), **changes)


def opened(server: Server, place: S3Place = PLACE, **changes: Any) -> S3Vectors:
    index = S3Vectors(place, options(server, **changes))
    index.prepare(ME)
    return index


def raw(server: Server) -> Any:
    """The service without anything of ours between."""
    return boto3.client(
        "s3vectors", region_name=REGION, endpoint_url=server.url,
        config=Config(retries={"total_max_attempts": 1}, proxies={}, parameter_validation=False),
    )  # fmt: skip


HERE = {"vectorBucketName": PLACE.bucket, "indexName": PLACE.index}
FIELDS = [field.name for field in fields(Filters)]
ONE = {"key": "k", "data": {"float32": [1.0] * 16}}


def record(key: str = "k", **changes: Any) -> VectorRecord:
    return replace(VectorRecord(key, vectors(1, 16)[0], "A text", {"path": "a.md"}), **changes)


# --- names ------------------------------------------------------------------------------


def test_a_store_has_a_bucket_named_after_it() -> None:
    assert bucket_name("commonplace", "notes") == "commonplace-notes"
    assert bucket_name("commonplace", "My-Notes") == "commonplace-my-notes"


def test_buckets_of_stores_whose_names_differ_are_different_and_valid() -> None:
    names = ["a-b", "a_b", "a__b", "a-", "a_", "a", "x" * 63, "x" * 62 + "y", "_".join("abc")]
    buckets = [bucket_name("commonplace", name) for name in names]
    assert len({*buckets}) == len(names)
    for bucket in buckets:
        S3Place(bucket, "main", 1)


@pytest.mark.parametrize("prefix", ["", "Big", "under_score", "-x", "p" * 60, "dot.ted"])
def test_a_prefix_that_makes_no_bucket_name_is_refused(prefix: str) -> None:
    with pytest.raises(InvalidInput, match="cannot be the name of a vector bucket"):
        bucket_name(prefix, "notes")


def test_the_index_beside_main_is_named_after_the_embedder() -> None:
    first, second = (EmbedderIdentity("ollama", "m", digest, 768, "none") for digest in "ab")
    assert index_name() == "main"
    assert index_name(first) == index_name(first) != index_name(second)
    S3Place("bucket", index_name(first), 1)


def test_addresses_are_read_and_bad_ones_refused() -> None:
    assert parse_address("s3vectors://my-bucket/main-1") == ("my-bucket", "main-1")
    assert parse_address("s3vectors://my-bucket") == ("my-bucket", "main")
    for wrong in ("s3://my-bucket/main", "s3vectors:///main", "s3vectors://My_Bucket/main"):
        with pytest.raises(InvalidInput):
            parse_address(wrong)


@pytest.mark.parametrize("dimension", [0, 4097])
def test_a_dimension_the_service_has_not_is_refused(dimension: int) -> None:
    with pytest.raises(InvalidInput, match=f"dimension {dimension}"):
        S3Place("bucket", "main", dimension)


def test_the_dot_product_is_the_cosine_of_unit_vectors() -> None:
    assert [s3_metric(metric) for metric in ("cosine", "euclidean", "dot_product")] == [
        "cosine", "euclidean", "cosine",
    ]  # fmt: skip


def test_a_kms_alias_and_an_odd_tag_are_refused() -> None:
    with pytest.raises(InvalidInput, match="not the ARN of a KMS key"):
        S3Options(kms_key="alias/mine")
    with pytest.raises(InvalidInput, match="cannot be a tag"):
        S3Options(tags={"team": "a|b"})


# --- create or adopt --------------------------------------------------------------------


def test_bucket_and_index_are_created_as_configured(server: Server) -> None:
    key = "arn:aws:kms:eu-central-1:123456789012:key/1234"
    opened(server, kms_key=key, tags={"team": "notes"})
    index = server.service.index(PLACE.bucket, "main")
    assert index.about["dimension"] == 16
    assert index.about["distanceMetric"] == "cosine"
    assert {*index.about["metadataConfiguration"]["nonFilterableMetadataKeys"]} == {"text", "doc"}
    assert index.about["encryptionConfiguration"] == {"sseType": "aws:kms", "kmsKeyArn": key}
    assert index.tags == {"team": "notes", "commonplace:owner": ME}


def test_an_index_of_the_same_shape_and_owner_is_adopted_with_what_is_in_it(server: Server) -> None:
    opened(server).put([record()])
    again = opened(server)
    assert [*again.keys()] == ["k"]
    assert server.count("CreateIndex") == 1


@pytest.mark.parametrize(
    ("place", "difference"),
    [
        (replace(PLACE, dimension=32), "dimension 16 instead of 32"),
        (replace(PLACE, metric="euclidean"), "distance metric 'cosine' instead of 'euclidean'"),
    ],
)
def test_an_index_of_another_shape_is_refused_with_the_difference(
    server: Server, place: S3Place, difference: str
) -> None:
    opened(server)
    with pytest.raises(VectorError, match=difference) as caught:
        opened(server, place)
    assert "s3vectors://commonplace-notes/main" in caught.value.message


def test_an_index_whose_texts_are_filterable_is_refused(server: Server) -> None:
    client = raw(server)
    client.create_vector_bucket(vectorBucketName=PLACE.bucket)
    client.create_index(**HERE, dataType="float32", dimension=16, distanceMetric="cosine")
    with pytest.raises(VectorError, match="non-filterable keys '' instead of 'doc, text'"):
        opened(server)


def test_an_index_of_another_owner_is_refused_until_it_is_taken_over(server: Server) -> None:
    index = opened(server)
    with pytest.raises(VectorError, match="belongs to another installation"):
        index.prepare("owner-2")
    assert index.owner() == ME
    index.prepare("owner-2", take_over=True)
    assert index.owner() == "owner-2"
    with pytest.raises(VectorError, match="belongs to another installation"):
        index.prepare(ME)


def test_two_that_create_the_same_index_at_once_share_it(server: Server) -> None:
    first, second = S3Vectors(PLACE, options(server)), S3Vectors(PLACE, options(server))
    first._create(ME)
    second._create(ME)  # found nothing a moment before
    second.prepare(ME)
    assert server.count("CreateIndex", 409) == 1


def test_an_index_can_be_opened_by_its_address_alone(server: Server) -> None:
    opened(server, replace(PLACE, metric="euclidean"))
    there = S3Vectors.at("s3vectors://commonplace-notes/main", options(server))
    assert there.place == replace(PLACE, metric="euclidean")
    with pytest.raises(VectorError, match="could not be found"):
        S3Vectors.at("s3vectors://commonplace-notes/other", options(server))


def test_a_dropped_index_takes_its_bucket_with_it_unless_another_is_there(server: Server) -> None:
    old, new = opened(server), opened(server, replace(PLACE, index="main-2"))
    old.drop()
    assert [*new.keys()] == []
    new.drop()
    new.drop()
    with pytest.raises(VectorError, match="vector bucket could not be found"):
        [*new.keys()]


# --- what is sent -----------------------------------------------------------------------


def test_everything_comes_back_as_it_was_put(server: Server) -> None:
    index = opened(server)
    notes = vault(30, 16)
    index.put(note.record for note in notes)
    found = {each.key: each for each in index.records()}
    for note in notes:
        there = found[note.key]
        assert (there.text, there.doc, there.metadata) == (
            note.record.text,
            note.record.doc,
            note.record.metadata,
        )
        assert np.abs(there.vector - note.vector).max() < 1e-3


def test_many_records_are_listed_page_by_page(server: Server) -> None:
    index = opened(server)
    index.put(record(f"{n}", text="x" * 20_000) for n in range(120))
    assert sorted(index.keys(), key=int) == [str(n) for n in range(120)]
    assert server.count("ListVectors") > 1


def test_requests_are_as_full_as_the_service_takes(server: Server) -> None:
    index = opened(server)
    index.put(note.record for note in vault(1001, 16))
    assert sorted(seen.count for seen in server.seen if seen.operation == "PutVectors") == [1, 500, 500]
    index.delete([note.key for note in vault(1001, 16)])
    assert [seen.count for seen in server.seen if seen.operation == "DeleteVectors"] == [500, 500, 1]


def test_requests_stay_below_the_largest_body(server: Server) -> None:
    index = opened(server)
    long = "ü" * 20_000  # 40,000 bytes to keep, 120,000 to send
    receipt = index.put(record(f"{n}", text=long) for n in range(200))
    assert len(receipt.sent) == 200
    sizes = [seen.size for seen in server.seen if seen.operation == "PutVectors"]
    assert len(sizes) == 2
    assert 19 * 2**20 < max(sizes) <= 20 * 2**20
    assert server.count("PutVectors", 400) == 0


def test_a_receipt_is_given_for_each_request(server: Server) -> None:
    receipts: list[Receipt] = []
    total = opened(server).put((note.record for note in vault(600, 16)), receipts.append)
    assert [len(receipt.sent) for receipt in receipts] == [500, 100]
    assert [*itertools.chain(*(receipt.sent for receipt in receipts))] == [*total.sent]


def test_halves_of_characters_are_replaced_before_they_fail_a_request(server: Server) -> None:
    index = opened(server)
    odd = record(
        text="a\ud800b", doc={"path": "\udcff.md"}, metadata={"folder": "x\udfff", "tags": ("\ud800",)}
    )
    assert index.put([odd]).sent == ("k",)
    [there] = index.records()
    assert (there.text, there.doc["path"]) == ("a?b", "?.md")
    assert there.metadata == {"folder": "x?", "tags": ("?",)}


def test_keys_without_a_value_are_not_sent(server: Server) -> None:
    index = opened(server)
    index.put([replace(Note("a.md", vectors(1, 16)[0], tags=()).record, key="k")])
    metadata = server.service.index(PLACE.bucket, "main").records["k"][1]
    assert "tags" not in metadata
    assert "page" not in metadata


def test_metadata_is_counted_as_the_service_counts_it(server: Server) -> None:
    index = opened(server)
    rest: dict[str, str | int | bool | tuple[str, ...]] = {"b": 1, "c": True, "d": ("xy", "ä")}
    room = MAX_FILTERABLE - size({"a": "", "b": 1, "c": True, "d": ["xy", "ä"]})
    exact, larger = {**rest, "a": "ü" * (room // 2)}, {**rest, "a": "ü" * (room // 2 + 1)}
    assert size(fitted(exact)) in (MAX_FILTERABLE, MAX_FILTERABLE - 1)
    assert "unfiltered" not in fitted(exact)
    assert "unfiltered" in fitted(larger)
    assert len(index.put([record("1", metadata=exact), record("2", metadata=larger)]).sent) == 2
    assert server.count("PutVectors", 400) == 0


def test_what_is_left_out_of_one_record_is_no_reason_to_miss_it(server: Server) -> None:
    index = opened(server)
    full = record(
        "full", metadata={"tags": tuple(f"tag number {n}" for n in range(200)), "file_type": "python"}
    )
    index.put([full, record("other", metadata={"file_type": "python", "tags": ("x",)})])
    found = index.search(full.vector, 10, Filters(tags=("tag number 7",), types=("python",)))
    assert [match.key for match in found] == ["full"]
    assert index.search(full.vector, 10, Filters(types=("markdown",))) == []


def test_one_bad_record_is_refused_alone(server: Server) -> None:
    index = opened(server)
    good = [note.record for note in vault(20, 16)]
    bad = {
        "nan": record("nan", vector=np.full(16, np.nan, np.float32)),
        "zero": record("zero", vector=np.zeros(16, np.float32)),
        "short": record("short", vector=np.ones(8, np.float32)),
        "large": record("large", text="x" * 41_000),
        "\ud800": record("\ud800"),
        "k" * 1025: record("k" * 1025),
    }
    receipt = index.put([*good[:10], *bad.values(), *good[10:]])
    assert {*receipt.refused} == {*bad}
    assert len(receipt.sent) == 20
    assert server.count("PutVectors", 400) == 0
    assert "41," in receipt.refused["large"]


@pytest.mark.parametrize("named", [True, False])
def test_a_record_that_only_the_service_refuses_is_found_and_refused_alone(
    server: Server, monkeypatch: pytest.MonkeyPatch, named: bool
) -> None:
    check = rules.check_metadata

    def stricter(metadata: Any, non_filterable: set[str], key: str, path: str) -> None:
        check(metadata, non_filterable, key, path)
        if "devil" in metadata["text"]:
            raise rules.invalid(f"Invalid record for key '{key}'", path if named else "")

    monkeypatch.setattr(rules, "check_metadata", stricter)
    index = opened(server)
    records = [record(f"{n}", text="devil" if n in (3, 17) else "text") for n in range(20)]
    receipt = index.put(records)
    assert {*receipt.refused} == {"3", "17"}
    assert {*index.keys()} == {f"{n}" for n in range(20)} - {"3", "17"}


# --- searching --------------------------------------------------------------------------


def test_hits_beyond_a_hundred_are_fetched_page_by_page_and_no_further(server: Server) -> None:
    index = opened(server)
    index.put(note.record for note in vault(450, 16))
    server.seen.clear()
    assert len(index.search(vectors(1, 16)[0], 250)) == 250
    assert server.count("QueryVectors") == 3


def test_filters_are_sent_as_the_service_takes_them(server: Server) -> None:
    index = opened(server)
    index.search(vectors(1, 16)[0], 5, Filters(types=("md", "py"), tags=("a", "b"), after="2026-01-02"))
    [body] = server.asked("QueryVectors")
    assert body["filter"] == {
        "$and": [
            {"$or": [{"date": {"$gte": 20260102}}, {"unfiltered": {"$eq": "date"}}]},
            {"$or": [{"file_type": {"$in": ["markdown", "python"]}}, {"unfiltered": {"$eq": "file_type"}}]},
            {"$or": [{"tags": {"$eq": "a"}}, {"tags": {"$eq": "b"}}, {"unfiltered": {"$eq": "tags"}}]},
        ]
    }
    index.search(vectors(1, 16)[0], 5)
    assert "filter" not in server.asked("QueryVectors")[1]


def test_searching_an_index_that_is_not_there_says_so(server: Server) -> None:
    with pytest.raises(VectorError, match="vector bucket could not be found"):
        S3Vectors(PLACE, options(server)).search(vectors(1, 16)[0], 5)


def test_no_filter_leaves_out_what_fits(tmp_path: Path) -> None:
    """Ten thousand pairs of odd notes and odd filters: whatever the store lets pass, the index does."""
    random = Random(4)
    names = [
        "a",
        "A b",
        "É",
        "E\u0301",
        "ß",
        "SS",
        "100%",
        "x_y",
        "[z]",
        "?",
        "*",
        " q ",
        "İ",
        "n.o",
        "a" * 700,
    ]

    def path() -> str:
        return "/".join(random.choices(names, k=random.randint(1, 4))) + random.choice(
            [".md", ".py", "", ".MD"]
        )

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
            paths = [
                known,
                known.swapcase(),
                posixpath.dirname(known),
                f"{known[:5]}*",
                f"/{known}/",
                "",
                "*",
            ]
            filters = Filters(
                types=few(["md", "python", "text"]),
                tags=few([*names, "a/b"]),
                paths=few([*paths, path()]),
                files=few([posixpath.basename(known), known.lower(), path()]),
                pages=few(["1", "É", "2"]),
                after=random.choice([None, None, *days[1:-1]]),
                before=random.choice([None, None, *days[1:-1]]),
            )
            one_or_two = {name: getattr(filters, name) for name in random.sample(FIELDS, 2)}
            condition = compiled(replace(Filters(), **one_or_two))
            if condition is not None:
                rules.check_filter(condition, {"text", "doc"}, enhanced=True)
            allowed = find.eligible(Query("", "", (), filters=replace(Filters(), **one_or_two)), OWNER)
            with store.read() as db:
                fitting = find.chunk_ids(db, [note.key for note in notes], allowed)
            for note in notes:
                if note.key in fitting:
                    passed += 1
                    assert condition is None or rules.fits(condition, dict(fitted(note.metadata))), (
                        note,
                        one_or_two,
                    )
        assert passed > 1000


# --- failures ---------------------------------------------------------------------------


def test_with_every_fifth_request_failing_nothing_is_lost_and_nothing_doubled(server: Server) -> None:
    index = opened(server, timeout=1.0)
    notes = vault(60, 16)
    server.faults = Faults(0.2, seed=5, kinds=("429", "503", "lost"))
    for start in range(0, 60, 2):
        assert len(index.put(note.record for note in notes[start : start + 2]).sent) == 2
    for start in range(0, 20, 2):
        index.delete([note.key for note in notes[start : start + 2]])
    server.faults = None
    assert sorted(index.keys()) == sorted(note.key for note in notes[20:])
    assert server.count("PutVectors", 429) + server.count("PutVectors", 503) > 0
    assert server.count("PutVectors") > 30  # some were done and not answered


def test_an_answer_that_never_comes_is_not_waited_for(server: Server) -> None:
    index = opened(server, timeout=0.3)
    server.faults = Faults(1.0, seed=1, kinds=("silent",))
    index._options, index._client._options = (options(server, timeout=0.3, attempts=2),) * 2
    with pytest.raises(VectorsUnreachable, match="ReadTimeoutError"):
        index.put([record()])
    assert server.count("PutVectors") == 2


def test_a_busy_service_is_asked_again_until_it_has_time(server: Server) -> None:
    from tests.s3vectors.faults import Throttle

    index = opened(server, backoff=0.2)
    server.throttle = Throttle(1000)
    index.put(note.record for note in vault(1600, 16))
    assert len([*index.keys()]) == 1600
    assert server.count("PutVectors", 429) > 0


@pytest.mark.parametrize("attempts", [1, 4])
def test_a_service_that_stays_busy_is_given_up_after_so_many_attempts(server: Server, attempts: int) -> None:
    index = opened(server, attempts=attempts)
    server.faults = Faults(1.0, seed=1, kinds=("503",))
    with pytest.raises(VectorsUnreachable, match=r"127\.0\.0\.1: it answered ServiceUnavailableException"):
        index.put([record()])
    assert server.count("PutVectors", 503) == attempts


def test_a_service_that_is_not_there_is_unreachable(server: Server) -> None:
    index = S3Vectors(PLACE, options(server, attempts=2))
    server.stop()
    with pytest.raises(VectorsUnreachable, match="cannot be used at"):
        index.search(vectors(1, 16)[0], 5)


def test_missing_credentials_are_told_with_the_next_step(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    with pytest.raises(VectorError, match="credentials") as caught:
        opened(server)
    assert not isinstance(caught.value, VectorsUnreachable)
    assert server.seen == []


def test_an_unknown_profile_is_told(server: Server) -> None:
    with pytest.raises(VectorError, match="nobody-here"):
        opened(server, profile="nobody-here")


def test_an_old_botocore_is_refused(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("botocore.__version__", "1.43.11")
    with pytest.raises(VectorError, match=r"needs botocore 1\.44\.5 or newer, this is 1\.43\.11"):
        opened(server)


# --- the stand-in refuses what the service refuses --------------------------------------

Ask = Callable[[Any], object]
ARN = f"arn:aws:s3vectors:{REGION}:123456789012:bucket/{PLACE.bucket}/index/main"
BAD: dict[str, tuple[str, Ask]] = {
    "bucket with capitals": ("ValidationException", lambda s: s.create_vector_bucket(vectorBucketName="Abc")),
    "bucket twice": ("ConflictException", lambda s: s.create_vector_bucket(vectorBucketName=PLACE.bucket)),
    "index with underscore": (
        "ValidationException",
        lambda s: make(s, "a_b", 1, "cosine"),
    ),
    "dot product": (
        "ValidationException",
        lambda s: make(s, "dot", 1, "dot_product"),
    ),
    "too wide": (
        "ValidationException",
        lambda s: make(s, "wide", 4097, "cosine"),
    ),
    "index twice": (
        "ConflictException",
        lambda s: s.create_index(**HERE, dataType="float32", dimension=16, distanceMetric="cosine"),
    ),
    "bucket that is not empty": (
        "ConflictException",
        lambda s: s.delete_vector_bucket(vectorBucketName=PLACE.bucket),
    ),
    "no such index": (
        "NotFoundException",
        lambda s: s.get_index(vectorBucketName=PLACE.bucket, indexName="other"),
    ),
    "empty list": ("ValidationException", lambda s: put(s, {"a": []})),
    "null": ("ValidationException", lambda s: put(s, {"a": None})),
    "nested": ("ValidationException", lambda s: put(s, {"a": {"b": 1}})),
    "list of bools": ("ValidationException", lambda s: put(s, {"a": [True]})),
    "mixed list": ("ValidationException", lambda s: put(s, {"a": ["x", 1]})),
    "51 keys": ("ValidationException", lambda s: put(s, {f"k{n}": 1 for n in range(51)})),
    "2,049 filterable bytes": ("ValidationException", lambda s: put(s, {"a": "x" * (2049 - 13)})),
    "40,961 bytes": ("ValidationException", lambda s: put(s, {"text": "x" * (40961 - 16)})),
    "half a character": ("SerializationException", lambda s: put(s, {"a": "\ud800"})),
    "wrong length": ("ValidationException", lambda s: vector(s, [1.0])),
    "zero vector": ("ValidationException", lambda s: vector(s, [0.0] * 16)),
    "nan": ("ValidationException", lambda s: vector(s, [float("nan")] * 16)),
    "too large for float32": ("ValidationException", lambda s: vector(s, [1e39] * 16)),
    "501 vectors": (
        "ValidationException",
        lambda s: s.put_vectors(**HERE, vectors=[{**ONE, "key": str(n)} for n in range(501)]),
    ),
    "key of 1,025 bytes": ("ValidationException", lambda s: s.delete_vectors(**HERE, keys=["ü" * 513])),
    "empty filter": ("ValidationException", lambda s: ask(s, {})),
    "two keys in a filter": ("ValidationException", lambda s: ask(s, {"a": 1, "b": 2})),
    "two keys inside and": ("ValidationException", lambda s: ask(s, {"$and": [{"a": 1, "b": 2}]})),
    "empty in": ("ValidationException", lambda s: ask(s, {"a": {"$in": []}})),
    "empty condition": ("ValidationException", lambda s: ask(s, {"a": {}})),
    "null condition": ("ValidationException", lambda s: ask(s, {"a": None})),
    "list as condition": ("ValidationException", lambda s: ask(s, {"a": ["x"]})),
    "comparing texts": ("ValidationException", lambda s: ask(s, {"a": {"$gt": "1"}})),
    "unknown operator": ("ValidationException", lambda s: ask(s, {"a": {"$regex": "x"}})),
    "not": ("ValidationException", lambda s: ask(s, {"$not": {"a": 1}})),
    "non-filterable key": ("ValidationException", lambda s: ask(s, {"text": "x"})),
    "101 constraints": ("ValidationException", lambda s: ask(s, {"$or": [{"a": n} for n in range(101)]})),
    "topK of 10,001": ("ValidationException", lambda s: ask(s, {"a": 1}, 10_001)),
    "foreign page token": ("ValidationException", lambda s: s.list_vectors(**HERE, nextToken="abc")),
    "half of a segment": ("ValidationException", lambda s: s.list_vectors(**HERE, segmentCount=2)),
    "name and arn": ("ValidationException", lambda s: s.get_index(**HERE, indexArn=ARN)),
}  # fmt: skip


def make(client: Any, name: str, dimension: int, metric: str) -> None:
    where = {"vectorBucketName": PLACE.bucket, "indexName": name}
    client.create_index(**where, dataType="float32", dimension=dimension, distanceMetric=metric)


def vector(client: Any, numbers: list[float]) -> None:
    client.put_vectors(**HERE, vectors=[{"key": "k", "data": {"float32": numbers}}])


def put(client: Any, metadata: dict[str, Any]) -> None:
    client.put_vectors(**HERE, vectors=[{**ONE, "metadata": metadata}])


def ask(client: Any, condition: dict[str, Any], k: int = 5) -> None:
    client.query_vectors(**HERE, topK=k, queryVector={"float32": [1.0] * 16}, filter=condition)


@pytest.fixture(scope="module")
def shared_server() -> Iterator[Server]:
    with Server() as stand_in:
        yield stand_in


@pytest.mark.parametrize("what", BAD)
def test_the_stand_in_refuses(shared_server: Server, what: str) -> None:
    opened(shared_server)
    code, act = BAD[what]
    client = raw(shared_server)
    with pytest.raises(ClientError) as caught:
        act(client)
    assert caught.value.response["Error"]["Code"] == code


def test_the_stand_in_names_the_record_it_refuses(server: Server) -> None:
    opened(server)
    with pytest.raises(ClientError) as caught:
        raw(server).put_vectors(**HERE, vectors=[ONE, {**ONE, "key": "bad", "metadata": {"a": []}}])
    assert caught.value.response["fieldList"][0]["path"] == "vectors[1].metadata"
    assert "Empty arrays are not allowed in metadata" in caught.value.response["message"]


def test_the_stand_in_wants_a_signature(server: Server) -> None:
    import urllib.error
    import urllib.request

    request = urllib.request.Request(f"{server.url}/ListVectorBuckets", data=b"{}", method="POST")  # noqa: S310
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request)
    with caught.value as answer:
        assert answer.code == 403
        assert "Missing Authentication Token" in json.loads(answer.read())["message"]
