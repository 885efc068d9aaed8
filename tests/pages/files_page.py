"""Using the Files page and a document's page in a test: opening, pressing, and reading what they say."""

from __future__ import annotations

import html
import re
import time

import pandas as pd
from streamlit.testing.v1 import AppTest

from tests.pages import visiting
from tests.pages.visiting import drawn, markup


def open_page(**params: str) -> AppTest:
    return visiting.open_page("files", **params)


def table(page: AppTest) -> pd.DataFrame:
    """The files that are listed, with what the columns say."""
    return page.dataframe[0].value


def paths(page: AppTest) -> list[str]:
    """The paths of the files that are listed, in their order."""
    if not len(page.dataframe):
        return []
    rows = table(page)
    folders = rows["Folder"] if "Folder" in rows else [page.query_params.get("folder", "")] * len(rows)
    return ["/".join(filter(None, each)) for each in zip(folders, rows["Name"], strict=True)]


def said(page: AppTest) -> str:
    """All that the page says."""
    kinds = (page.title, page.markdown, page.error, page.warning, page.code)
    shown = html.unescape(re.sub("<[^>]*>", " ", markup(page)))
    plain = (re.sub(r"[\\\u2060]", "", str(element.value)) for kind in kinds for element in kind)
    return "\n".join([shown, *plain])


def idle(page: AppTest) -> AppTest:
    """The page after the run that was asked for."""
    end = time.monotonic() + 20
    while "is being indexed" in said(drawn(page.run())):
        assert time.monotonic() < end
        time.sleep(0.02)
    return page


def done(page: AppTest) -> list[str]:
    """What the page says was done, once the run that was asked for has ended."""
    end = time.monotonic() + 20
    while not page.success:
        assert time.monotonic() < end
        time.sleep(0.02)
        drawn(page.run())
    return [str(each.value).replace("\\", "") for each in page.success]


def page_links(page: AppTest) -> dict[str, str]:
    """Name → parameters of the links on the page that Streamlit makes."""
    return {link.proto.label: link.proto.query_string for link in page.get("page_link")}
