"""Which words count as forms of a word that was asked for."""

from __future__ import annotations

import pytest

from rag_core.search.snippet import highlight
from rag_core.text.words import forms_of, unit_forms, word_places

FORMS = [
    *("stop stopped", "bug bugs", "plan planning", "plan planned", "story stories", "party parties"),
    *("note notes", "store storing", "close closed", "letter letters", "runner runners", "quick quickly"),
    *("computer computing", "configure configuration", "develop developer", "summer summers"),
    *("migration migrated", "validation validate", "automation automate", "family families"),
    *("supply supplies", "assembly assemblies", "cookies cookie", "city cities", "fly flies"),
    "copied copies",
    *("make making", "fuse fusing", "base based", "code coding", "fix fixing", "box boxes"),
    *("log logging", "tags tagged", "pays paying", "add adding", "ask asked", "movie movies", "shoe shoes"),
    *("relation relate", "location locate", "connection connect", "protected protection"),
    *("management managing", "requirement required", "move movement"),
    *("parse parsing", "type typing", "generate generator", "document documentation", "repeat repeating"),
    *("questions questioned", "implements implemented", "settings setting"),
]
OTHERS = [
    *("letter let", "butter but", "dinner dine", "summer sum", "summer summary", "corner corn"),
    *("party part", "party partial", "story stored", "store story", "store storm", "share sharp"),
    *("state station", "series serial", "planes plan", "states stat", "car caring", "hope hopping"),
    *("age agenda", "ice iceland", "use useless", "eve event", "cry crystal", "dry drywall"),
    *("notes notion", "rates ration", "pin pine", "hopping hoping", "memory memo"),
    *(
        "format form",
        "treat tree",
        "plane plan",
        "number numb",
        "art party",
        "art artichoke",
        "bug bugle",
        "wedge wedding",
    ),
]
LONGER = [
    "conditions conditional",
    "removes removal",
    "config configuration",
    "file filename",
    "vertrag vertragsbruch",
    "letter letterhead",
]


def counts(query: str, word: str) -> bool:
    """Whether ``word`` of a text counts as ``query``; it is highlighted if so, and only then."""
    text = f"we {word} here"
    forms = unit_forms([query])
    held = bool(word_places(text, forms[query]))
    assert held == bool(highlight(text, forms))
    return held


@pytest.mark.parametrize("pair", FORMS)
def test_forms_of_a_word_count_as_each_other(pair: str) -> None:
    first, second = pair.split()
    assert counts(first, second)
    assert counts(second, first)


@pytest.mark.parametrize("pair", OTHERS)
def test_other_words_with_the_same_beginning_do_not_count(pair: str) -> None:
    first, second = pair.split()
    assert not counts(first, second)


@pytest.mark.parametrize("pair", LONGER)
def test_a_longer_word_that_begins_with_the_whole_one_counts(pair: str) -> None:
    first, second = pair.split()
    assert counts(first, second)


def test_what_is_inside_a_word_does_not_count() -> None:
    assert not word_places("the artist reindexed it", forms_of("index"))
    assert word_places("the artist reindexed the index", forms_of("index")) == [(25, 30)]


def test_a_word_right_behind_a_script_without_spaces_counts() -> None:
    assert word_places("使用python编程", forms_of("python")) == [(2, 8)]
