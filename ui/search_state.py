"""What is asked on the Search page, what narrows a question on the Ask page, and how it stands in the URL.

The URL is the truth: links, reloads, Back and Forward arrive as new parameters, which `restore` writes into
the widgets; a widget's callback writes them back with `push`, as one history entry. (``bind="query-params"``
would replace the current entry in Streamlit 1.67, and Back would leave the app.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final, Literal, get_args
from urllib.parse import parse_qs

import streamlit as st

from rag_core.config import load
from rag_core.types import MAX_DEPTH, Filters, Mode

View = Literal["cards", "table"]
Params = dict[str, list[str]]

TOP_FOLDER: Final = "/"
MAX_HITS: Final = 100
NAMES: Final = ("q", "store", "type", "tag", "path", "after", "before", "mode", "min", "k", "view", "page")
_LONGEST: Final = 20_000  # characters of a search in an address
_SHOWING: Final = {"view", "page"}  # what does not change the list of passages
_ASKING: Final = {"q", "type", "tag", "path", "after", "before"}


@dataclass(frozen=True, slots=True)
class Request:
    """One state of the page. ``path`` is a folder, `TOP_FOLDER` for files in none; ``after`` is
    inclusive, ``before`` exclusive; ``page`` counts from 1. The fields are named like the URL's parameters.
    """

    q: str = ""
    store: tuple[str, ...] = ()
    type: str | None = None
    tag: str | None = None
    path: str | None = None
    after: date | None = None
    before: date | None = None
    mode: Mode = "hybrid"
    min: float = 0.0
    k: int = 10
    view: View = "cards"
    page: int = 1

    @property
    def offset(self) -> int:
        """How many hits are on the pages before."""
        return (self.page - 1) * self.k

    @property
    def top_k(self) -> int:
        """How many hits to ask for; fewer on the last page that can be asked for."""
        return min(self.k, MAX_DEPTH - self.offset)

    @property
    def filters(self) -> Filters:
        """The filters in the engine's words."""
        return Filters(
            types=() if self.type is None else (self.type,),
            tags=() if self.tag is None else (self.tag,),
            paths=() if self.path is None else (self.path.strip("/"),),
            after=None if self.after is None else self.after.isoformat(),
            before=None if self.before is None else self.before.isoformat(),
        )

    @property
    def asks(self) -> bool:
        """Whether there is anything to look for."""
        return bool(self.q.strip()) or self.filters != Filters()


DEFAULT: Final = Request()


def usual() -> Request:
    """A search with nothing chosen yet, as the owner's settings have it."""
    settings = load()
    most = min(settings.top_k, MAX_HITS)
    return replace(DEFAULT, mode=settings.mode, min=settings.min_score or DEFAULT.min, k=most)


@dataclass(frozen=True, slots=True)
class Choices:
    """What the filters offer: each value with its number of documents, in the order shown; and what the
    `TOP_FOLDER` is called, if the viewer may know."""

    stores: tuple[str, ...]
    types: Mapping[str, int]
    tags: Mapping[str, int]
    folders: Mapping[str, int]
    top: str = ""


def to_params(request: Request, usual: Request = DEFAULT) -> Params:
    """The URL's parameters for a request; whatever is as in ``usual`` is left out."""
    params: Params = {}
    for name in NAMES:
        value = getattr(request, name)
        if value != getattr(usual, name):
            values = value if isinstance(value, tuple) else (value,)
            params[name] = [f"{each:g}" if isinstance(each, float) else str(each) for each in values]
    return params


def from_params(
    params: Mapping[str, Sequence[str]], choices: Choices, usual: Request = DEFAULT, most: int = MAX_HITS
) -> Request:
    """The request that parameters describe, for ``most`` passages at most; whatever cannot be meant is as in
    ``usual``."""
    last = {name: values[-1] for name, values in params.items() if values}
    several = choices.stores if len(choices.stores) > 1 else ()  # the only one is no restriction
    k = int(_number(last.get("k"), 1, most, usual.k))
    return Request(
        q=last.get("q", ""),
        store=tuple(dict.fromkeys(name for name in params.get("store", ()) if name in several)),
        type=_one_of(choices.types, last.get("type")),
        tag=_one_of(choices.tags, last.get("tag")),
        path=_one_of(choices.folders, last.get("path")),
        after=_day(last.get("after")),
        before=_day(last.get("before")),
        mode=_one_of(get_args(Mode), last.get("mode"), usual.mode),
        min=_number(last.get("min"), 0, 1, usual.min),
        k=k,
        view=_one_of(get_args(View), last.get("view"), usual.view),
        page=int(_number(last.get("page"), 1, math.ceil(MAX_DEPTH / k), usual.page)),
    )


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


