"""The filters of a search or a question as chips, and the values that they offer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import partial
from heapq import nlargest
from typing import Final

import streamlit as st

from rag_core.replies import DEFAULT_K, MAX_K
from rag_core.types import Facets, Mode, Sort, Viewer
from rag_core.wording import plural, top_folder
from ui.frame import deps
from ui.frame.search_state import NOTHING_ASKED, TOP_FOLDER, Choices, Params, SearchState
from ui.search.search_box import Chip, Way

MODES: Final[Mapping[Mode, str]] = {"hybrid": "Words and meaning", "lexical": "Words", "vector": "Meaning"}
_ORDERS: Final[Mapping[Sort, str]] = {
    "best": "Best first",
    "newest": "Newest first",
    "oldest": "Oldest first",
    "name": "By name",
}
_MOST: Final = 500
_MOST_CHIPS: Final = 3


def choices(viewer: Viewer, stores: Sequence[str], chosen: Sequence[str]) -> Choices:
    """Return the values that the filters offer for documents in the ``chosen`` stores; without ``chosen``,
    for all. ``stores`` are the values of the filter by store."""
    facets = deps.facets(viewer, chosen)
    searched = [info for info in deps.store_infos(viewer) if not chosen or info.name in chosen]
    top = top_folder(source for info in searched for source in info.sources)
    folders = {folder or TOP_FOLDER: count for folder, count in facets["folder"].items()}
    return Choices(tuple(stores), facets["type"], facets["tag"], folders, top, facets["year"])


def chips(
    offered: Choices,
    request: SearchState,
    today: date,
    counts: Facets | None = None,
    least: Collection[str] = (),
) -> tuple[Chip, ...]:
    """Return the filters of the Search page: stores, type, tag, folder and date. The options show how many
    results have each value: ``counts``, or, without a search, the numbers in ``offered``.

    The counts of the kinds in ``least`` are lower bounds. A filter that would find nothing has no options.
    Pressing a chosen option removes that choice.
    """
    all_of = {"type": offered.types, "tag": offered.tags, "folder": offered.folders, "store": {}}
    shown = {kind: _numbers((counts or all_of).get(kind, {}), is_least=kind in least) for kind in all_of}
    if "" in shown["folder"]:
        shown["folder"][TOP_FOLDER] = shown["folder"].pop("")
    types = _values("type", "Type", shown["type"], request.type, str)
    tags = _values("tag", "Tag", shown["tag"], request.tag, lambda tag: f"#{tag}")
    name = partial(_folder_name, top=offered.top)
    folders = _as_tree(_values("path", "Folder", shown["folder"], request.path, name))
    shown_chips = [_stores(offered.stores, request.store, shown["store"])] if len(offered.stores) > 1 else []
    shown_chips += [chip for chip in (types, tags, folders) if chip.options or all_of[chip.name.lower()]]
    return (*shown_chips, _days(request, today))


def _numbers(counts: Mapping[str, int], *, is_least: bool) -> dict[str, str]:
    """Return the number of results to show next to each value."""
    return {value: _number(count, is_least=is_least) for value, count in counts.items()}


def _number(count: int, *, is_least: bool) -> str:
    """Return the number of results to show for one value. Return '' if the list continues and has no result
    with this value so far."""
    if is_least:
        return f"{count:,}+" if count else ""
    return f"{count:,}"


def _values(
    field: str, name: str, counts: Mapping[str, str], chosen: str | None, shown: Callable[[str], str]
) -> Chip:
    """Return a filter with one value. ``counts`` are the numbers of results to show, most frequent value
    first."""

    def way(value: str) -> Way:
        params = {field: [] if value == chosen else [value]}
        return Way(shown(value), counts.get(value, "0"), params=params, hint=value)

    values = list(counts)[:_MOST]
    values = [chosen, *values] if chosen and chosen not in values else values
    positions = (values.index(chosen),) if chosen else ()
    return Chip(name, tuple(map(way, values)), positions, shown(chosen) if chosen else "", {field: []})


def _as_tree(chip: Chip) -> Chip:
    """Return the chip with its folders in natural order, each after the folder that contains it."""
    order = sorted(range(len(chip.options)), key=lambda number: natural(chip.options[number].hint))
    chosen = tuple(order.index(number) for number in chip.chosen)
    return replace(chip, options=tuple(chip.options[number] for number in order), chosen=chosen, is_tree=True)


def _folder_name(path: str, top: str) -> str:
    return (
        ("Top folder" if "," in top else top or "Top folder")
        if path == TOP_FOLDER
        else path.rpartition("/")[2]
    )


def _stores(names: Sequence[str], chosen: Sequence[str], counts: Mapping[str, str]) -> Chip:
    def way(name: str) -> Way:
        others = [store for store in names if (store in chosen) != (store == name)]
        return Way(name, counts.get(name, ""), params={"store": others})

    positions = tuple(number for number, name in enumerate(names) if name in chosen)
    return Chip("All stores", tuple(map(way, names)), positions, ", ".join(chosen), {"store": []})


_SPANS: Final = (("Today", 0), ("Last 7 days", 6), ("Last 30 days", 29), ("Last 12 months", 365))


def _days(request: SearchState, today: date) -> Chip:
    begins = [today - timedelta(days) for _, days in _SPANS]
    positions = tuple(n for n, day in enumerate(begins) if (request.after, request.before) == (day, None))
    options = tuple(
        Way(name, params={"after": [] if n in positions else [str(day)], "before": []})
        for n, ((name, _), day) in enumerate(zip(_SPANS, begins, strict=True))
    )
    since = f"From {request.after}" if request.after else ""
    until = f"Before {request.before}" if request.before else ""
    shown = _SPANS[positions[0]][0] if positions else " · ".join(filter(None, (since, until)))
    return Chip("Date", options, positions, shown, {"after": [], "before": []}, ("after", "before"))


def minimum(
    request: SearchState,
    counts: Sequence[int],
    usual: float = NOTHING_ASKED.min,
    offered: Sequence[int] = (),
    *,
    goes_on: bool = False,
) -> Chip:
    """Return the chip for the minimum score of results.

    Args:
        request: The search on the page.
        counts: `Answer.score_counts`; empty if nothing was counted.
        usual: The minimum score if the address has none.
        offered: The scores to choose from, in tenths (7 for 0.7); by default those with results.
        goes_on: Whether more results follow, so that the count of all is a lower bound.

    """
    tenths = offered or [tenth for tenth in range(1, len(counts)) if counts[tenth]]
    options = tuple(
        Way(
            f"{tenth * 10} % or more",
            _number(counts[tenth], is_least=goes_on and counts[tenth] == counts[0]) if counts else "",
            params={"min": [f"{tenth / 10:g}"]},
        )
        for tenth in tenths
    )
    chosen = tuple(number for number, tenth in enumerate(tenths) if tenth / 10 == request.min)
    shown = f"Score ≥ {request.min * 100:g} %" if request.min else ""
    return Chip("Score", options, chosen, shown, any_score(usual))


def any_score(usual: float) -> Params:
    """Return the parameters that remove the minimum score, even if the settings have one."""
    return {"min": ["0"] if usual else []}


def order(request: SearchState) -> Chip:
    """Return the chip for the order of results. It shows the order of ``request``."""
    options = tuple(
        Way(name, params={"sort": [] if sort == NOTHING_ASKED.sort else [sort]})
        for sort, name in _ORDERS.items()
    )
    chosen = (tuple(_ORDERS).index(request.sort),)
    shown = "" if request.sort == NOTHING_ASKED.sort else _ORDERS[request.sort]
    return Chip("Sort", options, chosen, shown, {"sort": []})


def chosen_properties(request: SearchState) -> dict[str, list[str]]:
    """Return the chosen values of each property: name → values."""
    chosen: dict[str, list[str]] = {}
    for pair in request.has:
        key, _, value = pair.partition(":")
        chosen.setdefault(key, []).append(value.removeprefix("="))
    return chosen


def without(request: SearchState, kind: str) -> SearchState:
    """Return the request for page 1, without its filter by type, tag, folder or store (``kind``)."""
    request = replace(request, page=1)
    match kind:
        case "type":
            return replace(request, type=None)
        case "tag":
            return replace(request, tag=None)
        case "folder":
            return replace(request, path=None)
        case _:
            return replace(request, store=())


def without_property(request: SearchState, name: str) -> SearchState:
    """Return the request for page 1, without its filter by the property ``name``."""
    return replace(request, page=1, has=tuple(pair for pair in request.has if pair.partition(":")[0] != name))


def chosen_kinds(request: SearchState) -> list[str]:
    """Return those of the kinds *type*, *tag*, *folder* and *store* that the request filters by."""
    kinds = {"type": request.type, "tag": request.tag, "folder": request.path, "store": request.store}
    return [kind for kind, value in kinds.items() if value]


def property_chips(request: SearchState, counted: Facets, least: Collection[str] = ()) -> tuple[Chip, ...]:
    """Return a filter for each chosen property, then for others that results have; at most three in all. The
    options show numbers of results, which are lower bounds for the properties in ``least``."""
    chosen = chosen_properties(request)
    names = [*chosen, *(name for name in counted if name not in chosen)]
    shown: list[Chip] = []
    for name in names[:_MOST_CHIPS]:
        values = counted.get(name, {})
        numbers = _numbers(values, is_least=name in least)
        shown.append(_property(request, name, numbers, chosen.get(name, [])))
    return tuple(shown)


def _property(request: SearchState, name: str, counts: Mapping[str, str], chosen: Sequence[str]) -> Chip:
    others = [pair for pair in request.has if pair.partition(":")[0] != name]
    values = [*counts, *(value for value in chosen if value not in counts)]

    def way(value: str) -> Way:
        kept = [f"{name}:={other}" for other in values if (other in chosen) != (other == value)]
        return Way(value, counts.get(value, ""), params={"has": [*others, *kept]})

    positions = tuple(number for number, value in enumerate(values) if value in chosen)
    shown = f"{name}: {', '.join(chosen)}" if chosen else ""
    return Chip(name, tuple(map(way, values)), positions, shown, {"has": others})


def how_to_search(request: SearchState) -> Chip:
    """Return the chip for the search mode and the number of notes on a page."""
    modes = tuple(Way(name, params={"mode": [mode]}) for mode, name in MODES.items())
    counts = tuple(Way(f"{count} on a page", params={"k": [str(count)]}) for count in _COUNTS)
    positions = [tuple(MODES).index(request.mode)]
    positions += [len(MODES) + _COUNTS.index(request.k)] if request.k in _COUNTS else []
    shown = "" if request.mode == NOTHING_ASKED.mode else MODES[request.mode]
    return Chip("More", (*modes, *counts), tuple(positions), shown, {"mode": []})


def how_many(request: SearchState, usual: int) -> Chip:
    """Return the chip for the number of passages in an answer. ``usual`` is the number in the settings."""
    options = tuple(Way(plural(count, "passage"), params={"k": [str(count)]}) for count in _ANSWERED_FROM)
    positions = tuple(n for n, count in enumerate(_ANSWERED_FROM) if count == request.k)
    shown = "" if request.k == usual else plural(request.k, "passage")
    return Chip("Passages", options, positions, shown, {"k": []})


_COUNTS: Final = (10, 20, 50)
_ANSWERED_FROM: Final = (DEFAULT_K, 10, MAX_K)
TENTHS: Final = tuple(range(1, 10))
"""The minimum scores that can be chosen before there is a result, in tenths."""


def natural(folder: str) -> list[list[tuple[int, str]]]:
    """Return the sort key of a folder, for natural order: week 2, week 2/a, week 10."""
    names = (re.split(r"(\d+)", name.casefold()) for name in folder.split("/"))
    return [[(int(part), "") if part.isdecimal() else (-1, part) for part in parts] for parts in names]


def with_parents(folders: Mapping[str, int]) -> dict[str, int]:
    """Return the number of documents in and below every folder: path → number. Files at the root are under
    `TOP_FOLDER`."""
    below: dict[str, int] = {}
    for folder, count in folders.items():
        parts = folder.split("/") if folder else [TOP_FOLDER]
        for depth in range(len(parts)):
            parent = "/".join(parts[: depth + 1])
            below[parent] = below.get(parent, 0) + count

    return {folder: below[folder] for folder in sorted(below, key=natural)}


def select(
    name: str,
    key: str,
    counts: Mapping[str, int],
    shown: Callable[[str], str],
    changed: Callable[[], None],
) -> None:
    """Draw a select box of values with their counts. Of too many values for a browser, only the most frequent
    are offered.

    Args:
        name: The label of the box.
        key: The key of the chosen value in the session state.
        counts: Value → number of documents.
        shown: Returns how a value is written.
        changed: Called after a choice.

    """
    kept = {*nlargest(_MOST, counts, key=lambda value: counts[value]), st.session_state[key]}
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
