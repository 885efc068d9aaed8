"""What an embedder reads of a passage: the words of a row, what was said in a chat."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.text.embedded import CHAT, embedded_text
from rag_core.types import OWNER
from tests.conftest import index

COLUMNS = "date, payee, purpose, amount"


@pytest.mark.parametrize(
    ("anchor_type", "text", "embedded"),
    [
        (
            "rows",
            '2026-01-17,Apotek 1,"fever syrup, thermometer",31.40',
            "Apotek 1, fever syrup, thermometer",
        ),
        ("rows", "17.01.2026;Apotheke am Markt;-31,40;EUR", "Apotheke am Markt, EUR"),
        ("row", "2026-01-17\tApotek 1\t31.40\t", "Apotek 1"),
        ("row", "17. 1.\t薬局 駅前\t1,200", "薬局 駅前"),
        ("rows", "Apotek\nBakeri\tOslo", "Apotek\nBakeri\nOslo"),  # no comma, which would be a token more
        ("rows", "2026-01-17;12;31,40", "2026-01-17;12;31,40"),  # no words: as it stands
    ],
)
def test_of_a_row_its_words_come_before_the_columns(anchor_type: str, text: str, embedded: str) -> None:
    assert embedded_text(COLUMNS, text, anchor_type) == f"{embedded}\n{COLUMNS}"
    assert embedded_text("", text, anchor_type) == embedded


@pytest.mark.parametrize(
    ("text", "embedded"),
    [
        ("08:15 Jonas: hedgehog in it\n08:17 Nora: I see", "hedgehog in it\nI see"),
        ("08:15 Jonas B.: here you go\nWifi password: kitten42", "here you go\nWifi password: kitten42"),
        ("23:59 +47 912 44 018: at 10:30", "at 10:30"),
        ("08:15 Messages are encrypted.", "Messages are encrypted."),
        ("a line of its own", "a line of its own"),
    ],
)
def test_of_a_chat_it_is_what_was_said(text: str, embedded: str) -> None:
    assert embedded_text("Chat with Family, 5 April 2026", text, CHAT) == embedded


def test_all_else_comes_after_its_headings() -> None:
    assert (
        embedded_text("Garden > Trees", "Nora: cut the pear", "heading")
        == "Garden > Trees\nNora: cut the pear"
    )


def test_a_passage_is_embedded_anew_where_only_that_text_changed(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "ledger.csv").write_text("date,payee\n2026-01-17,the saddler in town\n", "utf-8")
    index(library, "notes", notes)
    monkeypatch.setattr("rag_core.store.chunks.embedded_text", lambda prefix, text, kind: f"other {text}")
    monkeypatch.setattr("rag_core.store.embeddings.embedded_text", lambda prefix, text, kind: f"other {text}")
    job = index(library, "notes", notes, force=True)
    assert job.texts_embedded == 1
    assert library.search(OWNER, "saddler", ["notes"]).hits
