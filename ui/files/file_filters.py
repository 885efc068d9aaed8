"""The filters of the Files page. The address decides, as on the Search page: `restore` copies it into the
widgets, and the callback of a widget writes the values back with `push`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Final

import streamlit as st

FileParams = dict[str, list[str]]

STORE_BOX: Final = "files_store"
_SEEN: Final = "files_seen"
_OFFERED: Final = "files_offered"
_LISTED: Final = "files_listed"


@dataclass(frozen=True, slots=True)
class FileFilters:
    """The filters for the files of a store. The fields are named like the parameters of the address."""

    q: str = ""  #: A path or title must contain all of these words.
    folder: str | None = None  #: The folder whose files are shown, with those below; None for all folders.
    state: str | None = None
    type: str | None = None
    tag: str | None = None
    sort: str | None = None  #: The order; None for the order by path.

    @property
    def narrows(self) -> bool:
        """Whether a filter is set."""
        return replace(self, sort=None) != FileFilters()


_NAMES: Final = tuple(field.name for field in fields(FileFilters))


def key(name: str) -> str:
    """Return the session key of the widget for the field ``name`` of `FileFilters`."""
    return f"files_{name}"


def follow_address() -> None:
    """Write the parameters from a link within the page into the browser's address. Call this first on the
    page.

    If the page stays the same, Streamlit runs it with the new parameters and does not change the address
    (observed with Streamlit 1.67). Setting the parameters again creates the history entry that Back needs.
    """
    now = {name: st.query_params.get_all(name) for name in st.query_params}
    if st.session_state.get(_SEEN, now) != now:
        st.query_params.from_dict(now)
    st.session_state[_SEEN] = now


def restore(offered: Mapping[str, Sequence[str]]) -> None:
    """Fill the widgets from the address. ``offered`` maps each field with a choice to its values; other
    values are ignored. Call this before drawing the widgets."""
    words = st.query_params.get("q", "")
    # setting the same value again would overwrite what is being typed
    if st.session_state.get(key("q")) != words:
        st.session_state[key("q")] = words
    for name, values in offered.items():
        value = st.query_params.get(name)
        st.session_state[key(name)] = value if value in values else None
    st.session_state[_OFFERED] = offered


def current_filters() -> FileFilters:
    """Return the filters that the widgets show now."""
    return FileFilters(**{name: st.session_state[key(name)] for name in _NAMES})


def push(store: str) -> None:
    """Callback: write the values of the widgets into the address, as one history entry."""
    filters = current_filters()
    # A browser sends the label of an option, which contains a count. If a run has changed the count, the
    # label is not a known value.
    stale = {
        name: st.query_params.get(name)
        for name, values in st.session_state[_OFFERED].items()
        if getattr(filters, name) not in (None, *values)
    }
    go(to_file_params(store, FileFilters(**{**asdict(filters), **stale})))


def clear(store: str) -> None:
    """Callback: list every file of ``store``."""
    go(to_file_params(store))


def remember(store: str) -> None:
    """Store the filters of the list in the session, so that a document can link back to the list."""
    st.session_state[_LISTED] = to_file_params(store, current_filters())


def last_list(store: str) -> FileParams:
    """Return the parameters of the list of ``store`` that this session showed last."""
    seen: FileParams = st.session_state.get(_LISTED, {})
    return seen if seen.get("store") == [store] else to_file_params(store)


def to_file_params(store: str, filters: FileFilters = FileFilters()) -> FileParams:
    """Return the parameters of the address for the files of a store. Filters that are not set are left
    out."""
    params = {name: [value] for name, value in asdict(filters).items() if value}
    return {"store": [store], **params}


def go(params: FileParams) -> None:
    """Callback: put these parameters into the address of the Files page, in place of the present ones."""
    st.query_params.from_dict(params)
    st.session_state[_SEEN] = params
