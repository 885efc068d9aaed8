"""A store whose vectors are in a remote index: made, filled, searched, cut off, mended, deleted."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from rag_core import jobs
from rag_core.errors import InvalidInput, StoreBusy, VectorError
from rag_core.library import Library
from rag_core.store import lock
from rag_core.types import OWNER, Answer, Viewer
from rag_core.vectors.backends import address_of
from rag_core.vectors.chroma_place import ChromaOptions
from rag_core.vectors.qdrant_place import QdrantOptions
from tests.conftest import index
from tests.s3vectors import Faults, Server
from tests.s3vectors.http import REGION
from tests.s3vectors.rules import ServiceError
from tests.stored import store_of
from tests.test_jobs import until

GUEST = Viewer("guest@example.org", stores=frozenset({"zoo"}))
ANIMALS = ("otter", "badger", "stoat")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIASESAME")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "open-sesame")
    with Server() as stand_in:
        yield stand_in


@pytest.fixture
def remote(library: Library, server: Server, tmp_path: Path) -> Iterator[Library]:
    """A library whose new stores keep their vectors at the stand-in."""
    at = replace(library.settings, backend="s3vectors", s3_region=REGION, s3_endpoint_url=server.url)
    opened = Library(at)
    options = opened._vector_options
    opened._vector_options = replace(options, s3=replace(options.s3, attempts=2, backoff=0.01))
    yield opened
    opened.close()


@pytest.fixture
def zoo(remote: Library, notes: Path) -> Library:
    """A store of three notes whose vectors have been sent."""
    for name in ANIMALS:
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    index(remote, "zoo", notes)
    return remote


def cut_off(server: Server) -> None:
    server.faults = Faults(1.0, 1, ("503",))


def keys_there(library: Library, store: str = "zoo") -> set[str]:
    opened = store_of(library, store)
    try:
        target = library._stores.target(opened)
        return set(target.keys()) if target else set()
    finally:
        opened.close()


def keys_here(library: Library, store: str = "zoo") -> set[str]:
    opened = store_of(library, store)
    try:
        with opened.read() as db:
            return {row[0] for row in db.execute("SELECT key FROM chunks")}
    finally:
        opened.close()


def meant(library: Library, text: str, store: str = "zoo") -> Answer:
    return library.search(OWNER, text, [store], mode="vector", top_k=3)


def calls(server: Server, operation: str) -> int:
    return sum(seen.operation == operation for seen in server.seen)


# --- a remote index ---------------------------------------------------------------------


def test_what_is_indexed_is_sent_and_searches_ask_there(zoo: Library, server: Server) -> None:
    assert keys_there(zoo) == keys_here(zoo) != set()
    answer = meant(zoo, "The stoat swam.")
    assert calls(server, "QueryVectors") == 1
    assert answer.hits[0].document.path == "stoat.md"
    assert answer.hits[0].similarity == pytest.approx(1, abs=1e-3)
    assert not answer.notices
    info = zoo.store_info(OWNER, "zoo")
    assert (info.backend, info.address, info.unsent) == ("s3vectors", "s3vectors://commonplace-zoo/main", 0)


def test_what_changes_and_goes_is_changed_and_goes_there(zoo: Library, notes: Path) -> None:
    (notes / "otter.md").write_text("The heron flew.\n", "utf-8")
    (notes / "badger.md").unlink()
    index(zoo, "zoo")
    assert keys_there(zoo) == keys_here(zoo)
    assert len(keys_here(zoo)) == 2
    assert zoo.verify(OWNER, "zoo").findings == ()


def test_hits_are_those_of_the_same_notes_in_a_local_store(zoo: Library, notes: Path) -> None:
    for number in range(60):
        (notes / f"{number}.md").write_text(f"Beast {number} of the sea and the {ANIMALS[number % 3]}.\n")
    index(zoo, "zoo")
    zoo.create_store(OWNER, "near", "hashing", backend="local")
    index(zoo, "near", notes)
    for mode in ("hybrid", "vector"):
        there, here = (
            [
                (hit.document.path, round(hit.score, 5), round(hit.similarity or 0, 5))
                for hit in zoo.search(OWNER, "beast of the sea", [store], mode=mode, top_k=40).hits
            ]
            for store in ("zoo", "near")
        )
        assert sorted(there) == sorted(here)


def test_cut_off_words_are_found_and_the_backlog_is_seen(zoo: Library, notes: Path, server: Server) -> None:
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    cut_off(server)
    job = index(zoo, "zoo")
    assert job.state == "done"
    assert "waits for the next run" in job.message
    assert zoo.store_info(OWNER, "zoo").unsent == 1
    answer = zoo.search(OWNER, "heron", ["zoo"])
    assert answer.hits[0].document.path == "heron.md"
    assert "searched by words only" in answer.notices[0].message
    server.faults = None
    zoo.request_index(OWNER, "zoo", [])
    zoo.run(OWNER, "zoo")
    assert zoo.store_info(OWNER, "zoo").unsent == 0
    assert meant(zoo, "The heron flew.").hits[0].document.path == "heron.md"


def test_once_the_index_answers_the_backlog_is_sent_in_the_background(
    zoo: Library, notes: Path, server: Server
) -> None:
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    cut_off(server)
    index(zoo, "zoo")
    before = len(zoo.jobs(OWNER, "zoo"))
    jobs.send_backlogs(zoo, OWNER)
    assert len(zoo.jobs(OWNER, "zoo")) == before  # nothing is tried in vain
    server.faults = None
    jobs.send_backlogs(zoo, OWNER)
    until(lambda: not jobs.working(zoo, "zoo"))
    assert zoo.store_info(OWNER, "zoo").unsent == 0
    jobs.send_backlogs(zoo, OWNER)
    assert len(zoo.jobs(OWNER, "zoo")) == before + 1
    assert keys_there(zoo) == keys_here(zoo)


def test_a_guest_is_not_told_where_the_vectors_are(
    zoo: Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.search._FEW", 0)  # so few are compared without the index
    cut_off(server)
    notices = zoo.search(GUEST, "otter").notices
    assert "not at hand" in notices[0].message
    assert "commonplace-zoo" not in str(notices)
    assert zoo.store_info(GUEST, "zoo").address == ""


def test_private_notes_are_sent_only_to_this_machine_or_when_allowed(
    zoo: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "diary.md").write_text("---\nprivate: true\n---\nThe owl cried.\n", "utf-8")
    index(zoo, "zoo")
    assert len(keys_there(zoo)) == 4  # the stand-in is on this machine
    monkeypatch.setattr("rag_core.vectors.s3vectors.S3Vectors.server", "https://far.example.org")
    zoo.let_private_leave(OWNER, "zoo", allowed=False)
    zoo.run(OWNER, "zoo")
    assert len(keys_there(zoo)) == 3
    assert zoo.verify(OWNER, "zoo").findings == ()
    zoo.let_private_leave(OWNER, "zoo", allowed=True)
    zoo.run(OWNER, "zoo")
    assert len(keys_there(zoo)) == 4
    assert zoo.store_info(OWNER, "zoo").sends_private


def test_verify_says_what_is_wrong_there_and_heal_mends_it(zoo: Library) -> None:
    opened = store_of(zoo, "zoo")
    there = zoo._stores.target(opened)
    assert there is not None
    there.delete([min(keys_here(zoo))])
    opened.close()
    found = zoo.verify(OWNER, "zoo").findings
    assert [(each.severity, each.sentence) for each in found] == [
        ("fault", "The vector index lacks 1 passage.")
    ]
    assert zoo.heal(OWNER, "zoo").findings == found
    assert zoo.verify(OWNER, "zoo").findings == ()
    assert keys_there(zoo) == keys_here(zoo)


def test_an_index_that_was_deleted_is_made_again_by_heal(zoo: Library) -> None:
    opened = store_of(zoo, "zoo")
    there = zoo._stores.target(opened)
    assert there is not None
    there.drop(opened.id)
    opened.close()
    assert [each.sentence for each in zoo.verify(OWNER, "zoo").findings] == ["The vector index is not there."]
    zoo.heal(OWNER, "zoo")
    assert keys_there(zoo) == keys_here(zoo)


def test_an_index_of_another_installation_is_neither_adopted_nor_healed(zoo: Library, tmp_path: Path) -> None:
    other = Library(replace(zoo.settings, data_dir=tmp_path / "other"))
    with pytest.raises(VectorError, match="belongs to another installation"):
        other.create_store(OWNER, "zoo", "hashing")
    assert other.store_names(OWNER) == []
    other.close()
    assert keys_there(zoo) == keys_here(zoo)


def test_an_index_that_cannot_be_reached_makes_no_store(remote: Library, server: Server) -> None:
    cut_off(server)
    with pytest.raises(VectorError):
        remote.create_store(OWNER, "zoo", "hashing")
    assert remote.store_names(OWNER) == []


def test_an_unknown_vector_index_is_refused(library: Library) -> None:
    with pytest.raises(InvalidInput, match="no vector index called 'pinecone'"):
        library.create_store(OWNER, "zoo", "hashing", backend="pinecone")


def test_deleting_a_store_deletes_its_index(zoo: Library, server: Server) -> None:
    zoo.delete_store(OWNER, "zoo")
    assert calls(server, "DeleteIndex") == 1
    zoo.create_store(OWNER, "zoo", "hashing")  # its bucket is free again


def test_a_renamed_store_keeps_its_index(zoo: Library, notes: Path) -> None:
    zoo.rename_store(OWNER, "zoo", "ark")
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    index(zoo, "ark")
    assert keys_there(zoo, "ark") == keys_here(zoo, "ark")
    assert zoo.store_info(OWNER, "ark").address == "s3vectors://commonplace-zoo/main"


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
    library.switch_store(OWNER, "zoo", "hashing:64")
    library.run(OWNER, "zoo")
    assert keys_there(library) == keys_here(library)
    assert library.verify(OWNER, "zoo").findings == ()
    library.delete_store(OWNER, "zoo")
    library.create_store(OWNER, "zoo", "hashing", backend=backend)  # nothing of it is left


# --- what goes wrong on the way -----------------------------------------------------------


def break_once(server: Server, monkeypatch: pytest.MonkeyPatch, operation: str, times: int) -> None:
    """The next ``times`` requests for ``operation`` find the service too busy."""
    really = getattr(server.service, operation)
    left = times

    def busy(body: dict[str, object]) -> object:
        nonlocal left
        left -= 1
        if left >= 0:
            raise ServiceError(503, "ServiceUnavailableException", "busy")
        return really(body)

    monkeypatch.setattr(server.service, operation, busy)


def test_an_index_that_was_made_for_a_store_that_was_not_is_deleted(
    remote: Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_once(server, monkeypatch, "ListTagsForResource", 2)
    with pytest.raises(VectorError):
        remote.create_store(OWNER, "zoo", "hashing")
    assert remote.store_names(OWNER) == []
    assert calls(server, "CreateIndex") == calls(server, "DeleteIndex") == 1
    remote.create_store(OWNER, "zoo", "hashing")


def test_a_store_whose_index_may_be_half_made_stays_and_the_next_run_makes_it(
    remote: Library, notes: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_once(server, monkeypatch, "ListTagsForResource", 1000)
    with pytest.raises(VectorError, match=r"is made, but its vector index is not yet.*next run makes it"):
        remote.create_store(OWNER, "zoo", "hashing")
    monkeypatch.undo()
    (notes / "otter.md").write_text("The otter swam.\n", "utf-8")
    index(remote, "zoo", notes)
    assert keys_there(remote) == keys_here(remote) != set()


def test_deleting_that_was_cut_off_between_index_and_bucket_is_ended_by_deleting_again(
    zoo: Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_once(server, monkeypatch, "DeleteVectorBucket", 1000)
    with pytest.raises(VectorError, match="cannot be deleted"):
        zoo.delete_store(OWNER, "zoo")
    monkeypatch.undo()
    assert [*server.service._buckets["commonplace-zoo"].indexes] == []
    zoo.delete_store(OWNER, "zoo")
    assert server.service._buckets == {}


def test_a_silent_index_holds_nobody_for_long(zoo: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rag_core.patience.ANSWER_S", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts, and never answers
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        options = zoo._vector_options
        for backend, theirs in (
            ("s3vectors", replace(options, s3=replace(options.s3, endpoint_url=url))),
            ("chroma", replace(options, chroma=ChromaOptions(url=url))),
            ("qdrant", replace(options, qdrant=QdrantOptions(url=url))),
        ):
            zoo._vector_options = theirs
            address = address_of(backend, "zoo", theirs)
            zoo._stores._remotes.clear()
            opened = store_of(zoo, "zoo")
            with opened.write() as db:
                db.execute("UPDATE meta SET value = ? WHERE key = 'remote'", (address,))
            opened.close()
            [finding] = zoo.verify(OWNER, "zoo").findings
            assert "gives no answer within 0.2 seconds" in finding.sentence
            for act in (zoo.heal, zoo.delete_store):
                with pytest.raises(VectorError, match="gives no answer within"):
                    act(OWNER, "zoo")
            for ask in (
                lambda address=address: zoo.attach_store(OWNER, address, "copy"),
                lambda kind=backend: zoo.create_store(OWNER, "new", "hashing", backend=kind),
                lambda kind=backend: zoo.switch_store(OWNER, "zoo", "hashing:64", kind),
            ):
                with pytest.raises(VectorError, match="gives no answer within"):
                    ask()
            assert zoo.store_names(OWNER) == ["zoo"]


def test_a_store_knows_from_its_first_moment_where_its_index_is(
    remote: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Library, "_prepare_new", lambda *_: None)  # as if it was killed before
    remote.create_store(OWNER, "zoo", "hashing")
    (notes / "otter.md").write_text("The otter swam.\n", "utf-8")
    index(remote, "zoo", notes)
    assert keys_there(remote) == keys_here(remote) != set()


def test_a_run_fills_an_index_that_was_deleted_with_everything(zoo: Library, notes: Path) -> None:
    opened = store_of(zoo, "zoo")
    there = zoo._stores.target(opened)
    assert there is not None
    there.drop(opened.id)
    opened.close()
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    index(zoo, "zoo")
    assert len(keys_there(zoo)) == 4


def test_a_store_that_is_indexed_keeps_its_index_when_it_is_to_be_deleted(zoo: Library) -> None:
    with lock.hold(zoo.settings.store_dir / "zoo.db"), pytest.raises(StoreBusy):
        zoo.delete_store(OWNER, "zoo")
    assert keys_there(zoo) == keys_here(zoo)


def test_a_store_whose_index_cannot_be_deleted_stays_unless_the_index_may_be_left(
    zoo: Library, server: Server
) -> None:
    cut_off(server)
    with pytest.raises(VectorError, match="cannot be deleted, and so nothing was") as caught:
        zoo.delete_store(OWNER, "zoo")
    assert "--leave-index" in caught.value.suggestion
    assert zoo.store_names(OWNER) == ["zoo"]
    zoo.delete_store(OWNER, "zoo", leave_index=True)
    assert zoo.store_names(OWNER) == []


def test_what_is_refused_whenever_it_is_sent_is_tried_less_and_less_often(
    zoo: Library, notes: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> object:
        raise ServiceError(403, "AccessDeniedException", "no")

    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    now = 0.0
    monkeypatch.setattr("rag_core.jobs.time", SimpleNamespace(monotonic=lambda: now))
    tries = []
    with monkeypatch.context() as patched:
        patched.setattr(server.service, "PutVectors", refuse)
        index(zoo, "zoo")
        for _ in range(20):
            before = len(zoo.jobs(OWNER, "zoo", 50))
            jobs.send_backlogs(zoo, OWNER)
            until(lambda: not jobs.working(zoo, "zoo"))
            tries.append(len(zoo.jobs(OWNER, "zoo", 50)) - before)
            now += jobs.SEND_EVERY_S
    assert tries[:8] == [1, 1, 0, 1, 0, 0, 0, 1]
    now += 10_000
    jobs.send_backlogs(zoo, OWNER)
    until(lambda: not jobs.working(zoo, "zoo"))
    assert keys_there(zoo) == keys_here(zoo)


# --- a search waits for it a few seconds, once ----------------------------------------------


@pytest.fixture
def hurried(zoo: Library, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Searches that always ask the index, and wait for it a fifth of a second."""
    monkeypatch.setattr("rag_core.search._FEW", 0)
    monkeypatch.setattr("rag_core.vectors.hurried.SEARCH_S", 0.2)
    monkeypatch.setattr("rag_core.patience._LONG_S", 0.1)
    return zoo


