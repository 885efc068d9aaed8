"""Using the Files page and a document's page in a test: opening, pressing, and reading what they say."""

from __future__ import annotations

import html
import re
import time
from pathlib import Path

from streamlit.testing.v1 import AppTest

SHELL = Path(__file__).parents[1] / "ui" / "shell.py"


def open_page(**params: str) -> AppTest:
    page = AppTest.from_file(str(SHELL), default_timeout=20)
    page.switch_page("../pages/files.py")
    for name, value in params.items():
        page.query_params[name] = value
    return drawn(page.run())


def drawn(page: AppTest) -> AppTest:
    assert not page.exception, page.exception
    return page


def markup(page: AppTest) -> str:
    """All HTML of the page but its styles."""
    bodies = [element.proto.body for element in page.get("html")]
    return "\n".join(body for body in bodies if not body.startswith("<style>"))


def said(page: AppTest) -> str:
    """All that the page says."""
    kinds = (page.title, page.markdown, page.error, page.warning, page.code)
    shown = html.unescape(re.sub("<[^>]*>", " ", markup(page)))
    plain = (re.sub(r"[\\\u2060]", "", str(element.value)) for kind in kinds for element in kind)
    return "\n".join([shown, *plain])


def press(page: AppTest, name: str) -> AppTest:
    return drawn(page.button(key=name).click().run())


def idle(page: AppTest) -> AppTest:
    """The page after the run that was asked for."""
    end = time.monotonic() + 20
    while "is being indexed" in said(drawn(page.run())):
        assert time.monotonic() < end
        time.sleep(0.02)
    return page


def page_links(page: AppTest) -> dict[str, str]:
    """Name → parameters of the links on the page that Streamlit makes."""
    return {link.proto.label: link.proto.query_string for link in page.get("page_link")}
