"""Since when files may be unread: since the last run that went through all of every folder, not any run."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.store import sources
from rag_core.types import OWNER
from tests.conftest import index
from tests.trees import write


@pytest.fixture
def two_folders(library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """A store with two folders that were read; their numbers. A second passes whenever the clock is looked
    at."""
    first = datetime(2026, 1, 2, tzinfo=UTC)
    clock = map(timedelta(seconds=1).__mul__, count())
    monkeypatch.setattr("rag_core.store.jobs.now", lambda: (first + next(clock)).isoformat())
    write(tmp_path, {"one/a.md": "A zebra.\n", "two/b.md": "A walrus.\n"})
    index(library, "s", tmp_path / "one")
    index(library, "s", tmp_path / "two")
    one, two = library.sources.all(OWNER, "s")
    return one.source.id, two.source.id


def last(library: Library) -> str:
    return library.jobs.all(OWNER, "s", 1)[0].start_time


def read_whole(library: Library) -> str:
    """The start of the last job that read a whole folder, of all folders that are not paused the earliest."""
    with library._shared.stores.open(OWNER, "s").store.read() as db:
        return min(sources.whole_reads(db), default="")


def run(library: Library) -> None:
    assert library.jobs.run(OWNER, "s") is not None


def test_a_run_over_all_folders_counts(library: Library, two_folders: tuple[int, int]) -> None:
    before = last(library)
    assert read_whole(library) == before
    index(library, "s")
    assert read_whole(library) == last(library) > before


def test_a_run_over_one_file_does_not_count(library: Library, two_folders: tuple[int, int]) -> None:
    before = last(library)
    library.jobs.request_file(OWNER, "s", "a.md")
    run(library)
    assert read_whole(library) == before < last(library)


def test_each_folder_counts_for_itself(library: Library, two_folders: tuple[int, int]) -> None:
    one, two = two_folders
    before = last(library)
    library.jobs.request(OWNER, "s", [one])
    run(library)
    first = last(library)
    assert read_whole(library) == before
    library.jobs.request(OWNER, "s", [two])
    run(library)
    assert read_whole(library) == first
    library.sources.pause(OWNER, "s", one)
    assert read_whole(library) == last(library)


def test_a_run_that_removed_a_folder_does_not_count(library: Library, two_folders: tuple[int, int]) -> None:
    before = last(library)
    library.sources.remove(OWNER, "s", two_folders[1])
    run(library)
    assert read_whole(library) == before < last(library)


def test_a_folder_that_was_not_there_was_not_read(
    library: Library, two_folders: tuple[int, int], tmp_path: Path
) -> None:
    before = last(library)
    (tmp_path / "two").rename(tmp_path / "away")
    index(library, "s")
    assert read_whole(library) == before < last(library)
