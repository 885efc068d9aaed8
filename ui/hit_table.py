"""What was found as a data frame: to sort, search and download, and to choose a row from.

pandas takes half a second to load: nothing but an open table may need it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

import streamlit as st

from rag_core.api.encoding import place, plain
from rag_core.search.shown import shown_text
from rag_core.types import Hit
from ui import components
from ui.hits import one_line
from ui.search_box import Card, Passage

if TYPE_CHECKING:
    import pandas as pd

_HEIGHT: Final = 520
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
    """One row a hit, in their order."""
    import pandas as pd

    columns: dict[str, Any] = {
        "Name": [one_line(hit.document.path.rpartition("/")[2]) for hit in hits],
        "Passage": [_passage(hit) for hit in hits],
        "Score": [round(hit.score, 2) for hit in hits],
        "Type": [hit.document.file_type for hit in hits],
        "Date": [hit.document.date[:10] for hit in hits],
        "Tags": [[one_line(tag) for tag in hit.document.tags] for hit in hits],
        "Folder": [one_line(hit.document.path.rpartition("/")[0]) for hit in hits],
        "Store": [hit.store for hit in hits],
        "Place": [one_line(place(hit)) for hit in hits],
    }
    rows = pd.DataFrame(columns)
    return rows.assign(Date=pd.to_datetime(rows["Date"], errors="coerce").dt.date)


def _passage(hit: Hit) -> str:
    """The clean text of a hit's passage on one line, without a heading that repeats the title."""
    texts = [
        block.text for block in shown_text(hit) if block.text.casefold() != hit.document.title.casefold()
    ]
    return " ".join(" ".join(plain(text).split()) for text in texts)


def parquet(hits: Sequence[Hit]) -> bytes:
    """The rows of `frame` as Parquet."""
    return frame(hits).to_parquet(index=False)


def show(hits: Sequence[Hit]) -> int | None:
    """Draw the table. Return the number of the row that is chosen by its box or by one of its cells, None for
    none."""
    named = "\n".join(hit.key for hit in hits).encode()
    with st.container(key="hit_table"):
        chosen = st.dataframe(
            frame(hits),
            key=f"hits_{crc32(named):08x}",  # no selection outlives the rows it is among
            hide_index=True,
            height=min(_HEIGHT, 38 + 35 * len(hits)),
            on_select="rerun",
            selection_mode=["single-row", "single-cell"],
            column_config=_COLUMNS,
            alt="What was found. Choose a row to see its passage below.",
        )
    selection = chosen["selection"]
    rows = [*selection["rows"], *(row for row, _ in selection["cells"])]
    return rows[0] if rows and rows[0] < len(hits) else None


def show_chosen(card: Card, others: Sequence[Passage]) -> None:
    """The card of the row that is chosen, unfolded, below the table."""
    components.show("hit", "hit", {"card": asdict(card), "others": [asdict(passage) for passage in others]})
