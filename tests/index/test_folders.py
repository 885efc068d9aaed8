"""The folders of a store, changed, paused and removed by their owner."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput
from rag_core.files import Preview, doubt
from rag_core.library import Library
from rag_core.types import OWNER, Job, Source
from tests.conftest import index
from tests.support.consistency import check_library, run
from tests.support.stored import contents, found, fresh_contents, outcomes, paths


@pytest.fixture
def source(library: Library, notes: Path) -> Source:
    """The folder of store ``s``, with three notes and a text."""
    for name in ("a.md", "b.md", "c.md", "d.txt"):
        (notes / name).write_text(f"It tells of subject {name[0]}.\n", "utf-8")
    index(library, "s", notes)
    return library.stores.info(OWNER, "s").sources[0]


@pytest.fixture
def other(library: Library, tmp_path: Path, source: Source) -> Source:
    """A second folder of store ``s``, with one note."""
    folder = tmp_path / "other"
    folder.mkdir()
    (folder / "zebra.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", folder)
    return library.stores.info(OWNER, "s").sources[1]


def roots(library: Library) -> list[str]:
    return [source.root for source in library.stores.info(OWNER, "s").sources]


# --- changing ---------------------------------------------------------------------------


def test_files_that_new_globs_leave_out_are_forgotten_by_the_next_run(
    library: Library, notes: Path, source: Source
) -> None:
    changed = library.sources.change(OWNER, "s", source.id, ["**/*.md"], ["b*"])
    assert (changed.include, changed.exclude) == (("**/*.md",), ("b*",))
    assert len(paths(library)) == 4, "not before"

    assert outcomes(index(library, "s")) == {"b.md": "deleted", "d.txt": "deleted"}

    assert paths(library) == ["a.md", "c.md"]
    (notes / "b.md").unlink()
    (notes / "d.txt").unlink()
    assert contents(library, "s") == fresh_contents(library, notes)
    check_library(library, "s")


@pytest.mark.parametrize(
    ("glob", "why"), [("../*.md", "leads out of its folder"), ("**/*.mdd", r"matches '\*\*/\*.mdd'")]
)
def test_unusable_globs_change_nothing(library: Library, source: Source, glob: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        library.sources.change(OWNER, "s", source.id, [glob])
    assert library.sources.get(OWNER, "s", source.id) == source


INNER = [
    (["**/*"], [], ["**/*.md"], [], True),
    (["**/*.md"], [], ["**/*.md"], [], True),
    (["**/*"], ["**/old/**"], ["**/*"], ["**/old/**"], True),
    (["**/*.md"], [], ["**/*"], [], False),  # what is no note would come only with the inner one
    (["*/*"], [], ["*/*"], [], False),  # means other files in each
    (["**/*"], ["**/old/**"], ["**/*"], [], False),
    (["**/*"], ["inner/old/**"], ["**/*"], ["inner/old/**"], False),
    (["**/*"], ["inner/**"], ["**/*"], [], False),
]


@pytest.mark.parametrize(("outer", "but", "inner", "inner_but", "is_covered"), INNER)
def test_a_folder_inside_one_that_takes_all_of_it_is_not_added(
    library: Library,
    notes: Path,
    source: Source,
    outer: list[str],
    but: list[str],
    inner: list[str],
    inner_but: list[str],
    is_covered: bool,
) -> None:
    (notes / "inner" / "deep").mkdir(parents=True)
    for place in ("", "inner", "inner/deep"):
        (notes / place / "zebra.md").write_text("The zebra sleeps.\n", "utf-8")
    library.sources.change(OWNER, "s", source.id, outer, but)
    added = library.add_source(OWNER, "s", notes / "inner", inner, inner_but)
    assert (added.root == source.root) is is_covered
    assert len(roots(library)) == (1 if is_covered else 2)


# --- pausing ----------------------------------------------------------------------------


def test_a_paused_folder_keeps_its_documents_and_is_left_out_of_runs_over_all(
    library: Library, notes: Path, source: Source, other: Source
) -> None:
    library.sources.pause(OWNER, "s", source.id)
    (notes / "new.md").write_text("It is new.\n", "utf-8")
    (notes / "a.md").unlink()

    assert [plan.source.root for plan in library.sources.plans(OWNER, "s")] == [other.root]
    assert index(library, "s").counts == {"unchanged": 1}

    assert len(paths(library)) == 5
    assert "a.md" in paths(library)


# --- removing ---------------------------------------------------------------------------


def test_removing_a_folder_forgets_its_documents_and_no_others(
    library: Library, notes: Path, source: Source, other: Source
) -> None:
    assert library.sources.remove(OWNER, "s", source.id).removed
    assert library.jobs.requested(OWNER, "s")

    job = run(library)

    assert job.counts["deleted"] == 4
    assert paths(library) == ["other/zebra.md"]
    assert roots(library) == [other.root]
    assert found(library, "subject a") == []
    assert len(list(notes.iterdir())) == 4, "the files stay"
    check_library(library, "s")
    assert index(library, "s").counts == {"unchanged": 1}


def test_a_folder_whose_disk_is_gone_can_be_removed(
    library: Library, notes: Path, source: Source, other: Source
) -> None:
    shutil.rmtree(notes)

    library.sources.remove(OWNER, "s", source.id)
    job = run(library)

    assert (job.state, job.failed, job.message) == ("done", 0, "")
    assert paths(library) == ["other/zebra.md"]


def test_a_removal_that_was_cancelled_goes_on_with_the_next_run(
    library: Library, source: Source, other: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.index.job_log._NOTE_EVERY_S", 0.0)
    library.sources.remove(OWNER, "s", source.id)

    def cancel(job: Job) -> None:
        if job.counts.get("deleted") == 2:
            library.jobs.cancel(OWNER, "s")

    job = library.jobs.run(OWNER, "s", cancel)
    assert job is not None
    assert job.state == "cancelled"
    assert 1 < len(paths(library)) < 5
    assert library.sources.get(OWNER, "s", source.id).removed
    check_library(library, "s")

    library.jobs.request(OWNER, "s", [other.id])  # whatever is asked for
    run(library)

    assert paths(library) == ["other/zebra.md"]
    assert roots(library) == [other.root]


def test_adding_the_folder_again_before_the_run_keeps_it_with_the_new_globs(
    library: Library, notes: Path, source: Source
) -> None:
    library.sources.remove(OWNER, "s", source.id)
    again = library.add_source(OWNER, "s", notes, ["**/*.txt"])

    job = run(library)

    assert (again.id, again.removed, again.include) == (source.id, False, ("**/*.txt",))
    assert job.counts["deleted"] == 3
    assert paths(library) == ["d.txt"]


# --- how they stand ---------------------------------------------------------------------


@pytest.mark.posix
def test_folders_are_listed_with_their_files_and_whether_they_are_there(
    library: Library, notes: Path, source: Source, other: Source
) -> None:
    (notes / "broken.md").write_bytes(b"\xff\xfe" + b"\x00\xd8" * 9)
    (notes / "photo.md").write_bytes(bytes(range(256)) * 40)
    index(library, "s")
    shutil.rmtree(other.root)

    first, second = library.sources.all(OWNER, "s")

    assert (first.source.root, first.indexed, first.failed, first.skipped) == (str(notes), 4, 1, 1)
    assert (first.missing, second.missing) == (False, True)
    assert second.indexed == 1


# --- too much ---------------------------------------------------------------------------

FEW = Preview(3, (), {}, 100, truncated=False)


@pytest.mark.parametrize(
    ("root", "include", "found", "why"),
    [
        ("/", ("**/*",), FEW, "'/' is the whole disk."),
        ("/home/ann", ("**/*.md",), FEW, "'/home/ann' is your whole home folder."),
        ("/home", (), FEW, "'/home' holds your whole home folder."),
        ("/home/ann", ("*.md", "notes/**"), FEW, ""),
        ("/home/ann/notes", ("**/*",), FEW, ""),
        ("/data", ("*",), replace(FEW, truncated=True), "'/data' holds more than 50,000 files and folders."),
        ("/home/anna", ("**/*",), FEW, ""),
    ],
)
def test_a_folder_that_may_be_chosen_by_a_slip_is_doubted(
    monkeypatch: pytest.MonkeyPatch, root: str, include: tuple[str, ...], found: Preview, why: str
) -> None:
    monkeypatch.setenv("HOME", "/home/ann")
    assert doubt(Path(root), include, found) == why


def test_files_that_are_hardly_text_are_counted_and_noted_beforehand(library: Library, notes: Path) -> None:
    for name in ("a.md", "song.MP3", "tea.iso"):
        (notes / name).write_bytes(b"x")
    library.create_store(OWNER, "s", "hashing")
    draft = library.sources.draft(OWNER, "s", notes, ["**/*"])

    plan = library.sources.plan(OWNER, "s", draft)

    expected = plan.expected()
    unlikely = [(path, note) for became, path, note in plan.rows() if became == "skipped"]
    assert unlikely == [("song.MP3", "will probably be skipped"), ("tea.iso", "will probably be skipped")]
    added = sum(became == "added" for became, _, _ in plan.rows())
    assert (expected["added"], expected["unlikely"], "skipped" in expected) == (added, 2, False)
    assert (plan.counts()["added"], plan.counts()["skipped"]) == (added, 2)
