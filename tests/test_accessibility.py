"""No page has a fault that axe-core knows, in any of its states: unfolded, at work, with an error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.chromium import Watched
from tests.page_homes import opened
from tests.page_states import EVERY_LOOK, Look, State, names

NARROW = 600


EVERY = os.environ.get("COMMONPLACE_STATES") == "all"
"""Whether each state is seen in each look, which takes six minutes; else in one, by turns."""


def looks(turn: int, state: State) -> list[Look]:
    """Each one that fits, or the next one by turns."""
    fitting = [(scheme, width) for scheme, width in EVERY_LOOK if not (state.wide and width < NARROW)]
    return fitting if EVERY else [fitting[turn % len(fitting)]]


CASES = [
    pytest.param(home, state, looks(turn, state), id=f"{home}, {state.name}")
    for turn, (home, state) in enumerate(names())
]


@pytest.fixture(scope="module")
def at(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Watched]]:
    """The app in the home that is asked for; the one before is closed then."""
    now: dict[str, Watched] = {}
    with ExitStack() as places:

        def go(home: str) -> Watched:
            if home not in now:
                places.close()
                now.clear()
                now[home] = places.enter_context(opened(home, tmp_path_factory.mktemp(home)))
            return now[home]

        yield go


def faults(app: Watched, look: Look) -> list[str]:
    """What axe-core finds on the page as it stands."""
    return [
        f"{look}: {fault['id']} ({fault['impact']}): {node['html'][:200]}"
        for fault in Axe().run(app.page).response["violations"]
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize(("home", "state", "seen"), CASES)
def test_axe_finds_nothing_on_a_page(
    at: Callable[[str], Watched], home: str, state: State, seen: list[Look]
) -> None:
    app = at(home)
    first, *others = seen
    app.look(*first)
    state.show(app)
    found = faults(app, first)
    for look in others:
        app.look(*look)
        app.rest()
        found += faults(app, look)
    assert not found, "\n".join(found)


def test_all_of_the_place_to_drop_a_file_takes_the_drop(at: Callable[[str], Watched]) -> None:
    app = at("empty")
    app.look("light", 1280)
    app.open("/stores")
    app.page.get_by_text("Import a store").click()
    app.rest()
    place = app.page.get_by_test_id("stFileUploaderDropzone")
    hit = """place => {
        const {left, top, right, bottom} = place.getBoundingClientRect();
        const middle = [(left + right) / 2, (top + bottom) / 2];
        const points = [[left + 3, top + 9], middle, [right - 3, bottom - 9]];
        return points.map(([x, y]) => place.contains(document.elementFromPoint(x, y)));
    }"""
    assert place.evaluate(hit) == [True, True, True]
