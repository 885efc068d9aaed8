"""The numbers that LibreOffice puts before headings and items of lists are read as it shows them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import readers
from tests.support import documents_made as made


def number(level: int, kind: str, more: str = "", name: str = "list-level-style-number") -> str:
    return f'<text:{name} text:level="{level}" style:num-format="{kind}" {more}/>'


STYLES = (
    "<office:styles><text:outline-style>"
    + number(1, "1", name="outline-level-style")
    + number(2, "1", 'text:display-levels="2"', name="outline-level-style")
    + number(3, "", name="outline-level-style")
    + '</text:outline-style><style:style style:name="Bare" style:list-style-name=""/>'
    '<style:style style:name="Part" style:parent-style-name="Bare"/>'
    '<style:style style:name="Step" style:list-style-name="L"/><text:list-style style:name="L">'
    + number(1, "a", 'style:num-suffix=")"')
    + number(2, "i", 'style:num-prefix="(" style:num-suffix=")" text:start-value="4"')
    + number(3, "1", 'text:display-levels="3"')
    + '</text:list-style><text:list-style style:name="New">'
    + number(1, "1", 'style:num-list-format="§%1%:" style:num-suffix=":"')
    + number(2, "A", 'style:num-list-format="%1%.%2%."')
    + '</text:list-style><text:list-style style:name="Dots">'
    + '<text:list-level-style-bullet text:level="1"/>'
    + "</text:list-style></office:styles>"
)


def heading(level: int, text: str, more: str = "") -> str:
    return f'<text:h text:outline-level="{level}" {more}>{text}</text:h>'


def items(*texts: str, style: str = "", more: str = "") -> str:
    """A list. An item that begins as an element is put in as it is."""
    inside = "".join(
        text if text.startswith("<text:list-") else f"<text:list-item>{text}</text:list-item>"
        for text in texts
    )
    named = f'text:style-name="{style}"' if style else ""
    return f"<text:list {named} {more}>{inside}</text:list>"


def p(text: str, more: str = "") -> str:
    return f"<text:p {more}>{text}</text:p>"


TABLE = [
    ("headings", heading(1, "One") + heading(2, "Two") + heading(2, "Three") + heading(1, "Four")
     + heading(2, "Five"), ["1 One", "1.1 Two", "1.2 Three", "2 Four", "2.1 Five"]),
    ("a level without a format", heading(1, "One") + heading(3, "Deep"), ["1 One", "Deep"]),
    ("headings without a number", heading(1, "One") + heading(1, "Bare", 'text:style-name="Part"')
     + heading(1, "No", 'text:is-list-header="true"') + heading(1, "Two"), ["1 One", "Bare", "No", "2 Two"]),
    ("a heading that begins again",
     heading(1, "One") + heading(1, "Seven", 'text:restart-numbering="true" text:start-value="7"'),
     ["1 One", "7 Seven"]),
    ("items", items(p("One"), p("Two"), style="L"), ["a) One", "b) Two"]),
    ("a second paragraph", items(p("One") + p("more"), p("Two"), style="L"), ["a) One", "more", "b) Two"]),
    ("items in items", items(p("One") + items(p("In"), p("Side")), p("Two") + items(p("In")), style="L"),
     ["a) One", "(iv) In", "(v) Side", "b) Two", "(iv) In"]),
    ("three levels", items(p("A") + items(p("B") + items(p("C"))), style="L"),
     ["a) A", "(iv) B", "a.iv.1 C"]),
    ("two lists", items(p("One"), style="L") + items(p("One"), style="L"), ["a) One", "a) One"]),
    ("a list that goes on", items(p("One"), style="L") + p("Text")
     + items(p("Two"), style="L", more='text:continue-numbering="true"'), ["a) One", "Text", "b) Two"]),
    ("a list that goes on by name",
     items(p("One"), style="L", more='xml:id="x"') + items(p("Else"), style="New")
     + items(p("Two"), style="L", more='text:continue-list="x"'), ["a) One", "§1: Else", "b) Two"]),
    ("an item with its own number", items('<text:list-item text:start-value="5"><text:p>Five</text:p>'
     "</text:list-item>", p("Six"), style="L"), ["e) Five", "f) Six"]),
    ("a list head", items("<text:list-header><text:p>Head</text:p></text:list-header>", p("One"), style="L"),
     ["Head", "a) One"]),
    ("a newer file", items(p("One") + items(p("In")), style="New"), ["§1: One", "1.A. In"]),
    ("bullets", items(p("One"), style="Dots"), ["One"]),
    ("no style", items(p("One"), style="Unknown"), ["One"]),
    ("the list of a style", items(p("One", 'text:style-name="Step"')), ["a) One"]),
    ("a cell", f'<table:table><table:table-row><table:table-cell>{items(p("One"), p("Two"), style="L")}'
     "</table:table-cell></table:table-row></table:table>", ["a) One b) Two"]),
]  # fmt: skip


@pytest.mark.parametrize(("body", "lines"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
@pytest.mark.parametrize("is_in_content", [False, True])
def test_numbers_are_read_as_they_are_shown(body: str, lines: list[str], is_in_content: bool) -> None:
    data = made.opendocument(
        f"<office:text>{body}</office:text>", **({} if is_in_content else {"styles": STYLES})
    )
    if is_in_content:
        data = made.rewritten(data, "content.xml", ("<office:body>", f"{STYLES}<office:body>"))
    found = readers.read(data, PurePosixPath("a.odt"))
    assert [line for line in found.text.splitlines() if line] == lines
    assert not found.warnings


def test_items_on_a_slide_have_their_numbers() -> None:
    box = f"<draw:frame><draw:text-box>{items(p('One'), p('Two'), style='L')}</draw:text-box></draw:frame>"
    body = f"<office:presentation><draw:page>{box}</draw:page></office:presentation>"
    found = readers.read(made.opendocument(body, styles=STYLES), PurePosixPath("a.odp"))
    assert found.text.split("\n\n") == ["a) One", "b) Two"]
