"""CSV and TSV: separators and headers by content, and rows that are found by the names of their columns."""

from __future__ import annotations

import csv
import io
from itertools import product
from pathlib import Path, PurePosixPath

import pytest

from rag_core.extract import extract
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support.trees import plant

HEADERS = {
    "English": ["Date", "Payee", "Amount", "Category"],
    "German": ["Datum", "Empfänger", "Betrag", "Kategorie"],
    "Russian": ["Дата", "Получатель", "Сумма", "Категория"],
    "Japanese": ["日付", "支払先", "金額", "分類"],
    "with a line break": ["Date", "Name of\nthe payee", "Amount", "Category"],
}
ROWS = [
    ["2026-01-02", "Kunz, Saddler; Sons", "312,00", 'He said "ok"'],
    ["2026-01-03", "A|B\nC", "1,50", "x"],
]


def table(separator: str, *rows: list[str]) -> str:
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


def read(text: str, name: str = "a.csv") -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


@pytest.mark.parametrize(
    ("separator", "header", "length", "name"),
    list(product(",;\t|", HEADERS.values(), (1, 3, 60), ("a.csv", "a.tsv"))),
)
def test_separator_and_header_are_told_by_the_rows(
    separator: str, header: list[str], length: int, name: str
) -> None:
    text = table(separator, header, *ROWS * length)
    found = read(text, name)
    columns = ", ".join(" ".join(cell.split()) for cell in header)
    assert {segment.heading_path for segment in found.segments} == {(columns,)}
    assert found.segments[0].anchor_ref.startswith("2-")
    assert "".join(found.text[each.start : each.end] for each in found.segments) == found.text


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("sep=;\r\nDatum;Betrag\r\n2026-01-02;1,50\r\n", "Datum, Betrag"),
        ('"sep=|"\nName|Note\nAda|x, y\n', "Name, Note"),
        ("\ufeffDatum;Betrag\n2026-01-02;1,50\n", "Datum, Betrag"),
        (",name,age\n0,Ada,36\n1,Bob,40\n", "name, age"),
        ("Region;2023;2024;2025\nNord;1;2;3\nSüd;4;5;6\n", "Region, 2023, 2024, 2025"),
        ("Konto:;DE12\nVon:;01.01.2026\n\nDatum;Zweck;Betrag\n" + "01.02.2026;Miete;-1,00\n" * 9,
         "Datum, Zweck, Betrag"),
        ("name\nAda\nBob\n", ""),
        ("1;2;3\n4;5;6\n", ""),
        ("2026-01-02;Kunz;312,00\n2026-01-03;Hof;1,50\n", ""),
        ("Ada;ada@example.org\nBob;bob@example.org\n", ""),
        ("", ""),
    ],
)  # fmt: skip
def test_the_row_that_names_the_columns(text: str, columns: str) -> None:
    assert {path for each in read(text).segments for path in each.heading_path} == ({columns} - {""})


def test_many_columns_are_all_names() -> None:
    header = [f"column{number}" for number in range(40)]
    found = read(table(";", header, *[["x"] * 40] * 5))
    assert found.segments[0].heading_path == (", ".join(header),)


PAYMENT, READING = "2026-01-02;Kunz the saddler;312,00\n", "2026-01-02;21.5;kWh\n"


@pytest.mark.parametrize(
    ("rows", "passages"),
    [
        (PAYMENT * 300, 300),
        (PAYMENT * 2_500, None),  # a long table
        (READING * 300, None),  # numbers
        (PAYMENT * 160 + READING * 140, 300),
        (PAYMENT * 120 + READING * 180, None),
        ("Kunz;x\n" * 60, None),
    ],
)
def test_rows_of_words_are_passages_of_their_own(rows: str, passages: int | None) -> None:
    found = read("Datum;Empfänger;Betrag\n" + rows)
    numbers = [segment.anchor_ref for segment in found.segments]
    if passages is None:
        assert len(numbers) < rows.count("\n") / 10
    else:
        assert numbers == [f"{number}-{number}" for number in range(2, passages + 2)]


@pytest.mark.parametrize("separator", list(",;\t|"))
def test_a_row_is_found_by_the_names_of_its_columns(library: Library, notes: Path, separator: str) -> None:
    filler = [["2026-01-01", f"Baumarkt Filiale {n}", f"{n},50", "Material"] for n in range(300)]
    filler[200] = ["2026-05-09", "Sattlerei Kunz", "312,00", "Werkstatt"]
    text = table(separator, HEADERS["German"], *filler)
    plant(notes, "ledger.csv", text=text.encode())
    index(library, "notes", notes)
    best = library.search(OWNER, "Sattlerei Kategorie").hits[0]
    assert best.relevant
    assert "Kategorie" in " ".join(best.heading_path)


def test_a_quote_that_is_not_closed_leaves_nothing_out() -> None:
    text = 'a;b\n"open;2\n' + "x;y\n" * 40_000
    found = read(text)
    assert "".join(text[each.start : each.end] for each in found.segments) == text
