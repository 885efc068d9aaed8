"""A store that switches to another embedder or vector index: beside the old, resumed, abandoned, begun anew,
and searched meanwhile."""

# ruff: noqa: F811  (fixtures)

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rag_core.embedders.hashing import Hashing
from rag_core.errors import Forbidden, InvalidInput, StoreBusy, Unreachable
from rag_core.library import Library
from rag_core.store import lock
from rag_core.types import OWNER, Vectors
from tests.conftest import index
from tests.consistency import check_library
from tests.s3vectors import Server
from tests.s3vectors.rules import ServiceError
from tests.stored import contents, store_of
from tests.test_crash import as_version_1
from tests.test_placement import (  # noqa: F401  (fixtures)
    ANIMALS,
    GUEST,
    calls,
    cut_off,
    keys_here,
    keys_there,
    meant,
    remote,
    server,
    zoo,
)


@contextmanager
def embedder_away(after: int = 0) -> Iterator[None]:
    """An embedder that gives ``after`` texts their vectors and then no more; it knows the canary always."""
    really = Hashing.embed_documents
    left = after

    def embed(self: Hashing, texts: Sequence[str]) -> Vectors:
        nonlocal left
        if "commonplace" not in texts[0]:
            left -= len(texts)
            if left < 0:
                raise Unreachable("Nobody answers.", "Start the server.")
        return really(self, list(texts))

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Hashing, "embed_documents", embed)
        yield


def run(library: Library) -> None:
    library.request_index(OWNER, "zoo")
    library.run(OWNER, "zoo")


def indexes(server: Server) -> list[str]:
    found = server.service._buckets.items()
    return sorted(f"s3vectors://{bucket}/{name}" for bucket, made in found for name in made.indexes)


def rows(library: Library, sql: str) -> list[tuple[Any, ...]]:
    opened = store_of(library, "zoo")
    try:
        with opened.read() as db:
            return [tuple(row) for row in db.execute(sql)]
    finally:
        opened.close()


def change(library: Library, sql: str) -> None:
    opened = store_of(library, "zoo")
    with opened.write() as db:
        db.execute(sql)
    opened.close()


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


def test_the_vectors_of_a_store_of_the_first_version_move_to_a_remote_index(
    remote: Library, notes: Path, tmp_path: Path
) -> None:
    for name in ANIMALS:
        (notes / f"{name}.md").write_text(f"The {name} swam.\n", "utf-8")
    remote.create_store(OWNER, "zoo", "hashing", backend="local")
    index(remote, "zoo", notes)
    remote.close()
    path = remote.settings.store_dir / "zoo.db"
    as_version_1(path, tmp_path / "old.db")
    path.unlink()
    (tmp_path / "old.db").rename(path)
    assert remote.verify(OWNER, "zoo").findings == ()
    remote.switch_store(OWNER, "zoo", backend="s3vectors")
    job = remote.run(OWNER, "zoo")
    assert job is not None
    assert job.texts_embedded == 0
    assert keys_there(remote) == keys_here(remote)
    assert remote.verify(OWNER, "zoo").findings == ()


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


# --- left, asked for again, asked for otherwise -----------------------------------------------


def test_a_switch_that_is_asked_for_again_goes_on_where_it_was(near: Library) -> None:
    near.settings = replace(near.settings, batch_size=1)
    near.switch_store(OWNER, "zoo", "hashing:64")
    with embedder_away(after=2):
        near.run(OWNER, "zoo")
    assert near.switch_store(OWNER, "zoo", "hashing:64").to_switch == 1
    near.run(OWNER, "zoo")
    assert near.store_info(OWNER, "zoo").embedder == "hashing:64"


def test_after_an_abandoned_switch_the_same_one_can_begin(near: Library) -> None:
    near.switch_store(OWNER, "zoo", "hashing:64")
    near.abandon_switch(OWNER, "zoo")
    near.switch_store(OWNER, "zoo", "hashing:64")
    near.run(OWNER, "zoo")
    assert near.store_info(OWNER, "zoo").embedder == "hashing:64"
    assert near.verify(OWNER, "zoo").findings == ()


def test_a_switch_that_is_changed_prepares_only_the_last(zoo: Library, server: Server) -> None:
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    zoo.switch_store(OWNER, "zoo", "hashing:32")
    zoo.run(OWNER, "zoo")
    info = zoo.store_info(OWNER, "zoo")
    assert info.embedder == "hashing:32"
    assert indexes(server) == [info.address]
    assert zoo.verify(OWNER, "zoo").findings == ()


@pytest.mark.parametrize("backend_first", [False, True])
def test_what_is_not_said_stays_as_the_switch_under_way_has_it(zoo: Library, backend_first: bool) -> None:
    said: list[dict[str, str]] = [{"embedder": "hashing:64"}, {"backend": "local"}]
    for part in reversed(said) if backend_first else said:
        zoo.switch_store(OWNER, "zoo", **part)  # type: ignore[arg-type]
    zoo.run(OWNER, "zoo")
    info = zoo.store_info(OWNER, "zoo")
    assert (info.embedder, info.backend) == ("hashing:64", "local")


def test_nothing_of_an_abandoned_switch_is_left(zoo: Library, server: Server) -> None:
    address = zoo.store_info(OWNER, "zoo").address
    zoo.settings = replace(zoo.settings, batch_size=1)
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    with embedder_away(after=2):
        zoo.run(OWNER, "zoo")
    assert len(indexes(server)) == 2
    zoo.abandon_switch(OWNER, "zoo")
    zoo.run(OWNER, "zoo")
    assert indexes(server) == [address]
    assert rows(zoo, "SELECT count(DISTINCT identity_id) FROM embeddings") == [(1,)]
    assert zoo.verify(OWNER, "zoo").findings == ()


