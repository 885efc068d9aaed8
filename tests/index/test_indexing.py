"""Bringing a store up to date with a folder: what becomes of each file, and what it costs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import (
    contents,
    found,
    fresh_contents,
    keys,
    long_note,
    outcomes,
    paths,
    pretend_seen,
    store_of,
)


def test_a_run_without_changes_writes_nothing_and_leaves_every_cache_valid(
    library: Library, notes: Path
) -> None:
    for n in range(5):
        (notes / f"{n}.md").write_text(f"# Note {n}\n\nIt tells of subject{n}.\n", "utf-8")
    index(library, "s", notes)
    for n in range(5):
        pretend_seen(library, notes / f"{n}.md")
    before = library.stores.generations(OWNER)

    job = index(library, "s")

    assert job.counts == {"unchanged": 5}
    assert (job.total_files, job.succeeded, job.failed) == (5, 5, 0)
    assert (job.total_chunks_added, job.texts_embedded, job.results) == (0, 0, ())
    assert library.stores.generations(OWNER) == before


def test_an_edited_file_is_changed_and_loses_its_old_words(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    note.write_text("# A\n\nThe giraffe sleeps.\n", "utf-8")

    job = index(library, "s")

    assert outcomes(job) == {"a.md": "changed"}
    assert found(library, "zebra") == []
    assert found(library, "giraffe") == ["a.md"]
    check_library(library, "s")


def test_a_deleted_file_is_forgotten_with_its_vectors(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("# B\n\nThe giraffe sleeps.\n", "utf-8")
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
    note.write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    before = keys(library, "s", note.name)
    os.utime(note, (1_000_000_000, 1_000_000_000))

    job = index(library, "s")

    assert job.counts == {"unchanged": 1}
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert keys(library, "s", note.name) == before


def test_a_rewrite_with_the_same_size_and_time_is_seen(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    before = note.stat()
    note.write_text("# A\n\nThe hyena sleeps.\n", "utf-8")
    os.utime(note, ns=(before.st_atime_ns, before.st_mtime_ns))

    assert outcomes(index(library, "s")) == {"a.md": "changed"}
    assert found(library, "hyena") == ["a.md"]


@pytest.mark.parametrize(("age_s", "became"), [(1.9, "changed"), (2.1, "unchanged")])
def test_a_file_written_just_before_its_scan_is_hashed_at_the_next(
    library: Library, notes: Path, age_s: float, became: str
) -> None:
    """Where the disk keeps coarse times, two writes within one tick look alike: the store is told
    that nothing in the file's stat changed."""
    note = notes / "a.md"
    note.write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    note.write_text("# A\n\nThe hyena sleeps.\n", "utf-8")
    pretend_seen(library, note, scanned_ns=note.stat().st_ctime_ns + round(age_s * 1e9))

    assert index(library, "s").counts[became] == 1


def test_a_file_is_compared_by_its_bytes_only_once_for_a_new_time(library: Library, notes: Path) -> None:
    note = notes / "a.md"
    note.write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    os.utime(note, (1_000_000_000, 1_000_000_000))
    [source] = library.stores.info(OWNER, "s").sources
    assert len(library.sources.plan(OWNER, "s", source).touched) == 1

    index(library, "s")

    store = store_of(library, "s")
    with store.write() as db:  # as if that had been a while ago
        db.execute("UPDATE documents SET scanned_ns = scanned_ns + 3000000000")
    store.close()
    plan = library.sources.plan(OWNER, "s", source)
    assert (len(plan.touched), plan.left_alone) == (0, {"unchanged": 1})


def test_force_reads_every_file_and_embeds_none(library: Library, notes: Path) -> None:
    for n in range(3):
        (notes / f"{n}.md").write_text(f"# Note {n}\n\nIt tells of subject{n}.\n", "utf-8")
    index(library, "s", notes)
    before = [keys(library, "s", f"{n}.md") for n in range(3)]

    job = index(library, "s", force=True)

    assert job.counts == {"unchanged": 0, "reread": 3}
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert [keys(library, "s", f"{n}.md") for n in range(3)] == before


