"""A store whose vectors are in a remote index: made, filled, searched, cut off, mended, deleted; and a
store that switches to another embedder or index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core import jobs
from rag_core.embedders.hashing import Hashing
from rag_core.errors import Forbidden, InvalidInput, StoreBusy, Unreachable, VectorError
from rag_core.library import Library
from rag_core.store import lock
from rag_core.types import OWNER, Answer, Viewer
from tests.conftest import index
from tests.consistency import check_library
from tests.s3vectors import Faults, Server
from tests.s3vectors.http import REGION
from tests.stored import contents, store_of
from tests.test_jobs import until

GUEST = Viewer("guest@example.org", stores=frozenset({"zoo"}))
ANIMALS = ("otter", "badger", "stoat")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "nothing")
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
    there.drop()
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


# --- switching --------------------------------------------------------------------------


@pytest.fixture
def near(library: Library, notes: Path) -> Library:
    """A local store of three notes."""
    for name in ANIMALS:
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    index(library, "zoo", notes)
    return library


def test_a_switch_of_the_embedder_embeds_each_text_once_and_then_searches_with_it(near: Library) -> None:
    before = keys_here(near)
    assert near.switch_store(OWNER, "zoo", "hashing:64").switching == "hashing:64"
    assert near.store_info(OWNER, "zoo").embedder == "hashing"
    assert meant(near, "The otter swam.").hits[0].similarity == pytest.approx(1, abs=1e-3)
    assert meant(near, "The otter swam.").pending == 0
    job = near.run(OWNER, "zoo")
    assert job is not None
    assert (job.texts_embedded, job.message) == (3, "Searches use hashing:64 now.")
    info = near.store_info(OWNER, "zoo")
    assert (info.embedder, info.dimension, info.switching, info.pending) == ("hashing:64", 64, "", 0)
    assert meant(near, "The otter swam.").hits[0].document.path == "otter.md"
    assert keys_here(near) == before
    check_library(near, "zoo")


def test_after_a_switch_a_store_is_as_if_made_so(near: Library, notes: Path) -> None:
    near.switch_store(OWNER, "zoo", "hashing:64")
    near.run(OWNER, "zoo")
    near.create_store(OWNER, "fresh", "hashing:64")
    index(near, "fresh", notes)
    assert contents(near, "zoo") == contents(near, "fresh")


def test_what_comes_during_a_switch_is_embedded_the_new_way_only(
    near: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near.switch_store(OWNER, "zoo", "hashing:64")
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    embedded: list[int] = []
    really = Hashing.embed_documents

    def counted(self: Hashing, texts: list[str]) -> object:
        embedded.append(self.identity.dimension)
        return really(self, texts)

    monkeypatch.setattr(Hashing, "embed_documents", counted)
    near.request_index(OWNER, "zoo")
    near.run(OWNER, "zoo")
    assert set(embedded) == {64}
    assert meant(near, "The heron flew.").hits[0].document.path == "heron.md"


def test_a_switch_whose_server_goes_away_goes_on_later_and_searches_use_the_old_one(
    near: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    near.switch_store(OWNER, "zoo", "hashing:64")

    def away(self: Hashing, texts: list[str]) -> object:
        raise Unreachable("Nobody answers.", "Start the server.")

    with monkeypatch.context() as patched:
        patched.setattr(Hashing, "embed_documents", away)
        near.run(OWNER, "zoo")
    assert near.store_info(OWNER, "zoo").embedder == "hashing"
    assert near.store_info(OWNER, "zoo").to_switch == 3
    assert meant(near, "The otter swam.").hits[0].similarity == pytest.approx(1, abs=1e-3)
    near.request_index(OWNER, "zoo", [])
    near.run(OWNER, "zoo")
    assert near.store_info(OWNER, "zoo").embedder == "hashing:64"


def test_an_abandoned_switch_leaves_no_trace(near: Library, notes: Path) -> None:
    before = contents(near, "zoo")
    near.switch_store(OWNER, "zoo", "hashing:64")
    near.abandon_switch(OWNER, "zoo")
    near.run(OWNER, "zoo")
    assert contents(near, "zoo") == before
    assert near.store_info(OWNER, "zoo").switching == ""
    with pytest.raises(InvalidInput, match="not switching"):
        near.abandon_switch(OWNER, "zoo")
    check_library(near, "zoo")


def test_an_embedder_that_reads_less_asks_for_cutting_again(near: Library, notes: Path) -> None:
    (notes / "long.md").write_text("Many words of the sea and of the beasts in it. " * 60, "utf-8")
    index(near, "zoo")
    monkey = pytest.MonkeyPatch()
    monkey.setattr(Hashing, "max_tokens", 64)
    near._embedders._open.clear()
    with pytest.raises(InvalidInput, match="reads 64 tokens") as caught:
        near.switch_store(OWNER, "zoo", "hashing:32")
    assert "--rechunk" in caught.value.suggestion
    near.switch_store(OWNER, "zoo", "hashing:32", rechunk=True)
    near.run(OWNER, "zoo")
    monkey.undo()
    opened = store_of(near, "zoo")
    assert opened.spec.max_tokens == 64
    with opened.read() as db:
        assert db.execute("SELECT max(length(text)) FROM chunks").fetchone()[0] < 400
    opened.close()
    assert near.store_info(OWNER, "zoo").embedder == "hashing:32"


def test_nothing_to_switch_is_said(near: Library) -> None:
    with pytest.raises(InvalidInput, match="has this embedder and vector index already"):
        near.switch_store(OWNER, "zoo", "hashing")


def test_a_store_that_is_indexed_is_not_switched(near: Library) -> None:
    with lock.hold(near.settings.store_dir / "zoo.db"), pytest.raises(StoreBusy, match="is being indexed"):
        near.switch_store(OWNER, "zoo", "hashing:64")
    assert near.store_info(OWNER, "zoo").switching == ""


def test_a_guest_switches_nothing(near: Library) -> None:
    with pytest.raises(Forbidden):
        near.switch_store(GUEST, "zoo", "hashing:64")


def test_vectors_move_to_a_remote_index_and_back(zoo: Library, notes: Path, server: Server) -> None:
    zoo.create_store(OWNER, "near", "hashing", backend="local")
    index(zoo, "near", notes)
    zoo.switch_store(OWNER, "near", backend="s3vectors")
    job = zoo.run(OWNER, "near")
    assert job is not None
    assert job.texts_embedded == 0
    assert zoo.store_info(OWNER, "near").backend == "s3vectors"
    assert keys_there(zoo, "near") == keys_here(zoo, "near")
    zoo.switch_store(OWNER, "near", backend="local")
    zoo.run(OWNER, "near")
    info = zoo.store_info(OWNER, "near")
    assert (info.backend, info.address) == ("local", "")
    assert calls(server, "DeleteIndex") == 1
    assert meant(zoo, "The otter swam.", "near").hits[0].document.path == "otter.md"
    check_library(zoo, "zoo")


def test_a_switch_of_the_embedder_builds_another_index_and_deletes_the_old(
    zoo: Library, server: Server
) -> None:
    before = zoo.store_info(OWNER, "zoo").address
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    zoo.run(OWNER, "zoo")
    after = zoo.store_info(OWNER, "zoo").address
    assert after.startswith("s3vectors://commonplace-zoo/main-")
    assert after != before
    assert keys_there(zoo) == keys_here(zoo)
    assert calls(server, "DeleteIndex") == 1
    assert meant(zoo, "The stoat swam.").hits[0].document.path == "stoat.md"
    assert zoo.verify(OWNER, "zoo").findings == ()


def test_a_former_index_that_cannot_be_deleted_is_deleted_later(zoo: Library, server: Server) -> None:
    zoo.switch_store(OWNER, "zoo", backend="local")
    cut_off(server)
    job = zoo.run(OWNER, "zoo")
    assert job is not None
    assert "is not deleted yet" in job.message
    assert zoo.store_info(OWNER, "zoo").backend == "local"
    server.faults = None
    zoo.request_index(OWNER, "zoo", force=True)
    zoo.run(OWNER, "zoo")
    assert calls(server, "DeleteIndex") >= 1
