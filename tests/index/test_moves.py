"""A file or folder that only has another name costs nothing and keeps what points at it."""

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
    links,
    long_note,
    outcomes,
    paths,
    store_of,
)


def test_a_renamed_file_is_moved_without_embedding_and_keeps_its_keys(library: Library, notes: Path) -> None:
    (notes / "walrus.md").write_text(long_note(20), "utf-8")
    index(library, "s", notes)
    before = keys(library, "s", "walrus.md")
    (notes / "walrus.md").rename(notes / "ostrich.md")

    job = index(library, "s")

    [result] = job.results
    assert (result.source_file, result.outcome, result.message) == ("ostrich.md", "moved", "from walrus.md")
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert keys(library, "s", "ostrich.md") == before
    assert found(library, "ostrich") == ["ostrich.md"]
    assert found(library, "walrus") == []
    check_library(library, "s")


def test_a_renamed_folder_moves_all_its_files(library: Library, notes: Path) -> None:
    (notes / "old" / "deep").mkdir(parents=True)
    for n in range(6):
        (notes / "old" / "deep" / f"{n}.md").write_text(f"# Note {n}\n\nIt tells of subject{n}.\n", "utf-8")
    index(library, "s", notes)
    before = {n: keys(library, "s", f"old/deep/{n}.md") for n in range(6)}
    (notes / "old").rename(notes / "new")

    job = index(library, "s")

    assert job.counts["moved"] == 6
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert {n: keys(library, "s", f"new/deep/{n}.md") for n in range(6)} == before
    assert contents(library, "s") == fresh_contents(library, notes)


def test_a_title_from_the_file_name_follows_a_rename(library: Library, notes: Path) -> None:
    (notes / "walrus.md").write_text("Plain words.\n", "utf-8")
    (notes / "named.md").write_text("# A heading\n\nPlain words.\n", "utf-8")
    index(library, "s", notes)
    (notes / "walrus.md").rename(notes / "ostrich.md")
    (notes / "named.md").rename(notes / "renamed.md")

    index(library, "s")

    titles = {document.path: document.title for document in library.documents.all(OWNER, "s")}
    assert titles == {"ostrich.md": "Ostrich", "renamed.md": "A heading"}


def test_a_renamed_note_keeps_the_id_in_its_front_matter(library: Library, notes: Path) -> None:
    (notes / "walrus.md").write_text("---\nid: zk-4711\naliases: [Odobenus]\n---\nPlain words.\n", "utf-8")
    index(library, "s", notes)
    (notes / "walrus.md").rename(notes / "ostrich.md")

    index(library, "s")

    assert found(library, "zk-4711") == found(library, "Odobenus") == ["ostrich.md"]
    with store_of(library, "s").read() as db:
        names = {row[0] for row in db.execute("SELECT key FROM names")}
    assert names == {"zk-4711", "odobenus", "ostrich", "ostrich.md"}


def test_a_date_from_the_file_name_follows_a_rename(library: Library, notes: Path) -> None:
    (notes / "2026-01-01 a.md").write_text("Plain words.\n", "utf-8")
    (notes / "2026-01-01 b.md").write_text("---\ndate: 2026-01-01\n---\nOther words.\n", "utf-8")
    index(library, "s", notes)
    (notes / "2026-01-01 a.md").rename(notes / "2026-02-02 a.md")
    (notes / "2026-01-01 b.md").rename(notes / "2026-02-02 b.md")

    assert index(library, "s").counts["moved"] == 2

    dates = {document.path: document.date for document in library.documents.all(OWNER, "s")}
    assert dates == {"2026-02-02 a.md": "2026-02-02", "2026-02-02 b.md": "2026-01-01"}


def test_a_date_from_the_file_time_follows_it(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("Plain words.\n", "utf-8")
    index(library, "s", notes)
    os.utime(notes / "a.md", (1_000_000_000, 1_000_000_000))

    assert index(library, "s").counts["unchanged"] == 1
    assert library.documents.all(OWNER, "s")[0].date == "2001-09-09"


def test_relative_links_of_a_moved_note_start_at_its_new_folder(library: Library, notes: Path) -> None:
    for folder in ("a", "b/c", "a/data", "b/data"):
        (notes / folder).mkdir(parents=True, exist_ok=True)
    (notes / "a" / "data" / "table.md").write_text("Table of a.\n", "utf-8")
    (notes / "b" / "data" / "table.md").write_text("Table of b.\n", "utf-8")
    (notes / "a" / "here.md").write_text("See [the table](./data/table.md).\n", "utf-8")
    index(library, "s", notes)
    assert links(library, "s") == {("a/here.md", "./data/table.md"): "a/data/table.md"}
    (notes / "a" / "here.md").rename(notes / "b" / "here.md")

    assert index(library, "s").counts["moved"] == 1

    assert links(library, "s") == {("b/here.md", "./data/table.md"): "b/data/table.md"}


@pytest.mark.parametrize(("old", "new"), [("a.txt", "a.md"), ("a.md", "a.py"), ("a.md", "a")])
def test_a_file_that_changes_its_type_with_its_name_is_read_as_the_new_type(
    library: Library, notes: Path, old: str, new: str
) -> None:
    (notes / old).write_text("# A heading\n\nWords and a [[link]] #tag.\n", "utf-8")
    index(library, "s", notes)
    (notes / old).rename(notes / new)

    job = index(library, "s")

    assert paths(library) == [new]
    assert job.counts.get("moved", 0) == 0
    assert contents(library, "s") == fresh_contents(library, notes)


def test_a_move_with_an_edit_is_a_new_file_that_embeds_only_what_is_new(
    library: Library, notes: Path
) -> None:
    (notes / "old.md").write_text(long_note(120), "utf-8")
    index(library, "s", notes)
    (notes / "old.md").unlink()
    (notes / "new.md").write_text(
        long_note(120).replace("of subject60 and", "of another matter and"), "utf-8"
    )

    job = index(library, "s")

    assert outcomes(job) == {"old.md": "deleted", "new.md": "added"}
    assert 1 <= job.texts_embedded <= 2


def test_one_of_two_equal_files_that_moves_leaves_the_other_alone(library: Library, notes: Path) -> None:
    for name in ("a.md", "b.md"):
        (notes / name).write_text("The same words.\n", "utf-8")
    index(library, "s", notes)
    before = {name: keys(library, "s", name) for name in ("a.md", "b.md")}
    (notes / "a.md").rename(notes / "c.md")

    index(library, "s")

    assert keys(library, "s", "b.md") == before["b.md"]
    assert keys(library, "s", "c.md") == before["a.md"]


def test_a_file_that_moves_to_another_source_embeds_nothing(
    library: Library, notes: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (notes / "kept.md").write_text("Something that stays.\n", "utf-8")
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    library.add_source(OWNER, "s", other, ("**/*",))
    (notes / "a.md").rename(other / "a.md")

    job = index(library, "s")

    assert outcomes(job) == {"a.md": "deleted", "other/a.md": "added"}
    assert job.texts_embedded == 0


def test_words_still_waiting_for_a_vector_wait_on_after_a_move(library: Library, notes: Path) -> None:
    library.create_store(OWNER, "s", "minilm")  # which is not installed in this home
    (notes / "a.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    (notes / "a.md").rename(notes / "b.md")

    index(library, "s")

    assert library.stores.info(OWNER, "s").pending == 1
    check_library(library, "s")