def test_an_index_that_was_made_for_a_switch_that_never_began_is_deleted(
    zoo: Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("rag_core.store.switch.begin", killed)
        with pytest.raises(KeyboardInterrupt):
            zoo.switch_store(OWNER, "zoo", "hashing:64")
    assert len(indexes(server)) == 2
    run(zoo)
    assert indexes(server) == [zoo.store_info(OWNER, "zoo").address]


@pytest.mark.parametrize("then_cut", [False, True])
def test_what_was_removed_during_a_switch_is_gone_when_it_is_abandoned(
    zoo: Library, notes: Path, then_cut: bool
) -> None:
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    (notes / "otter.md").unlink()
    with pytest.MonkeyPatch.context() as patched, embedder_away():
        patched.setattr("rag_core.outbox.forget", lambda *_, **__: None)  # as if it could not be reached
        run(zoo)
    assert len(keys_here(zoo)) == 2
    zoo.abandon_switch(OWNER, "zoo")
    if then_cut:
        zoo.switch_store(OWNER, "zoo", rechunk=True)
    zoo.run(OWNER, "zoo")
    assert keys_there(zoo) == keys_here(zoo)
    assert zoo.verify(OWNER, "zoo").findings == ()


def test_what_waits_to_be_removed_is_removed_also_if_all_is_sent_again(
    zoo: Library, notes: Path, server: Server
) -> None:
    cut_off(server)
    (notes / "otter.md").unlink()
    run(zoo)
    server.faults = None
    zoo.switch_store(OWNER, "zoo", rechunk=True)
    zoo.run(OWNER, "zoo")
    assert keys_there(zoo) == keys_here(zoo)


def test_what_becomes_private_during_a_switch_leaves_the_index_that_is_searched(
    zoo: Library, notes: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.vectors.s3vectors.S3Vectors.server", "https://far.example.org")
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    (notes / "otter.md").write_text("---\nprivate: true\n---\nThe otter swam.\n", "utf-8")
    with embedder_away():
        run(zoo)
    assert zoo.store_info(OWNER, "zoo").switching
    there = server.service._buckets["commonplace-zoo"].indexes["main"].records.values()
    assert not [metadata for _, metadata in there if "otter" in metadata["text"]]


def test_what_only_the_old_embedder_reads_is_found_by_it_until_the_end(
    zoo: Library, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.search._FEW", 0)
    monkeypatch.setattr(
        Hashing, "reads", lambda self, text: self.identity.dimension == 256 or "otter" not in text
    )
    zoo.settings = replace(zoo.settings, batch_size=1)
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    with embedder_away(after=1):
        zoo.run(OWNER, "zoo")
    assert zoo.store_info(OWNER, "zoo").switching
    assert meant(zoo, "The otter swam.").hits[0].document.path == "otter.md"


def test_an_index_that_could_not_be_deleted_and_is_used_again_is_not_deleted(
    zoo: Library, notes: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: object) -> dict[str, Any]:
        raise ServiceError(403, "AccessDeniedException", "no")

    zoo.switch_store(OWNER, "zoo", "hashing:64")
    zoo.run(OWNER, "zoo")
    zoo.switch_store(OWNER, "zoo", "hashing")
    with monkeypatch.context() as patched:
        patched.setattr(server.service, "DeleteIndex", refuse)
        zoo.run(OWNER, "zoo")
        (notes / "otter.md").unlink()
        run(zoo)
    assert len(indexes(server)) == 2
    zoo.switch_store(OWNER, "zoo", "hashing:64")
    zoo.run(OWNER, "zoo")
    assert indexes(server) == [zoo.store_info(OWNER, "zoo").address]
    assert keys_there(zoo) == keys_here(zoo)


def test_a_store_that_was_never_read_can_switch_and_stay(library: Library, notes: Path) -> None:
    library.create_store(OWNER, "zoo", "hashing")
    for embedder in ("hashing:64", "hashing:32"):
        library.switch_store(OWNER, "zoo", embedder)
        assert library.verify(OWNER, "zoo").findings == ()
    library.abandon_switch(OWNER, "zoo")
    assert library.verify(OWNER, "zoo").findings == ()
    (notes / "otter.md").write_text("The otter swam.\n", "utf-8")
    index(library, "zoo", notes)
    assert library.store_info(OWNER, "zoo").dimension == 256


def test_a_document_that_moved_while_all_are_cut_again_is_cut_again_by_the_same_run(
    near: Library, notes: Path
) -> None:
    near.switch_store(OWNER, "zoo", "hashing:64", rechunk=True)
    (notes / "otter.md").rename(notes / "stoat two.md")
    near.run(OWNER, "zoo")
    assert near.store_info(OWNER, "zoo").embedder == "hashing:64"


def test_another_model_of_the_same_name_is_switched_to(
    near: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = Hashing.embed_documents
    monkeypatch.setattr(Hashing, "embed_documents", lambda self, texts: really(self, texts)[:, ::-1].copy())
    run(near)
    assert "Only words are indexed" in near.jobs(OWNER, "zoo", 1)[0].message
    near.switch_store(OWNER, "zoo", "hashing")
    job = near.run(OWNER, "zoo")
    assert job is not None
    assert job.texts_embedded == 3
    assert near.verify(OWNER, "zoo").findings == ()