def test_documents_of_an_older_extractor_are_read_again(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    pretend_seen(library, notes / "a.md")
    store = store_of(library, "s")
    with store.write() as db:
        db.execute("UPDATE documents SET extractor = extractor - 1")
    store.close()

    assert outcomes(index(library, "s")) == {"a.md": "reread"}
    assert index(library, "s").counts == {"unchanged": 1}


def test_reading_everything_again_tells_what_changed_from_what_did_not(library: Library, notes: Path) -> None:
    for name in ("kept", "edited", "touched"):
        (notes / f"{name}.md").write_text(f"Text of {name}.\n", "utf-8")
    index(library, "s", notes)
    (notes / "edited.md").write_text("Other text.\n", "utf-8")
    (notes / "touched.md").write_bytes((notes / "touched.md").read_bytes())
    [source] = library.stores.info(OWNER, "s").sources

    assert library.sources.plan(OWNER, "s", source, force=True).counts()["reread"] == 2
    job = index(library, "s", force=True)

    assert outcomes(job) == {"kept.md": "reread", "touched.md": "reread", "edited.md": "changed"}
    assert found(library, "Other text") == ["edited.md"]


def test_one_changed_line_of_a_long_note_embeds_at_most_two_texts(library: Library, notes: Path) -> None:
    note = notes / "long.md"
    note.write_text(long_note(120), "utf-8")
    index(library, "s", notes)
    before = keys(library, "s", "long.md")
    note.write_text(long_note(120).replace("of subject60 and", "of another matter and"), "utf-8")

    job = index(library, "s")

    after = keys(library, "s", "long.md")
    assert 1 <= job.texts_embedded <= 2
    assert job.total_chunks_added == job.texts_embedded
    assert len(before) > 10
    assert len(set(before) & set(after)) == len(before) - job.texts_embedded
    assert [key for key in after if key in before] == [key for key in before if key in after]
    check_library(library, "s")


def test_a_note_of_many_passages_is_kept_in_step_through_edits(library: Library, notes: Path) -> None:
    sections = [f"## Part {n}\n\nThis part tells of subject{n}, and of nothing else.\n" for n in range(450)]
    note = notes / "long.md"
    edits = {
        "as written": ("", sections),
        "one part more in front": ("", ["## First\n\nA new beginning of it.\n", *sections]),
        "tagged": ("---\ntags: [history]\n---\n", sections),
        "without most parts": ("", sections[::3]),
    }
    index(library, "s", notes)
    before: set[str] = set()
    for edit, (front, parts) in edits.items():
        note.write_text(f"{front}# Long\n\n" + "\n".join(parts), "utf-8")
        index(library, "s")
        check_library(library, "s")
        assert contents(library, "s") == fresh_contents(library, notes, edit.replace(" ", "-")), edit
        now = set(keys(library, "s", "long.md"))
        assert len(now & before) >= min(len(now), len(before)) - 2, "a passage that stays keeps its key"
        before = now


def test_text_that_comes_back_is_not_embedded_again_in_the_same_run(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("# B\n\nThe giraffe sleeps.\n", "utf-8")
    index(library, "s", notes)
    (notes / "a.md").write_text("# B\n\nThe giraffe sleeps.\n", "utf-8")
    (notes / "b.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")

    job = index(library, "s")

    assert job.counts["changed"] == 2
    assert job.texts_embedded == 0


def test_copies_of_a_file_share_one_embedding(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    (notes / "b.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")

    job = index(library, "s", notes)

    assert (job.total_chunks_added, job.texts_embedded) == (2, 1)
    (notes / "c.md").write_text("# A\n\nThe zebra sleeps.\n", "utf-8")
    job = index(library, "s")
    assert outcomes(job) == {"c.md": "added"}
    assert job.texts_embedded == 0
    (notes / "a.md").unlink()
    index(library, "s")
    check_library(library, "s")


def test_a_passage_repeated_in_one_document_is_stored_once(library: Library, notes: Path) -> None:
    chorus = "## Chorus\n\nThe same verse stands here again and again, long enough to be a passage.\n\n"
    (notes / "song.md").write_text(chorus * 4, "utf-8")

    [result] = index(library, "s", notes).results

    assert (result.chunks_added, result.chunks_skipped) == (1, 3)
    assert library.stores.info(OWNER, "s").chunk_count == 1
    check_library(library, "s")
