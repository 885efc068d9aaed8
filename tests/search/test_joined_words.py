"""A word is found whether it is written together, with a hyphen, or apart."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from rag_core.types import OWNER, Viewer
from tests.conftest import stores_of

WORDS = "follow up|on site|data base|e mail|x ray|check list|zeit plan|week end".split("|")
PAIRS = [
    (word.replace(" ", written), word.replace(" ", typed))
    for word in WORDS
    for written, typed in permutations(("", "-", " "), 2)
]


@pytest.mark.parametrize(("written", "typed"), PAIRS)
def test_a_word_is_found_together_and_apart(tmp_path: Path, written: str, typed: str) -> None:
    notes = {
        "words/it.md": f"They spoke about the {written} again.",
        "words/other.md": "Nothing that matters here.",
    }
    with stores_of(tmp_path, notes) as library:
        [hit] = [hit for hit in library.search(OWNER, typed, mode="lexical").hits if hit.relevant]
    assert Path(hit.document.path).name == "it.md"
    assert hit.spans


def test_both_spellings_are_found_at_once(tmp_path: Path) -> None:
    notes = {"words/a.md": "The follow-up is long.", "words/b.md": "A followup, and two followups."}
    with stores_of(tmp_path, notes) as library:
        for query in ("followup", "follow-up", "followups"):
            assert (
                len([hit for hit in library.search(OWNER, query, mode="lexical").hits if hit.relevant]) == 2
            )


def test_the_words_of_a_pair_are_found_alone_as_before(tmp_path: Path) -> None:
    notes = {"words/a.md": "The database.", "words/b.md": "The data is good, and it has a base."}
    with stores_of(tmp_path, notes) as library:
        hits = library.search(OWNER, "data base", mode="lexical").hits
    assert len([hit for hit in hits if hit.relevant]) == 2


def test_a_guest_is_not_told_how_private_notes_write_a_word(tmp_path: Path) -> None:
    notes = {
        "words/a.md": "The database is here.",
        "words/b.md": "---\nprivate: true\n---\nThe data base of secrets.",
    }
    guest = Viewer("friend@example.com", stores=frozenset({"words"}))
    with stores_of(tmp_path, notes) as library:
        answer = library.search(guest, "database", mode="lexical")
    assert [Path(hit.document.path).name for hit in answer.hits] == ["a.md"]
    assert "data base" not in str(answer.query.terms)
