"""What of a store cannot be found as it should: told by reason, from the store itself, and tried again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from rag_core.cli.terminal import show_job
from rag_core.errors import EmbedderError
from rag_core.extract.filetypes import UNFINISHED
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


DAMAGED = {
    "letter.docx": (
        made.damaged_part(made.docx("Anselm rows"), "word/styles.xml"),
        "'word/styles.xml' is damaged.",
    ),
    "talk.pptx": (
        made.damaged_part(made.pptx(("Anselm", "", ""), ("rows", "", "")), "ppt/slides/slide2.xml"),
        "'ppt/slides/slide2.xml' is damaged. Slide 2 is missing or damaged.",
    ),
    "book.epub": (
        made.rewritten(
            made.epub("Ferry", one="<p>Anselm</p>", two="<p>rows</p>"),
            "OEBPS/book.opf",
            ("two.xhtml", "three.xhtml"),
        ),
        "Chapter 2 ('three.xhtml') is missing or damaged.",
    ),
    "mail.eml": (
        made.mail("Anselm", "rows", attached={"plan.pdf": b"%PDF-1.4 no more"}),
        "The attachment 'plan.pdf' cannot be read.",
    ),
    "all.mbox": (
        made.mbox(made.mail("Anselm", "rows"), made.mail("Plan", "rows", attached={"a.pdf": b"%PDF-1.4"})),
        "The attachment 'a.pdf' cannot be read.",
    ),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_a_document_with_a_damaged_part_is_named_by_the_run_and_the_doctor(
    library: Library, notes: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    data, sentence = DAMAGED[name]
    (notes / "whole.docx").write_bytes(made.docx("Whole"))
    (notes / "page.html").write_bytes("<p>Übermäßig größer, für Öl".encode("latin-1"))  # guessed, not lost
    (notes / name).write_bytes(data)
    job = index(library, "s", notes)
    of_run = library.jobs.problems(OWNER, "s", job.id)
    assert [(each.kind, each.files, each.reason) for each in of_run] == [("in part", (name,), sentence)]
    assert library.jobs.problems(OWNER, "s") == of_run
    show_job(job, of_run)
    assert f"in part  {name}: {sentence}" in capsys.readouterr().out
    said = f"Store 's': only a part could be read of 1 document, such as {name!r}: {sentence}"
    [step] = [step for step in library.upkeep.doctor(OWNER) if said in step.sentence]
    assert step.state == "note"

    (notes / name).unlink()
    job = index(library, "s", notes)
    assert library.jobs.problems(OWNER, "s", job.id) == library.jobs.problems(OWNER, "s") == []
