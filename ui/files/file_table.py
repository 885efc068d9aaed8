"""The files of a store as a table. It is created once for each state of the store, and compared with the disk
every few seconds."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, get_args
from zlib import crc32

import streamlit as st

from rag_core.config import Settings, load
from rag_core.text import tags
from rag_core.types import Document, FileState, Viewer
from rag_core.wording import CHANGED_IN_LISTS, plural
from ui.files.file_filters import FileFilters, current_filters, go
from ui.frame.deps import library, store_infos
from ui.frame.hits import in_one_line
from ui.reader import passages
from ui.search.filters import with_parents

if TYPE_CHECKING:
    import pandas as pd

STATES: Final = get_args(FileState)
CHOSEN: Final = "files_chosen"
"""The session key of the (store, path) of the row that was chosen last."""
_MOST_LISTED: Final = 50  # maximum rows in a narrow window, where a table does not fit
_MOST_AHEAD: Final = 50_000  # maximum files; creating their list takes some 70 MB
_FRESH_S: Final = 5  # seconds during which the disk is not checked again
_REPEATED: Final = frozenset(
    {"Open", "Folder", "State", "Type", "Date"}
)  # sent once for all rows with the same value
ORDERS: Final[Mapping[str, tuple[str, str]]] = {
    "path": ("_path", "By folder"),
    "name": ("Name", "By name"),
    "date": ("Date", "Newest first"),
    "size": ("Size", "Largest first"),
}
"""The orders of files: the column, and the label for people."""
_FROM_THE_MOST: Final = frozenset({"date", "size"})
_OF_DISK: Final = frozenset({"State", "Reason", "Size"})  # columns that only the owner sees
_WORDS, _TAGS, _PATH, _ID = "_words", "_tags", "_path", "_id"


@dataclass(frozen=True, slots=True)
class FileListing:
    """The files of a store that a viewer may see, as a table."""

    #: One row for each file, by path. Columns that begin with ``_`` are not shown. A guest's rows contain
    #: nothing about the disk.
    rows: pd.DataFrame
    states: Mapping[str, int]  #: State → number of files.
    types: Mapping[str, int]  #: Type → number of files.
    tags: Mapping[str, int]  #: Tag → number of files.
    folders: Mapping[str, int]  #: Folder → number of files in and below it.


def state_in_words(state: str) -> str:
    """Return the state of a file in words for people."""
    return "up to date" if state == "fresh" else state


def load_ahead(viewer: Viewer) -> None:
    """Import pandas, and create the list of the viewer's first store unless it has too many files, so that
    the Files page opens fast."""
    import pandas as pd  # noqa: F401

    first = store_infos(viewer)[:1]
    if first and first[0].file_count <= _MOST_AHEAD:
        _known(load(), viewer, library().stores.generations(viewer, [first[0].name]))


def listing(viewer: Viewer, store: str) -> FileListing:
    """Return the files of a store. They are cached for some seconds. A change of the store is seen at once, a
    change on the disk later."""
    make = _compared if viewer.is_owner else _known
    return make(load(), viewer, library().stores.generations(viewer, [store]))


def look_again() -> None:
    """Let the next listing compare the files with the disk again."""
    _compared.clear()


@st.cache_resource(max_entries=8, ttl=_FRESH_S, show_spinner=False)
def _compared(settings: Settings, viewer: Viewer, generations: tuple[tuple[str, int], ...]) -> FileListing:
    """Return the listing of ``_known``, with the present states of the files on disk."""
    known = _known(settings, viewer, generations)
    now = library().files.states(viewer, generations[0][0])
    was = zip(known.rows[_ID].tolist(), known.rows["State"].tolist(), strict=True)
    states = [state if state == "excluded" else now.get(number, state) for number, state in was]
    return replace(
        known,
        rows=known.rows.assign(State=states),
        states={state: states.count(state) for state in STATES if state in states},
    )


# A cached resource is shared and not copied, so nothing may change it.
@st.cache_resource(max_entries=4, show_spinner=False)
def _known(
    settings: Settings,  # noqa: ARG001 - part of the key
    viewer: Viewer,
    generations: tuple[tuple[str, int], ...],
) -> FileListing:
    store = generations[0][0]
    if viewer.is_owner:
        documents = library().files.all(viewer, store, compared=False)
    else:
        documents = library().documents.all(viewer, store)
    return FileListing(
        rows=_rows(documents, of_disk=viewer.is_owner),
        states={},
        types=dict(Counter(document.file_type for document in documents if document.file_type).most_common()),
        tags=tags.counted(document.tags for document in documents),
        folders=_folders(documents),
    )


def _folders(documents: Sequence[Document]) -> dict[str, int]:
    counts = Counter(document.path.rpartition("/")[0] for document in documents)
    counts.pop("", None)
    return with_parents(counts)


def _rows(documents: Sequence[Document], *, of_disk: bool) -> pd.DataFrame:
    # takes half a second; a document's page, which also imports this module, must not wait for it
    import pandas as pd

    columns: dict[str, Any] = {
        "Name": [passages.file_name(document.path) for document in documents],
        "Folder": [in_one_line(document.path.rpartition("/")[0]) for document in documents],
        "Date": [document.date[:10] for document in documents],
        "State": [document.state for document in documents],
        "Reason": [document.reason for document in documents],
        "Title": [_title(document) for document in documents],
        "Type": [document.file_type for document in documents],
        "Passages": [document.chunks for document in documents],
        "Size": [document.size / 1000 for document in documents],
        "Tags": [" ".join(f"#{tag}" for tag in document.tags) for document in documents],
        _ID: [document.id for document in documents],
        _PATH: [document.path for document in documents],
        _WORDS: [_folded(f"{document.path} {document.title}") for document in documents],
        _TAGS: ["".join(f"\n{_folded(tag)}\n" for tag in document.tags) for document in documents],
    }
    return pd.DataFrame({name: values for name, values in columns.items() if of_disk or name not in _OF_DISK})


def _title(document: Document) -> str:
    """Return the title of a file. If the file contains many documents, add their number."""
    if document.part_count:
        return plural(document.part_count, "document")
    return in_one_line(passages.own_title(document))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


def within(listed: FileListing, folder: str | None) -> FileListing:
    """Return the files in and below ``folder``, with the numbers of these files by state, type and tag;
    ``folders`` stay those of the store. Without a folder, return ``listed``."""
    if not folder:
        return listed
    rows = listed.rows[listed.rows[_PATH].str.startswith(f"{folder}/")]
    states = Counter(rows["State"]) if listed.states else {}
    return replace(
        listed,
        rows=rows,
        states={state: states[state] for state in STATES if state in states},
        types=dict(Counter(filter(None, rows["Type"])).most_common()),
        tags=tags.counted([tag[1:] for tag in written.split()] for written in rows["Tags"]),
    )


def chosen_rows(rows: pd.DataFrame, filters: FileFilters) -> pd.DataFrame:
    """Return the rows that match ``filters``, in their order. The filter ``folder`` is ignored here, see
    `within`. A tag also matches nested tags, as in a search."""
    for word in _folded(filters.q).split():
        rows = rows[rows[_WORDS].str.contains(word, regex=False)]
    if filters.state:
        rows = rows[rows["State"] == filters.state]
    if filters.type:
        rows = rows[rows["Type"] == filters.type]
    if filters.tag:
        tag = _folded(filters.tag)
        in_it = rows[_TAGS].str.contains(f"\n{tag}\n", regex=False)
        rows = rows[in_it | rows[_TAGS].str.contains(f"\n{tag}/", regex=False)]
    if not filters.sort:
        return rows
    values = rows[ORDERS[filters.sort][0]]
    folded = values if values.dtype.kind in "if" else values.map(_folded)
    order = folded.sort_values(ascending=filters.sort not in _FROM_THE_MOST, kind="stable").index
    return rows.loc[order]  # rows with equal values stay sorted by path


def show_table(store: str, rows: pd.DataFrame) -> None:
    """Draw the table. Choosing a row stores (``store``, path) in the session under `CHOSEN`."""
    paths = rows[_PATH].tolist()
    shown = [name for name in rows.columns if not name.startswith("_")]
    if {*rows["Folder"]} <= {current_filters().folder or ""}:
        shown.remove("Folder")
    for name in ("Title", "Tags"):
        if not any(rows[name]):
            shown.remove(name)
    if "State" in shown and set(rows["State"]) == {"fresh"}:
        shown.remove("State")
    if "Reason" in shown and not all(rows["Reason"]):
        shown.remove("Reason")  # if only some files have a reason, it is shown below the table
    named = "\n".join((store, *paths)).encode()
    table = f"files_{crc32(named):08x}"  # a selection does not outlive its rows
    if table not in st.session_state:  # the table was not drawn the last time, so no row is chosen
        st.session_state.pop(CHOSEN, None)
    opens = st.column_config.ButtonColumn(
        "Open",
        width=75,
        type="tertiary",
        key=f"{table}_open",
        on_click=lambda: go({"store": [store], "path": [paths[st.session_state[f"{table}_open"]["row"]]]}),
    )

    def choose() -> None:
        rows = st.session_state[table]["selection"]["rows"]
        st.session_state[CHOSEN] = (store, paths[rows[0]]) if rows else ("", "")

    first = rows.head(_MOST_LISTED).to_dict("records")
    listed = [(row[_PATH], row["Date"], row["Title"], row.get("State", "")) for row in first]
    with st.container(key="files_list"):
        st.html(passages.listed_files(store, listed, len(rows)))
    if "State" in shown:
        rows = rows.assign(State=rows["State"].map(state_in_words))
    with st.container(key="files_table"):
        st.dataframe(
            rows.assign(Open=":material/description: Open")[[shown[0], "Open", *shown[1:]]].astype(
                dict.fromkeys(_REPEATED.intersection(["Open", *shown]), "category")
            ),
            key=table,
            hide_index=True,
            on_select=choose,
            selection_mode="single-row",
            column_config={**_COLUMNS, "Open": opens},
            alt="The files of the store by path. Choose a row to see below what can be done with it.",
        )


_text, _number = st.column_config.TextColumn, st.column_config.NumberColumn
_COLUMNS: Final[Mapping[str, Any]] = {
    "Name": _text(width=240),
    "Folder": _text(width=150),
    "Title": _text(width=180),
    "State": _text(width=90, help=CHANGED_IN_LISTS),
    "Reason": _text(width=300),
    "Type": _text(width=90),
    "Passages": _number(width=75, format="localized"),
    "Size": _number(width=70, format="%.1f kB"),
    "Tags": _text(width=120),
    "Date": _text(width=95),
}
