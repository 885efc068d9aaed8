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


def columns(rule: str) -> str:
    rows = [f"{first:14}{second}\n" for first, second in ROWS]
    return f"{rule}\n{rows[0]}{rule}\n{''.join(rows[1:])}{rule}\n"


GRID = "".join(f"| {first:12} | {second:16} |\n+{'-' * 14}+{'-' * 18}+\n" for first, second in ROWS)
COLUMNS = columns(f"{'=' * 12}  {'=' * 16}")

PASSAGES = {
    "latex": lines("", " & ", r" \\"),
    "rst": f"Some text.\n\n{COLUMNS}\nMore text.\n",
    "text": COLUMNS,
    "word": lines("", " | ", ""),
    "slides": lines("", " | ", ""),
    "html": lines("", " | ", ""),
    "sheet": lines("", "\t", ""),
    "tsv": lines("", "\t", ""),
    "csv": lines("", ",", ""),
    "org": lines("| ", " | ", " |"),
    "asciidoc": "|===\n" + lines("|", " |", "\n") + "|===\n",
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
    "grid.rst": f"Text.\n\n+{'-' * 14}+{'-' * 18}+\n{GRID}\nText.\n",
    "grid.txt": f"+{'-' * 14}+{'-' * 18}+\n{GRID}",
    "columns.rst": f"Text.\n\n{COLUMNS}\nText.\n",
    "wide.rst": columns(f"{'=' * 12}  {'=' * 16}").replace("Item      ", "品目      "),
    "tabular.tex": lines("", " & ", r" \\").replace("keel", "\\hline keel"),
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
        ("latex", "a & the mizzen\nmast \\\\\nkeel & b \\\\", "the mizzen mast"),
        ("latex", "a & b \\\\\n\n\\emph{the mizzen} \\\\\nmast \\& keel", "the mizzen mast & keel"),
        ("rst", "===  ======\na    mizzen\n     mast\nb    *keel*\n===  ======\n", "mizzen mast"),
        (
            "rst",
            "===  ======  ======\na    mizzen  of the\n     mast    keel\n===  ======  ======\n",
            "of the keel",
        ),
        ("rst", "a    mizzen  of the\n     mast    keel\n===  ======  ======\n\nText", "mizzen mast"),
        ("rst", "===  ======  ======\na    mizzen  of the\n     mast    keel\n", "mizzen mast"),
        (
            "rst",
            "=====  =====\n   both\n------------\nA      B\n=====  =====\nthe mizzen mast\n=====  =====\n",
            "the mizzen mast",
        ),
        ("rst", "+---+--------+\n| a | mizzen |\n| b | *mast* |\n+---+--------+\n", "mizzen mast"),
        (
            "rst",
            "+---+--------+\n| a | the    |\n+---+ mizzen |\n| b | mast   |\n+---+--------+\n",
            "the mizzen mast",
        ),
        ("rst", "+------+-----+\n| 価値 | the |\n| が   | sea |\n+------+-----+\n", "the sea"),
        ("markdown", "| a | mizzen |\n| b | mast   |\n+---+--------+\n| c | keel   |\n\nText", "mizzen"),
        ("text", "The Mizzen\n=== ======\n\nText", "the mizzen"),
        ("text", "Text.\n\nThe Mizzen\n=== ======\n\nText", "the mizzen"),
        ("text", "of the mizzen mast\nand keel and\n=====  =====\n\nText", "mast and keel"),
        ("text", "Some text.  With gaps  in\n\n===  ===\n\nit.", "with gaps in"),
    ],
)
def test_a_phrase_goes_on_inside_a_cell_and_outside_of_tables(file_type: str, text: str, phrase: str) -> None:
    assert shows_phrase(text, file_type, phrase)


@pytest.mark.parametrize(
    ("file_type", "text", "phrase"),
    [
        ("rst", "===  ======\na    mizzen\n     mast\nb    keel\n===  ======\n", "mast b"),
        ("rst", "===  ======\na    mizzen\n     mast\nb    keel\n===  ======\n", "a mizzen"),
        ("rst", "a    mizzen\nb    keel\n===  ======\n", "mizzen b"),
        ("rst", "===  ======\na    mizzen\nb    keel\n", "mizzen b"),
        ("latex", "a & mizzen \\tabularnewline\nb & keel \\\\", "mizzen b"),
        ("latex", "a & mizzen \\\\[2pt] b & keel \\\\", "a mizzen"),
    ],
)
def test_a_phrase_does_not_go_on_into_the_next_cell(file_type: str, text: str, phrase: str) -> None:
    assert not shows_phrase(text, file_type, phrase)
