"""Bringing a store up to date with a folder: what becomes of each file, and what it costs."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rag_core.errors import Forbidden, InvalidInput
from rag_core.library import Library
from rag_core.types import OWNER, Job, Viewer
from tests.conftest import index
from tests.consistency import check_library, contents, fresh_contents, keys, store_of


def outcomes(job: Job) -> dict[str, str]:
    return {result.source_file: result.outcome for result in job.results}


def paths(library: Library, store: str = "s") -> list[str]:
    return [document.path for document in library.documents(OWNER, store)]


def found(library: Library, words: str, store: str = "s") -> list[str]:
    """The paths of the documents that hold ``words`` word for word."""
    answer = library.search(OWNER, f'"{words}"', [store], mode="lexical", top_k=50)
    return sorted({hit.document.path for hit in answer.hits})


def long_note(paragraphs: int) -> str:
    body = "\n\n".join(
        f"Paragraph {n} tells of subject{n} and of nothing else that the others would tell of; it goes on."
        for n in range(paragraphs)
    )
    return f"# A long note\n\n{body}\n"


# --- outcomes -------------------------------------------------------------------------


def test_new_files_are_added_and_found(library: Library, notes: Path) -> None:
    (notes / "tea.md").write_text("# Tea\n\nSteep the leaves for three minutes.\n")
    (notes / "sub").mkdir()
    (notes / "sub" / "coffee.txt").write_text("Grind the beans.\n")

    job = index(library, "s", notes)

    assert outcomes(job) == {"tea.md": "added", "sub/coffee.txt": "added"}
    assert found(library, "Grind the beans") == ["sub/coffee.txt"]
    assert found(library, "three minutes") == ["tea.md"]
    check_library(library, "s")


def test_a_run_without_changes_writes_no_chunk_and_embeds_no_text(library: Library, notes: Path) -> None:
    for n in range(5):
        (notes / f"{n}.md").write_text(f"# Note {n}\n\nIt tells of subject{n}.\n")
    index(library, "s", notes)

    job = index(library, "s")

    assert job.counts == {"unchanged": 5}
    assert (job.total_files, job.succeeded, job.failed) == (5, 5, 0)
    assert (job.total_chunks_added, job.texts_embedded, job.results) == (0, 0, ())


def test_a_run_without_changes_leaves_every_cache_valid(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nIt tells of one subject.\n")
    index(library, "s", notes)
    pretend_seen(library, note, scanned_ns=note.stat().st_ctime_ns + 2_100_000_000)
    before = library.generations(OWNER)

    index(library, "s")

    assert library.generations(OWNER) == before


def test_an_edited_file_is_changed_and_loses_its_old_words(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n")
    index(library, "s", notes)
    note.write_text("# A\n\nThe giraffe sleeps.\n")

    job = index(library, "s")

    assert outcomes(job) == {"a.md": "changed"}
    assert found(library, "zebra") == []
    assert found(library, "giraffe") == ["a.md"]
    check_library(library, "s")


def test_a_deleted_file_is_forgotten_with_its_vectors(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n")
    (notes / "b.md").write_text("# B\n\nThe giraffe sleeps.\n")
    index(library, "s", notes)
    (notes / "a.md").unlink()

    job = index(library, "s")

    assert outcomes(job) == {"a.md": "deleted"}
    assert paths(library) == ["b.md"]
    assert found(library, "zebra") == []
    store = store_of(library, "s")
    with store.read() as db:
        assert db.execute("SELECT count(*) FROM embeddings").fetchone()[0] == 1
    store.close()
    check_library(library, "s")


def test_a_file_that_only_got_a_new_time_is_unchanged(library: Library, notes: Path) -> None:
    note = notes / "2026-01-02 a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n")
    index(library, "s", notes)
    before = keys(library, "s", note.name)
    os.utime(note, (1_000_000_000, 1_000_000_000))

    job = index(library, "s")

    assert job.counts == {"unchanged": 1}
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert keys(library, "s", note.name) == before


def test_a_rewrite_with_the_same_size_and_time_is_seen(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n")
    index(library, "s", notes)
    before = note.stat()
    note.write_text("# A\n\nThe hyena sleeps.\n")
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert outcomes(index(library, "s")) == {"a.md": "changed"}
    assert found(library, "hyena") == ["a.md"]


def test_a_file_written_just_before_its_scan_is_hashed_at_the_next(library: Library, notes: Path) -> None:
    """Where the disk keeps coarse times, two writes within one tick look alike: the store is told
    that nothing in the file's stat changed."""
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n")
    index(library, "s", notes)
    note.write_text("# A\n\nThe hyena sleeps.\n")
    pretend_seen(library, note, scanned_ns=note.stat().st_ctime_ns + 1_900_000_000)

    assert outcomes(index(library, "s")) == {"a.md": "changed"}


