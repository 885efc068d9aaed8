"""Which files a store reads: folders, globs, and where they overlap."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import contents, found, fresh_contents, outcomes, paths


def test_files_that_a_pattern_excludes_stay_out_and_are_deleted_later(library: Library, notes: Path) -> None:
    (notes / "drafts").mkdir()
    (notes / "old").mkdir()
    for path in ("a.md", "drafts/b.md", "old/c.md"):
        (notes / path).write_text(f"# {path}\n\nText.\n", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*.md",), ("old/**",))
    index(library, "s")
    assert paths(library) == ["a.md", "drafts/b.md"]

    library.add_source(OWNER, "s", notes, ("**/*.md",), ("drafts/**",))
    assert outcomes(index(library, "s")) == {"drafts/b.md": "deleted"}


def test_adding_a_folder_again_joins_its_globs(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText.\n", "utf-8")
    (notes / "b.txt").write_text("Words.\n", "utf-8")
    index(library, "s", notes, "**/*.md")

    job = index(library, "s", notes, "**/*.txt")

    assert outcomes(job) == {"b.txt": "added"}
    assert [source.include for source in library.stores.info(OWNER, "s").sources] == [("**/*.md", "**/*.txt")]


def test_a_second_folder_has_a_label_before_its_paths(library: Library, notes: Path, tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "deep" / "work"
    for folder in (notes, work, other):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.md").write_text(f"# A\n\nText in {folder}.\n", "utf-8")

    for folder in (notes, work, other):
        index(library, "s", folder)

    assert paths(library) == ["a.md", "work-2/a.md", "work/a.md"]
    check_library(library, "s")


@pytest.mark.parametrize("is_there", [True, False], ids=["on the disk", "as it was read"])
def test_a_folder_called_like_one_of_the_first_folder_goes_by_a_name_of_its_own(
    library: Library, notes: Path, tmp_path: Path, is_there: bool
) -> None:
    for folder in (notes / "work", tmp_path / "work"):
        folder.mkdir()
        (folder / "a.md").write_text(f"# A\n\nText below {folder.parent.name}.\n", "utf-8")
    index(library, "s", notes)
    if not is_there:
        (notes / "work").rename(tmp_path / "away")
        library.sources.pause(OWNER, "s", 1)

    index(library, "s", tmp_path / "work")

    assert paths(library) == ["work-2/a.md", "work/a.md"]
    assert found(library, f"Text below {tmp_path.name}") == ["work-2/a.md"]


def test_a_request_may_name_the_sources_to_read(library: Library, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    library.create_store(OWNER, "s", "hashing")
    first = library.add_source(OWNER, "s", notes, ("**/*",))
    library.add_source(OWNER, "s", other, ("**/*",))
    (notes / "a.md").write_text("# A\n\nText.\n", "utf-8")
    (other / "b.md").write_text("# B\n\nText.\n", "utf-8")

    library.jobs.request(OWNER, "s", [first.id])
    library.jobs.run(OWNER, "s")

    assert paths(library) == ["a.md"]


def test_a_plan_says_what_a_run_would_do_and_does_nothing(library: Library, notes: Path) -> None:
    for name in ("kept", "edited", "moved", "deleted"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nText of {name}.\n", "utf-8")
    index(library, "s", notes)
    before, generation = contents(library, "s"), library.stores.generations(OWNER)
    (notes / "edited.md").write_text("# edited\n\nOther text.\n", "utf-8")
    (notes / "moved.md").rename(notes / "elsewhere.md")
    (notes / "deleted.md").unlink()
    (notes / "new.md").write_text("# new\n\nText of new.\n", "utf-8")
    [source] = library.stores.info(OWNER, "s").sources

    plan = library.sources.plan(OWNER, "s", source)

    counts = {"added": 1, "changed": 1, "moved": 1, "deleted": 1, "unchanged": 1}
    assert plan.counts() == counts
    assert ("moved", "elsewhere.md", "from moved.md") in plan.rows()
    assert (contents(library, "s"), library.stores.generations(OWNER)) == (before, generation)
    assert index(library, "s").counts == counts
    assert contents(library, "s") == fresh_contents(library, notes)


def test_indexing_writes_nothing_into_the_folder(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText.\n", "utf-8")
    before = (notes.stat().st_mtime_ns, sorted(notes.rglob("*")), (notes / "a.md").stat().st_mtime_ns)
    time.sleep(0.01)

    index(library, "s", notes)

    assert (notes.stat().st_mtime_ns, sorted(notes.rglob("*")), (notes / "a.md").stat().st_mtime_ns) == before
