"""Fixtures of the tests of vector indexes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.vector_services import Services


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