def test_a_file_older_than_its_scan_is_not_read_again(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n")
    index(library, "s", notes)
    note.write_text("# A\n\nThe hyena sleeps.\n")
    pretend_seen(library, note, scanned_ns=note.stat().st_ctime_ns + 2_100_000_000)

    assert index(library, "s").counts == {"unchanged": 1}


def pretend_seen(library: Library, file: Path, *, scanned_ns: int) -> None:
    """Let the store believe that it saw ``file`` with its present stat at ``scanned_ns``."""
    stat = file.stat()
    store = store_of(library, "s")
    with store.write() as db:
        db.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, scanned_ns = ?",
            (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, scanned_ns),
        )
    store.close()


def test_force_reads_every_file_and_embeds_none(library: Library, notes: Path) -> None:
    for n in range(3):
        (notes / f"{n}.md").write_text(f"# Note {n}\n\nIt tells of subject{n}.\n")
    index(library, "s", notes)
    before = [keys(library, "s", f"{n}.md") for n in range(3)]

    job = index(library, "s", force=True)

    assert job.counts["changed"] == 3
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert [keys(library, "s", f"{n}.md") for n in range(3)] == before


def test_documents_of_an_older_extractor_are_read_again(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n")
    index(library, "s", notes)
    store = store_of(library, "s")
    with store.write() as db:
        db.execute("UPDATE documents SET extractor = extractor - 1")
    store.close()

    assert outcomes(index(library, "s")) == {"a.md": "changed"}
    assert index(library, "s").counts == {"unchanged": 1}


def test_one_changed_line_of_a_long_note_embeds_at_most_two_texts(library: Library, notes: Path) -> None:
    note = notes / "long.md"
    note.write_text(long_note(120))
    index(library, "s", notes)
    before = keys(library, "s", "long.md")
    note.write_text(long_note(120).replace("of subject60 and", "of another matter and"))

    job = index(library, "s")

    after = keys(library, "s", "long.md")
    assert 1 <= job.texts_embedded <= 2
    assert job.total_chunks_added == job.texts_embedded
    assert len(before) > 10
    assert len(set(before) & set(after)) == len(before) - job.texts_embedded
    assert [key for key in after if key in before] == [key for key in before if key in after]
    check_library(library, "s")


def test_text_that_comes_back_is_not_embedded_again_in_the_same_run(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n")
    (notes / "b.md").write_text("# B\n\nThe giraffe sleeps.\n")
    index(library, "s", notes)
    (notes / "a.md").write_text("# B\n\nThe giraffe sleeps.\n")
    (notes / "b.md").write_text("# A\n\nThe zebra sleeps.\n")

    job = index(library, "s")

    assert job.counts["changed"] == 2
    assert job.texts_embedded == 0


def test_copies_of_a_file_share_one_embedding(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n")
    (notes / "b.md").write_text("# A\n\nThe zebra sleeps.\n")

    job = index(library, "s", notes)

    assert (job.total_chunks_added, job.texts_embedded) == (2, 1)
    (notes / "c.md").write_text("# A\n\nThe zebra sleeps.\n")
    job = index(library, "s")
    assert outcomes(job) == {"c.md": "added"}
    assert job.texts_embedded == 0
    (notes / "a.md").unlink()
    index(library, "s")
    check_library(library, "s")


def test_a_passage_repeated_in_one_document_is_stored_once(library: Library, notes: Path) -> None:
    chorus = "## Chorus\n\nThe same verse stands here again and again, long enough to be a passage.\n\n"
    (notes / "song.md").write_text(chorus * 4)

    [result] = index(library, "s", notes).results

    assert (result.chunks_added, result.chunks_skipped) == (1, 3)
    assert library.store_info(OWNER, "s").chunk_count == 1
    check_library(library, "s")


# --- which files ----------------------------------------------------------------------


def test_excluded_files_stay_out(library: Library, notes: Path) -> None:
    (notes / "drafts").mkdir()
    (notes / "a.md").write_text("# A\n\nText.\n")
    (notes / "drafts" / "b.md").write_text("# B\n\nText.\n")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ("**/*.md",), ("drafts/**",))

    index(library, "s")

    assert paths(library) == ["a.md"]


def test_excluding_files_later_takes_them_out(library: Library, notes: Path) -> None:
    (notes / "drafts").mkdir()
    (notes / "a.md").write_text("# A\n\nText.\n")
    (notes / "drafts" / "b.md").write_text("# B\n\nText.\n")
    index(library, "s", notes, "**/*.md")
    library.add_source(OWNER, "s", notes, ("**/*.md",), ("drafts/**",))

    assert outcomes(index(library, "s")) == {"drafts/b.md": "deleted"}


def test_adding_a_folder_again_joins_its_globs(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText.\n")
    (notes / "b.txt").write_text("Words.\n")
    index(library, "s", notes, "**/*.md")

    job = index(library, "s", notes, "**/*.txt")

    assert outcomes(job) == {"b.txt": "added"}
    assert [source.include for source in library.store_info(OWNER, "s").sources] == [("**/*.md", "**/*.txt")]


def test_a_second_folder_has_a_label_before_its_paths(library: Library, notes: Path, tmp_path: Path) -> None:
    work, other = tmp_path / "work", tmp_path / "deep" / "work"
    for folder in (notes, work, other):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.md").write_text(f"# A\n\nText in {folder}.\n")

    for folder in (notes, work, other):
        index(library, "s", folder)

    assert paths(library) == ["a.md", "work-2/a.md", "work/a.md"]
    check_library(library, "s")


@pytest.mark.parametrize("inner_first", [True, False])
def test_a_file_in_two_overlapping_folders_is_indexed_once(
    library: Library, notes: Path, inner_first: bool
) -> None:
    inner = notes / "sub"
    inner.mkdir()
    (notes / "a.md").write_text("# A\n\nText of a.\n")
    (inner / "b.md").write_text("# B\n\nText of b.\n")
    for folder in (inner, notes) if inner_first else (notes, inner):
        index(library, "s", folder)

    index(library, "s")

    assert len(paths(library)) == 2
    assert len(found(library, "Text of b")) == 1
    check_library(library, "s")


def test_folders_whose_names_only_begin_alike_do_not_overlap(library: Library, tmp_path: Path) -> None:
    for name in ("note", "notes"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.md").write_text(f"# A\n\nText of {name}.\n")
        index(library, "s", tmp_path / name)

    assert paths(library) == ["a.md", "notes/a.md"]


def test_a_request_may_name_the_sources_to_read(library: Library, notes: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    library.create_store(OWNER, "s", "hashing")
    first = library.add_source(OWNER, "s", notes, ("**/*",))
    library.add_source(OWNER, "s", other, ("**/*",))
    (notes / "a.md").write_text("# A\n\nText.\n")
    (other / "b.md").write_text("# B\n\nText.\n")

    library.request_index(OWNER, "s", [first.id])
    library.run(OWNER, "s")

    assert paths(library) == ["a.md"]


def test_a_paused_source_is_left_alone_unless_it_is_named(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText.\n")
    library.create_store(OWNER, "s", "hashing")
    source = library.add_source(OWNER, "s", notes, ("**/*",))
    store = store_of(library, "s")
    with store.write() as db:
        db.execute("UPDATE sources SET paused = 1")
    store.close()

    index(library, "s")
    assert paths(library) == []
    library.request_index(OWNER, "s", [source.id])
    library.run(OWNER, "s")
    assert paths(library) == ["a.md"]


def test_a_folder_that_is_not_there_is_refused_as_a_source(library: Library, tmp_path: Path) -> None:
    library.create_store(OWNER, "s", "hashing")
    with pytest.raises(InvalidInput, match="is not a folder"):
        library.add_source(OWNER, "s", tmp_path / "nowhere", ("**/*",))


def test_a_plan_says_what_a_run_would_do_and_does_nothing(library: Library, notes: Path) -> None:
    for name in ("kept", "edited", "moved", "deleted"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nText of {name}.\n")
    index(library, "s", notes)
    before, generation = contents(library, "s"), library.generations(OWNER)
    (notes / "edited.md").write_text("# edited\n\nOther text.\n")
    (notes / "moved.md").rename(notes / "elsewhere.md")
    (notes / "deleted.md").unlink()
    (notes / "new.md").write_text("# new\n\nText of new.\n")
    [source] = library.store_info(OWNER, "s").sources

    plan = library.plan(OWNER, "s", source)

    counts = {"added": 1, "changed": 1, "moved": 1, "deleted": 1, "unchanged": 1}
    assert plan.counts() == counts
    assert ("moved", "elsewhere.md", "from moved.md") in plan.rows()
    assert (contents(library, "s"), library.generations(OWNER)) == (before, generation)
    assert index(library, "s").counts == counts
    assert contents(library, "s") == fresh_contents(library, notes)


def test_only_the_owner_may_index(library: Library, notes: Path) -> None:
    index(library, "s", notes)
    guest = Viewer("guest", stores=frozenset({"s"}))
    for attempt in (library.request_index, library.run, library.cancel, library.jobs, library.delete_store):
        with pytest.raises(Forbidden):
            attempt(guest, "s")


def test_indexing_writes_nothing_into_the_folder(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nText.\n")
    before = (notes.stat().st_mtime_ns, sorted(notes.rglob("*")), (notes / "a.md").stat().st_mtime_ns)
    time.sleep(0.01)

    index(library, "s", notes)

    assert (notes.stat().st_mtime_ns, sorted(notes.rglob("*")), (notes / "a.md").stat().st_mtime_ns) == before
