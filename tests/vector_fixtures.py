"""Fixtures of the tests of vector indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.s3vectors import Server
from tests.standin import serving
from tests.vector_services import Services

if TYPE_CHECKING:
    from tests.qdrant_server import QdrantServer


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
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASESAME")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "open-sesame")


@pytest.fixture
def amazon(aws: None) -> Iterator[Server]:
    """A stand-in for Amazon S3 Vectors, and credentials for it."""
    with Server() as stand_in:
        yield stand_in


@pytest.fixture
def qdrant() -> Iterator[QdrantServer]:
    """A stand-in for Qdrant."""
    from tests.qdrant_server import QdrantServer  # only now: the package is slow to import

    with serving(QdrantServer()) as stand_in:
        yield stand_in
