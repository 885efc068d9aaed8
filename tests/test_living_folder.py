"""A folder that somebody works in while it is indexed: what is deleted or renamed meanwhile is no failure."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Job
from tests.conftest import index
from tests.consistency import check_library
from tests.stored import contents, found, fresh_contents, outcomes, paths


@pytest.fixture
def herd(library: Library, notes: Path) -> Library:
    """A library whose store ``s`` is to read three notes, and has read none of them yet."""
    for name, animal in (("a", "zebra"), ("b", "giraffe"), ("sub/c", "hyena")):
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / f"{name}.md").write_text(f"The {animal} sleeps.\n")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    return library


def run(library: Library, act: Callable[[], object], times: int = 1, *, force: bool = False) -> Job:
    """Index the store and ``act`` between a scan and the reading of what it found, the first ``times``."""
    left = times

    def report(job: Job) -> None:
        nonlocal left
        if job.progress.phase == "reading" and job.progress.done == 0 and left:
            left -= 1
            act()

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


def test_a_folder_whose_place_a_file_takes_is_gone(herd: Library, notes: Path) -> None:
    def replace() -> None:
        shutil.rmtree(notes / "sub")
        (notes / "sub").write_text("The lion sleeps.\n")

    job = run(herd, replace)
    assert outcomes(job) == {"a.md": "added", "b.md": "added", "sub": "added"}


def test_an_indexed_file_that_is_deleted_before_it_is_read_again_is_counted_as_deleted(
    herd: Library, notes: Path
) -> None:
    index(herd, "s")
    (notes / "b.md").write_text("The giraffe wakes.\n")
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


def test_a_file_that_is_asked_for_and_renamed_before_it_is_read_has_moved(herd: Library, notes: Path) -> None:
    index(herd, "s")
    (notes / "a.md").write_text("The zebra wakes.\n")
    herd.jobs.request_file(OWNER, "s", "b.md")

    def rename(job: Job) -> None:
        if job.progress.phase == "reading" and (notes / "b.md").exists():
            (notes / "b.md").rename(notes / "tall.md")

    job = herd.jobs.run(OWNER, "s", rename)
    assert job is not None
    assert outcomes(job) == {"tall.md": "moved"}


def test_a_folder_that_is_removed_before_it_is_read_is_said_once_and_keeps_its_documents(
    herd: Library, notes: Path, tmp_path: Path
) -> None:
    index(herd, "s")
    for number in range(50):
        (notes / f"{number}.md").write_text(f"The zebra number {number} sleeps.\n")
    job = run(herd, lambda: notes.rename(tmp_path / "unplugged"))
    assert outcomes(job) == {str(notes): "failed"}
    assert job.message.startswith(f"The folder {str(notes)!r} does not exist.")
    assert paths(herd) == ["a.md", "b.md", "sub/c.md"]


def test_a_folder_in_which_files_are_always_renamed_ends_the_run_and_the_next_one_goes_on(
    herd: Library, notes: Path
) -> None:
    def rename() -> None:
        [old] = notes.glob("b*.md")
        old.rename(notes / f"b{len(old.name)}{old.name[1:]}")

    (notes / "link.md").symlink_to("nothing")
    job = run(herd, rename, 1000)
    assert (job.state, job.failed) == ("done", 0)
    assert outcomes(job) == {"a.md": "added", "sub/c.md": "added"}
    gone = f"Some files of {str(notes)!r} were gone before they could be read."
    passed_over = "Passed over link.md: is a symbolic link to nothing."
    assert job.message == f"{passed_over} {gone} The next run looks for them again."
    index(herd, "s")
    assert contents(herd, "s") == fresh_contents(herd, notes)


def test_a_folder_that_is_renamed_during_the_scan_has_moved_in_the_same_run(
    herd: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index(herd, "s")
    scan = os.scandir

    def rename(path: Any) -> Any:
        if os.fsencode(path).endswith(b"/sub/") and (notes / "sub").exists():
            (notes / "sub").rename(notes / "below")
        return scan(path)

    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", rename)
        job = index(herd, "s")
    assert outcomes(job) == {"below/c.md": "moved"}
    assert (job.failed, job.message) == (0, "")
    assert contents(herd, "s") == fresh_contents(herd, notes)
