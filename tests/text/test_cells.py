"""A phrase is found inside a cell of a table, and not over several cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.text.cells import cells_apart
from rag_core.text.phrases import shows_phrase
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.trees import write

ROWS = [["Item", "Amount due"], ["mizzen mast", "seven pounds"], ["keel", "nine shillings"]]
INSIDE = ["mizzen mast", "seven pounds", "nine shillings"]
OVER = ["mast seven", "pounds keel", "due mizzen", "keel nine"]


def lines(before: str, between: str, after: str) -> str:
    return "".join(f"{before}{between.join(row)}{after}\n" for row in ROWS)


def html(cell: str) -> str:
    rows = ("".join(cell.format(value) for value in row) for row in ROWS)
    return f"<table>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"


PASSAGES = {
    "word": lines("", " | ", ""),
    "slides": lines("", " | ", ""),
    "html": lines("", " | ", ""),
    "sheet": lines("", "\t", ""),
    "tsv": lines("", "\t", ""),
    "csv": lines("", ",", ""),
    "org": lines("| ", " | ", " |"),
}
TABLES = {
    "pipes.md": lines("| ", " | ", " |").replace("due |\n", "due |\n|---|---|\n"),
    "bare.md": lines("", " | ", "").replace("due\n", "due\n---|---\n"),
    "tags.md": f"Text.\n\n{html('<td>{}</td>')}\n",
    "page.html": html("<td>{}</td>"),
    "paragraphs.html": html("<td><p>{}</p></td>"),
    "boxes.html": html("<td><div><span>{}</span></div></td>"),
    "plain.csv": lines("", ",", ""),
    "tabs.csv": lines("", "\t", ""),
    "quoted.csv": lines('"', '","', '"'),
    "quoted-spaces.csv": lines('"', '", "', '"'),
    "semicolons.csv": lines("", ";", ""),
    "tabs.tsv": lines("", "\t", ""),
    "mail.eml": f"From: a@b.org\nContent-Type: text/html\n\n{html('<td>{}</td>')}",
    "docbook.xml": html("<entry>{}</entry>"),
}


@pytest.mark.parametrize("file_type", PASSAGES)
def test_a_cell_is_a_text_of_its_own(file_type: str) -> None:
    text = PASSAGES[file_type]
    assert [phrase for phrase in INSIDE + OVER if shows_phrase(text, file_type, phrase)] == INSIDE
    assert len(cells_apart(text, file_type)) == len(text)


@pytest.mark.parametrize("name", TABLES)
def test_a_phrase_is_found_in_a_cell_and_not_over_several(library: Library, notes: Path, name: str) -> None:
    write(notes, {name: TABLES[name]})
    index(library, "notes", notes)
    found = [phrase for phrase in INSIDE + OVER if library.search(OWNER, f'"{phrase}"').hits]
    assert found == INSIDE
    hit = library.search(OWNER, '"mizzen mast"').hits[0]
    assert "mizzen mast" in [hit.content[slice(*span)] for span in hit.spans]


@pytest.mark.parametrize(
    ("file_type", "text", "phrase"),
    [
        ("csv", 'name,note\n"Smith, John","a long\nstory"\n', "Smith John"),
        ("csv", 'name,note\n"Smith, John","a long\nstory"\n', "long story"),
        ("csv", "a;b\nSmith, John;5\nMiller, Ada;7\n", "Smith John"),
        ("csv", 'a,b\n"say ""no"" now",2\n', "no now"),
        ("csv", "2026-01-07;Rent, water, gas;1.200,50", "rent water"),
        ("csv", "2026-01-05\tCoffee, sugar, cream\t1.200,50", "sugar cream"),
        ("csv", 'an end of a long cell, about otters",7', "cell about otters"),
        ("csv", 'say "hi there, you",7', "there you"),
        ("markdown", "run `ps aux | grep x` to find the\nprocess and kill it", "find the process"),
        ("mail", "The numbers (north | south) were\nsurprisingly good", "were surprisingly good"),
        ("html", "Tuesday | 10:00 in the\nold town hall", "the old town"),
        ("html", "One line | two\n\nThe mizzen\nmast", "mizzen mast"),
        ("markdown", "A line with `a | b` in it.\n\nThe mizzen\nmast", "mizzen mast"),
        ("go", "\tName\tstring", "Name string"),
    ],
)
def test_a_phrase_goes_on_inside_a_cell_and_outside_of_tables(file_type: str, text: str, phrase: str) -> None:
    assert shows_phrase(text, file_type, phrase)
