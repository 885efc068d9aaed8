"""A store whose vectors are in a remote index: made, filled, searched, cut off, mended, deleted."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import VectorError
from rag_core.library import Library
from rag_core.running import background
from rag_core.types import OWNER
from rag_core.vectors.backends import address_of
from rag_core.vectors.chroma import ChromaOptions
from rag_core.vectors.qdrant import QdrantOptions
from tests.conftest import index
from tests.support.stored import store_of
from tests.support.waiting import until
from tests.vectors.remote_zoo import ANIMALS, GUEST, calls, cut_off, keys_here, keys_there, meant
from tests.vectors.s3vectors import Faults, Server
from tests.vectors.s3vectors.rules import ServiceError

pytestmark = pytest.mark.thorough

# --- a remote index ---------------------------------------------------------------------


def test_what_is_indexed_is_sent_and_searches_ask_there(remote_zoo: Library, amazon: Server) -> None:
    assert keys_there(remote_zoo) == keys_here(remote_zoo) != set()
    answer = meant(remote_zoo, "The stoat swam.")
    assert calls(amazon, "QueryVectors") == 1
    assert answer.hits[0].document.path == "stoat.md"
    assert answer.hits[0].similarity == pytest.approx(1, abs=1e-3)
    assert not answer.notices
    info = remote_zoo.stores.info(OWNER, "zoo")
    assert (info.backend, info.address, info.unsent) == ("s3vectors", "s3vectors://commonplace-zoo/main", 0)


def test_what_changes_and_goes_is_changed_and_goes_there(remote_zoo: Library, notes: Path) -> None:
    (notes / "otter.md").write_text("The heron flew.\n", "utf-8")
    (notes / "badger.md").unlink()
    index(remote_zoo, "zoo")
    assert keys_there(remote_zoo) == keys_here(remote_zoo)
    assert len(keys_here(remote_zoo)) == 2
    assert remote_zoo.upkeep.verify(OWNER, "zoo").findings == ()


def test_cut_off_words_are_found_and_the_backlog_is_seen(
    remote_zoo: Library, notes: Path, amazon: Server
) -> None:
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    cut_off(amazon)
    job = index(remote_zoo, "zoo")
    assert job.state == "done"
    assert "the next run sends them" in job.message
    assert remote_zoo.stores.info(OWNER, "zoo").unsent == 1
    answer = remote_zoo.search(OWNER, "heron", ["zoo"])
    assert answer.hits[0].document.path == "heron.md"
    assert "Only words are searched" in answer.notices[0].message
    amazon.faults = None
    remote_zoo.jobs.request(OWNER, "zoo", [])
    remote_zoo.jobs.run(OWNER, "zoo")
    assert remote_zoo.stores.info(OWNER, "zoo").unsent == 0
    assert meant(remote_zoo, "The heron flew.").hits[0].document.path == "heron.md"


def test_once_the_index_answers_the_backlog_is_sent_in_the_background(
    remote_zoo: Library, notes: Path, amazon: Server
) -> None:
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    cut_off(amazon)
    index(remote_zoo, "zoo")
    before = len(remote_zoo.jobs.all(OWNER, "zoo"))
    background.send_backlogs(remote_zoo, OWNER)
    assert len(remote_zoo.jobs.all(OWNER, "zoo")) == before  # nothing is tried in vain
    amazon.faults = None
    background.send_backlogs(remote_zoo, OWNER)
    until(lambda: not background.working(remote_zoo, "zoo"))
    assert remote_zoo.stores.info(OWNER, "zoo").unsent == 0
    background.send_backlogs(remote_zoo, OWNER)
    assert len(remote_zoo.jobs.all(OWNER, "zoo")) == before + 1
    assert keys_there(remote_zoo) == keys_here(remote_zoo)


def test_a_guest_is_not_told_where_the_vectors_are(
    remote_zoo: Library, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.search.gather._FEW", 0)  # so few are compared without the index
    cut_off(amazon)
    notices = remote_zoo.search(GUEST, "otter").notices
    assert "not available" in notices[0].message
    assert "commonplace-zoo" not in str(notices)
    assert remote_zoo.stores.info(GUEST, "zoo").address == ""


def test_private_notes_are_sent_only_to_this_machine_or_when_allowed(
    remote_zoo: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "diary.md").write_text("---\nprivate: true\n---\nThe owl cried.\n", "utf-8")
    index(remote_zoo, "zoo")
    assert len(keys_there(remote_zoo)) == 4  # the stand-in is on this machine
    monkeypatch.setattr("rag_core.vectors.s3vectors.S3Vectors.server", "https://far.example.org")
    remote_zoo.placement.let_private_leave(OWNER, "zoo", allowed=False)
    remote_zoo.jobs.run(OWNER, "zoo")
    assert len(keys_there(remote_zoo)) == 3
    assert remote_zoo.upkeep.verify(OWNER, "zoo").findings == ()
    remote_zoo.placement.let_private_leave(OWNER, "zoo", allowed=True)
    remote_zoo.jobs.run(OWNER, "zoo")
    assert len(keys_there(remote_zoo)) == 4
    assert remote_zoo.stores.info(OWNER, "zoo").sends_private


def test_verify_says_what_is_wrong_there_and_heal_mends_it(remote_zoo: Library) -> None:
    opened = store_of(remote_zoo, "zoo")
    there = remote_zoo._shared.stores.target(opened)
    assert there is not None
    there.delete([min(keys_here(remote_zoo))])
    opened.close()
    found = remote_zoo.upkeep.verify(OWNER, "zoo").findings
    assert [(each.severity, each.sentence) for each in found] == [
        ("fault", "The vector index lacks 1 passage.")
    ]
    assert remote_zoo.placement.heal(OWNER, "zoo").findings == found
    assert remote_zoo.upkeep.verify(OWNER, "zoo").findings == ()
    assert keys_there(remote_zoo) == keys_here(remote_zoo)


def test_an_index_of_another_installation_is_neither_adopted_nor_healed(
    remote_zoo: Library, tmp_path: Path
) -> None:
    other = Library(remote_zoo.settings.model_copy(update={"data_dir": tmp_path / "other"}))
    with pytest.raises(VectorError, match="belongs to another installation"):
        other.create_store(OWNER, "zoo", "hashing")
    assert other.stores.names(OWNER) == []
    other.close()
    assert keys_there(remote_zoo) == keys_here(remote_zoo)


def test_an_index_that_cannot_be_reached_makes_no_store(remote_library: Library, amazon: Server) -> None:
    cut_off(amazon)
    with pytest.raises(VectorError):
        remote_library.create_store(OWNER, "zoo", "hashing")
    assert remote_library.stores.names(OWNER) == []


def test_deleting_a_store_deletes_its_index(remote_zoo: Library, amazon: Server) -> None:
    remote_zoo.stores.delete(OWNER, "zoo")
    assert calls(amazon, "DeleteIndex") == 1
    remote_zoo.create_store(OWNER, "zoo", "hashing")  # its bucket is free again


@pytest.mark.parametrize("backend", ["qdrant", "chroma"])
def test_engines_in_this_process_are_filled_searched_switched_and_deleted(
    library: Library, notes: Path, backend: str
) -> None:
    for name in ANIMALS:
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    library.create_store(OWNER, "zoo", "hashing", backend=backend)
    index(library, "zoo", notes)
    assert keys_there(library) == keys_here(library) != set()
    assert meant(library, "The stoat swam.").hits[0].document.path == "stoat.md"
    (notes / "otter.md").unlink()
    index(library, "zoo")
    assert keys_there(library) == keys_here(library)
    library.placement.switch(OWNER, "zoo", "hashing:64")
    library.jobs.run(OWNER, "zoo")
    assert keys_there(library) == keys_here(library)
    assert library.upkeep.verify(OWNER, "zoo").findings == ()
    library.stores.delete(OWNER, "zoo")
    library.create_store(OWNER, "zoo", "hashing", backend=backend)  # nothing of it is left


# --- what goes wrong on the way -----------------------------------------------------------


def keep_busy(amazon: Server, monkeypatch: pytest.MonkeyPatch, operation: str) -> None:
    """Every request for ``operation`` finds the service too busy."""

    def busy(_: object) -> object:
        raise ServiceError(503, "ServiceUnavailableException", "busy")

    monkeypatch.setattr(amazon.service, operation, busy)


def test_a_store_whose_index_may_be_half_made_stays_and_the_next_run_makes_it(
    remote_library: Library, notes: Path, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_busy(amazon, monkeypatch, "ListTagsForResource")
    keep_busy(amazon, monkeypatch, "DeleteIndex")
    with pytest.raises(
        VectorError, match=r"is made, but its vector index could not be made yet.*next job makes it"
    ):
        remote_library.create_store(OWNER, "zoo", "hashing")
    monkeypatch.undo()
    (notes / "otter.md").write_text("The otter swam.\n", "utf-8")
    index(remote_library, "zoo", notes)
    assert keys_there(remote_library) == keys_here(remote_library) != set()


def test_a_silent_index_holds_nobody_for_long(remote_zoo: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.models.deadline.ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = remote_zoo._shared.vector_options
        for backend, theirs in (
            ("s3vectors", replace(options["s3vectors"], endpoint_url=url)),
            ("chroma", ChromaOptions(url=url)),
            ("qdrant", QdrantOptions(url=url)),
        ):
            options[backend] = theirs
            address = address_of(backend, "zoo", options)
            remote_zoo._shared.stores._remotes.clear()
            opened = store_of(remote_zoo, "zoo")
            with opened.decide() as db:
                db.execute("UPDATE meta SET value = ? WHERE key = 'remote'", (address,))
            opened.close()
            [finding] = remote_zoo.upkeep.verify(OWNER, "zoo").findings
            assert "gives no answer within 0.2 seconds" in finding.sentence
            for act in (remote_zoo.placement.heal, remote_zoo.stores.delete):
                with pytest.raises(VectorError, match="gives no answer within"):
                    act(OWNER, "zoo")
            for ask in (
                lambda address=address: remote_zoo.placement.attach(OWNER, address, "copy"),
                lambda kind=backend: remote_zoo.create_store(OWNER, "new", "hashing", backend=kind),
                lambda kind=backend: remote_zoo.placement.switch(OWNER, "zoo", "hashing:64", kind),
            ):
                with pytest.raises(VectorError, match="gives no answer within"):
                    ask()
            assert remote_zoo.stores.names(OWNER) == ["zoo"]


def test_a_store_whose_index_cannot_be_deleted_stays_unless_the_index_may_be_left(
    remote_zoo: Library, amazon: Server
) -> None:
    cut_off(amazon)
    with pytest.raises(VectorError, match="Nothing was deleted") as caught:
        remote_zoo.stores.delete(OWNER, "zoo")
    assert "--leave-index" in caught.value.suggestion
    assert remote_zoo.stores.names(OWNER) == ["zoo"]
    remote_zoo.stores.delete(OWNER, "zoo", leave_index=True)
    assert remote_zoo.stores.names(OWNER) == []


# --- a search waits for it a few seconds, once ----------------------------------------------


@pytest.fixture
def hurried(remote_zoo: Library, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Searches that always ask the index, and wait for it a fifth of a second."""
    monkeypatch.setattr("rag_core.search.gather._FEW", 0)
    monkeypatch.setattr("rag_core.vectors.remote.SEARCH_S", 0.2)
    monkeypatch.setattr("rag_core.models.registry._LONG_S", 0.1)
    return remote_zoo


