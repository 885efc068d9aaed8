"""Blocks of a passage as HTML."""

from __future__ import annotations

import html
from typing import get_args

import pytest

from rag_core.search.shown import Block, BlockKind, clean
from ui.frame.blocks import blocks_html


@pytest.mark.parametrize("kind", get_args(BlockKind))
def test_a_block_of_each_kind_is_escaped_and_marked(kind: BlockKind) -> None:
    shown = blocks_html([Block(kind, (("the <b>", False), ("keel", True)))])
    assert "the &lt;b&gt;<mark>keel</mark>" in shown


@pytest.mark.parametrize(
    ("file_type", "text"),
    [
        ("markdown", "| a | b |\n| - | - |\n| 1 | <7 |\n"),
        ("org", "| a | b |\n|---+---|\n| 1 | <7 |\n"),
        ("asciidoc", "|===\n|a |b\n|1 |<7\n|===\n"),
        ("textile", "|a|b|\n|1|<7|\n"),
        ("tiddlywiki", "|!a |!b |\n|1 |<7 |\n"),
        ("word", "a | b\n1 | <7\n"),
    ],
)
def test_the_rows_of_a_table_are_one_table(file_type: str, text: str) -> None:
    shown = blocks_html(clean(text, file_type, ()))
    assert shown.count("<table>") == 1
    rows = shown.removesuffix("</table></div>").split("<tr><td>")[1:]
    cells = [row.removesuffix("</td></tr>").split("</td><td>") for row in rows]
    seen = [[html.unescape(cell).strip(" !") for cell in row] for row in cells]
    assert seen == [["a", "b"], ["1", "<7"]]


@pytest.mark.parametrize(
    ("file_type", "text"),
    [
        ("org", "* Buy\n- rope\n  1. twine\n"),
        ("wiki", "== Buy ==\n* rope\n# twine\n"),
        ("asciidoc", "== Buy\n\n* rope\n** twine\n"),
        ("rst", "Buy\n===\n\n* rope\n* twine\n"),
    ],
)
def test_the_items_of_a_list_are_one_list(file_type: str, text: str) -> None:
    shown = blocks_html(clean(text, file_type, ()))
    before, _, items = shown.partition("<ul>")
    assert "Buy" in before
    assert items.replace("1. ", "") == "<li>rope</li><li>twine</li></ul>"


def test_a_quote_over_several_cells_is_marked_in_each() -> None:
    shown = blocks_html([Block("row", (("a", False), ("\tb\tc", True)))])
    assert shown.count("<td>") == shown.count("</td>") == 3
    assert "<td>a</td><td><mark>b</mark></td><td><mark>c</mark></td>" in shown