@dataclass(frozen=True, slots=True)
class State:
    """What a page has in its URL and in its widgets: the fields of `Request` called ``names``, the first of
    them always drawn. ``usual`` gives the request with nothing chosen; ``most`` is the largest number of
    passages. Parameters called ``beside`` stay as they are."""

    prefix: str
    names: tuple[str, ...]
    usual: Callable[[], Request]
    most: int = MAX_HITS
    beside: tuple[str, ...] = ()

    def key(self, name: str) -> str:
        """The session key of the widget for a field of `Request`."""
        return self.prefix + name

    @property
    def seen(self) -> str:
        """The session key of the parameters that the widgets were filled from, or written to."""
        return self.prefix + "seen"

    def url_params(self) -> Params:
        """The page's parameters for its fields as they stand in the URL."""
        return _in_url(self.names)

    def stores_in_url(self, names: Sequence[str]) -> list[str]:
        """The stores the page is about to be restricted to, before any widget exists."""
        in_url = self.url_params().get("store", [])
        asked = in_url if self._is_new() else st.session_state.get(self.key("store"), in_url)
        return [name for name in asked if name in names]

    def unknown_store(self, names: Sequence[str]) -> str:
        """A store in the address that is none of ``names``; ``''`` when there is none."""
        return next((name for name in self.url_params().get("store", []) if name not in names), "")

    def restore(self, choices: Choices) -> None:
        """Before the widgets: fill them from the URL if it was changed by anything but `push`, else those
        that were not drawn the last time. A value that is no longer offered is dropped."""
        state, is_new = st.session_state, self._is_new()
        if is_new:
            state[self.seen] = self.url_params()
        request = from_params(self.url_params(), choices, self.usual(), self.most)
        for name in self.names:
            if is_new or self.key(name) not in state:
                self._set(name, request)
        for name, offered in (("type", choices.types), ("tag", choices.tags), ("path", choices.folders)):
            if state[self.key(name)] not in {None, *offered}:
                state[self.key(name)] = None
        chosen = state[self.key("store")]
        if not {*chosen} <= {*choices.stores}:
            state[self.key("store")] = [name for name in chosen if name in choices.stores]

    def current(self) -> Request:
        """What the widgets say now."""
        said = {name: st.session_state.get(self.key(name)) for name in self.names}
        given: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
        if "store" in given:
            given["store"] = tuple(given["store"])
        return replace(self.usual(), **given)

    def push(self) -> None:
        """As a callback: write what the widgets say into the URL, as one history entry.

        Another list of passages is shown from its first page on.
        """
        now, before = to_params(self.current(), self.usual()), self.url_params()
        if any(now.get(name) != before.get(name) for name in {*NAMES} - _SHOWING):
            st.session_state[self.key("page")] = DEFAULT.page
        self.turn(st.session_state.get(self.key("page"), DEFAULT.page))

    def turn(self, page: int) -> None:
        """As a callback: show another page of the list, as one history entry."""
        st.session_state[self.key("page")] = page
        params = to_params(self.current(), self.usual())
        if params != self.url_params():
            st.query_params.from_dict({**_in_url(self.beside), **params})
        st.session_state[self.seen] = params

    def reset(self, *names: str) -> None:
        """As a callback: give these fields their defaults, and `push`."""
        for name in names:
            self._set(name, self.usual())
        self.push()

    def _set(self, name: str, request: Request) -> None:
        value = getattr(request, name)
        st.session_state[self.key(name)] = list(value) if isinstance(value, tuple) else value

    def _is_new(self) -> bool:
        # The widgets' values are dropped while another page is shown, the mark is not.
        drawn = self.key(self.names[0]) in st.session_state
        return st.session_state.get(self.seen) != self.url_params() or not drawn


def _in_url(names: Sequence[str]) -> Params:
    """The parameters called ``names``; at the address of a document, those of the search that led there."""
    led = st.query_params.get("search")
    found = searched(led) if led else {name: st.query_params.get_all(name) for name in names}
    return {name: values for name, values in found.items() if name in names and values}


def searched(written: str) -> Params:
    """The parameters of a search in a link, without those that the Search page does not know."""
    return {name: values for name, values in parse_qs(written[:_LONGEST]).items() if name in NAMES}


SEARCH: Final = State("search_", NAMES, usual)


def last_search() -> Params:
    """The parameters of the search that this session was at last; none when it asked for nothing."""
    seen: Params = st.session_state.get(SEARCH.seen, {})
    return seen if seen.keys() & _ASKING else {}