def asked(amazon: Server) -> int:
    return sum(name == "QueryVectors" for name, _ in amazon.bodies)


def test_a_search_waits_for_a_silent_index_once_and_then_nobody_waits(
    hurried: Library, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried.create_store(OWNER, "ark", "hashing")
    index(hurried, "ark", Path(hurried.sources.all(OWNER, "zoo")[0].source.root))
    amazon.faults = Faults(1.0, 1, ("silent",))
    before = asked(amazon)
    answer = hurried.search(OWNER, "otter", ["zoo", "ark"])
    assert [notice.stores for notice in answer.notices] == [("zoo", "ark")]
    assert "gives no answer within" in answer.notices[0].message
    assert hurried.search(OWNER, "badger", ["zoo"]).hits[0].document.path == "badger.md"
    assert asked(amazon) == before + 1
    amazon.faults = None
    monkeypatch.setattr("rag_core.models.registry._OPEN_S", 0.0)
    assert hurried.search(OWNER, "badger", ["zoo"]).notices == ()


def test_a_guest_is_not_told_whether_private_notes_leave(remote_zoo: Library) -> None:
    remote_zoo.placement.let_private_leave(OWNER, "zoo", allowed=True)
    assert not remote_zoo.stores.info(GUEST, "zoo").sends_private
