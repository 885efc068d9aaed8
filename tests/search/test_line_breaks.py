"""A line break inside a run without spaces is nothing: words and phrases of Chinese and Japanese are found
across it."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from rag_core.text.phrases import has_phrase
from rag_core.types import OWNER
from tests.conftest import stores_of

WORDS = ("东京", "价格歧视", "東京タワー", "議事録", "ฉันรัก")
BREAKS = ("\n", "\r\n", " \n", "\n  ", "\n\u3000")


@pytest.mark.parametrize(("word", "line_break"), [*product(WORDS, BREAKS)])
@pytest.mark.parametrize("quotes", ["", '"'])
def test_a_word_is_found_across_a_line_break(tmp_path: Path, word: str, line_break: str, quotes: str) -> None:
    notes = {
        "notes/broken.txt": f"前{word[:1]}{line_break}{word[1:]}后\n",
        "notes/other.txt": "Nothing of it.\n",
    }
    with stores_of(tmp_path, notes) as library:
        hits = library.search(OWNER, f"{quotes}{word}{quotes}", mode="lexical").hits
    assert [hit.document.path for hit in hits if hit.relevant] == ["broken.txt"]


@pytest.mark.parametrize(
    "text",
    [
        "吃了[小笼包](https://x.example)真好",
        "- 一\n    - 吃了**小笼包**真好",
        "- 一\n\t- 吃了==小笼包==真好",
        "- 一\n\n    吃了[[点心|小笼包]]真好",
        "> 吃了小笼\n> 包真好",
    ],
)
def test_markup_inside_a_run_is_nothing(tmp_path: Path, text: str) -> None:
    with stores_of(tmp_path, {"notes/a.md": f"# Note\n\n{text}\n", "notes/b.md": "Nothing.\n"}) as library:
        hits = library.search(OWNER, '"吃了小笼包真好"', mode="lexical").hits
    assert [hit.document.path for hit in hits if hit.relevant] == ["a.md"]


@pytest.mark.parametrize(
    ("text", "phrase", "is_held"),
    [
        ("한국\n어", "한국어", False),
        ("error\nbudget", "errorbudget", False),
        ("error\nbudget", "error budget", True),
        ("京\n\n東", "京東", False),
        ("京 東", "京東", False),
    ],
)
def test_breaks_between_words_and_paragraphs_stay(text: str, phrase: str, is_held: bool) -> None:
    assert has_phrase(text, phrase) == is_held
