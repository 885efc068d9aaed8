"""What is highlighted in a passage, which stretch of it is shown, and what of that is no reading."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core.search.snippet import SNIPPET_LENGTH, best_window, highlight, left_out_spans, pieces
from rag_core.text.phrases import exact
from rag_core.text.words import fold, query_words, unit_forms

LETTERS = st.text("ab ß éİﬁ价格ก็\u0301\n-_Az9", max_size=60)


def shown(text: str, query: str, *phrases: str) -> list[str]:
    return [
        text[start:end] for start, end in highlight(text, unit_forms(query_words(query)), map(exact, phrases))
    ]


@pytest.mark.parametrize(
    ("text", "query", "places"),
    [
        ("Red fish, blue fish.", "fish red", ["Red", "fish", "fish"]),
        ("The index: indexing, indexed, reindex", "index", ["index", "indexing", "indexed"]),
        ("go, goes, ago, go_on", "go", ["go", "go"]),  # a short word only whole
        ("在2023年计划", "2023", ["2023"]),
        ("价格有歧视，价格歧视", "价格歧视", ["价格", "歧视", "价格歧视"]),
        ("un café noir", "cafe", ["café"]),
        ("un cafe\u0301 noir", "cafe", ["cafe\u0301"]),
        ("un CAFÉ noir", "cafe", ["CAFÉ"]),
        ("Die Straße, Die Straße!", "strasse", ["Straße", "Straße"]),  # letters that fold to several
        ("ﬁne, ﬁne!", "fine", ["ﬁne", "ﬁne"]),
        ("İs, İs!", "is", ["İs", "İs"]),
        ("What?! - * .", "?! *", []),
    ],
)
def test_the_words_of_a_query_are_highlighted_in_place(text: str, query: str, places: list[str]) -> None:
    assert shown(text, query) == places


def test_phrase_is_highlighted_as_one_whatever_its_spaces() -> None:
    assert shown("A brick\n  wall and a wall of brick", "", "brick wall") == ["brick\n  wall"]


@given(LETTERS, LETTERS, st.lists(LETTERS.filter(str.strip), max_size=2))
def test_highlights_are_in_order_apart_and_inside(text: str, query: str, phrases: list[str]) -> None:
    spans = highlight(text, unit_forms(query_words(query)), map(exact, phrases))
    borders = [border for span in spans for border in span]
    assert borders == sorted(set(borders))
    assert all(0 <= border <= len(text) for border in borders)


@given(LETTERS, st.lists(st.sampled_from(["ab", "azz", "é", "价格", "ß"]), min_size=1, max_size=3))
def test_highlights_hold_a_word_of_the_query(text: str, words: list[str]) -> None:
    wanted = [fold(word)[:2] for word in words]
    for start, end in highlight(text, unit_forms(query_words(" ".join(words)))):
        assert any(beginning in fold(text[start:end]) for beginning in wanted)


@given(st.text("ab \n", max_size=1500), st.lists(st.integers(0, 1500), max_size=20), st.integers(20, 400))
def test_window_is_inside_the_text_and_about_as_long_as_asked(text: str, at: list[int], length: int) -> None:
    spans = tuple((place, place + 1) for place in sorted(set(at)) if place < len(text))
    start, end = best_window(text, spans, length)
    assert 0 <= start <= end <= len(text)
    assert min(length, len(text)) - 20 <= end - start <= length + 20


def test_short_text_is_shown_whole() -> None:
    text = "x" * SNIPPET_LENGTH
    assert best_window(text, ()) == (0, len(text))


def test_text_without_highlights_is_shown_from_its_beginning() -> None:
    assert best_window("word " * 200, ())[0] == 0


def test_window_is_where_most_highlights_are() -> None:
    text = "one " + "filler " * 200 + "one two one " + "filler " * 200
    spans = highlight(text, unit_forms(("one", "two")))
    start, end = best_window(text, spans)
    assert "one two one" in text[start:end]


def test_window_is_cut_between_words() -> None:
    text = "needle " + "filler " * 100 + "needle needle " + "filler " * 100
    start, end = best_window(text, highlight(text, unit_forms(("needle",))))
    assert re.fullmatch(r"(filler|needle)( filler| needle)*\s?", text[start:end])


@pytest.mark.parametrize(
    ("words", "phrases", "shown"),
    [
        (("nadia", "wedding"), (), "the wedding of her sister"),
        (("nadia", "brother"), ("earn his trust",), "to earn his trust"),
        (("write", "report"), (), "the report"),
    ],
)
def test_the_window_shows_what_was_asked_not_the_name_that_stands_everywhere(
    words: tuple[str, ...], phrases: tuple[str, ...], shown: str
) -> None:
    text = "Nadia said that Nadia and his brother, writing, wrote what he writes. " * 5
    text += "There was nothing else of note. " * 10 + f"In May comes {shown}. " + "The rest is silence. " * 20
    start, end = best_window(text, highlight(text, unit_forms(words), map(exact, phrases)))
    assert shown in text[start:end]


# --- tags -------------------------------------------------------------------------------


def read(text: str, query: str = "", file_type: str = "markdown") -> str:
    """What is shown of a passage on a card."""
    spans = highlight(text, unit_forms(query_words(query)))
    hidden = left_out_spans(text, file_type, spans)
    window = best_window(text, spans, hidden=hidden)
    return "".join(piece for piece, _ in pieces(text, spans, window, hidden))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('<div align="center">A pot<br>of tea</div>', " A pot of tea "),
        ("<img src=\"a>b.png\" alt='x'/>Tea, <b>ver</b>y <!-- not yet --> hot", " Tea, very  hot"),
        ("Use `<br>` and ``<div>`` in code, <br>not here", "Use `<br>` and ``<div>`` in code,  not here"),
        ("```html\n<div>stays</div>\n```\n<p>Read me", "```html\n<div>stays</div>\n```\n Read me"),
        ("~~~\n<p>open to the end", "~~~\n<p>open to the end"),
        ("a < b and b > c, <T> and <https://a.example>", "a < b and b > c, <T> and <https://a.example>"),
        ("&bull; Steel&nbsp;&amp; iron &lt;b&gt; &#8364;5", "\u2022 Steel\xa0& iron <b> \u20ac5"),
        ("Use `&amp;` for &unknown; in AT&T; and &AMP;", "Use `&amp;` for &unknown; in AT&T; and &"),
        ("<br><br>", "<br><br>"),
    ],
)
def test_tags_are_left_out_of_what_is_read_and_nothing_else(text: str, shown: str) -> None:
    assert read(text) == shown


def test_a_tag_that_holds_a_word_of_the_query_stays() -> None:
    text = 'Tea<br> <img src="heron.png"> is hot'
    assert read(text, "heron") == 'Tea  <img src="heron.png"> is hot'


def test_a_run_of_backticks_counts_whole_however_many_there_are() -> None:
    assert read("``a`<b>x</b>` ``") == "``a`<b>x</b>` ``"
    assert read("``a<b>x</b>`") == "``ax`"
    hostile = "".join("`" * run + "a" for run in range(1, 200)) + "\n<b>x</b>"
    assert [hostile[start:end] for start, end in left_out_spans(hostile, "markdown")] == ["<b>", "</b>"]


@pytest.mark.parametrize("file_type", ["python", "text", "xml"])
def test_where_tags_are_the_text_they_stay(file_type: str) -> None:
    assert read("<b>if</b>", file_type=file_type) == "<b>if</b>"


def test_tags_take_no_room_from_what_is_shown() -> None:
    text = (
        '<img src="https://a.example/badge.svg" width="20">' * 20 + "word " * 200 + "needle " + "word " * 50
    )
    assert read(text).lstrip().startswith("word word")
    assert len(read(text).strip()) > SNIPPET_LENGTH * 0.8
    assert "needle" in read(text, "needle")


@given(st.text("ab <>/!-`~\"'=\n", max_size=80), st.text("ab", max_size=2))
def test_what_is_read_is_the_text_but_for_whole_tags(text: str, query: str) -> None:
    spans = highlight(text, unit_forms(query_words(query)))
    hidden = left_out_spans(text, "markdown", spans)
    for start, end in hidden:  # a comment without an end goes on in the next passage
        assert text[start] == "<"
        assert text[end - 1] == ">" or text.startswith("<!--", start)
    kept = "".join(piece for piece, _ in pieces(text, spans))
    assert kept == text
    marked = [piece for piece, is_marked in pieces(text, spans, None, hidden) if is_marked]
    assert marked == [text[start:end] for start, end in spans]
    start, end = best_window(text, spans, 20, hidden)
    assert 0 <= start <= end <= len(text)


@pytest.mark.parametrize("length", range(300, 360))
def test_an_excerpt_loses_no_mark_where_a_long_word_ends_it(length: int) -> None:
    text = "Keep two inside the jacket. " * 30
    text = f"{text[: length - 23]}[[winter-packing-list]]"
    spans = highlight(text, unit_forms(["winter"]))
    start, end = best_window(text, spans)
    assert all(start <= first and last <= end for first, last in spans)
    assert end - start <= SNIPPET_LENGTH + 40
