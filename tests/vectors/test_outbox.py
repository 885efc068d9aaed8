"""The outbox: whatever happens to notes, the network and the process, the remote index follows the store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rag_core.errors import VectorsUnreachable
from rag_core.index import outbox
from rag_core.library import Library
from rag_core.store import Store
from rag_core.store import outbox as rows
from rag_core.types import OWNER
from rag_core.vectors import Receipt, Settled, unnoticed
from rag_core.vectors.s3vectors import S3Options, S3Vectors
from tests.conftest import index as read
from tests.support.killing import KILLS
from tests.vectors.s3vectors import Faults, Server
from tests.vectors.s3vectors.http import REGION

pytestmark = pytest.mark.thorough

IN_STEP = outbox.Comparison((), (), 0, 0)

ADDRESS = "s3vectors://commonplace-zoo/main"


def remote(amazon: Server, **changes: Any) -> S3Vectors:
    known = {"backoff": 0.01, **changes}
    return at(S3Options(region=REGION, endpoint_url=amazon.url, **known))


def at(options: S3Options, kind: type[S3Vectors] = S3Vectors) -> S3Vectors:
    return kind(ADDRESS, 256, "cosine", options)


@pytest.fixture
def store(library: Library, notes: Path) -> Iterator[Store]:
    """A store of twelve notes with a remote index that knows nothing yet."""
    for number in range(12):
        (notes / f"{number}.md").write_text(f"---\ntags: [beast]\n---\nThe otter {number} swam.", "utf-8")
    read(library, "zoo", notes)
    opened = Store(library.settings.store_dir / "zoo.db")
    with opened.decide() as db:
        db.execute("INSERT INTO meta VALUES ('remote', ?)", (ADDRESS,))
        rows.queue_all(db)
    yield opened
    opened.close()


@pytest.fixture
def index(amazon: Server, store: Store) -> S3Vectors:
    there = remote(amazon)
    there.prepare(store.id)
    return there


def chunk_keys(store: Store) -> set[str]:
    with store.read() as db:
        return {row[0] for row in db.execute("SELECT key FROM chunks")}


def backlog(store: Store) -> rows.Backlog:
    with store.read() as db:
        return rows.backlog(db)


def assert_alike(store: Store, index: S3Vectors) -> None:
    assert outbox.compare(store, index) == IN_STEP
    assert sorted(index.keys()) == sorted(chunk_keys(store))


def test_new_changed_moved_and_deleted_notes_follow(
    library: Library, notes: Path, store: Store, index: S3Vectors
) -> None:
    outbox.flush(store, index)
    (notes / "new.md").write_text("A stoat ran.", "utf-8")
    (notes / "1.md").write_text("The badger dug.", "utf-8")
    (notes / "2.md").unlink()
    (notes / "deep").mkdir()
    (notes / "3.md").rename(notes / "deep" / "3.md")
    read(library, "zoo")
    assert outbox.flush(store, index) == (3, 2, 0)
    assert_alike(store, index)
    paths = {record.doc["path"]: record.text for record in index.records()}
    assert paths["deep/3.md"] == "The otter 3 swam."
    assert paths["1.md"] == "The badger dug."
    assert not {"2.md", "3.md"} & {*paths}


def test_passages_that_are_taken_out_by_hand_and_cleared_stores_follow(
    library: Library, store: Store, index: S3Vectors
) -> None:
    outbox.flush(store, index)
    [passage] = library.documents.get(OWNER, "zoo", "5.md").chunks
    library.documents.remove_passages(OWNER, "zoo", [passage.key])
    assert library.jobs.requested(OWNER, "zoo"), "for the index to be told"
    assert outbox.flush(store, index) == (0, 1, 0)
    assert_alike(store, index)
    library.stores.clear(OWNER, "zoo", confirm=True)
    library.jobs.run(OWNER, "zoo")
    assert outbox.flush(store, index) == (0, 11, 0)
    assert list(index.keys()) == []


def test_a_record_holds_what_makes_the_chunk_again(store: Store, index: S3Vectors) -> None:
    outbox.flush(store, index)
    record = next(record for record in index.records() if record.doc["path"] == "7.md")
    assert record.text == "The otter 7 swam."
    assert record.doc["tags"] == ["beast"]
    assert record.doc["front_matter"] == {"tags": ["beast"]}
    assert (record.doc["chunk_index"], record.doc["start_line"], record.doc["heading_path"]) == (0, 4, [])
    with store.read() as db:
        row = db.execute(
            "SELECT e.vector FROM chunks c JOIN embeddings e ON e.hash = c.embed_hash WHERE c.key = ?",
            (record.key,),
        ).fetchone()
    there = np.frombuffer(row[0], "<f2").astype(np.float32)
    assert float(record.vector @ there) / float(np.linalg.norm(there)) == pytest.approx(1, abs=1e-6)


def test_private_notes_stay_here_unless_the_store_says_otherwise(
    library: Library, notes: Path, store: Store, index: S3Vectors
) -> None:
    outbox.flush(store, index)
    (notes / "5.md").write_text("---\nprivate: true\n---\nThe otter 5 swam.", "utf-8")
    (notes / "6.md").write_text("---\nprivate: true\n---\nA secret badger.", "utf-8")
    read(library, "zoo")
    outbox.flush(store, index)
    assert not {"5.md", "6.md"} & {record.doc["path"] for record in index.records()}
    assert outbox.compare(store, index) == IN_STEP
    (notes / "5.md").write_text("The otter 5 swam.", "utf-8")
    read(library, "zoo")
    outbox.flush(store, index)
    assert "5.md" in {record.doc["path"] for record in index.records()}
    with store.write() as db:
        rows.queue(db, chunk_keys(store))
    outbox.flush(store, index, private=True)
    assert "6.md" in {record.doc["path"] for record in index.records()}


def test_a_chunk_that_waits_for_its_vector_waits_in_the_outbox(store: Store, index: S3Vectors) -> None:
    with store.write() as db:
        [(key, embedded)] = db.execute("SELECT key, embed_hash FROM chunks LIMIT 1").fetchall()
        vector = db.execute("SELECT * FROM embeddings WHERE hash = ?", (embedded,)).fetchone()
        db.execute("DELETE FROM embeddings WHERE hash = ?", (embedded,))
        db.execute("INSERT INTO queue (hash) VALUES (?)", (embedded,))
    assert outbox.flush(store, index) == (11, 0, 0)
    assert backlog(store) == rows.Backlog(1, 0)
    with store.write() as db:
        db.execute("INSERT INTO embeddings VALUES (?, ?, ?, ?, ?)", tuple(vector))
        db.execute("DELETE FROM queue")
    assert outbox.flush(store, index) == (1, 0, 0)
    assert key in {*index.keys()}


def test_with_the_network_down_all_stays_queued_and_is_sent_later(
    library: Library, notes: Path, store: Store, amazon: Server
) -> None:
    there = remote(amazon, attempts=1)
    there.prepare(store.id)
    outbox.flush(store, there)
    amazon.faults = Faults(1.0, seed=1, kinds=("lost", "503"))
    (notes / "0.md").unlink()
    (notes / "new.md").write_text("A stoat ran.", "utf-8")
    read(library, "zoo")
    with pytest.raises(VectorsUnreachable):
        outbox.flush(store, there)
    assert backlog(store).queued == 2
    assert library.search(OWNER, "stoat", ["zoo"]).hits
    amazon.faults = None
    outbox.flush(store, there)
    assert_alike(store, there)


@pytest.mark.parametrize("seed", range(3))
def test_with_failing_requests_nothing_is_lost_or_doubled(store: Store, amazon: Server, seed: int) -> None:
    there = remote(amazon)
    there.prepare(store.id)
    amazon.faults = Faults(0.3, seed, kinds=("429", "503", "lost"))
    for _ in range(12):
        outbox.flush(store, there)
        with store.write() as db:
            rows.queue(db, sorted(chunk_keys(store))[:3])
    outbox.flush(store, there)
    amazon.faults = None
    assert_alike(store, there)


def test_a_note_deleted_between_the_two_passes_is_deleted_there_by_the_next_flush(
    library: Library, notes: Path, store: Store, index: S3Vectors
) -> None:
    outbox.flush(store, index)

    class Late(S3Vectors):
        """After the deletes, one more note goes."""

        def delete(self, keys: Iterable[str], settled: Settled = unnoticed) -> Receipt:
            receipt = super().delete(keys, settled)
            (notes / "8.md").unlink()
            read(library, "zoo")
            return receipt

    (notes / "9.md").write_text("The badger dug.", "utf-8")
    read(library, "zoo")
    assert outbox.flush(store, at(index.service.options, Late)) == (1, 1, 0)
    assert backlog(store) == rows.Backlog(1, 0)
    outbox.flush(store, index)
    assert_alike(store, index)


def test_a_flush_sends_each_chunk_once(
    store: Store, index: S3Vectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(S3Vectors):
        """Sends three at once; and while they are under way, every chunk changes again."""

        def _put(self, items: dict[str, bytes]) -> None:
            super()._put(items)
            with store.write() as db:
                db.execute("UPDATE chunks SET chunk_index = chunk_index + 1")

    monkeypatch.setattr(S3Vectors, "max_batch", 3)
    assert outbox.flush(store, at(index.service.options, Slow))[0] <= 12
    assert backlog(store) == rows.Backlog(12, 0)
    outbox.flush(store, index)
    assert {record.doc["chunk_index"] for record in index.records()} == {4}


def test_what_the_index_refuses_is_named_and_not_sent_again(store: Store, index: S3Vectors) -> None:
    with store.write() as db:
        db.execute("UPDATE chunks SET text = ? WHERE path = '9.md'", ("x" * 45_000,))
    assert outbox.flush(store, index) == (11, 0, 1)
    assert backlog(store) == rows.Backlog(0, 1)
    assert outbox.flush(store, index) == (0, 0, 0)
    with store.write() as db:
        db.execute("UPDATE chunks SET text = 'short' WHERE path = '9.md'")
    assert outbox.flush(store, index) == (1, 0, 0)


# --- killed between the local commit and the remote flush ---------------------------------

_CHILD = """
import os, sys
from pathlib import Path
from rag_core.index import outbox
from rag_core.store import Store
from rag_core.vectors import Receipt, Settled, unnoticed
from rag_core.vectors.s3vectors import S3Options, S3Vectors
path, url, region, after = sys.argv[1:]
store = Store(Path(path))
options = S3Options(region=region, endpoint_url=url)
index = S3Vectors("s3vectors://commonplace-zoo/main", 256, "cosine", options)
sends = 0
call = index.service.call
def counted(operation, *attempts, **arguments):
    global sends
    answer = call(operation, *attempts, **arguments)
    sends += 1
    if sends == int(after):
        os.kill(os.getpid(), 9)
    return answer
index.service.call = counted
import rag_core.vectors.s3vectors as module
module.S3Vectors.max_batch = 3
outbox.flush(store, index)
"""


@pytest.mark.posix
def test_killed_at_any_request_the_next_flush_makes_it_right(
    library: Library, notes: Path, store: Store, index: S3Vectors, amazon: Server
) -> None:
    for number in range(1, max(10, KILLS // 5) + 1):
        for name in range(number, number + 6):
            (notes / f"{name}.md").write_text(f"In round {number}, beast {name} ran.", "utf-8")
        (notes / f"{number - 1}.md").unlink()
        read(library, "zoo")
        run = [sys.executable, "-c", _CHILD, str(store.path), amazon.url, REGION, str(number % 3 + 1)]
        killed = subprocess.run(
            run, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}, timeout=60
        )
        assert killed.returncode == -signal.SIGKILL
        assert outbox.compare(store, index) != IN_STEP
        if number % 5 == 0:
            outbox.flush(store, index)
            assert_alike(store, index)
            assert outbox.compare(store, index) == IN_STEP
