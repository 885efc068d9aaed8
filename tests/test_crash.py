"""A run may be killed at any moment: what was written is whole, and the next run goes on from there."""

from __future__ import annotations

import hashlib
import multiprocessing
import random
import signal
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

import rag_core.index
from rag_core.embedders.hashing import Hashing
from rag_core.library import Library
from rag_core.store import Store
from rag_core.types import OWNER, Vectors
from tests.conftest import index
from tests.consistency import check
from tests.stored import contents, fresh_contents, store_of

ROUNDS = 20
FILES = 120
BATCH_S = 0.01  # what a small model takes at least


class Slow(Hashing):
    """Takes its time, so that kills also fall between batches."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        time.sleep(BATCH_S)
        return super().embed_documents(texts)


def run_and_tell(path: Path, told: Connection) -> None:
    """In a process of its own: a run, which begins when it says so."""
    store = Store(path)
    told.send("begins")
    rag_core.index.run(store, Slow)
    store.close()


def note(rng: random.Random, number: int) -> str:
    head = f"---\ntags: [t/{number % 7}]\naliases: [alias {number}]\n---\n" if number % 3 else ""
    body = "\n\n".join(
        f"## Part {part}\n\nIt tells of subject{rng.randrange(1000)} and [[{rng.randrange(FILES)}]] at some"
        " length, so that it is a passage of its own."
        for part in range(rng.randrange(1, 6))
    )
    return f"{head}# Note {number}\n\n{body}\n"


def change(rng: random.Random, folder: Path, number: int) -> None:
    """Edit, delete, move, copy and add some files, and rename a folder."""
    files = sorted(file for file in folder.rglob("*") if file.is_file())
    rng.shuffle(files)
    for file in files[:12]:
        file.write_text(note(rng, rng.randrange(FILES)))
    for file in files[12:16]:
        file.unlink()
    for file in files[16:24]:
        file.rename(folder / f"{rng.randrange(5)}" / f"moved {number} {file.name[-12:]}")
    for file in files[24:27]:
        (folder / f"copy {number} {file.name[-12:]}").write_bytes(file.read_bytes())
    for more in range(max(7, FILES - len(files))):
        (folder / f"{number} {more}.md").write_text(note(rng, rng.randrange(FILES)))
    renamed = folder / str(rng.randrange(5))
    renamed.rename(folder / "aside")
    (folder / "aside").rename(folder / f"was {renamed.name} {number}")
    renamed.mkdir()


def on_disk(folder: Path) -> dict[bytes, str]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {bytes(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def stored(store: Store) -> dict[bytes, str]:
    with store.read() as db:
        return dict(db.execute("SELECT path, file_hash FROM documents WHERE state = 'indexed'").fetchall())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_runs_that_are_killed_lose_nothing_and_the_last_one_completes(library: Library, notes: Path) -> None:
    seed = random.SystemRandom().randrange(10**6)
    print(f"seed {seed}")
    rng = random.Random(seed)
    for number in range(5):
        (notes / str(number)).mkdir()
    for number in range(FILES):
        (notes / str(number % 5) / f"{number}.md").write_text(note(rng, number))
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    path = library.settings.store_dir / "s.db"
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(["rag_core.index", "rag_core.library", "tests.test_crash"])
    killed, whole_s = 0, 0.0
    known: dict[bytes, str] = {}

    for number in range(ROUNDS):
        change(rng, notes, number)
        kept = {file: found for file, found in on_disk(notes).items() if found == known.get(file)}
        library.request_index(OWNER, "s")
        library.close()
        here, there = processes.Pipe(duplex=False)
        process = processes.Process(target=run_and_tell, args=(path, there), daemon=True)
        process.start()
        there.close()
        assert here.poll(20)
        assert here.recv() == "begins"
        here.close()
        started = time.monotonic()
        process.join(rng.uniform(0, whole_s) if number else 20)
        process.kill()
        process.join(20)
        whole_s = whole_s or (time.monotonic() - started) / 2  # all files; later runs have fewer to read
        killed += process.exitcode == -signal.SIGKILL

        store = store_of(library, "s")
        check(store)
        known = stored(store)
        store.close()
        lost = [file for file, found in kept.items() if known.get(file) != found]
        assert not lost, f"round {number}: {lost[:3]}"
        assert {job.state for job in library.jobs(OWNER, "s")} <= {"done", "interrupted"}

    change(rng, notes, ROUNDS)
    job = index(library, "s")

    assert killed >= ROUNDS // 4
    assert (job.state, job.failed) == ("done", 0)
    store = store_of(library, "s")
    check(store)
    with store.read() as db:
        needed = {row[0] for row in db.execute("SELECT embed_hash FROM chunks WHERE prefix || text <> ''")}
        assert {row[0] for row in db.execute("SELECT hash FROM embeddings")} == needed
    assert stored(store) == on_disk(notes)
    store.close()
    assert contents(library, "s") == fresh_contents(library, notes)
