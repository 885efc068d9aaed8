"""A passage as people read it: what is left out of it, and what stays marked."""

from __future__ import annotations

import pytest

from rag_core.search.shown import EXTRACT_LENGTH, clean, excerpt_of

NOTE = """---
title: Tea
---
# Tea, how *long* it keeps

[![build](http://ci.example/b.svg)](http://ci.example) ![[pot.png]]
Green tea **keeps** when [[kitchen/jar|jars]] are `dry *x*`, snake_case_name, see [site](http://x.y "t").
<!-- hidden
more --> visible \\*star
%% note to myself %%
- [ ] item one ^abc
> [!note] Quoted
> twice

| a | b |
|---|---|
| 1 | 2 |

```py
x = "**kept**"
```
`make tea`
[ref]: http://x.example
***
==Last== <http://auto.example>
"""


def lines(text: str, file_type: str = "markdown", *marked: str) -> list[tuple[str, str]]:
    spans = tuple((text.index(word), text.index(word) + len(word)) for word in marked)
    return [(block.kind, block.text) for block in clean(text, file_type, spans, ())]


def test_a_note_is_shown_without_the_marks_of_markdown() -> None:
    assert lines(NOTE) == [
        ("heading", "Tea, how long it keeps"),
        ("text", "Green tea keeps when jars are dry *x*, snake_case_name, see site."),
        ("text", " visible *star"),
        ("item", "item one"),
        ("quote", "Quoted\ntwice"),
        ("row", " a\tb "),
        ("row", " 1\t2 "),
        ("code", 'x = "**kept**"'),
        ("code", "make tea"),
        ("text", "Last http://auto.example"),
    ]


def test_quotes_braces_and_line_ends_of_json_are_left_out() -> None:
    assert lines('{"title": "Tea \\"x\\"",\n "text": "one\\ntwo"}', "json") == [
        ("text", 'title: Tea "x"\n text: one\ntwo')
    ]
    assert lines('{"a":"x","n":1,"b":"see [N](p/n)",\n"c":[]}', "json") == [
        ("text", "a: x, n: 1, b: see N\nc: ")
    ]


def test_lines_of_a_pdf_that_end_at_their_column_are_joined() -> None:
    wrapped = "This line of the page goes on to the edge\nand the next one does.\nHere it ends."
    assert lines(wrapped, "pdf") == [
        ("text", "This line of the page goes on to the edge and the next one does."),
        ("text", "Here it ends."),
    ]
    assert lines(wrapped, "text")[0][1].count("\n") == 2


def test_rows_of_a_table_in_an_office_file_are_rows() -> None:
    assert lines("Tea\ngreen | 6\n", "word") == [("text", "Tea"), ("row", "green\t6")]


def test_code_is_shown_as_it_is_written() -> None:
    assert lines("a = b[**c]\n\nd", "python") == [("code", "a = b[**c]\n\nd")]


def test_what_was_searched_for_stays_marked_where_it_stands() -> None:
    at = NOTE.index("keeps** when"), NOTE.index("jars]]")
    blocks = clean(NOTE, "markdown", ((at[0], at[0] + 5), (at[1], at[1] + 4)), ())
    assert [piece for block in blocks for piece, is_marked in block.pieces if is_marked] == ["keeps", "jars"]


def test_an_address_is_shown_where_the_words_stand_nowhere_else() -> None:
    assert lines("see [site](http://x.example/needle)", "markdown", "needle")[0][1].endswith("/needle)")
    assert lines("a needle, [site](http://x.example/needle)", "markdown", "needle") == [
        ("text", "a needle, site")
    ]


@pytest.mark.parametrize("text", ["<!-- only -->", "---\na: b\n---\n", "***", "![x](y)"])
def test_what_is_nothing_but_marks_is_shown_as_it_is(text: str) -> None:
    assert "".join(line for _, line in lines(text)).strip() == text.strip()


@pytest.mark.parametrize(
    "text", ["[" * 5000, "**" * 3000, "<!--" * 2000, "|-" * 3000, "`" * 4000, "![[" * 2000]
)
def test_no_text_takes_long(text: str) -> None:
    assert lines(f"x {text} y")


def test_an_extract_is_one_line_without_headings_around_the_words() -> None:
    text = "# Head\n\n" + "before " * 60 + "\n\nthe *needle* here\n\n" + "after " * 60
    at = text.index("needle")
    pieces = excerpt_of(clean(text, "markdown", ((at, at + 6),), ()))
    said = "".join(piece for piece, _ in pieces)
    assert ("needle", True) in pieces
    assert said.startswith("… ")
    assert said.endswith(" …")
    assert "\n" not in said
    assert "Head" not in said
    assert len(said) < EXTRACT_LENGTH + 50
    assert excerpt_of(clean("# Only a head", "markdown", (), ())) == (("Only a head", False),)


def test_an_extract_begins_near_the_words_wherever_they_stand() -> None:
    for text in ("before " * 60 + "a needle here", "It says: a needle here " + "after " * 60):
        at = text.index("needle")
        said = "".join(piece for piece, _ in excerpt_of(clean(text, "markdown", ((at, at + 6),), ())))
        assert said.index("needle") < EXTRACT_LENGTH // 3
        assert said.startswith("… " if text.startswith("before") else "It says")
