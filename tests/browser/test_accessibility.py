"""No page has a fault that axe-core knows, and the keyboard reaches everything on it, in each of its states:
unfolded, at work, with an error."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from axe_playwright_python.sync_playwright import Axe

from tests.browser.chromium import Watched
from tests.browser.page_homes import opened
from tests.browser.page_states import EVERY_LOOK, Look, State, names

pytestmark = [pytest.mark.browser, pytest.mark.thorough]

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


# What can be used on a page: seen, enabled, and not what Escape does, too.
USABLE = """() => {
    const kinds = `a[href], button, input, select, textarea, summary, canvas[tabindex],
        [contenteditable=true], [role=button], [role=checkbox], [role=combobox], [role=link],
        [role=menuitem], [role=slider], [role=switch], [role=tab]`;
    const large = ({width, height}) => width > 2 && height > 2;
    const usable = element =>
        large(element.getBoundingClientRect())
        && element.checkVisibility({opacityProperty: true, visibilityProperty: true})
        && !element.disabled && element.getAttribute('aria-disabled') !== 'true'
        && !element.closest('[inert], [aria-hidden=true]') && !element.parentElement.closest('canvas')
        && !(element.tabIndex < 0 && element.ariaLabel === 'Dismiss');
    window.usable = [...document.querySelectorAll(kinds)].filter(usable);
    window.met = new Set();
    document.addEventListener('focusin', event => window.met.add(event.target), true);
    return window.usable.length;
}"""
# What of it no Tab has led to. Arrows lead on within a group, and keys in a field do what its small buttons
# do: clear, step, open, take out.
LEFT = """() => {
    const fields = [...window.met].filter(one => one.matches('input'));
    const within = (element, those) => those.some(one => element && element.contains(one));
    const met = element =>
        within(element, [...window.met])
        || within(element.closest('[role=radiogroup], [role=tablist]'), [...window.met])
        || element.tabIndex < 0 && within(element.closest('[data-testid=stElementContainer]'), fields);
    if (!window.usable.every(element => element.isConnected)) return ['the page was drawn anew'];
    return window.usable.filter(element => !met(element))
        .map(element => element.outerHTML.slice(0, 300));
}"""


def unreached(app: Watched) -> list[str]:
    """What can be used on the page as it stands, and is not reached with Tab."""
    # Tab begins where the last click was, and a table takes one for each of its cells.
    turns = 2 * app.page.evaluate(USABLE) + 150
    for _ in range(turns):
        app.page.keyboard.press("Tab")
        if not (left := app.page.evaluate(LEFT)):
            break
    return [f"not reached: {each}" for each in left]


@pytest.mark.parametrize(("home", "state", "seen"), CASES)
def test_axe_finds_nothing_on_a_page_and_the_keyboard_reaches_all_of_it(
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
    assert unreached(app) == []


def test_what_no_tab_leads_to_is_noticed(at: Callable[[str], Watched]) -> None:
    app = at("empty")
    app.open("/stores")
    app.page.evaluate("document.querySelector('summary').tabIndex = -1")
    [left] = unreached(app)
    assert left.startswith("not reached: <summary")
