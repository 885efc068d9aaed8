"""Using the Search page in a test: open it, read what it shows."""

from __future__ import annotations

import html
import re
from pathlib import Path

from streamlit.testing.v1 import AppTest

SHELL = str(Path(__file__).parent.parent / "ui" / "shell.py")


def open_page(**params: str | list[str]) -> AppTest:
    page = AppTest.from_file(SHELL, default_timeout=20)
    for name, value in params.items():
        page.query_params[name] = value
    return page.run()


def shown(page: AppTest) -> str:
    """All HTML of the page but its styles; the page itself has ended well."""
    assert not page.exception
    bodies = [element.proto.body for element in page.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def said(page: AppTest) -> list[str]:
    """The quiet lines around the cards."""
    outside = re.sub(r"<article.*?</article>", "", shown(page), flags=re.DOTALL)
    return [html.unescape(line) for line in re.findall(r'<p class="cp-quiet">(.*?)</p>', outside)]


def titles(page: AppTest) -> list[str]:
    cards = re.findall(r"<article.*?<h2>(.*?)</h2>", shown(page), re.DOTALL)
    return [html.unescape(title) for title in cards]


def params(page: AppTest) -> dict[str, str | list[str]]:
    return dict(page.query_params)
