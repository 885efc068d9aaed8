"""What cannot be read: it is said, it costs no other file, and nothing is forgotten by mistake."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.errors import InvalidInput, StoreError
from rag_core.extract import plain
from rag_core.library import Library
from rag_core.types import OWNER, Extracted, Job
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import contents, found, fresh_contents, keys, outcomes, paths

NOBODY = 65534
BINARY = b"\x00\x01\x02\x03" * 100


@pytest.fixture
def as_nobody() -> Iterator[Path]:
    """A folder of one's own, without the rights of root, who may read everything."""
    folder = Path(tempfile.mkdtemp(prefix="commonplace-"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, NOBODY, NOBODY)
        os.seteuid(NOBODY)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        shutil.rmtree(folder)


@pytest.fixture
def plain_library(as_nobody: Path) -> Iterator[Library]:
    library = Library.open(Settings(as_nobody / "data", as_nobody / "models", (as_nobody,)))
    yield library
    library.close()


@pytest.fixture
def plain_notes(as_nobody: Path) -> Path:
    (as_nobody / "notes").mkdir()
    return as_nobody / "notes"


# --- files ----------------------------------------------------------------------------


@pytest.mark.posix
def test_a_file_that_may_not_be_read_keeps_its_text_and_recovers(
    plain_library: Library, plain_notes: Path
) -> None:
    library, note = plain_library, plain_notes / "a.md"
    note.write_text("The zebra sleeps.\n", "utf-8")
    (plain_notes / "b.md").write_text("The giraffe sleeps.\n", "utf-8")
    index(library, "s", plain_notes)
    before = keys(library, "s", "a.md")
    note.write_text("The zebra woke up.\n", "utf-8")
    note.chmod(0)

    job = index(library, "s")

    assert (job.failed, job.succeeded, job.counts["failed"]) == (1, 1, 1)
    [result] = job.results
    assert (result.source_file, result.status, result.outcome) == ("a.md", "failure", "failed")
    assert "a.md" in result.message
    assert found(library, "zebra sleeps") == ["a.md"]
    assert keys(library, "s", "a.md") == before
    state = {
        document.path: (document.state, document.reason) for document in library.documents.all(OWNER, "s")
    }
    assert state["a.md"] == ("failed", result.message)
    check_library(library, "s")

    assert index(library, "s").counts["failed"] == 1
    note.chmod(0o600)
    assert outcomes(index(library, "s")) == {"a.md": "reread"}
    assert found(library, "zebra woke up") == ["a.md"]
    assert contents(library, "s") == fresh_contents(library, plain_notes)


@pytest.mark.posix
@pytest.mark.parametrize("beside", [["b.md"], []], ids=["beside others", "that held everything"])
def test_a_folder_that_may_not_be_listed_keeps_its_documents(
    plain_library: Library, plain_notes: Path, beside: list[str]
) -> None:
    library, folder = plain_library, plain_notes / "sub"
    folder.mkdir()
    for name in ("sub/a.md", *beside):
        (plain_notes / name).write_text(f"The zebra sleeps in {name}.\n", "utf-8")
    index(library, "s", plain_notes)
    folder.chmod(0)

    job = index(library, "s")

    folder.chmod(0o700)
    assert (job.failed, job.counts.get("deleted", 0)) == (0, 0)
    assert "Left out: sub. The folder cannot be listed." in job.message
    assert sorted(found(library, "zebra")) == paths(library) == [*beside, "sub/a.md"]


@pytest.mark.posix
def test_a_source_that_may_not_be_listed_at_all_is_said_and_keeps_its_documents(
    plain_library: Library, plain_notes: Path
) -> None:
    library = plain_library
    (plain_notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", plain_notes)
    plain_notes.chmod(0)

    job = index(library, "s")
    with pytest.raises(InvalidInput) as refused:
        library.sources.plans(OWNER, "s")

    plain_notes.chmod(0o700)
    message = f"The folder {str(plain_notes)!r} cannot be read: permission denied."
    assert (refused.value.message, refused.value.suggestion) == (message, "Allow this user to read it.")
    assert (job.state, job.failed, job.message) == ("done", 1, str(refused.value))
    assert [(each.source_file, each.message) for each in job.results] == [(str(plain_notes), message)]
    assert paths(library) == ["a.md"]


def test_a_file_that_becomes_binary_is_skipped_with_the_reason_and_loses_its_text(
    library: Library, notes: Path
) -> None:
    (notes / "a.md").write_text("---\ntags: [x]\n---\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    (notes / "a.md").write_bytes(BINARY)

    job = index(library, "s")

    [result] = job.results
    assert (result.outcome, result.status) == ("skipped", "success")
    assert "not text" in result.message
    assert found(library, "zebra") == []
    [document] = library.documents.all(OWNER, "s")
    assert (document.state, document.reason, document.chunks) == ("skipped", result.message, 0)
    assert contents(library, "s") == fresh_contents(library, notes)
    check_library(library, "s")


def test_a_skipped_file_is_not_read_again_until_it_changes(library: Library, notes: Path) -> None:
    (notes / "a.md").write_bytes(BINARY)
    index(library, "s", notes)

    assert index(library, "s").counts == {"unchanged": 0, "still_skipped": 1}
    os.utime(notes / "a.md", (0, 0))
    (notes / "b.md").write_text("The heron waits.\n", "utf-8")
    job = index(library, "s")
    assert (job.counts, job.total_files) == ({"unchanged": 0, "still_skipped": 1, "added": 1}, 2)
    assert index(library, "s").counts == {"unchanged": 1, "still_skipped": 1}
    [plan] = library.sources.plans(OWNER, "s")
    assert (plan.counts()["unchanged"], plan.counts()["still_skipped"]) == (1, 1)
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    assert outcomes(index(library, "s")) == {"a.md": "changed"}
    assert found(library, "zebra") == ["a.md"]


def broken(_: Extracted) -> Extracted:
    raise ZeroDivisionError


def not_storable(doc: Extracted) -> Extracted:
    return replace(
        doc, tags=("\ud800",)
    )  # SQLite refuses a lone surrogate, half of the document must not stay


@pytest.mark.parametrize(("spoil", "error"), [(broken, "ZeroDivision"), (not_storable, "UnicodeEncode")])
def test_an_unforeseen_error_in_one_file_does_not_stop_the_run(
    library: Library,
    notes: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Extracted], Extracted],
    error: str,
) -> None:
    for name in ("a.md", "b.md", "c.md"):
        (notes / name).write_text(f"The words of {name}.\n", "utf-8")
    real = plain.read

    def read(data: bytes, path: PurePosixPath) -> Extracted:
        doc = real(data, path)
        return spoil(doc) if path.name == "b.md" else doc

    with monkeypatch.context() as patch:
        patch.setattr(plain, "read", read)
        job = index(library, "s", notes)

    assert outcomes(job) == {"a.md": "added", "b.md": "failed", "c.md": "added"}
    assert f"{error}Error" in job.results[0].message
    assert job.state == "done"
    assert found(library, "words of b.md") == []
    check_library(library, "s")


def test_an_edit_during_the_run_is_seen_by_the_next_one(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("The zebra sleeps.\n", "utf-8")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*",))
    library.jobs.request(OWNER, "s")

    def edit(job: Job) -> None:
        if job.progress.phase == "embedding":
            note.write_text("The hyena sleeps.\n", "utf-8")

    library.jobs.run(OWNER, "s", edit)

    assert outcomes(index(library, "s")) == {"a.md": "changed"}
    assert found(library, "hyena") == ["a.md"]


# --- folders --------------------------------------------------------------------------


def test_a_source_that_is_gone_is_said_and_keeps_its_documents(
    library: Library, notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    library.add_source(OWNER, "s", other, ("**/*",))
    (other / "b.md").write_text("The giraffe sleeps.\n", "utf-8")
    notes.rename(tmp_path / "unplugged")

    job = index(library, "s")
    with pytest.raises(InvalidInput) as refused:
        library.sources.plans(OWNER, "s")

    assert outcomes(job) == {str(notes): "failed", "other/b.md": "added"}
    assert refused.value.message == f"The folder {str(notes)!r} does not exist."
    assert refused.value.suggestion == "Check the spelling, or connect the drive it is on."
    assert job.message == str(refused.value)
    assert paths(library) == ["a.md", "other/b.md"]
    (tmp_path / "unplugged").rename(notes)
    assert index(library, "s").counts == {"unchanged": 2}


@pytest.mark.parametrize("force", [False, True])
def test_a_suddenly_empty_source_keeps_its_documents(library: Library, notes: Path, force: bool) -> None:
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    (notes / "a.md").unlink()

    job = index(library, "s", force=force)

    assert job.failed == 1
    assert "Nothing is left" in job.message
    assert "remove this folder from the store" in job.message
    assert paths(library) == ["a.md"]
    check_library(library, "s")


def write_thirty(notes: Path) -> None:
    for number in range(30):
        (notes / f"{number}.md").write_text(f"The zebra number {number} sleeps.\n", "utf-8")


@pytest.mark.parametrize(("glob", "stray"), [("**/*.md", "stray.txt"), ("**/*", "stray.md")])
def test_a_stray_file_where_a_disk_was_does_not_have_its_documents_forgotten(
    library: Library, notes: Path, tmp_path: Path, glob: str, stray: str
) -> None:
    write_thirty(notes)
    index(library, "s", notes, glob)
    with_disk = contents(library, "s")
    notes.rename(tmp_path / "unplugged")
    notes.mkdir()
    (notes / stray).write_text("Nothing is mounted here.\n", "utf-8")

    job = index(library, "s")

    assert (outcomes(job), job.counts) == ({str(notes): "failed"}, {"failed": 1})
    assert f"Nothing is left in {str(notes)!r} of the 30 documents that it held." in job.message
    assert "`commonplace source remove 1 --store s`" in job.message
    with pytest.raises(StoreError, match="Nothing is left"):
        library.sources.plans(OWNER, "s")
    library.jobs.request_file(OWNER, "s", "7.md")
    again = library.jobs.run(OWNER, "s")
    assert again is not None
    assert "Nothing is left" in again.message
    assert contents(library, "s") == with_disk
    (notes / stray).unlink()
    notes.rmdir()
    (tmp_path / "unplugged").rename(notes)
    assert index(library, "s").counts == {"unchanged": 30}


def test_the_owner_may_say_that_the_files_of_an_emptied_folder_are_gone(
    library: Library, notes: Path
) -> None:
    write_thirty(notes)
    index(library, "s", notes)
    for file in notes.iterdir():
        file.unlink()
    (notes / "new.md").write_text("A new beginning.\n", "utf-8")
    assert "Nothing is left" in index(library, "s").message

    library.sources.remove(OWNER, "s", 1)
    library.jobs.run(OWNER, "s")
    assert paths(library) == []
    assert outcomes(index(library, "s", notes)) == {"new.md": "added"}
    check_library(library, "s")


def test_few_notes_that_others_replaced_are_forgotten(library: Library, notes: Path) -> None:
    (notes / "old.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    (notes / "old.md").unlink()
    (notes / "new.md").write_text("The giraffe sleeps.\n", "utf-8")
    assert outcomes(index(library, "s")) == {"old.md": "deleted", "new.md": "added"}


def test_one_renamed_file_shows_that_the_disk_is_there(library: Library, notes: Path) -> None:
    write_thirty(notes)
    index(library, "s", notes)
    for number in range(1, 30):
        (notes / f"{number}.md").unlink()
    (notes / "0.md").rename(notes / "kept.md")
    job = index(library, "s")
    assert (job.counts["moved"], job.counts["deleted"]) == (1, 29)


def test_a_source_that_goes_away_during_the_scan_keeps_its_documents(
    library: Library, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "sub").mkdir()
    for name in ("top", "sub/one", "sub/two"):
        (notes / f"{name}.md").write_text(f"It tells of {name}.\n", "utf-8")
    index(library, "s", notes)
    scan = os.scandir

    def unplug(path: Any) -> Any:
        found = scan(path)
        if os.fsencode(path).endswith(b"/sub/"):
            notes.rename(tmp_path / "unplugged")
            notes.mkdir()  # where it was mounted
        return found

    with monkeypatch.context() as patch:
        patch.setattr("os.scandir", unplug)
        job = index(library, "s")
    assert job.message.startswith(f"The folder {str(notes)!r} disappeared while it was scanned.")
    assert job.counts == {"failed": 1}
    assert len(paths(library)) == 3
