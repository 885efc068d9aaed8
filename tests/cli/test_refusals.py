"""What cannot be done is refused with a sentence that names the thing and one with the next step,
and nothing is lost."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, StoreError
from rag_core.library import Library
from rag_core.store.migrations import VERSION
from rag_core.types import OWNER, Job
from tests.conftest import index
from tests.support.command import Run
from tests.support.runner import RUN_AT_A_WORD, child
from tests.support.unwritable import for_reading_only, let_everybody_reach, without_rights

pytestmark = pytest.mark.thorough


def found(library: Library, query: str) -> list[str]:
    return [hit.document.path for hit in library.search(OWNER, query, mode="lexical").hits]


# --- names and patterns -----------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["", "../x", "a/b", "x" * 64, ".hidden", "a b", "naïve", "-x", "_x", "x\0y", "x\n", "con:"]
)
def test_a_store_name_that_cannot_be_a_file_s_is_refused_with_the_rule(library: Library, name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        library.create_store(OWNER, name, "hashing")
    assert repr(name[:80]) in refused.value.message
    assert refused.value.suggestion.startswith("Use 1 to 63 letters, digits, hyphens and underscores")
    assert library.stores.names(OWNER) == []


def test_a_rename_is_refused_as_a_creation_is(library: Library) -> None:
    library.create_store(OWNER, "a", "hashing")
    library.create_store(OWNER, "b", "hashing")
    for name in ("B", "../x", ""):
        with pytest.raises(InvalidInput):
            library.stores.rename(OWNER, "a", name)
    assert library.stores.names(OWNER) == ["a", "b"]


def test_a_rename_keeps_everything_and_may_change_case_only(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The heron waits.", "utf-8")
    index(library, "a", notes)
    before = library.search(OWNER, "heron", ["a"]).hits
    assert library.stores.rename(OWNER, "a", "A").name == "A"
    assert library.stores.rename(OWNER, "A", "birds").file_count == 1
    assert [hit.key for hit in library.search(OWNER, "heron", ["birds"]).hits] == [hit.key for hit in before]
    assert sorted(path.name for path in library.settings.store_dir.glob("*.db*"))[0] == "birds.db"
    assert index(library, "birds").state == "done"


def test_a_store_that_another_process_has_open_is_not_renamed(library: Library, notes: Path) -> None:
    library.create_store(OWNER, "a", "hashing")
    other = Library.open(library.settings)
    other.documents.all(OWNER, "a")
    with pytest.raises(StoreError, match="Store 'a' is in use by another process"):
        library.stores.rename(OWNER, "a", "b")
    other.close()
    library.stores.rename(OWNER, "a", "b")
    assert library.stores.names(OWNER) == ["b"]


@pytest.mark.parametrize(
    ("glob", "hint"),
    [
        ("*.txt", "Did you mean '**/*.txt'? That matches 1 file."),
        ("*.xyz", "Its files end in .md, .txt. Include some of them, for example '**/*.md'."),
    ],
)
def test_a_pattern_that_matches_nothing_is_said_with_what_would(
    library: Library, notes: Path, glob: str, hint: str
) -> None:
    (notes / "sub").mkdir()
    (notes / "a.md").write_text("A.", "utf-8")
    (notes / "sub" / "b.txt").write_text("B.", "utf-8")
    sentence = f"No file below {str(notes)!r} matches {glob!r}. {hint}"
    library.create_store(OWNER, "s", "hashing")
    for attempt in (library.sources.draft, library.add_source):
        with pytest.raises(InvalidInput) as error:
            attempt(OWNER, "s", notes, [glob])
        assert str(error.value) == sentence
    source = library.add_source(OWNER, "s", notes, ["**/*"])
    assert library.sources.plan(OWNER, "s", replace(source, include=(glob,))).warnings == (sentence,)


@pytest.mark.parametrize("kind", ["gone", "a file"])
def test_a_folder_that_is_none_is_refused_before_it_is_in_a_store(
    library: Library, tmp_path: Path, kind: str
) -> None:
    root = tmp_path / "root"
    if kind == "a file":
        root.write_text("I am a file.", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    with pytest.raises(InvalidInput) as refused:
        library.add_source(OWNER, "s", root, ["**/*"])
    said = {
        "gone": (f"{str(root)!r} is not a folder.", "Check the spelling, or mount its disk."),
        "a file": (f"{str(root)!r} is not a folder but a file.", f"Give its folder: {str(tmp_path)!r}."),
    }
    assert (refused.value.message, refused.value.suggestion) == said[kind]
    assert library.sources.all(OWNER, "s") == []


def test_a_pattern_over_an_empty_folder_says_that_it_is_empty(library: Library, notes: Path) -> None:
    assert index(library, "s", notes).message.endswith("The folder holds no files that Commonplace can read.")


# --- no room, no permission -------------------------------------------------------------


@pytest.fixture
def small(library: Library, notes: Path) -> Library:
    """A store of one note, its log folded into the file, so that everything must be written anew."""
    (notes / "old.md").write_text("The zebra sleeps.", "utf-8")
    index(library, "s", notes)
    library.close()
    return library


def leave_a_log(library: Library) -> Path:
    """Leave the store ``s`` as a process that was killed leaves it: its last change is in its log."""
    path = library.settings.store_dir / "s.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("INSERT INTO meta VALUES ('x', 'y')")
        copies = {each: each.read_bytes() for each in (path, path.with_name("s.db-wal"))}
    for each, data in copies.items():
        each.write_bytes(data)
    return path


@pytest.fixture
def read_only(small: Library) -> Iterator[Library]:
    """``small`` where everybody may read and nobody may write."""
    with for_reading_only(small.settings.data_dir.parent):
        yield small


# --- reading where nothing can be written -----------------------------------------------


@pytest.mark.posix
def test_a_store_on_a_disk_that_cannot_be_written_is_searched_and_shown(read_only: Library) -> None:
    with without_rights():
        assert found(read_only, "zebra") == ["old.md"]
        assert read_only.stores.info(OWNER, "s").file_count == 1
        assert [chunk.content for chunk in read_only.documents.get(OWNER, "s", "old.md").chunks] == [
            "The zebra sleeps."
        ]
        assert [job.state for job in read_only.jobs.all(OWNER, "s")] == ["done"]
        assert [file.path for file in read_only.files.all(OWNER, "s")] == ["old.md"]
    names = sorted(path.name for path in read_only.settings.store_dir.iterdir())
    assert names == ["s.db", "s.decisions.json", "s.lock"]


@pytest.mark.posix
def test_a_sound_store_that_cannot_be_written_is_found_sound(
    read_only: Library,
) -> None:
    with without_rights():
        health = read_only.upkeep.verify(OWNER, "s")
    assert health.sound
    [(check, said)] = [(each.check, each.sentence) for each in health.findings]
    assert (check, said.endswith("because the store cannot be written.")) == ("words", True)


@pytest.mark.posix
def test_what_somebody_else_writes_to_a_store_that_this_account_cannot_is_found(
    read_only: Library, notes: Path
) -> None:
    with without_rights():
        assert found(read_only, "zebra") == ["old.md"]
    folder = read_only.settings.store_dir
    folder.chmod(0o755)
    (folder / "s.db").chmod(0o644)
    (notes / "new.md").write_text("A walrus.", "utf-8")
    writer = Library.open(read_only.settings)
    index(writer, "s")
    writer.close()
    (folder / "s.db").chmod(0o444)
    folder.chmod(0o555)

    with without_rights():
        assert found(read_only, "walrus") == ["new.md"]
    read_only.close()


@pytest.mark.posix
def test_a_store_with_an_unreadable_log_says_what_to_do(small: Library, notes: Path) -> None:
    path = leave_a_log(small)
    let_everybody_reach(path)
    with without_rights(), pytest.raises(StoreError, match="'s' cannot be opened") as refused:
        small.search(OWNER, "zebra")
    assert "copy its files to a folder that can be written" in refused.value.suggestion
    assert found(small, "zebra") == ["old.md"]


@pytest.mark.posix
def test_a_store_of_an_older_version_that_cannot_be_written_says_what_to_do(read_only: Library) -> None:
    folder = read_only.settings.store_dir
    folder.chmod(0o755)
    with closing(sqlite3.connect(folder / "s.db")) as db:
        db.execute(f"PRAGMA user_version = {VERSION - 1}")
    folder.chmod(0o555)
    with without_rights(), pytest.raises(StoreError, match="cannot be brought up to date") as refused:
        read_only.search(OWNER, "zebra")
    assert refused.value.suggestion == "Copy the file to a folder that can be written."


# --- long lines -------------------------------------------------------------------------


@pytest.mark.posix
@pytest.mark.parametrize("between", [" ", ","], ids=["with spaces", "without a space"])
def test_a_line_of_5_mb_is_found_by_every_word_in_it(library: Library, notes: Path, between: str) -> None:
    count = 5_000_000 // len("word123456 ")
    (notes / "line.txt").write_text(between.join(f"word{number:06}" for number in range(count)), "utf-8")
    before = peak_memory()

    def words_only(job: Job) -> None:
        if job.progress.phase == "embedding":
            library.jobs.cancel(OWNER, "s")

    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ["**/*"])
    library.jobs.request(OWNER, "s")
    job = library.jobs.run(OWNER, "s", words_only)

    assert job is not None
    assert (job.failed, job.counts["added"]) == (0, 1)
    for number in (0, count // 2, count - 1):
        hit = library.search(OWNER, f"word{number:06}", mode="lexical").hits[0]
        assert f"word{number:06}" in hit.content
        assert (hit.start_line, hit.end_line) == (1, 1)
        assert len(hit.content) < 2000
    assert peak_memory() - before < 200_000_000


def peak_memory() -> int:
    """The most bytes that this process ever had."""
    import resource  # Windows has none

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


# --- a second process -------------------------------------------------------------------


def test_the_first_process_does_the_request_of_a_second(run: Run, library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.", "utf-8")
    index(library, "s", notes)
    (notes / "b.md").write_text("The walrus swims.", "utf-8")
    library.jobs.request(OWNER, "s")
    first = child(RUN_AT_A_WORD, library.settings.store_dir / "s.db")
    (notes / "c.md").write_text("The heron waits.", "utf-8")

    result = run("index", "--store", "s")

    assert result.status == 0
    assert result.out == ("Store 's' is being indexed. That run will also carry out this request.\n")
    assert library.jobs.requested(OWNER, "s")
    assert [job.state for job in library.jobs.all(OWNER, "s")] == ["running", "done"]
    assert found(library, "heron") == []
    first.communicate("")
    assert first.returncode == 0
    assert not library.jobs.requested(OWNER, "s")
    assert [job.state for job in library.jobs.all(OWNER, "s")] == ["done", "done"]
    assert [found(library, word) for word in ("walrus", "heron")] == [["b.md"], ["c.md"]]


def test_what_a_command_asks_of_a_running_job_is_said(run: Run, library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("The zebra sleeps.", "utf-8")
    index(library, "s", notes)
    (notes / "b.md").write_text("The walrus swims.", "utf-8")
    library.jobs.request(OWNER, "s")
    first = child(RUN_AT_A_WORD, library.settings.store_dir / "s.db")

    assert "'a.md' is excluded: no search finds it." in run("exclude", "a.md").out
    assert found(library, "zebra") == []
    assert "The present run of the store also reads 'a.md' again." in run("exclude", "a.md", "--undo").out
    assert "Run 2 stops." in run("jobs", "--cancel").out
    first.communicate("")
    assert library.jobs.all(OWNER, "s")[0].state == "cancelled"
    assert run("jobs", "--cancel").out == "Store 's' is not being indexed, so there is no run to stop.\n"
