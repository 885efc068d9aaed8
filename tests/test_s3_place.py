"""Where in Amazon S3 Vectors a store's vectors are: names, addresses, and what cannot be one."""

from __future__ import annotations

import pytest

from rag_core.errors import InvalidInput
from rag_core.types import EmbedderIdentity
from rag_core.vectors.s3_place import S3Options, S3Place, bucket_name, index_name, parse_address, s3_metric


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
