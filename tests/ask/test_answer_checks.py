"""What a model says, compared with its passages: every false quote is found, and no true one called so."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.ask import Checker
from rag_core.replies import Reference, Statement, marked

pytestmark = pytest.mark.thorough

HARBOUR = """# Harbour

## Hours

The **harbour** opens at six, see [[boats|the boats]] and [the *map*](https://example.org/map(1)).
A berth costs 1,500 euros — a lot. “I left,” he said, and it wasn't far.

- [ ] Pay the fee of $12.50
> Nobody re-uses the rope.

| pier | length |
| --- | --- |
| north | 40 m |

See note [1] in the harbour-\nmaster's book. It is not-for-profit.
"""
BOATS = """Boats leave
the harbour before dawn. 船只在黎明前离开港口。 The water has -5 degrees. Use `snake_case` names.
"""


def reference(number: int, content: str) -> Reference:
    return Reference(number, "port", "a.md", "", 0, "key", "", "markdown", 1, 9, "", "", content)


PASSAGES = [reference(1, HARBOUR), reference(2, BOATS)]


def checked(said: str, size: int = 10**6) -> Checker:
    checker = Checker(PASSAGES)
    for start in range(0, len(said), size):
        checker.feed(said[start : start + size])
    checker.end()
    return checker


def statements(said: str) -> list[Statement]:
    return checked(said).statements


def shown(said: str) -> list[str]:
    return [marked(each) for each in statements(said)]


# --- quotes -----------------------------------------------------------------------------

TRUE = [
    '"The harbour opens at six" [1]',
    '"harbour opens at six." [1]',
    '"harbour opens at six, see the boats and the map" [1]',
    "“A berth costs 1,500 euros” [1]",
    "\"'I left,' he said\" [1]",
    '"“I left,” he said, and it wasn’t far" [1]',
    "'it wasn't far' [1]",
    "“opens\u00a0at   six” [1]",
    '"Pay the fee of $12.50" [1]',
    '"Nobody re-uses the rope" [1]',
    '"See note [1] in the harbourmaster\'s book" [1]',
    '"The harbour opens at six ... he said, and it wasn\'t far" [1]',
    '"…opens at six…" [1]',
    '"Boats leave the harbour" [2]',
    "「离开港口」[2]",
    '"-5 degrees" [2]',
    '"Boats leave [2] the harbour" [2]',
    '"opens at six" and "1,500 euros" [1]',
    '"Boats leave the harbour" [1, 2]',
    "> The harbour opens at six [1]",
    '"opens at six [1].',
    '"The harbour **opens** at six" [1]',
    '"[...] opens at six [...]" [1]',
    '"船只在黎明……离开港口" [2]',
    'A 5" and a 3" pipe, 24"x36", and "opens at six" [1]',
    '""I left," he said, and it wasn\'t far" [1]',
]


def test_a_true_quote_is_called_true() -> None:
    for said in TRUE:
        found = [quote for each in statements(said) for quote in each.quotes]
        assert {quote.holds for quote in found} == {True}, said
        assert {each.support for each in statements(said)} == {"quoted"}, said


MARKS = [
    '"{}"', "“{}”", "„{}“", "”{}”", "«{}»", "»{}«", "»{}»", "‹{}›", "「{}」", "『{}』", "《{}》", "〈{}〉",
    "＂{}＂", "❝{}❞", "〝{}〞", "〝{}〟", "″{}″", "‟{}”", "❮{}❯",
    "'{}'", "‘{}’", "’{}’", "‚{}‘", "‛{}’", "❛{}❜", "´{}´",
    '""{}""', "““{}””", "''{}''", "``{}''", ",,{}''", ',,{}"', "‘‘{}’’", '\\"{}\\"',
    "&quot;{}&quot;", "&ldquo;{}&rdquo;", "&#34;{}&#x22;", "&quot;&quot;{}&quot;&quot;", "&apos;{}&apos;",
    "<q>{}</q>", '<q cite="x">{}</q>', "<BLOCKQUOTE>{}</BLOCKQUOTE>", '`"{}"`', "` “{}” `", '*"{}"*',
    "5“{}”", ">{}", "> {}", ">>{}", "- > {}", '>"{}"',
]  # fmt: skip
"""How a quote may be written."""


@given(mark=st.sampled_from(MARKS), holds=st.booleans(), number=st.sampled_from(["", " [1]"]))
def test_a_quote_is_seen_however_it_is_written(mark: str, holds: bool, number: str) -> None:
    [each] = statements(mark.format("opens at six" if holds else "opens at noon") + number)
    assert [quote.holds for quote in each.quotes] == [holds]
    assert not number or each.support == ("quoted" if holds else "cited")


FALSE = [
    '"The harbour opens at seven" [1]',
    '"The harbour never opens at six" [1]',
    '"opens at sixteen" [1]',
    '"pens at six" [1]',
    '"fee of $12" [1]',
    '"5 degrees" [2]',
    '"uses the rope" [1]',
    '"six at opens" [1]',
    '"The Harbour Opens At Six" [1]',
    '"he said, and it ... the harbour opens at" [1]',
    "「港口关闭」[2]",
    '"Boats leave\nthe moon" [2]',
    '"opens at noon [1].',
    "> The harbour opens at noon [1]",
    '"opens at noon"',
    '"The harbour <never> opens at six" [1]',
    '"The harbour [opens](never) at six" [1]',
    '"The harbour[^never] opens at six" [1]',
    '"The harbour **never** opens at six" [1]',
    '"opens ... six" [1]',
    '"船只……港口" [2]',
    '"It says "opens at noon"" [1]',
]


def test_a_false_quote_is_called_false() -> None:
    for said in FALSE:
        found = [quote for each in statements(said) for quote in each.quotes]
        assert [quote.holds for quote in found] == [False], said
        assert not any(each.support == "quoted" for each in statements(said)), said
        assert "[not in the passage]" in "".join(shown(said)), said


def test_a_quote_of_another_passage_is_false_and_says_which() -> None:
    assert shown('It says "Boats leave the harbour" [1].') == [
        'It says "Boats leave the harbour" [not there, but in passage 2] [1].'
    ]


def test_a_quote_goes_with_the_number_right_behind_it() -> None:
    [each] = statements('"Boats leave the harbour" [1] and "opens at six" [2].')
    assert [quote.holds for quote in each.quotes] == [False, False]
    [each] = statements('"Boats leave the harbour" [2] and "opens at six" [1].')
    assert [quote.holds for quote in each.quotes] == [True, True]


@pytest.mark.parametrize(
    "said",
    [
        "The 5\" pipe isn't the dogs' [1].",
        'The 5" pipe and the 3" pipe [1].',
        'It is 24"x36" [1].',
        '"?!" [1]',
        'The value is "" or "", not more [1].',
        'It is "".',
        '```\nx = "quoted"\n``` [1]',
        "Use ``quoted`` [1].",
        "a,,b,, and &amp;&amp; [1].",
    ],
)
def test_what_only_looks_like_a_quote_is_none(said: str) -> None:
    assert not statements(said)[0].quotes


def test_the_places_that_were_quoted_are_known() -> None:
    first, second = checked('"harbour opens at six" [1]. "at six, see" [1]').references
    assert [HARBOUR[start:end] for start, end in first.spans] == ["harbour** opens at six, see"]
    assert (first.cited, second.cited, second.spans) == (True, False, ())


# --- numbers ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("It opens [9].", "It opens. [no source]"),
        ("It opens [1][9].", "It opens [1]. [no quote]"),
        ("It opens [1, 9].", "It opens [1]. [no quote]"),
        ("It opens [1-99999].", "It opens [1, 2]. [no quote]"),
        ("It opens [0] [1].", "It opens [1]. [no quote]"),
        ("It opens [passage 9].", "It opens. [no source]"),
        ("It opens [99999999999999999999999999].", "It opens. [no source]"),
        ("It opens【9】.", "It opens. [no source]"),
        ("It opens [^9] [2].", "It opens [2]. [no quote]"),
    ],
)
def test_a_number_of_no_passage_is_taken_out(said: str, left: str) -> None:
    assert shown(said) == [left]
    assert statements(said)[0].removed


def test_a_quote_keeps_its_place_when_a_number_is_taken_out() -> None:
    [each] = statements('Open [7], or "opens at noon" [1], or "opens at six" [1].')
    assert [each.text[quote.start : quote.end] for quote in each.quotes] == [
        '"opens at noon"',
        '"opens at six"',
    ]


def test_numbers_in_code_are_no_numbers_of_passages() -> None:
    assert shown("It is `list[7]` [1].") == ["It is `list[7]` [1]. [no quote]"]


# --- sentences --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "sources"),
    [
        ("One [1]. Two. Three [2].", ["cited", "none", "cited"]),
        ("One. [1] Two.", ["cited", "none"]),
        ("- One [1]\n- Two\n\n1. Three [1]\n", ["cited", "none", "cited"]),
        ("Dr. Who, e.g. Prof. J. Smith, costs 3.5 euros [1].", ["cited"]),
        ('He said "I left." Then he left [1].', ["none", "cited"]),
        ('"I left," he said. [1]', ["quoted"]),
        ('"I left." he said [1].', ["quoted"]),
        ("港口六点开放 [1]。密码是什么。", ["cited", "none"]),
        ("Is it? Yes [1]! No…", ["none", "cited", "none"]),
        ("The file a.md holds it [1]. See x.y now", ["cited", "none"]),
    ],
)
def test_every_sentence_without_a_number_has_no_source(said: str, sources: list[str]) -> None:
    assert [each.support for each in statements(said)] == sources


def test_what_says_nothing_needs_no_source() -> None:
    assert shown("---\n***") == ["---", "***"]


PARTS = [*TRUE, *FALSE, *(mark.format("opens. At six") for mark in MARKS)]
PARTS += ["One [1]. ", "[2] Three [9, 1]\n- “Four. Five” [1]\n\n", "```\ncode. [1]\n```\n"]


@settings(deadline=None)
@given(said=st.sampled_from(PARTS), size=st.integers(1, 7))
def test_how_an_answer_is_cut_into_pieces_makes_no_difference(said: str, size: int) -> None:
    assert checked(said, size).statements == checked(said).statements


def test_a_statement_is_checked_as_soon_as_it_is_whole() -> None:
    checker = Checker(PASSAGES)
    checker.feed('"opens at six" [1]. And then')
    assert ([marked(each) for each in checker.statements], checker.draft.rest) == (
        ['"opens at six" [1].'],
        " And then",
    )


HOSTILE = ["a ", '"', "[1", "“", "- ", "`", "[[", "'a ", ". ", "『", "*", "a", "„“", "&quot;", '5"', ",,a "]


@pytest.mark.parametrize("unit", HOSTILE)
def test_nothing_of_a_hostile_answer_is_lost(unit: str) -> None:
    """Nor does it take long: what waits for its end is cut, and is looked through once."""
    said = unit * (10_000 // len(unit))
    found = "".join(each.lead + each.text for each in checked(said, 50).statements)
    assert "".join(found.split()) == "".join(said.split())


def test_a_text_that_never_ends_is_cut() -> None:
    assert len(statements("word " * 1000)) == 3
