"""The search of the Search page, the filters of a question on the Ask page, and their form in the address.

The address decides: links, reloads, Back and Forward arrive as new parameters, and choices on a page are
written there as one history entry.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Final, Literal, get_args
from urllib.parse import parse_qs

import streamlit as st

from rag_core.config import load
from rag_core.types import MAX_DEPTH, SORTS, Filters, Mode, Sort

ResultView = Literal["cards", "table"]
Params = dict[str, list[str]]

TOP_FOLDER: Final = "/"
MAX_HITS: Final = 100
PARAMETER_NAMES: Final = (
    "q", "store", "type", "tag", "path", "has", "after", "before", "mode", "min", "sort", "k",
    "view", "page",
)  # fmt: skip
_LONGEST: Final = 20_000  # maximum characters of a search in an address
SEEN_KEY: Final = "search_seen"
"""The session key of the parameters that the Search page was drawn with, or wrote into the address."""
_MOST_PROPERTIES: Final = 20
_ASKING: Final = {"q", "type", "tag", "path", "has", "after", "before"}


@dataclass(frozen=True, slots=True)
class SearchState:
    """One state of the page. The fields have the names of the address's parameters."""

    q: str = ""
    store: tuple[str, ...] = ()
    type: str | None = None
    tag: str | None = None
    path: str | None = None  #: A folder; `TOP_FOLDER` for files outside folders.
    has: tuple[str, ...] = ()  #: ``key:value`` pairs. Pairs of one key are alternatives.
    after: date | None = None  #: Inclusive.
    before: date | None = None  #: Exclusive.
    mode: Mode = "hybrid"
    min: float = 0.0  #: Minimum score, 0 to 1.
    sort: Sort = "best"
    k: int = 10  #: Number of hits on a page.
    view: ResultView = "cards"
    page: int = 1  #: From 1.

    @property
    def offset(self) -> int:
        """The number of hits on earlier pages."""
        return (self.page - 1) * self.k

    @property
    def top_k(self) -> int:
        """The number of hits to request. The last page that can be shown may have fewer."""
        return min(self.k, MAX_DEPTH - self.offset)

    @property
    def filters(self) -> Filters:
        """The filters as the library's `Filters`."""
        return Filters(
            types=() if self.type is None else (self.type,),
            tags=() if self.tag is None else (self.tag,),
            paths=() if self.path is None else (self.path.strip("/"),),
            properties=self.has,
            after=None if self.after is None else self.after.isoformat(),
            before=None if self.before is None else self.before.isoformat(),
        )

    @property
    def asks(self) -> bool:
        """Whether the state contains a search, by text or filters."""
        return bool(self.q.strip()) or self.filters != Filters()


NOTHING_ASKED: Final = SearchState()


def usual() -> SearchState:
    """Return a search without text and filters, with the numbers from the owner's settings."""
    settings = load()
    most = min(settings.top_k, MAX_HITS)
    return replace(NOTHING_ASKED, mode=settings.mode, min=settings.min_score or NOTHING_ASKED.min, k=most)


@dataclass(frozen=True, slots=True)
class Choices:
    """The values offered by the filters, each with its number of documents, in the order shown. ``top`` is
    the name of the folder that `TOP_FOLDER` stands for; '' if the viewer may not know it."""

    stores: tuple[str, ...]
    types: Mapping[str, int]
    tags: Mapping[str, int]
    folders: Mapping[str, int]
    top: str = ""
    years: Mapping[str, int] = field(default_factory=dict)


def _usual_k(view: str, usual: SearchState) -> int:
    """Return the number of hits on a page if the address names none. A table shows more than cards."""
    return usual.k if view == NOTHING_ASKED.view else MAX_HITS


def to_params(request: SearchState, usual: SearchState = NOTHING_ASKED) -> Params:
    """Return the address's parameters for a request. Values equal to those in ``usual`` are left out."""
    params: Params = {}
    expected = replace(usual, k=_usual_k(request.view, usual))
    for name in PARAMETER_NAMES:
        value = getattr(request, name)
        if value != getattr(expected, name):
            values = value if isinstance(value, tuple) else (value,)
            params[name] = [f"{one:g}" if isinstance(one, float) else str(one) for one in values]
    return params


def from_params(
    params: Mapping[str, Sequence[str]],
    choices: Choices,
    usual: SearchState = NOTHING_ASKED,
    most: int = MAX_HITS,
) -> SearchState:
    """Return the request that parameters describe, with at most ``most`` hits on a page. Invalid values are
    dropped, or replaced by those in ``usual``."""
    last = {name: values[-1] for name, values in params.items() if values}
    several = choices.stores if len(choices.stores) > 1 else ()  # choosing the only store is no restriction
    view: ResultView = _one_of(get_args(ResultView), last.get("view"), usual.view)
    k = int(_number(last.get("k"), 1, most, min(most, _usual_k(view, usual))))
    return SearchState(
        q=last.get("q", ""),
        store=tuple(dict.fromkeys(name for name in params.get("store", ()) if name in several)),
        type=_one_of(choices.types, last.get("type")),
        tag=_one_of(choices.tags, last.get("tag")),
        path=_one_of(choices.folders, last.get("path")),
        has=tuple(dict.fromkeys(pair for pair in params.get("has", ()) if is_property(pair)))[
            :_MOST_PROPERTIES
        ],
        after=_day(last.get("after")),
        before=_day(last.get("before")),
        mode=_one_of(get_args(Mode), last.get("mode"), usual.mode),
        min=_number(last.get("min"), 0, 1, usual.min),
        sort=_one_of(SORTS, last.get("sort"), usual.sort),
        k=k,
        view=view,
        page=int(_number(last.get("page"), 1, math.ceil(MAX_DEPTH / k), usual.page)),
    )


def is_property(pair: str) -> bool:
    """Whether the text has the form ``key:value``."""
    key, _, value = pair.partition(":")
    return bool(key.strip() and value.strip())


def _one_of(allowed: Collection[Any], value: str | None, default: Any = None) -> Any:
    return value if value in allowed else default


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None


def _number(text: str | None, low: float, high: float, default: float) -> float:
    try:
        number = float(text or "")
    except ValueError:
        return default
    return number if low <= number <= high else default


def in_address(names: Collection[str] = PARAMETER_NAMES) -> Params:
    """Return those of the parameters ``names`` that the address has. On a document's page, return those of
    the search that led there."""
    led = st.query_params.get("search")
    params = searched(led) if led else {name: st.query_params.get_all(name) for name in names}
    return {name: values for name, values in params.items() if name in names and values}


def searched(written: str) -> Params:
    """Return the parameters of a search that is ``written`` as a query string, as in a link to a document.
    Parameters unknown to the Search page are left out."""
    return {name: values for name, values in parse_qs(written[:_LONGEST]).items() if name in PARAMETER_NAMES}


def unknown_store(names: Collection[str]) -> str:
    """Return a store in the address that is not in ``names``; '' if all are."""
    return next((name for name in in_address().get("store", []) if name not in names), "")


def last_search() -> Params:
    """Return the parameters of the last search in this session; empty if that search was empty."""
    seen: Params = st.session_state.get(SEEN_KEY, {})
    return seen if seen.keys() & _ASKING else {}
