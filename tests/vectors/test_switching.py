"""A store that switches to another embedder or vector index: beside the old, resumed, abandoned, begun anew,
and searched meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, StoreBusy, Unreachable, VectorError
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.store import lock
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import contents, store_of
from tests.vectors.remote_zoo import (
    calls,
    cut_off,
    embedder_away,
    indexes,
    keys_here,
    keys_there,
    meant,
    rows,
    run,
)
from tests.vectors.s3vectors import Server

pytestmark = pytest.mark.thorough


def test_a_switch_of_the_embedder_embeds_each_text_once_and_then_searches_with_it(local_zoo: Library) -> None:
    before = keys_here(local_zoo)
    assert local_zoo.placement.switch(OWNER, "zoo", "hashing:64").switching == "hashing:64"
    assert local_zoo.stores.info(OWNER, "zoo").embedder == "hashing"
    assert meant(local_zoo, "The otter swam.").hits[0].similarity == pytest.approx(1, abs=1e-3)
    assert meant(local_zoo, "The otter swam.").pending == 0
    job = local_zoo.jobs.run(OWNER, "zoo")
    assert job is not None
    assert (job.texts_embedded, job.message) == (3, "Searches use hashing:64 now.")
    info = local_zoo.stores.info(OWNER, "zoo")
    assert (info.embedder, info.dimension, info.switching, info.pending) == ("hashing:64", 64, "", 0)
    assert meant(local_zoo, "The otter swam.").hits[0].document.path == "otter.md"
    assert keys_here(local_zoo) == before
    check_library(local_zoo, "zoo")


def test_after_a_switch_a_store_is_as_if_made_so(local_zoo: Library, notes: Path) -> None:
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    local_zoo.jobs.run(OWNER, "zoo")
    local_zoo.create_store(OWNER, "fresh", "hashing:64")
    index(local_zoo, "fresh", notes)
    assert contents(local_zoo, "zoo") == contents(local_zoo, "fresh")


def test_what_comes_during_a_switch_is_embedded_the_new_way_only(
    local_zoo: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    (notes / "heron.md").write_text("The heron flew.\n", "utf-8")
    embedded: list[int] = []
    really = Hashing.embed_documents

    def counted(self: Hashing, texts: list[str]) -> object:
        embedded.append(self.identity.dimension)
        return really(self, texts)

    monkeypatch.setattr(Hashing, "embed_documents", counted)
    local_zoo.jobs.request(OWNER, "zoo")
    local_zoo.jobs.run(OWNER, "zoo")
    assert set(embedded) == {64}
    assert meant(local_zoo, "The heron flew.").hits[0].document.path == "heron.md"


def test_a_switch_goes_on_after_its_server_was_away(
    local_zoo: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")

    def away(self: Hashing, texts: list[str]) -> object:
        raise Unreachable("Nobody answers.", "Start the server.")

    with monkeypatch.context() as patched:
        patched.setattr(Hashing, "embed_documents", away)
        local_zoo.jobs.run(OWNER, "zoo")
    assert local_zoo.stores.info(OWNER, "zoo").embedder == "hashing"
    assert local_zoo.stores.info(OWNER, "zoo").to_switch == 3
    assert meant(local_zoo, "The otter swam.").hits[0].similarity == pytest.approx(1, abs=1e-3)
    local_zoo.jobs.request(OWNER, "zoo", [])
    local_zoo.jobs.run(OWNER, "zoo")
    assert local_zoo.stores.info(OWNER, "zoo").embedder == "hashing:64"


def test_a_switch_to_an_index_that_cannot_be_reached_leaves_no_trace(
    remote_library: Library, amazon: Server, notes: Path
) -> None:
    (notes / "otter.md").write_text("The otter swam.\n", "utf-8")
    remote_library.create_store(OWNER, "zoo", "hashing", backend="local")
    index(remote_library, "zoo", notes)
    before = contents(remote_library, "zoo")
    cut_off(amazon)
    with pytest.raises(VectorError):
        remote_library.placement.switch(OWNER, "zoo", backend="s3vectors")
    assert contents(remote_library, "zoo") == before
    assert index(remote_library, "zoo").message == ""
    remote_library.stores.delete(OWNER, "zoo")
    assert remote_library.stores.names(OWNER) == []


def test_an_abandoned_switch_leaves_no_trace(local_zoo: Library, notes: Path) -> None:
    before = contents(local_zoo, "zoo")
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    local_zoo.placement.abandon_switch(OWNER, "zoo")
    local_zoo.jobs.run(OWNER, "zoo")
    assert contents(local_zoo, "zoo") == before
    assert local_zoo.stores.info(OWNER, "zoo").switching == ""
    with pytest.raises(InvalidInput, match="not switching"):
        local_zoo.placement.abandon_switch(OWNER, "zoo")
    check_library(local_zoo, "zoo")


def test_an_embedder_that_reads_less_asks_for_cutting_again(local_zoo: Library, notes: Path) -> None:
    (notes / "long.md").write_text("Many words of the sea and of the beasts in it. " * 60, "utf-8")
    index(local_zoo, "zoo")
    monkey = pytest.MonkeyPatch()
    monkey.setattr(Hashing, "max_tokens", 64)
    local_zoo._shared.embedders._open.clear()
    with pytest.raises(InvalidInput, match="reads at most 64 tokens") as caught:
        local_zoo.placement.switch(OWNER, "zoo", "hashing:32")
    assert "--rechunk" in caught.value.suggestion
    local_zoo.placement.switch(OWNER, "zoo", "hashing:32", rechunk=True)
    local_zoo.jobs.run(OWNER, "zoo")
    monkey.undo()
    opened = store_of(local_zoo, "zoo")
    assert opened.spec.max_tokens == 64
    with opened.read() as db:
        assert db.execute("SELECT max(length(text)) FROM chunks").fetchone()[0] < 400
    opened.close()
    assert local_zoo.stores.info(OWNER, "zoo").embedder == "hashing:32"


def test_a_store_that_is_indexed_is_not_switched(local_zoo: Library) -> None:
    with (
        lock.hold(local_zoo.settings.store_dir / "zoo.db"),
        pytest.raises(StoreBusy, match="is being indexed"),
    ):
        local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    assert local_zoo.stores.info(OWNER, "zoo").switching == ""


def test_vectors_move_to_a_remote_index_and_back(remote_zoo: Library, notes: Path, amazon: Server) -> None:
    remote_zoo.create_store(OWNER, "near", "hashing", backend="local")
    index(remote_zoo, "near", notes)
    remote_zoo.placement.switch(OWNER, "near", backend="s3vectors")
    job = remote_zoo.jobs.run(OWNER, "near")
    assert job is not None
    assert job.texts_embedded == 0
    assert remote_zoo.stores.info(OWNER, "near").backend == "s3vectors"
    assert keys_there(remote_zoo, "near") == keys_here(remote_zoo, "near")
    remote_zoo.placement.switch(OWNER, "near", backend="local")
    remote_zoo.jobs.run(OWNER, "near")
    info = remote_zoo.stores.info(OWNER, "near")
    assert (info.backend, info.address) == ("local", "")
    assert calls(amazon, "DeleteIndex") == 1
    assert meant(remote_zoo, "The otter swam.", "near").hits[0].document.path == "otter.md"
    check_library(remote_zoo, "zoo")


def test_a_switch_of_the_embedder_builds_another_index_and_deletes_the_old(
    remote_zoo: Library, amazon: Server
) -> None:
    before = remote_zoo.stores.info(OWNER, "zoo").address
    remote_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    remote_zoo.jobs.run(OWNER, "zoo")
    after = remote_zoo.stores.info(OWNER, "zoo").address
    assert after.startswith("s3vectors://commonplace-zoo/main-")
    assert after != before
    assert keys_there(remote_zoo) == keys_here(remote_zoo)
    assert calls(amazon, "DeleteIndex") == 1
    assert meant(remote_zoo, "The stoat swam.").hits[0].document.path == "stoat.md"
    assert remote_zoo.upkeep.verify(OWNER, "zoo").findings == ()


def test_a_former_index_that_cannot_be_deleted_is_deleted_later(remote_zoo: Library, amazon: Server) -> None:
    remote_zoo.placement.switch(OWNER, "zoo", backend="local")
    cut_off(amazon)
    job = remote_zoo.jobs.run(OWNER, "zoo")
    assert job is not None
    assert "is not deleted yet" in job.message
    assert remote_zoo.stores.info(OWNER, "zoo").backend == "local"
    amazon.faults = None
    remote_zoo.jobs.request(OWNER, "zoo", force=True)
    remote_zoo.jobs.run(OWNER, "zoo")
    assert calls(amazon, "DeleteIndex") >= 1


# --- left, asked for again, asked for otherwise -----------------------------------------------


def test_a_switch_that_is_asked_for_again_goes_on_where_it_was(local_zoo: Library) -> None:
    local_zoo._shared.settings = local_zoo.settings.model_copy(update={"batch_size": 1})
    local_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    with embedder_away(after=2):
        local_zoo.jobs.run(OWNER, "zoo")
    assert local_zoo.placement.switch(OWNER, "zoo", "hashing:64").to_switch == 1
    local_zoo.jobs.run(OWNER, "zoo")
    assert local_zoo.stores.info(OWNER, "zoo").embedder == "hashing:64"


def test_a_switch_that_is_changed_prepares_only_the_last(remote_zoo: Library, amazon: Server) -> None:
    remote_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    remote_zoo.placement.switch(OWNER, "zoo", "hashing:32")
    remote_zoo.jobs.run(OWNER, "zoo")
    info = remote_zoo.stores.info(OWNER, "zoo")
    assert info.embedder == "hashing:32"
    assert indexes(amazon) == [info.address]
    assert remote_zoo.upkeep.verify(OWNER, "zoo").findings == ()


def test_nothing_of_an_abandoned_switch_is_left(remote_zoo: Library, amazon: Server) -> None:
    address = remote_zoo.stores.info(OWNER, "zoo").address
    remote_zoo._shared.settings = remote_zoo.settings.model_copy(update={"batch_size": 1})
    remote_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    with embedder_away(after=2):
        remote_zoo.jobs.run(OWNER, "zoo")
    assert len(indexes(amazon)) == 2
    remote_zoo.placement.abandon_switch(OWNER, "zoo")
    remote_zoo.jobs.run(OWNER, "zoo")
    assert indexes(amazon) == [address]
    assert rows(remote_zoo, "SELECT count(DISTINCT identity_id) FROM embeddings") == [(1,)]
    assert remote_zoo.upkeep.verify(OWNER, "zoo").findings == ()


def test_what_becomes_private_during_a_switch_leaves_the_index_that_is_searched(
    remote_zoo: Library, notes: Path, amazon: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.vectors.s3vectors.S3Vectors.server", "https://far.example.org")
    remote_zoo.placement.switch(OWNER, "zoo", "hashing:64")
    (notes / "otter.md").write_text("---\nprivate: true\n---\nThe otter swam.\n", "utf-8")
    with embedder_away():
        run(remote_zoo)
    assert remote_zoo.stores.info(OWNER, "zoo").switching
    there = amazon.service._buckets["commonplace-zoo"].indexes["main"].records.values()
    assert not [metadata for _, metadata in there if "otter" in metadata["text"]]


def test_another_model_of_the_same_name_is_switched_to(
    local_zoo: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Hashing.embed_documents
    monkeypatch.setattr(Hashing, "embed_documents", lambda self, texts: really(self, texts)[:, ::-1].copy())
    run(local_zoo)
    assert "Only words are indexed" in local_zoo.jobs.all(OWNER, "zoo", 1)[0].message
    local_zoo.placement.switch(OWNER, "zoo", "hashing")
    job = local_zoo.jobs.run(OWNER, "zoo")
    assert job is not None
    assert job.texts_embedded == 3
    assert local_zoo.upkeep.verify(OWNER, "zoo").findings == ()
