"""A mailbox is a file of many documents: each message is found, dated and titled on its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import NotFound
from rag_core.index.reading import Reading
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.mailboxes import mailbox, message
from tests.support.stored import outcomes, store_of, unused_vectors

ROOF = message("The roof", "The slates of the barn are broken.", 2, "roof@x.org")
LUNCH = message("Lunch", "Shall we eat dumplings?", 9, "lunch@x.org")
BOAT = message("The boat", "Our kayak needs varnish.", 5, "boat@x.org")


@pytest.fixture
def mail(library: Library, notes: Path) -> Path:
    """A mailbox of two messages, indexed in the store ``s``."""
    file = notes / "archive.mbox"
    file.write_text(mailbox(ROOF, LUNCH), "utf-8")
    index(library, "s", notes)
    return file


def hits(library: Library, query: str, viewer: Viewer = OWNER) -> list[tuple[str, str, str]]:
    """(path, part, title) of the documents with all words of a query."""
    answer = library.searching.search(viewer, query, mode="lexical")
    return [(hit.document.path, hit.document.part, hit.document.title) for hit in answer.hits if hit.relevant]


def test_each_message_is_a_document_of_the_file(library: Library, mail: Path) -> None:
    assert hits(library, "slates") == [("archive.mbox", "roof@x.org", "The roof")]
    [lunch] = library.searching.search(OWNER, "dumplings", mode="lexical").hits
    assert (lunch.document.date, lunch.document.address) == ("2026-03-09", "archive.mbox#lunch@x.org")
    assert lunch.document.absolute_path == str(mail)
    assert [file.path for file in library.files.all(OWNER, "s")] == ["archive.mbox"]
    check_library(library, "s")


def test_of_a_grown_mailbox_only_the_new_messages_are_read(library: Library, mail: Path) -> None:
    mail.write_text(mailbox(ROOF, LUNCH, BOAT), "utf-8")
    job = index(library, "s")
    assert outcomes(job) == {"archive.mbox": "changed"}
    assert (job.total_chunks_added, job.texts_embedded) == (1, 1)
    assert hits(library, "kayak") == [("archive.mbox", "boat@x.org", "The boat")]
    assert index(library, "s").counts["unchanged"] == 1
    check_library(library, "s")


def test_a_mailbox_is_found_by_its_name_and_counts_as_one_file(library: Library, mail: Path) -> None:
    assert library.stores.info(OWNER, "s").file_count == 1
    best = library.searching.search(OWNER, "archive.mbox", mode="lexical").hits[0]
    assert (best.document.address, best.document.part_count) == ("archive.mbox", 2)


def test_a_file_with_a_hash_in_its_name_comes_before_a_part(library: Library, mail: Path) -> None:
    (mail.parent / "archive.mbox#lunch@x.org").write_text("Not a message.", "utf-8")
    index(library, "s")
    view = library.documents.get(OWNER, "s", "archive.mbox#lunch@x.org")
    assert (view.document.part, view.chunks[0].content) == ("", "Not a message.")


def test_a_mailbox_that_did_not_change_is_not_read(library: Library, mail: Path) -> None:
    mail.touch()
    job = index(library, "s")
    assert (outcomes(job), job.counts["unchanged"]) == ({}, 1)
    assert hits(library, "slates")


def test_messages_that_are_gone_are_forgotten_and_the_others_keep_their_keys(
    library: Library, mail: Path
) -> None:
    before = key_of(library, "dumplings")
    mail.write_text(mailbox(LUNCH), "utf-8")
    job = index(library, "s")
    assert (job.total_chunks_added, job.texts_embedded) == (0, 0)
    assert (hits(library, "slates"), key_of(library, "dumplings")) == ([], before)
    assert unused_vectors(library) == 0
    check_library(library, "s")


def test_a_message_that_was_edited_is_read_again_under_its_name(library: Library, mail: Path) -> None:
    mail.write_text(mailbox(ROOF.replace("slates", "tiles"), LUNCH), "utf-8")
    job = index(library, "s")
    assert (job.total_chunks_added, job.texts_embedded) == (1, 1)
    assert (hits(library, "slates"), hits(library, "tiles")) == (
        [],
        [("archive.mbox", "roof@x.org", "The roof")],
    )
    check_library(library, "s")


def test_equal_messages_and_those_without_an_id_are_documents_too(library: Library, notes: Path) -> None:
    (notes / "a.mbox").write_text(mailbox(ROOF, ROOF, message("Nameless", "An otter."), ROOF), "utf-8")
    index(library, "s", notes)
    assert [part for _, part in rows(library) if "roof" in part] == [
        "roof@x.org",
        "roof@x.org 2",
        "roof@x.org 3",
    ]
    [hit] = [*library.searching.search(OWNER, "slates", mode="lexical").hits]  # equal passages are one result
    assert len(hit.copies) == 2
    [(_, part, _)] = hits(library, "otter")
    assert len(part) == 32
    assert library.documents.get(OWNER, "s", f"a.mbox#{part}").document.title == "Nameless"
    check_library(library, "s")


def test_an_id_that_looks_like_a_second_one_takes_nobody_s_place(library: Library, notes: Path) -> None:
    forged = [
        message("Forged", f"A {word}.", 3, f"roof@x.org{end}") for word, end in (("yak", "~2"), ("gnu", "_2"))
    ]
    (notes / "a.mbox").write_text(mailbox(ROOF, ROOF.replace("slates", "tiles"), *forged), "utf-8")
    index(library, "s", notes)
    assert all(hits(library, word) for word in ("slates", "tiles", "yak", "gnu"))


def test_a_renamed_mailbox_takes_its_messages_along(library: Library, mail: Path) -> None:
    before = key_of(library, "slates")
    (mail.parent / "old").mkdir()
    mail.rename(mail.parent / "old" / "2026.mbox")
    job = index(library, "s")
    assert (outcomes(job), job.texts_embedded) == ({"old/2026.mbox": "moved"}, 0)
    assert hits(library, "slates") == [("old/2026.mbox", "roof@x.org", "The roof")]
    assert key_of(library, "slates") == before
    assert hits(library, "slates path:old")
    assert not hits(library, "slates -path:old")
    check_library(library, "s")


def test_a_deleted_mailbox_is_forgotten_with_all_messages(library: Library, mail: Path) -> None:
    (mail.parent / "note.md").write_text("# A note", "utf-8")
    mail.unlink()
    job = index(library, "s")
    assert outcomes(job)["archive.mbox"] == "deleted"
    assert (hits(library, "slates"), rows(library)) == ([], [("note.md", "")])
    check_library(library, "s")


def test_an_excluded_mailbox_is_found_no_more_from_that_moment(library: Library, mail: Path) -> None:
    library.files.exclude(OWNER, "s", "archive.mbox")
    assert hits(library, "slates") == []
    library.jobs.run(OWNER, "s")
    assert rows(library) == []
    library.files.include(OWNER, "s", "archive.mbox")
    library.jobs.run(OWNER, "s")
    assert hits(library, "slates")
    check_library(library, "s")


def test_a_message_cannot_be_excluded_without_its_mailbox(library: Library, mail: Path) -> None:
    """An exclusion is of a file: it holds for all of it."""
    library.files.exclude(OWNER, "s", "archive.mbox#roof@x.org")
    assert (hits(library, "slates"), hits(library, "dumplings")) == ([], [])


def test_a_rule_hides_every_message_of_a_mailbox(library: Library, mail: Path) -> None:
    guest = Viewer("ada@example.org", stores=frozenset({"s"}))
    assert hits(library, "slates", guest)
    library.privacy.set(OWNER, "s", ["*.mbox"])
    assert (hits(library, "slates", guest), len(hits(library, "slates"))) == ([], 1)
    mail.write_text(mailbox(ROOF, LUNCH, BOAT), "utf-8")
    index(library, "s")
    assert (hits(library, "kayak", guest), len(hits(library, "kayak"))) == ([], 1)
    with pytest.raises(NotFound):
        library.documents.get(guest, "s", "archive.mbox#boat@x.org")
    check_library(library, "s")


def test_a_message_that_says_that_it_is_private_hides_itself_alone(library: Library, notes: Path) -> None:
    body = "The slates of the barn are broken."
    secret = message(
        "Secret",
        "--x\nContent-Type: text/markdown\nContent-Disposition: attachment; filename=a.md\n\n"
        "---\nprivate: true\n---\nThe walrus.\n--x--",
        mime_version="1.0",
        content_type='multipart/mixed; boundary="x"',
    )
    (notes / "a.mbox").write_text(mailbox(secret, message("Roof", body)), "utf-8")
    index(library, "s", notes)
    guest = Viewer("ada@example.org", stores=frozenset({"s"}))
    assert (len(hits(library, "walrus")), hits(library, "walrus", guest)) == (1, [])
    assert len(hits(library, "slates", guest)) == 1


def test_a_run_that_is_ended_between_messages_goes_on_with_the_rest(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    messages = [message(f"Number {n}", f"It is about animal{n}.", 2, f"m{n}@x.org") for n in range(9)]
    (notes / "a.mbox").write_text(mailbox(*messages), "utf-8")
    look, calls = Reading._look_at_part, []

    def ends(self: Reading, shown: str) -> None:
        calls.append(shown)
        if len(calls) == 5:
            raise KeyboardInterrupt
        look(self, shown)

    monkeypatch.setattr(Reading, "_look_at_part", ends)
    with pytest.raises(KeyboardInterrupt):
        index(library, "s", notes)
    assert len([part for _, part in rows(library) if part]) == 4
    check_library(library, "s")
    monkeypatch.setattr(Reading, "_look_at_part", lambda self, shown: calls.append(shown))
    index(library, "s")
    assert len(calls) == 5 + 5
    assert len(hits(library, "animal8")) == 1
    assert index(library, "s").counts["unchanged"] == 1
    check_library(library, "s")


def test_a_damaged_message_costs_itself_alone_and_is_named(library: Library, notes: Path) -> None:
    broken = message("Broken", "", content_type="application/pdf", content_transfer_encoding="base64")
    (notes / "a.mbox").write_text(mailbox(ROOF, broken, LUNCH), "utf-8")
    index(library, "s", notes)
    assert len(hits(library, "slates")) == len(hits(library, "dumplings")) == 1


@pytest.mark.parametrize("name", ["Inbox", "Sent-1", "mail.2019"])
def test_a_mailbox_is_known_by_what_it_holds(library: Library, notes: Path, name: str) -> None:
    (notes / name).write_text(mailbox(ROOF, LUNCH), "utf-8")
    index(library, "s", notes)
    assert hits(library, "slates") == [(name, "roof@x.org", "The roof")]
    (notes / name).write_text(mailbox(ROOF, LUNCH, BOAT), "utf-8")
    assert index(library, "s").texts_embedded == 1
    assert hits(library, "kayak type:mail") == [(name, "boat@x.org", "The boat")]
    check_library(library, "s")


def rows(library: Library) -> list[tuple[str, str]]:
    store = store_of(library, "s")
    with store.read() as db:
        found = db.execute("SELECT display, part FROM documents ORDER BY display, number").fetchall()
    store.close()
    return [tuple(row) for row in found]


def key_of(library: Library, query: str) -> str:
    [hit] = library.searching.search(OWNER, query, mode="lexical").hits
    return hit.key
