"""Whole runs of a store whose vectors are elsewhere, switches among them, killed at any moment while requests
fail: the next run makes the index what it should be.

15 processes are killed on their way, 249 by ``make torture``; see ``test_crash``. The embedder is the hashing
one here, too.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import boto3  # noqa: F401  (here, so that no child process has to import it)
import pytest

from rag_core.config import Settings
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.types import OWNER, Vectors
from rag_core.vectors import s3vectors
from tests.support.killing import KILLS, Killer, Ledger
from tests.support.stored import unused_vectors
from tests.vectors.s3vectors import Faults, Server
from tests.vectors.s3vectors.http import REGION
from tests.vectors.vector_fixtures import CREDENTIALS

RUN_KILLS = KILLS // 3
ATTACH_KILLS = KILLS // 6
FILES = 40
FAR = "https://far.example.org"
PASSING = ("429", "503", "lost")

pytestmark = [pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"), pytest.mark.thorough]


@pytest.fixture
def killer(tmp_path: Path) -> Iterator[Killer]:
    killer = Killer(tmp_path)
    yield killer
    print(f"{killer.killed} of {killer.begun} killed")


@pytest.fixture
def server(amazon: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The stand-in, as if it were on another machine, so that private notes are not to be there."""
    monkeypatch.setattr(s3vectors.S3Vectors, "server", FAR)
    return amazon


def opened(settings: Settings) -> Library:
    """A library that is not patient with the stand-in."""
    library = Library(settings)
    options = library._shared.vector_options
    options["s3vectors"] = replace(options["s3vectors"], attempts=3, backoff=0.001)
    return library


@pytest.fixture
def remote(library: Library, server: Server) -> Iterator[Library]:
    at = library.settings.model_copy(
        update={"backend": "s3vectors", "s3_region": REGION, "s3_endpoint_url": server.url}
    )
    there = opened(at)
    yield there
    there.close()


# --- in a process of its own --------------------------------------------------------------


embed = Hashing.embed_documents


def embed_slowly(self: Hashing, texts: Sequence[str]) -> Vectors:
    time.sleep(0.004)
    return embed(self, texts)


def child(settings: Settings) -> Library:
    """The library in a process that sends and embeds little at once, so that a kill falls anywhere."""
    os.environ |= CREDENTIALS
    s3vectors.S3Vectors.server = FAR  # type: ignore[assignment, method-assign]
    s3vectors.S3Vectors.max_batch = 8
    Hashing.embed_documents = embed_slowly  # type: ignore[method-assign]
    library = opened(settings.model_copy(update={"batch_size": 4}))
    for name in library.stores.names(OWNER):
        with suppress(RagError):  # only so that the client is there
            library.placement.can_send(OWNER, name)
    return library


def change_and_run(ledger: Ledger, settings: Settings, act: str) -> None:
    library = child(settings)
    ledger.begins()
    with suppress(RagError):  # there is nothing to switch or abandon, or the service is too busy
        do(library, act)
    library.jobs.request(OWNER, "s")
    library.jobs.run(OWNER, "s")
    library.close()


def do(library: Library, act: str) -> None:
    match act.split():
        case ["embedder", name]:
            library.placement.switch(OWNER, "s", name)
        case ["backend", kind]:
            library.placement.switch(OWNER, "s", backend=kind)
        case ["rechunk"]:
            library.placement.switch(OWNER, "s", rechunk=True)
        case ["abandon"]:
            library.placement.abandon_switch(OWNER, "s")


def attach_and_take_over(ledger: Ledger, settings: Settings, address: str) -> None:
    library = child(settings)
    ledger.begins()
    library.placement.attach(OWNER, address, "s")
    ledger.write("attached")
    library.placement.take_over(OWNER, "s")
    library.close()


# --- the tests ----------------------------------------------------------------------------

ACTS = ("embedder hashing:64", "embedder hashing", "backend local", "backend s3vectors", "rechunk", "abandon")


def note(rng: random.Random) -> str:
    head = "---\nprivate: true\n---\n" if rng.random() < 0.2 else ""
    parts = (f"## Part {n}\n\nIt tells of subject{rng.randrange(300)}, at some length." for n in range(3))
    return head + "\n\n".join(parts) + "\n"


