"""Using the Search page in a test: open it, read what it shows."""

from __future__ import annotations

import html
import re

from streamlit.testing.v1 import AppTest

from tests import pages
from tests.pages import markup


def open_page(**params: str | list[str]) -> AppTest:
    return pages.open_page("search", **params)


def said(page: AppTest) -> list[str]:
    """The quiet lines around the cards."""
    outside = re.sub(r"<article.*?</article>", "", markup(page), flags=re.DOTALL)
    return [html.unescape(line) for line in re.findall(r'<p class="cp-quiet">(.*?)</p>', outside)]


def titles(page: AppTest) -> list[str]:
    cards = re.findall(r"<article.*?<h2>(.*?)</h2>", markup(page), re.DOTALL)
    return [html.unescape(re.sub("<[^>]*>", "", title)) for title in cards]
