"""However many guests ask at once and however long it takes, the owner is answered: over REST and MCP."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from rag_core.api import app
from rag_core.api.mcp import server
from rag_core.library import Library
from rag_core.library.asking import Asking
from rag_core.library.searching import Searching
from rag_core.types import Viewer
from tests.api.mcp_door import VIEWERS
from tests.support.assistant import over_http, serving_mcp
from tests.support.rest import serving_rest

GUESTS = 24
Ask = Callable[[str], Any]


class Held:
    """These methods of the library, which guests get an answer from only when they are let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *services: type) -> None:
        self.go = threading.Event()
        self.most = 0
        self._now = 0
        self._changed = threading.Condition()
        for service in services:
            name = {Searching: "search", Asking: "ask"}[service]
            monkeypatch.setattr(service, name, self._holding(getattr(service, name)))

    def _holding(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def hold(library: Library, viewer: Viewer, *given: Any, **options: Any) -> Any:
            if viewer.is_owner:
                return act(library, viewer, *given, **options)
            with self._changed:
                self._now += 1
                self.most = max(self.most, self._now)
                self._changed.notify_all()
            try:
                assert self.go.wait(60)
                return act(library, viewer, *given, **options)
            finally:
                with self._changed:
                    self._now -= 1

        return hold

    def until(self, guests: int) -> None:
        """Wait until so many are held."""
        with self._changed:
            assert self._changed.wait_for(lambda: self._now >= guests, 30), f"{self._now} of {guests}"


@pytest.fixture
def doors(mcp_library: Library) -> Iterator[dict[str, Ask]]:
    with ExitStack() as stack:
        rest = stack.enter_context(serving_rest(mcp_library, VIEWERS))
        mcp = stack.enter_context(serving_mcp(mcp_library, VIEWERS))

        def post(path: str, who: str, **body: Any) -> bool:
            return rest.post(path, body, who=who).status == 200

        def call(tool: str, who: str, **given: Any) -> bool:
            return over_http(mcp, {"who": who}).call(tool, **given)["error"] is None

        yield {
            "REST search": lambda who: post("/search", who, query="harbour", mode="lexical"),
            "REST ask": lambda who: post("/ask", who, question="Where is the xylophone?"),
            "MCP search": lambda who: call("search", who, query="harbour"),
        }


@pytest.mark.parametrize(
    ("door", "at_once"),
    [("REST search", app._AT_ONCE), ("REST ask", app._ASKS_AT_ONCE), ("MCP search", server.WORKERS)],
)
def test_guests_who_take_all_they_can_leave_the_owner_a_share(
    doors: dict[str, Ask], monkeypatch: pytest.MonkeyPatch, door: str, at_once: int
) -> None:
    held = Held(monkeypatch, Searching, Asking)
    with ThreadPoolExecutor(GUESTS) as pool:
        asked = [pool.submit(doors[door], "guest") for _ in range(GUESTS)]
        try:
            held.until(at_once // 2)
            assert all(doors[door]("owner") for _ in range(3))
            assert held.most == at_once // 2, "the rest of them wait their turn"
        finally:
            held.go.set()
        assert all(each.result(60) for each in asked), "and get it"


def test_guests_who_ask_hold_up_no_search(doors: dict[str, Ask], monkeypatch: pytest.MonkeyPatch) -> None:
    """A model takes its time; over REST nobody who only searches waits for it."""
    held = Held(monkeypatch, Asking)
    with ThreadPoolExecutor(GUESTS) as pool:
        asked = [pool.submit(doors["REST ask"], "guest") for _ in range(GUESTS)]
        try:
            held.until(app._ASKS_AT_ONCE // 2)
            assert doors["REST search"]("guest")
        finally:
            held.go.set()
        assert all(each.result(60) for each in asked)
