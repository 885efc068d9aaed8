"""The row of filters under the search box, and under that for a question. Each change is one entry in the
browser's history."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from heapq import nlargest
from typing import Final

import streamlit as st

from rag_core.errors import RagError
from rag_core.search.query import day
from rag_core.types import Mode, Viewer
from rag_core.wording import top_folder
from ui import deps
from ui.hits import label
from ui.messages import show_error
from ui.search_state import TOP_FOLDER, Choices, State

MODES: Final[Mapping[Mode, str]] = {"hybrid": "Words and meaning", "lexical": "Words", "vector": "Meaning"}
_MORE: Final = ("after", "before", "mode", "min", "k")
_NARROWING: Final = ("type", "tag", "path", *_MORE)
"""What is shown as active, each with a cross. The store is not among them: its own box shows it with one."""
_MOST: Final = 500
_ROOM: Final = 8  # characters of a name behind "Top of" in its box


def choices(viewer: Viewer, stores: Sequence[str], chosen: Sequence[str]) -> Choices:
    """What the filters offer in the ``chosen`` stores (none: in all)."""
    facets = deps.facets(viewer, chosen)
    searched = [info for info in deps.store_infos(viewer) if not chosen or info.name in chosen]
    top = top_folder(source for info in searched for source in info.sources)
    return Choices(tuple(stores), facets["types"], facets["tags"], with_parents(facets["folders"]), top)


def with_parents(folders: Mapping[str, int]) -> dict[str, int]:
    """Every folder with the number of documents in and below it, by name; root files as `TOP_FOLDER`."""
    below: dict[str, int] = {}
    for folder, count in folders.items():
        parts = folder.split("/") if folder else [TOP_FOLDER]
        for depth in range(len(parts)):
            parent = "/".join(parts[: depth + 1])
            below[parent] = below.get(parent, 0) + count

    def natural(folder: str) -> list[list[tuple[int, str]]]:  # week 2, week 2/a, week 10
        names = (re.split(r"(\d+)", name.casefold()) for name in folder.split("/"))
        return [[(int(part), "") if part.isdecimal() else (-1, part) for part in parts] for parts in names]

    return {folder: below[folder] for folder in sorted(below, key=natural)}


def show(offered: Choices, state: State, *, ticks: bool = False) -> None:
    """The filters, and those that are active, each with a cross. With ``ticks`` every store has a box to
    tick."""
    # An option's label holds a count: when indexing changes it, the browser still has the old label, which is
    # no option any more. So Streamlit is made to send the values of these widgets in every run.
    for key in (state.key(field) for field in _NARROWING if field in state.names):
        st.session_state[key] = st.session_state[key]
    if ticks:
        _tick_stores(offered.stores, state)
    with st.container(horizontal=True, vertical_alignment="center", gap="xsmall", key="filters"):
        if len(offered.stores) > 1 and not ticks:
            st.multiselect(
                "Store", offered.stores, key=state.key("store"), on_change=state.push,
                placeholder="All stores", label_visibility="collapsed", wrap=False,
            )  # fmt: skip
        _select(state, "Type", "type", offered.types, str)
        _select(state, "Tag", "tag", offered.tags, lambda tag: f"#{tag}")
        top = offered.top if len(offered.top) <= _ROOM else ""
        _select(state, "Folder", "path", offered.folders, partial(_folder, top=top))
    _more(state)
    _active(state, offered.top, *([] if ticks else ["store"]))


def _folder(path: str, top: str) -> str:
    if path != TOP_FOLDER:
        return path
    return f"Top of {top}" if top else "Top folder"


def _tick_stores(stores: Sequence[str], state: State) -> None:
    """A box for each store; with none ticked there would be nothing to ask, so that is all again."""
    if len(stores) < 2:
        return
    chosen = st.session_state[state.key("store")] or stores
    with st.container(horizontal=True, key="ticked_stores"):
        for name in stores:
            st.session_state[_tick(state, name)] = name in chosen
            st.checkbox(
                label(name), key=_tick(state, name), on_change=_choose_ticked, args=(stores, state),
                width="content",
            )  # fmt: skip


def _tick(state: State, store: str) -> str:
    return f"{state.key('tick')}_{store}"


def _choose_ticked(stores: Sequence[str], state: State) -> None:
    ticked = [name for name in stores if st.session_state[_tick(state, name)]]
    st.session_state[state.key("store")] = ticked if len(ticked) < len(stores) else []
    state.push()


def _select(
    state: State, name: str, field: str, counts: Mapping[str, int], shown: Callable[[str], str]
) -> None:
    # All values, or the commonest where the browser would choke on all.
    kept = {*nlargest(_MOST, counts, key=counts.__getitem__), st.session_state[state.key(field)]}
    st.selectbox(
        name,
        [value for value in counts if value in kept],
        key=state.key(field),
        on_change=state.push,
        format_func=lambda value: f"{shown(value)} ({counts.get(value, 0):,})",
        placeholder=f"Any {name.lower()}" if counts else f"No {name.lower()}s here",
        label_visibility="collapsed",
        disabled=not counts,
    )


def _more(state: State) -> None:
    # No popover: its content comes last in the page, far away by the Tab key.
    with st.expander("More filters", type="compact", key="more_filters"):
        *days, number = st.columns(3)
        for column, field, name in zip(days, ("after", "before"), ("From", "Before"), strict=True):
            with column:
                _date(state, name, field)
        of, step = ("on a page", 5) if "page" in state.names else ("to answer from", 1)
        number.number_input(
            f"Passages {of}", 1, state.most, step=step, key=state.key("k"), on_change=state.push
        )
        if "mode" in state.names:
            left, right = st.columns(2)
            left.segmented_control(
                "Search by", list(MODES), key=state.key("mode"), on_change=state.push,
                format_func=MODES.__getitem__, required=True,
            )  # fmt: skip
            right.slider("Minimum score", 0.0, 1.0, step=0.05, key=state.key("min"), on_change=state.push)


def _date(state: State, name: str, field: str) -> None:
    """A box for a date. A calendar would not take one that is typed until it is closed."""
    box, chosen = f"{state.key(field)}_typed", st.session_state[state.key(field)]
    wrong, then = st.session_state.get(f"{box}_wrong", (None, {}))
    if wrong is None or then != state.url_params():  # another filter may have been chosen since
        wrong = None
        st.session_state[box] = "" if chosen is None else str(chosen)
    st.text_input(
        name, key=box, placeholder="YYYY-MM-DD", autocomplete="off", on_change=_take_date,
        args=(state, name, field),
    )  # fmt: skip
    if wrong is not None:
        show_error(wrong)


def _take_date(state: State, name: str, field: str) -> None:
    """As a callback: filter by the date typed; what is no date is reported under its box."""
    box = f"{state.key(field)}_typed"
    typed = st.session_state[box].strip()
    st.session_state.pop(f"{box}_wrong", None)
    try:
        st.session_state[state.key(field)] = date.fromisoformat(day(name, typed)) if typed else None
    except RagError as error:
        st.session_state[f"{box}_wrong"] = error, state.url_params()
        return
    state.push()


def _chips(state: State, top: str) -> dict[str, str]:
    """The active filters: field → what it says."""
    request, before = state.current(), state.usual()
    said = {
        "type": f"Type {label(request.type or '')}",
        "tag": label(f"#{request.tag}"),
        "path": label(f"In {_folder(request.path or '', top)}"),
        "after": f"From {request.after}",
        "before": f"Before {request.before}",
        "mode": f"{MODES[request.mode]} only",
        "min": f"Score at least {request.min:g}",
        "k": f"{request.k} on a page" if "page" in state.names else f"{request.k} passages",
    }
    return {field: text for field, text in said.items() if getattr(request, field) != getattr(before, field)}


def _active(state: State, top: str, *beside: str) -> None:
    """The filters that hold. Clearing them takes away those ``beside`` them, too."""
    request, before = state.current(), state.usual()
    fields = [field for field in _NARROWING if field in state.names]
    if all(getattr(request, field) == getattr(before, field) for field in fields):
        return
    with st.container(horizontal=True, gap="xsmall", key="active_filters"):
        for field, text in _chips(state, top).items():
            st.button(
                text, key=f"remove_{field}", help="Remove", icon=":material/close:", icon_position="right",
                on_click=state.reset, args=(field,),
            )  # fmt: skip
        st.button(
            "Clear filters", key="clear_filters", type="tertiary",
            on_click=state.reset, args=(*fields, *beside),
        )  # fmt: skip