def change(rng: random.Random, folder: Path, number: int) -> None:
    """Edit, hide, show, delete, move and add some notes."""
    files = sorted(folder.iterdir())
    rng.shuffle(files)
    for file in files[:6]:
        file.write_text(note(rng), "utf-8")
    for file in files[6:8]:
        file.unlink()
    for file in files[8:11]:
        file.rename(folder / f"moved {number} {file.name[-8:]}")
    for more in range(FILES - len(files) + 3):
        (folder / f"{number} {more}.md").write_text(note(rng), "utf-8")


def assert_alike(library: Library, server: Server, notes: Path) -> None:
    """Nothing is left to do, and what the service has is what searches ask, without what is private."""
    assert library.upkeep.verify(OWNER, "s", files=True).findings == ()
    assert unused_vectors(library) == 0
    info = library.stores.info(OWNER, "s")
    assert (info.unsent, info.refused, info.pending, info.switching) == (0, 0, 0, "")
    there = {
        f"s3vectors://{bucket}/{name}": index
        for bucket, made in server.service._buckets.items()
        for name, index in made.indexes.items()
    }
    assert [*there] == [info.address] * bool(info.address)
    may_leave = {document.path for document in library.documents.all(OWNER, "s") if not document.private}
    for index in there.values():
        docs = [json.loads(str(metadata["doc"])) for _, metadata in index.records.values()]
        assert {doc["path"] for doc in docs} == may_leave


@pytest.mark.posix
def test_whole_runs_that_are_killed_leave_the_index_as_it_should_be(
    remote: Library, server: Server, notes: Path, killer: Killer
) -> None:
    rng = killer.random
    for number in range(FILES):
        (notes / f"{number}.md").write_text(note(rng), "utf-8")
    remote.create_store(OWNER, "s", "hashing")
    remote.add_source(OWNER, "s", notes, ("**/*",))
    killer.spare(change_and_run, remote.settings, "")
    assert_alike(remote, server, notes)

    for number in killer.rounds(RUN_KILLS):
        change(rng, notes, number)
        act = rng.choice(ACTS) if rng.random() < 0.7 else ""
        server.faults = Faults(rng.choice((0, 0.05, 0.3)), number, PASSING)
        killer.kill(change_and_run, remote.settings, act)
        answer = remote.search(OWNER, "subject1 at some length", ["s"])
        assert answer.hits
        if rng.random() < 0.5:
            server.faults = None
            remote.jobs.request(OWNER, "s")
            remote.jobs.run(OWNER, "s")
            assert_alike(remote, server, notes)

    server.faults = None
    remote.jobs.request(OWNER, "s")
    remote.jobs.run(OWNER, "s")
    assert_alike(remote, server, notes)


@pytest.mark.posix
def test_attaching_and_taking_over_that_are_killed_leave_a_whole_store_or_none(
    remote: Library, server: Server, notes: Path, tmp_path: Path, killer: Killer
) -> None:
    for number in range(FILES):
        (notes / f"{number}.md").write_text(note(killer.random), "utf-8")
    remote.create_store(OWNER, "s", "hashing")
    remote.add_source(OWNER, "s", notes, ("**/*",))
    remote.jobs.request(OWNER, "s")
    remote.jobs.run(OWNER, "s")
    address = remote.stores.info(OWNER, "s").address
    second = opened(remote.settings.model_copy(update={"data_dir": tmp_path / "second"}))
    killer.spare(attach_and_take_over, second.settings, address)

    for _ in killer.rounds(ATTACH_KILLS):
        if "s" in second.stores.names(OWNER):
            second.stores.delete(OWNER, "s", leave_index=True)
        ledger = killer.kill(attach_and_take_over, second.settings, address)
        if ["attached"] not in ledger:
            continue
        if "s" not in second.stores.names(OWNER) or second.stores.info(OWNER, "s").attached:
            second.placement.attach(OWNER, address, "s")
            second.placement.take_over(OWNER, "s")
        second.jobs.request(OWNER, "s", [])
        second.jobs.run(OWNER, "s")
        assert second.upkeep.verify(OWNER, "s").findings == ()
    second.close()
