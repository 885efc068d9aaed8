"""A store that cannot be made in Amazon S3 Vectors leaves nothing there that was made for it."""

from __future__ import annotations

import pytest

from rag_core.errors import VectorError
from rag_core.library import Library
from rag_core.types import OWNER
from tests.vectors.remote_zoo import calls
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.rules import ServiceError


def refuse(amazon: Server, monkeypatch: pytest.MonkeyPatch, status: int, code: str, *operations: str) -> None:
    """Have the service refuse these operations from now on."""

    def refused(body: dict[str, object]) -> object:
        raise ServiceError(status, code, "no")

    for operation in operations:
        monkeypatch.setattr(amazon.service, operation, refused)


@pytest.mark.parametrize("operation", ["CreateIndex", "ListTagsForResource"])
@pytest.mark.parametrize("refusal", [(403, "AccessDeniedException"), (503, "ServiceUnavailableException")])
def test_nothing_is_left_of_a_store_that_could_not_be_made(
    remote_library: Library,
    amazon: Server,
    monkeypatch: pytest.MonkeyPatch,
    operation: str,
    refusal: tuple[int, str],
) -> None:
    refuse(amazon, monkeypatch, *refusal, operation, "ListTagsForResource")
    with pytest.raises(VectorError, match=r"refused|cannot be used"):
        remote_library.create_store(OWNER, "zoo", "hashing")
    assert amazon.service._buckets == {}
    assert remote_library.stores.names(OWNER) == []


def test_a_bucket_that_was_there_before_a_store_could_not_be_made_stays(
    remote_library: Library, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    amazon.service("CreateVectorBucket", {"vectorBucketName": "commonplace-zoo"})
    refuse(amazon, monkeypatch, 403, "AccessDeniedException", "ListTagsForResource")
    with pytest.raises(VectorError, match="refused ListTagsForResource"):
        remote_library.create_store(OWNER, "zoo", "hashing")
    assert amazon.service._buckets["commonplace-zoo"].indexes == {}
    assert calls(amazon, "DeleteVectorBucket") == 0