def asked(server: Server) -> int:
    return sum(name == "QueryVectors" for name, _ in server.bodies)


def test_a_search_waits_for_a_silent_index_once_and_then_nobody_waits(
    hurried: Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    hurried.create_store(OWNER, "ark", "hashing")
    index(hurried, "ark", Path(hurried.sources(OWNER, "zoo")[0].source.root))
    server.faults = Faults(1.0, 1, ("silent",))
    before = asked(server)
    answer = hurried.search(OWNER, "otter", ["zoo", "ark"])
    assert [notice.stores for notice in answer.notices] == [("zoo", "ark")]
    assert "gives no answer within" in answer.notices[0].message
    assert hurried.search(OWNER, "badger", ["zoo"]).hits[0].document.path == "badger.md"
    assert asked(server) == before + 1
    server.faults = None
    monkeypatch.setattr("rag_core.patience._GIVEN_UP_S", 0.0)
    assert hurried.search(OWNER, "badger", ["zoo"]).notices == ()


def test_a_guest_is_not_told_which_server_is_silent(hurried: Library, server: Server) -> None:
    server.faults = Faults(1.0, 1, ("silent",))
    for _ in range(2):
        answer = hurried.search(GUEST, "otter", ["zoo"])
        assert answer.hits
        assert [notice.message for notice in answer.notices] == [
            "Store 'zoo' is searched by words only. Its vector index is not at hand just now."
        ]


def test_a_guest_is_not_told_whether_private_notes_leave(zoo: Library) -> None:
    zoo.let_private_leave(OWNER, "zoo", allowed=True)
    assert not zoo.store_info(GUEST, "zoo").sends_private
