"""A folder that somebody works in while it is indexed: what is deleted or renamed meanwhile is no failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Job
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import contents, found, fresh_contents, outcomes, paths


@pytest.fixture
def herd(library: Library, notes: Path) -> Library:
    """A library whose store ``s`` is to read three notes, and has read none of them yet."""
    for name, animal in (("a", "zebra"), ("b", "giraffe"), ("sub/c", "hyena")):
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / f"{name}.md").write_text(f"The {animal} sleeps.\n", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    return library


def run(library: Library, act: Callable[[], object], *, force: bool = False) -> Job:
    """Index the store and ``act`` between the first scan and the reading of what it found."""
    waiting = [act]

    def report(job: Job) -> None:
        if job.progress.phase == "reading" and job.progress.done == 0 and waiting:
            waiting.pop()()

    library.jobs.request(OWNER, "s", force=force)
    job = library.jobs.run(OWNER, "s", report)
    assert job is not None
    check_library(library, "s")
    return job


def test_a_file_that_is_deleted_before_it_is_read_is_as_if_it_had_never_been_seen(
    herd: Library, notes: Path
) -> None:
    job = run(herd, (notes / "b.md").unlink)
    assert outcomes(job) == {"a.md": "added", "sub/c.md": "added"}
    assert (job.state, job.failed, job.message) == ("done", 0, "")
    assert contents(herd, "s") == fresh_contents(herd, notes)


def test_a_file_that_is_renamed_before_it_is_read_is_found_in_the_same_run(
    herd: Library, notes: Path
) -> None:
    job = run(herd, lambda: (notes / "b.md").rename(notes / "tall.md"))
    assert outcomes(job) == {"a.md": "added", "sub/c.md": "added", "tall.md": "added"}
    assert found(herd, "giraffe") == ["tall.md"]
    assert contents(herd, "s") == fresh_contents(herd, notes)


def test_a_file_deleted_before_reading_is_counted_as_deleted(herd: Library, notes: Path) -> None:
    index(herd, "s")
    (notes / "b.md").write_text("The giraffe wakes.\n", "utf-8")
    job = run(herd, (notes / "b.md").unlink)
    assert outcomes(job) == {"b.md": "deleted"}
    assert job.counts == {"unchanged": 2, "deleted": 1}


def test_an_indexed_file_that_is_renamed_before_it_is_read_again_has_moved(
    herd: Library, notes: Path
) -> None:
    index(herd, "s")
    job = run(herd, lambda: (notes / "b.md").rename(notes / "tall.md"), force=True)
    assert outcomes(job) == {"a.md": "reread", "sub/c.md": "reread", "tall.md": "moved"}
    assert (job.texts_embedded, job.total_files) == (0, 3)  # what was read again is so once


def test_a_folder_removed_before_reading_is_reported_once(herd: Library, notes: Path, tmp_path: Path) -> None:
    index(herd, "s")
    for number in range(50):
        (notes / f"{number}.md").write_text(f"The zebra number {number} sleeps.\n", "utf-8")
    job = run(herd, lambda: notes.rename(tmp_path / "unplugged"))
    assert outcomes(job) == {str(notes): "failed"}
    assert job.message.startswith(f"The folder {str(notes)!r} does not exist.")
    assert paths(herd) == ["a.md", "b.md", "sub/c.md"]
