"""The row of filters under the search box. Each change is one entry in the browser's history."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from heapq import nlargest
from typing import Final

import streamlit as st

from rag_core.types import Mode, Viewer
from ui import deps
from ui.search_state import MAX_HITS, TOP_FOLDER, Choices, Request, current, key, push, reset, usual

MODES: Final[Mapping[Mode, str]] = {"hybrid": "Words and meaning", "lexical": "Words", "vector": "Meaning"}
_MORE: Final = ("after", "before", "mode", "min", "k")
_NARROWING: Final = ("type", "tag", "path", *_MORE)
"""What *Clear filters* takes away. The store is not among them: a link may have chosen it, and its own
box shows it with a cross."""
_MOST: Final = 500
_FIRST_DAY, _LAST_DAY = date(1900, 1, 1), date(2100, 12, 31)


def choices(viewer: Viewer, stores: Sequence[str], chosen: Sequence[str]) -> Choices:
    """What the filters offer in the ``chosen`` stores (none: in all)."""
    facets = deps.facets(viewer, chosen)
    return Choices(tuple(stores), facets["types"], facets["tags"], with_parents(facets["folders"]))


def with_parents(folders: Mapping[str, int]) -> dict[str, int]:
    """Every folder with the number of documents in and below it, by name; root files as `TOP_FOLDER`."""
    below: dict[str, int] = {}
    for folder, count in folders.items():
        parts = folder.split("/") if folder else [TOP_FOLDER]
        for depth in range(len(parts)):
            parent = "/".join(parts[: depth + 1])
            below[parent] = below.get(parent, 0) + count
    return dict(sorted(below.items(), key=lambda item: _in_order(item[0])))


def _in_order(folder: str) -> list[list[tuple[int, str]]]:
    """The sort key by which what is in a folder follows it, and ``week 2`` comes before ``week 10``."""
    names = (re.split(r"(\d+)", name.casefold()) for name in folder.split("/"))
    return [[(int(part), "") if part.isdecimal() else (-1, part) for part in parts] for parts in names]


def show(offered: Choices) -> None:
    """The filters, and what of them is hidden but active."""
    _say_again()
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="filters"):
        if len(offered.stores) > 1:
            st.multiselect(
                "Store", offered.stores, key=key("store"), on_change=push, placeholder="All stores",
                label_visibility="collapsed", wrap=False,
            )  # fmt: skip
        _select("Type", "type", offered.types, str)
        _select("Tag", "tag", offered.tags, lambda tag: f"#{tag}")
        _select("Folder", "path", offered.folders, lambda path: "Top folder" if path == TOP_FOLDER else path)
    _more()
    _active()


def _say_again() -> None:
    """Make Streamlit send the values of these widgets to the browser in every run.

    An option's label holds a count: when indexing changes it, the browser still has the old label,
    which is no option any more.
    """
    for field in ("type", "tag", "path", *_MORE):
        st.session_state[key(field)] = st.session_state[key(field)]


def _select(name: str, field: str, counts: Mapping[str, int], shown: Callable[[str], str]) -> None:
    st.selectbox(
        name,
        _offered(counts, st.session_state[key(field)]),
        key=key(field),
        on_change=push,
        format_func=lambda value: f"{shown(value)} ({counts.get(value, 0):,})",
        placeholder=f"Any {name.lower()}",
        label_visibility="collapsed",
        disabled=not counts,
    )


def _offered(counts: Mapping[str, int], chosen: str | None) -> list[str]:
    """The values to choose from: all, or the commonest where the browser would choke on all."""
    if len(counts) <= _MOST:
        return list(counts)
    kept = {*nlargest(_MOST, counts, key=counts.__getitem__), chosen}
    return [value for value in counts if value in kept]


def _more() -> None:
    # No popover: the browser has what is in one at the very end, far away for who uses the Tab key.
    with st.expander("More filters", type="compact", key="more_filters"):
        *days, number = st.columns(3)
        for column, field, name in zip(days, ("after", "before"), ("From", "Before"), strict=True):
            column.date_input(
                name, value=None, key=key(field), on_change=push, min_value=_FIRST_DAY, max_value=_LAST_DAY,
                format="YYYY-MM-DD",
            )  # fmt: skip
        number.number_input("Passages on a page", 1, MAX_HITS, step=5, key=key("k"), on_change=push)
        left, right = st.columns(2)
        left.segmented_control(
            "Search by",
            list(MODES),
            key=key("mode"),
            on_change=push,
            format_func=MODES.__getitem__,
            required=True,
        )
        right.slider("Minimum score", 0.0, 1.0, step=0.05, key=key("min"), on_change=push)


def _hidden(request: Request) -> dict[str, str]:
    """The active filters that are folded away: field → what it says."""
    said = {
        "after": f"From {request.after}",
        "before": f"Before {request.before}",
        "mode": f"{MODES[request.mode]} only",
        "min": f"Score at least {request.min:g}",
        "k": f"{request.k} on a page",
    }
    before = usual()
    return {field: text for field, text in said.items() if getattr(request, field) != getattr(before, field)}


def _active() -> None:
    request, before = current(), usual()
    if all(getattr(request, field) == getattr(before, field) for field in _NARROWING):
        return
    with st.container(horizontal=True, gap="xsmall", key="active_filters"):
        for field, text in _hidden(request).items():
            st.button(
                text, key=f"remove_{field}", help="Remove", icon=":material/close:", icon_position="right",
                on_click=reset, args=(field,),
            )  # fmt: skip
        st.button("Clear filters", key="clear_filters", type="tertiary", on_click=reset, args=_NARROWING)
