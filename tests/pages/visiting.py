"""The pages of the app in a test: who looks at them, opening one, pressing what is on it."""

from __future__ import annotations

import html
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_core.access.headers import OWNER_HEADERS
from rag_core.running import background
from rag_core.types import Viewer

SHELL = Path(__file__).parents[2] / "ui" / "frame" / "shell.py"
GUEST = Viewer("ann@example.org", stores=frozenset({"notes"}))
HOSTILE = "![x](http://evil.example/x.png) <script>alert(1)</script> $x$ :red[x]"


@pytest.fixture
def owner(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The owner looks at an empty home; nothing runs on at the end, and nothing is remembered."""
    monkeypatch.setattr("ui.frame.access._headers", lambda: OWNER_HEADERS)
    _forget()
    yield
    background.stop_all()
    _forget()


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This computer's clock is nine hours ahead of UTC."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "JST-9")
        time.tzset()
        yield
    time.tzset()


def _forget() -> None:
    st.cache_data.clear()
    st.cache_resource.clear()


def open_page(view: str, /, *, opened: str = "", **params: str | list[str]) -> AppTest:
    """The page that ``pages`` holds under this name, at an address with these parameters. ``opened`` is the
    key of what is folded at first."""
    page = AppTest.from_file(str(SHELL), default_timeout=20)
    if opened:
        page.session_state[opened] = True
    page.switch_page(f"../../pages/{view}.py")
    for name, value in params.items():
        page.query_params[name] = value
    return drawn(page.run())


def drawn(page: AppTest) -> AppTest:
    """The page, once it is sure that it ended well."""
    assert not page.exception, page.exception
    return page


def press(page: AppTest, key: str) -> AppTest:
    return drawn(page.button(key=key).click().run())


def press_label(page: AppTest, label: str) -> AppTest:
    return drawn(next(button for button in page.button if button.label == label).click().run())


def has_key(page: AppTest, key: str) -> bool:
    return any(button.key == key for button in page.button)


def markup(page: AppTest) -> str:
    """All HTML of the page but its styles."""
    bodies = [element.proto.body for element in drawn(page).get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def texts(page: AppTest) -> str:
    """All that the page says but its captions, as it is read: what Markdown would take for its own stands
    there escaped, and addresses with a joiner."""
    kinds = (page.title, page.header, page.error, page.warning, page.success, page.markdown)
    said = "\n".join(str(element.value) for kind in kinds for element in kind)
    return f"{said}\n{html.unescape(markup(page))}".replace("\\", "").replace("\u2060", "")


def params(page: AppTest) -> dict[str, str | list[str]]:
    """What stands in the page's address."""
    return dict(page.query_params)
