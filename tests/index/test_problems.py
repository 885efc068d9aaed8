"""What of a store cannot be found as it should: told by reason, from the store itself, and tried again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rag_core.errors import EmbedderError
from rag_core.extract.filetypes import UNFINISHED
from rag_core.index import reading
from rag_core.library import Library
from rag_core.models.hashing import Hashing
from rag_core.reports import PendingRequest, Problem
from rag_core.store import switch
from rag_core.store.problems import shared_reason
from rag_core.types import OWNER, Vectors
from tests.conftest import index
from tests.support import documents_made as made
from tests.support.stored import found, outcomes, store_of

BINARY = bytes(range(256)) * 40
BROKEN = b"\xff\xfe" + b"\x00\xd8" * 9


class Picky(Hashing):
    """Refuses texts that hold ``poison`` until it is healed."""

    healed = False

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not self.healed and any("poison" in text for text in texts):
            raise EmbedderError("The text was refused.", "Write another one.")
        return super().embed_documents(texts)


def kinds(library: Library) -> list[tuple[str, int, tuple[str, ...]]]:
    return [(each.kind, each.count, each.files) for each in library.jobs.problems(OWNER, "s")]


# --- telling ----------------------------------------------------------------------------


def test_a_file_with_waiting_pictures_is_listed_until_it_is_read(library: Library, notes: Path) -> None:
    (notes / "scan.md").write_text("A note with a picture.\n", "utf-8")
    index(library, "s", notes)
    with library._shared.stores.open(OWNER, "s").store.write() as db:
        db.execute("UPDATE documents SET pictures_left = 1, reason = 'The server is away.'")
    assert kinds(library) == [("waiting", 1, ("scan.md",))]
    library.jobs.retry(OWNER, "s", library.jobs.problems(OWNER, "s")[0])
    library.jobs.run(OWNER, "s")
    assert kinds(library) == []


def test_pictures_that_wait_are_no_documents_to_be_cut_again(library: Library, notes: Path) -> None:
    (notes / "scan.md").write_text("A note with a picture.\n", "utf-8")
    index(library, "s", notes)
    store = store_of(library, "s")
    with store.write() as db:
        db.execute("UPDATE documents SET extractor = ?", (UNFINISHED,))
        assert not switch.uncut(db), "a switch would wait for a server that reads pictures"
        switch.cut_again(db, store.spec)
        assert switch.uncut(db)
    assert kinds(library) == []
    index(library, "s")
    with store.read() as db:
        assert not switch.uncut(db)


def test_problems_are_sorted_by_severity_and_frequency(library: Library, notes: Path) -> None:
    for name in ("a.md", "b.md"):
        (notes / name).write_bytes(BINARY)
    (notes / "data.md").write_bytes(b"SQLite format 3\x00" + b"\x00" * 50)
    (notes / "broken.md").write_bytes(BROKEN)
    (notes / "good.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)

    failed, binary, database = library.jobs.problems(OWNER, "s")

    assert (failed.kind, failed.files) == ("failed", ("broken.md",))
    assert binary == Problem("skipped", "It is binary data, not text.", 2, ("a.md", "b.md"))
    assert (database.kind, database.reason, database.files) == (
        "skipped",
        "It is an SQLite database, not text.",
        ("data.md",),
    )


def test_reasons_outlive_the_next_run(library: Library, notes: Path) -> None:
    (notes / "a.md").write_bytes(BINARY)
    index(library, "s", notes)
    before = library.jobs.problems(OWNER, "s")

    assert index(library, "s").counts == {"unchanged": 0, "still_skipped": 1}

    assert library.jobs.problems(OWNER, "s") == before != []


@pytest.mark.parametrize(
    ("message", "path", "reason"),
    [
        ("The file 'a/b.md' cannot be read: gone.", "x/a/b.md", "It cannot be read: gone."),
        ("'b.md' is binary data, not text.", "x/a/b.md", "It is binary data, not text."),
        ("Line 3 of 'b.md' is odd.", "b.md", "Line 3 of … is odd."),
        ("Reading it failed (KeyError).", "b.md", "Reading it failed (KeyError)."),
        ('The file "it\'s.md" is larger than 64 MB.', "it's.md", "It is larger than 64 MB."),
    ],
)
def test_a_reason_does_not_name_its_file(message: str, path: str, reason: str) -> None:
    assert shared_reason(message, path) == reason


# --- trying again -----------------------------------------------------------------------


def test_trying_again_reads_the_files_of_the_problem_and_no_others(library: Library, notes: Path) -> None:
    for name in ("a.md", "b.md"):
        (notes / name).write_bytes(BROKEN)
    (notes / "good.md").write_text("The zebra sleeps.\n", "utf-8")
    index(library, "s", notes)
    [problem] = library.jobs.problems(OWNER, "s")
    (notes / "a.md").write_text("It can be read.\n", "utf-8")
    (notes / "new.md").write_text("It is new.\n", "utf-8")

    library.jobs.retry(OWNER, "s", problem)
    job = library.jobs.run(OWNER, "s")

    assert job is not None
    assert outcomes(job) == {"a.md": "changed", "b.md": "failed"}
    assert kinds(library) == [("failed", 1, ("b.md",))]
    assert found(library, "It is new") == []


def test_refused_texts_are_listed_and_can_be_tried_again(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = Picky()
    monkeypatch.setattr("rag_core.models.registry.open_embedder", lambda name, model_dir: embedder)
    (notes / "a.md").write_text("It holds poison.\n", "utf-8")
    (notes / "b.md").write_text("It holds nothing bad.\n", "utf-8")
    index(library, "s", notes)
    (notes / "new.md").write_text("It is new.\n", "utf-8")

    [problem] = library.jobs.problems(OWNER, "s")
    assert problem == Problem("refused", "The text was refused.", 1, ("a.md",))

    embedder.healed = True
    library.jobs.retry(OWNER, "s", problem)
    job = library.jobs.run(OWNER, "s")

    assert job is not None
    assert (job.counts, job.texts_embedded) == ({}, 1)
    assert library.jobs.problems(OWNER, "s") == []
    assert library.stores.info(OWNER, "s").pending == 0


# --- what is asked ----------------------------------------------------------------------


def test_what_is_asked_for_is_told_once_each_and_the_oldest_first(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("It is a note.\n", "utf-8")
    index(library, "s", notes)
    [source] = library.stores.info(OWNER, "s").sources
    assert library.jobs.requests(OWNER, "s") == []

    library.jobs.request(OWNER, "s")
    library.jobs.request(OWNER, "s", [source.id], force=True)
    library.jobs.request(OWNER, "s")
    library.jobs.request_file(OWNER, "s", "a.md")
    library.jobs.request(OWNER, "s", [])

    assert library.jobs.requests(OWNER, "s") == [
        PendingRequest(None),
        PendingRequest((str(notes),), force=True),
        PendingRequest((str(notes),), files=1, force=True),
        PendingRequest(()),
    ]
    library.jobs.run(OWNER, "s")
    assert library.jobs.requests(OWNER, "s") == []


def test_a_run_names_a_document_of_which_only_the_beginning_is_read(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sentence = "'word/styles.xml' is damaged."  # stands for that of a document of 16 million characters
    monkeypatch.setattr(reading, "ONLY_BEGINNING", sentence)
    (tmp_path / "whole.docx").write_bytes(made.docx("Whole"))
    (tmp_path / "long.docx").write_bytes(made.damaged_part(made.docx("Long"), "word/styles.xml"))
    job = index(library, "s", tmp_path)
    assert "'long.docx' is too long: searches find only its beginning." in job.message
    assert "whole.docx" not in job.message
