"""The results as a data frame, for sorting, searching, downloading, and choosing a row.

pandas takes half a second to import, so only an open table may import it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import streamlit as st

from rag_core.api.encoding import editor_place, plain
from rag_core.search.shown import shown_text
from rag_core.types import Hit
from ui.frame import components
from ui.frame.hits import in_one_line
from ui.search.search_box import Card, Passage

if TYPE_CHECKING:
    import pandas as pd

_HEIGHT: Final = 520
_CHOSEN: Final = "hit_table_chosen"
"""The session key of a table, its ticked rows, the rows with a chosen cell, and the newest of both."""
_text = st.column_config.TextColumn
_COLUMNS: Final[Mapping[str, Any]] = {
    "Name": _text(width=190),
    "Passage": _text(width=330),
    "Score": st.column_config.ProgressColumn(width=110, format="percent", min_value=0, max_value=1),
    "Type": _text(width=90),
    "Date": st.column_config.DateColumn(width=100, format="YYYY-MM-DD"),
    "Tags": st.column_config.ListColumn(width=140),
    "Folder": _text(width=140),
    "Store": _text(width=90),
    "Place": _text(width=300),
}


def frame(hits: Sequence[Hit]) -> pd.DataFrame:
    """Return a table with one row for each hit, in their order."""
    import pandas as pd

    columns: dict[str, Any] = {
        "Name": [in_one_line(hit.document.path.rpartition("/")[2]) for hit in hits],
        "Passage": [_passage(hit) for hit in hits],
        "Score": [round(hit.score, 2) for hit in hits],
        "Type": [hit.document.file_type for hit in hits],
        "Date": [hit.document.date[:10] for hit in hits],
        "Tags": [[in_one_line(tag) for tag in hit.document.tags] for hit in hits],
        "Folder": [in_one_line(hit.document.path.rpartition("/")[0]) for hit in hits],
        "Store": [hit.store for hit in hits],
        "Place": [in_one_line(editor_place(hit)) for hit in hits],
    }
    rows = pd.DataFrame(columns)
    return rows.assign(Date=pd.to_datetime(rows["Date"], errors="coerce").dt.date)


def _passage(hit: Hit) -> str:
    """Return the clean text of a hit's passage on one line, without a heading that repeats the title."""
    texts = [
        block.text for block in shown_text(hit) if block.text.casefold() != hit.document.title.casefold()
    ]
    return " ".join(" ".join(plain(text).split()) for text in texts)


def parquet(hits: Sequence[Hit]) -> bytes:
    """Return the rows of `frame` as a Parquet file."""
    return frame(hits).to_parquet(index=False)


def show_hit_table(hits: Sequence[Hit], row: str = "") -> int | None:
    """Draw the table. Return the index of the row chosen by its box or by a cell; None without a choice. At
    first, the row whose passage key begins with ``row`` is chosen; no row for ''."""
    first = [number for number, hit in enumerate(hits) if row and hit.key.startswith(row)]
    cells = [(number, "Name") for number in first]
    named = "\n".join(hit.key for hit in hits).encode()
    key = f"hits_{crc32(named):08x}{first}"  # a selection does not outlive its rows
    with st.container(key="hit_table"):
        chosen = st.dataframe(
            frame(hits),
            key=key,
            hide_index=True,
            height=min(_HEIGHT, 38 + 35 * len(hits)),
            on_select="rerun",
            selection_mode=["single-row", "single-cell"],
            selection_default={"selection": {"rows": [], "columns": [], "cells": cells}},
            column_config=_COLUMNS,
            alt="What was found. Choose a row to see its passage below.",
        )
    selection = chosen["selection"]
    number = _newest(key, [*selection["rows"]], [number for number, _ in selection["cells"]])
    return number if number is not None and number < len(hits) else None


def _newest(table: str, rows: list[int], cells: list[int]) -> int | None:
    """Return the last chosen row. The session stores it, because a ticked row stays ticked when a cell of
    another row is chosen."""
    before: tuple[str, list[int], list[int], int | None] = st.session_state.get(_CHOSEN, ("", [], [], None))
    _, seen_rows, seen_cells, number = before if before[0] == table else (table, [], [], None)
    if cells != seen_cells:
        number = (*cells, *rows, None)[0]
    elif rows != seen_rows:
        number = (*rows, *cells, None)[0]
    st.session_state[_CHOSEN] = table, rows, cells, number
    return number


def show_chosen(card: Card, others: Sequence[Passage]) -> None:
    """Draw the card of the chosen row, unfolded, below the table. ``others`` are other passages of its note
    that fit the query."""
    components.draw("hit", "hit", {"card": asdict(card), "others": [asdict(passage) for passage in others]})
