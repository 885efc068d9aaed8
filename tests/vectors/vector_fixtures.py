"""Fixtures of the tests of vector indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.support.standin import serving
from tests.vectors.s3vectors import Server
from tests.vectors.s3vectors.http import REGION
from tests.vectors.vector_services import Services

if TYPE_CHECKING:
    from tests.vectors.qdrant_server import QdrantServer

CREDENTIALS = {"AWS_ACCESS_KEY_ID": "AKIASESAME", "AWS_SECRET_ACCESS_KEY": "open-sesame"}
"""What the stand-in for Amazon S3 Vectors takes, as any other."""


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """Services to try vector indexes with."""
    with ExitStack() as stack:
        yield Services(tmp_path_factory.mktemp("services"), stack)


@pytest.fixture(scope="session")
def no_waiting_for_the_disk() -> Iterator[None]:
    """Qdrant in this process waits for the disk after each point, which is most of its time."""
    from qdrant_client.local.persistence import CollectionPersistence

    make_table = CollectionPersistence._ensure_table

    def hastily(self: CollectionPersistence) -> None:
        self.storage.execute("PRAGMA synchronous = OFF")
        make_table(self)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CollectionPersistence, "_ensure_table", hastily)
        yield


@pytest.fixture
def aws(no_aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials in the environment, and no other AWS configuration."""
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def amazon(aws: None) -> Iterator[Server]:
    """A stand-in for Amazon S3 Vectors, and credentials for it."""
    with Server() as stand_in:
        yield stand_in


@pytest.fixture
def amazon_configured(amazon: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A stand-in for Amazon S3 Vectors that the settings name."""
    monkeypatch.setenv("COMMONPLACE_S3_REGION", REGION)
    monkeypatch.setenv("COMMONPLACE_S3_ENDPOINT_URL", amazon.url)
    return amazon


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    """A stand-in for Qdrant."""
    from tests.vectors.qdrant_server import QdrantServer  # only now: the package is slow to import

    with serving(QdrantServer()) as stand_in:
        yield stand_in
