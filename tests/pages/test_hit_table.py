"""The data frame of what was found."""

from __future__ import annotations

import io
import subprocess
import sys
from datetime import date
from pathlib import Path

import pandas as pd
import pytest

from rag_core.types import OWNER
from tests.pages.search_page import Indexing, component, open_page, shown
from tests.pages.visiting import GUEST, HOSTILE
from ui.frame.deps import library
from ui.search import hit_table

pytestmark = pytest.mark.usefixtures("owner")


def test_the_frame_has_what_is_known_of_each_hit(water_notes: Indexing, tmp_path: Path) -> None:
    page = open_page(q="coffee boiling", view="table")
    rows = page.dataframe[0].value
    assert [*rows.columns] == ["Name", "Passage", "Score", "Type", "Date", "Tags", "Folder", "Store", "Place"]
    first = rows.iloc[0]
    assert (first["Name"], first["Type"], first["Store"], first["Folder"]) == (
        "coffee.md",
        "markdown",
        "notes",
        "",
    )
    assert (first["Date"], [*first["Tags"]]) == (date(2025, 2, 1), ["drink"])
    assert first["Passage"] == "Coffee wants water nearly boiling."
    assert first["Place"] == str(tmp_path / "notes" / "coffee.md:5")
    assert 0 < first["Score"] <= 1
    assert shown(page)["cards"][0]["title"] == "Coffee"


def test_a_row_that_is_chosen_shows_its_passage_and_the_way_to_it(water_notes: Indexing) -> None:
    page = open_page(q="water", view="table")
    key = page.dataframe[0].proto.id.rpartition("-")[2]
    page.session_state[key] = {"selection": {"rows": [1], "columns": [], "cells": []}}
    page.run()
    sent = component(page, "hit").json
    card = shown(page)["cards"][1]
    assert card["passage"]["href"] in sent


def test_of_a_ticked_row_and_a_chosen_cell_the_newer_counts(water_notes: Indexing) -> None:
    page = open_page(q="water", view="table")
    key = page.dataframe[0].proto.id.rpartition("-")[2]
    for rows, cells, number in (
        ([], [(1, "Name")], 1),
        ([2], [(1, "Name")], 2),
        ([2], [(3, "Name")], 3),
        ([2], [], 2),
        ([], [], None),
    ):
        page.session_state[key] = {"selection": {"rows": rows, "columns": [], "cells": cells}}
        page.run()
        hrefs = [card["passage"]["href"] for card in shown(page)["cards"]]
        sent = component(page, "hit").json if number is not None else ""
        assert [href for href in hrefs if href in sent] == ([] if number is None else [hrefs[number]])


def test_cards_have_no_frame(water_notes: Indexing) -> None:
    assert not open_page(q="water").dataframe


def test_text_of_a_note_is_only_text_in_the_frame(indexing: Indexing) -> None:
    indexing({"odd.md": f"# Odd\n\nneedle {HOSTILE}\n"})
    page = open_page(q="needle", view="table")
    assert "<script>alert(1)</script> $x$" in page.dataframe[0].value.iloc[0]["Passage"]
    kinds = {column.get("type_config", {}).get("type") for column in hit_table._COLUMNS.values()}
    assert kinds == {"text", "progress", "date", "list"}, "a link or a picture would be fetched or followed"


def test_a_guest_is_not_told_where_a_file_is(
    water_notes: Indexing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.frame.access.viewer", lambda: GUEST)
    rows = open_page(q="green tea", view="table").dataframe[0].value
    assert "tea.md:5" in [*rows["Place"]]
    assert str(tmp_path) not in rows.to_csv()


def test_parquet_holds_the_rows_of_the_table(water_notes: Indexing) -> None:
    answer = library().search(OWNER, "coffee boiling")
    saved = pd.read_parquet(io.BytesIO(hit_table.parquet(answer.hits)))
    pd.testing.assert_frame_equal(
        saved.drop(columns="Tags"), hit_table.frame(answer.hits).drop(columns="Tags")
    )


def test_the_search_page_loads_without_pandas() -> None:
    code = "import ui.search.results, sys; sys.exit('pandas' in sys.modules or 'pyarrow' in sys.modules)"
    root = Path(__file__).parents[2]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True).returncode == 0
