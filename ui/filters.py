"""The row of filters under a search or a question. Each change is one entry in the browser's history."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta
from functools import partial
from heapq import nlargest
from typing import Final

import streamlit as st

from rag_core.errors import RagError
from rag_core.search.query import day
from rag_core.types import Facets, Mode, Viewer
from rag_core.wording import top_folder
from ui import deps
from ui.hits import label
from ui.messages import show_error
from ui.search_box import Chip, Way
from ui.search_state import DEFAULT, TOP_FOLDER, Choices, Request, State

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


def chips(offered: Choices, request: Request, today: date, counts: Facets | None = None) -> tuple[Chip, ...]:
    """The filters of the Search page with the ``counts`` of what was found, else of all that is ``offered``.
    An option that holds is taken away by pressing it again."""
    all_of = {"type": offered.types, "tag": offered.tags, "folder": offered.folders, "store": {}}
    of: Facets = {name: dict((counts or all_of).get(name, {})) for name in all_of}
    if "" in of["folder"]:
        of["folder"][TOP_FOLDER] = of["folder"].pop("")
    types = _values("type", "Type", of["type"], request.type, str)
    tags = _values("tag", "Tag", of["tag"], request.tag, lambda tag: f"#{tag}")
    folders = _values("path", "Folder", of["folder"], request.path, partial(_folder_name, top=offered.top))
    found = [_stores(offered.stores, request.store, of["store"])] if len(offered.stores) > 1 else []
    found += [chip for chip in (types, tags, folders) if chip.options]
    return (*found, _days(request, today), _how(request))


def _values(
    field: str, name: str, counts: Mapping[str, int], chosen: str | None, shown: Callable[[str], str]
) -> Chip:
    def way(value: str) -> Way:
        params = {field: [] if value == chosen else [value]}
        return Way(shown(value), f"{counts.get(value, 0):,}", params=params, hint=value)

    values = nlargest(_MOST, counts, key=counts.__getitem__)
    values = [chosen, *values] if chosen and chosen not in values else values
    at = (values.index(chosen),) if chosen else ()
    return Chip(name, tuple(map(way, values)), at, shown(chosen) if chosen else "", {field: []})


def _folder_name(path: str, top: str) -> str:
    return (
        ("Top folder" if "," in top else top or "Top folder")
        if path == TOP_FOLDER
        else path.rpartition("/")[2]
    )


def _stores(names: Sequence[str], chosen: Sequence[str], counts: Mapping[str, int]) -> Chip:
    def way(name: str) -> Way:
        others = [each for each in names if (each in chosen) != (each == name)]
        return Way(name, f"{counts[name]:,}" if name in counts else "", params={"store": others})

    at = tuple(number for number, name in enumerate(names) if name in chosen)
    return Chip("All stores", tuple(map(way, names)), at, ", ".join(chosen), {"store": []})


_SPANS: Final = (("Today", 0), ("Last 7 days", 6), ("Last 30 days", 29), ("Last 12 months", 365))


def _days(request: Request, today: date) -> Chip:
    begins = [today - timedelta(days) for _, days in _SPANS]
    at = tuple(n for n, day in enumerate(begins) if (request.after, request.before) == (day, None))
    options = tuple(
        Way(name, params={"after": [] if n in at else [str(day)], "before": []})
        for n, ((name, _), day) in enumerate(zip(_SPANS, begins, strict=True))
    )
    since = f"From {request.after}" if request.after else ""
    until = f"Before {request.before}" if request.before else ""
    shown = _SPANS[at[0]][0] if at else " · ".join(filter(None, (since, until)))
    return Chip("Date", options, at, shown, {"after": [], "before": []}, ("after", "before"))


def _how(request: Request) -> Chip:
    modes = tuple(Way(name, params={"mode": [mode]}) for mode, name in MODES.items())
    counts = tuple(Way(f"{count} on a page", params={"k": [str(count)]}) for count in _COUNTS)
    at = [tuple(MODES).index(request.mode)]
    at += [len(MODES) + _COUNTS.index(request.k)] if request.k in _COUNTS else []
    least = f"Score at least {request.min:g}" if request.min else ""
    shown = "" if request.mode == DEFAULT.mode else MODES[request.mode]
    said = " · ".join(filter(None, (shown, least)))
    return Chip("More", (*modes, *counts), tuple(at), said, {"mode": [], "min": []})


_COUNTS: Final = (10, 20, 50)


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
        select("Type", state.key("type"), offered.types, str, state.push)
        select("Tag", state.key("tag"), offered.tags, lambda tag: f"#{tag}", state.push)
        top = offered.top if len(offered.top) <= _ROOM else ""
        shown = partial(_folder, top=top)
        select("Folder", state.key("path"), offered.folders, shown, state.push)
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
    ticks = {name: f"{state.key('tick')}_{name}" for name in stores}
    chosen = st.session_state[state.key("store")] or stores

    def choose() -> None:
        ticked = [name for name, tick in ticks.items() if st.session_state[tick]]
        st.session_state[state.key("store")] = ticked if len(ticked) < len(stores) else []
        state.push()

    with st.container(horizontal=True, key="ticked_stores"):
        for name, tick in ticks.items():
            st.session_state[tick] = name in chosen
            st.checkbox(label(name), key=tick, on_change=choose, width="content")


def select(
    name: str,
    key: str,
    counts: Mapping[str, int],
    shown: Callable[[str], str],
    changed: Callable[[], None],
) -> None:
    """A box with each value and its count: all values, or the most frequent where a browser would choke."""
    kept = {*nlargest(_MOST, counts, key=counts.__getitem__), st.session_state[key]}
    st.selectbox(
        name,
        [value for value in counts if value in kept],
        key=key,
        on_change=changed,
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


def _active(state: State, top: str, *beside: str) -> None:
    """The filters that hold. Clearing them takes away those ``beside`` them, too."""
    request, before = state.current(), state.usual()
    active = [
        field for field in _NARROWING
        if field in state.names and getattr(request, field) != getattr(before, field)
    ]  # fmt: skip
    if not active:
        return
    says = {
        "type": f"Type {label(request.type or '')}",
        "tag": label(f"#{request.tag}"),
        "path": label(f"In {_folder(request.path or '', top)}"),
        "after": f"From {request.after}",
        "before": f"Before {request.before}",
        "mode": f"{MODES[request.mode]} only",
        "min": f"Score at least {request.min:g}",
        "k": f"{request.k} passages",
    }
    with st.container(horizontal=True, gap="xsmall", key="active_filters"):
        for field in active:
            st.button(
                says[field], key=f"remove_{field}", help="Remove", icon=":material/close:",
                icon_position="right", on_click=state.reset, args=(field,),
            )  # fmt: skip
        st.button(
            "Clear filters", key="clear_filters", type="tertiary",
            on_click=state.reset, args=(*active, *beside),
        )  # fmt: skip
