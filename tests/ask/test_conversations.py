"""Conversations: what was answered is kept, read as it was, and only by who may have it."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from rag_core.errors import NotFound
from rag_core.replies import Quote, Reference, Reply, Statement
from rag_core.types import OWNER, Notice, Viewer
from tests.ask.answering import GUEST, QUESTION, Answering
from tests.conftest import index

ONE, TWO = "1" * 32, "2" * 32


def test_a_conversation_is_kept_and_read_as_it_was(answering: Answering) -> None:
    library = answering('It "opens at six" [1], "never" [1]. No [9].')
    first = library.ask(OWNER, QUESTION)
    second = library.ask(OWNER, "boats harbour")
    library.asking.keep_reply(OWNER, ONE, first)
    library.asking.keep_reply(OWNER, ONE, second)
    library.asking.keep_reply(OWNER, TWO, second)
    again = library.asking.conversation(OWNER, ONE)
    assert [replace(each, took_ms=0) for each in again] == [
        replace(each, took_ms=0) for each in (first, second)
    ]
    assert [(each.id, each.title, each.count) for each in library.asking.conversations(OWNER)] == [
        (TWO, "boats harbour", 1),
        (ONE, QUESTION, 2),
    ]


KEPT_BEFORE = {
    "question": "When?", "answer": 'It "opens at six" [1].', "found": True, "retrieved_chunks": 1,
    "message": "", "ending": "answered", "stores": ["port"], "model": "ollama:talker", "private": False,
    "warnings": ["Mind the gap."], "on_page": ["Mind."], "took_ms": 1.5,
    "references": [{
        "number": 1, "vault": "port", "rel_path": "a.md", "heading_path": "# Harbour", "chunk_index": 0,
        "id": "key", "title": "H", "file_type": "markdown", "start_line": 3, "end_line": 5,
        "anchor_type": "text", "anchor_ref": "", "content": "The harbour opens at six.", "private": False,
        "spans": [[12, 24]], "cited": True, "link": "/files?store=port&path=a.md&passage=key",
    }],
    "statements": [{
        "lead": "", "text": 'It "opens at six" [1].', "support": "quoted", "references": [1],
        "quotes": [{"start": 3, "end": 17, "holds": True, "reference": 1}], "removed": 0,
    }],
}  # fmt: skip
"""A reply as the first version kept it, before passages had scores."""


def test_what_the_first_version_kept_is_read(answering: Answering) -> None:
    library = answering("x")
    library.asking.keep_reply(OWNER, ONE, library.ask(OWNER, QUESTION))
    with closing(sqlite3.connect(library.settings.data_dir / "state.db")) as db, db:
        db.execute("UPDATE ask_turns SET reply = ?", (json.dumps(KEPT_BEFORE),))
    [reply] = library.asking.conversation(OWNER, ONE)
    passage = "The harbour opens at six."
    assert reply == Reply(
        "When?", "answered", ("port",),
        (Statement("", 'It "opens at six" [1].', "quoted", (1,), (Quote(3, 17, True, 1),)),),
        (Reference(
            1, "port", "a.md", "# Harbour", 0, "key", "H", "markdown", 3, 5, "text", "", passage,
            spans=((12, 24),), cited=True,
        ),),
        1, notices=(Notice("", {"text": "Mind the gap."}),), model="ollama:talker", took_ms=1.5,
    )  # fmt: skip


def test_what_is_deleted_is_gone(answering: Answering) -> None:
    library = answering("It opens [1].")
    for conversation in (ONE, TWO):
        library.asking.keep_reply(OWNER, conversation, library.ask(OWNER, QUESTION))
    library.asking.forget_conversations(OWNER, ONE)
    assert [each.id for each in library.asking.conversations(OWNER)] == [TWO]
    with pytest.raises(NotFound, match="no such conversation"):
        library.asking.conversation(OWNER, ONE)
    library.asking.forget_conversations(OWNER)
    assert library.asking.conversations(OWNER) == []
    assert QUESTION.encode() not in (library.settings.data_dir / "state.db").read_bytes()


def test_everybody_sees_their_own_conversations(answering: Answering) -> None:
    library = answering("It opens [1].")
    library.asking.keep_reply(OWNER, ONE, library.ask(OWNER, QUESTION))
    assert library.asking.conversations(GUEST) == []
    with pytest.raises(NotFound):
        library.asking.conversation(GUEST, ONE)
    library.asking.forget_conversations(GUEST)
    assert library.asking.conversations(OWNER)
    namesake = Viewer(OWNER.login, stores=frozenset({"port"}), may_ask=True)
    assert library.asking.conversations(namesake) == []
    with pytest.raises(NotFound):
        library.asking.conversation(namesake, ONE)


def test_a_guest_does_not_see_answers_from_what_is_not_theirs_any_more(
    answering: Answering, notes: Path
) -> None:
    library = answering("It opens [1].")
    library.asking.keep_reply(GUEST, ONE, library.ask(GUEST, QUESTION))
    assert library.asking.conversation(GUEST, ONE)
    with pytest.raises(NotFound):
        library.asking.conversation(replace(GUEST, stores=frozenset()), ONE)
    (notes / "port" / "harbour.md").write_text(
        "---\nprivate: true\n---\n# Harbour\n\nThe harbour opens at six.\n", "utf-8"
    )
    index(library, "port")
    with pytest.raises(NotFound):
        library.asking.conversation(GUEST, ONE)


@pytest.mark.posix
def test_only_the_owner_of_the_computer_can_read_the_file(answering: Answering) -> None:
    library = answering("It opens [1].")
    library.asking.keep_reply(OWNER, ONE, library.ask(OWNER, QUESTION))
    assert (library.settings.data_dir / "state.db").stat().st_mode & 0o077 == 0
