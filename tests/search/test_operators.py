"""NOT, AND, OR, names with signs and stars: they do what people expect of them, or the answer says what to
write instead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.search.query import parse
from rag_core.types import OWNER
from tests.conftest import stores_of

STAR = "Longer words that begin with a word are found, but not words that end with it."
NOTES = {
    "notes/pie.md": "An apple pie for Sunday.",
    "notes/draft.md": "A draft about an apple cake.",
    "notes/wine.md": "Pears in wine.",
    "notes/stew.md": "Plums, stewed.",
    "notes/sharp.md": "Generics of C# in a table.",
    "notes/sea.md": "The C major of the generics choir.",
    "notes/plus.md": "Templates of C++ are long.",
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with stores_of(tmp_path_factory.mktemp("operators"), NOTES) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("apple NOT draft", {"pie"}),
        ("apple AND NOT draft", {"pie"}),
        ('apple NOT "a draft"', {"pie"}),
        ("NOT path:draft.md apple", {"pie"}),
        ("apple AND draft", {"draft"}),
        ("pears OR plums", {"stew", "wine"}),
        ("pears OR plums OR nuts", {"stew", "wine"}),
        ("C# generics", {"sharp"}),
        ("C#", {"sharp"}),
        ("C++", {"plus"}),
        ("apple not draft", {"draft"}),
    ],
)
def test_an_operator_does_what_it_does_elsewhere(library: Library, query: str, names: set[str]) -> None:
    answer = library.search(OWNER, query, mode="lexical")
    assert {Path(hit.document.path).stem for hit in answer.hits if hit.relevant} == names
    assert not answer.warnings


def test_each_of_two_alternatives_is_as_good(library: Library) -> None:
    hits = library.search(OWNER, "pears OR plums", mode="lexical").hits
    assert hits[0].score == pytest.approx(hits[1].score, abs=0.05)
    assert {hit.reasons for hit in hits} == {("every word",)}


def test_alternatives_in_parentheses_are_one_of_the_words(library: Library) -> None:
    answer = library.search(OWNER, "(pears OR plums) AND wine", mode="lexical")
    assert [Path(hit.document.path).stem for hit in answer.hits] == ["wine", "stew"]
    assert not answer.warnings


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("*ing", f"'*ing' is searched as 'ing'. {STAR}"),
        ("wo*d", f"'wo*d' is searched as 'wo d'. {STAR}"),
        ("pears | wine", "| is not searched. If either of two words will do, write OR between them."),
        ("apple !draft", "'!draft' is searched as a word. To leave it out, write '-draft'."),
        (
            "apple NEAR/3 draft",
            "'NEAR/3' is no operator here and was not searched. Quotes find neighbouring words.",
        ),
        (
            "pears OR (apple AND cake)",
            "OR joins the two words next to it, so the words of '(apple AND cake)' are not taken together.",
        ),
        (
            'type:md OR "apple pie"',
            "OR works between two plain words and between filters of one kind."
            " 'type:md' and '\"apple pie\"' are both searched.",
        ),
    ],
)
def test_what_cannot_be_searched_so_is_said(library: Library, query: str, sentence: str) -> None:
    assert sentence in library.search(OWNER, query, mode="lexical").warnings


@pytest.mark.parametrize(
    "query",
    [
        "TO BE OR NOT TO BE",
        "NOT",
        "cats OR",
        "AND cats",
        "cats*",
        "a # b",
        "| cats",
        "keyboard w/ lights",
        "is near/far",
        "f(x y)",
    ],
)
def test_words_that_are_no_operators_stay_words(query: str) -> None:
    parsed = parse(query)
    assert parsed.text == query
    assert not parsed.without
    assert not parsed.remarks


@pytest.mark.parametrize(
    ("text", "query", "where"),
    [
        ("---\nstatus: open\n---\nA note.", "open", "the word in its tags or front matter"),
        (
            "---\ntags: [oven]\n---\nA note about bread.",
            "bread oven",
            "every word, some in its tags or front matter",
        ),
        ("The firmware is v2.10.3-rc1.", "v2.10.3", "every word"),
        ("A note.", "note", "the word"),
    ],
)
def test_the_reason_names_front_matter_only_where_it_holds_the_words(
    tmp_path: Path, text: str, query: str, where: str
) -> None:
    with stores_of(tmp_path, {"notes/it.md": text}) as library:
        [hit] = library.search(OWNER, query, mode="lexical").hits
    assert hit.reasons == (where,)
