"""Links to a document's page as HTML: plain ones to the Files page, and to no other place."""

from __future__ import annotations

import html
from collections.abc import Mapping
from urllib.parse import urlencode


def address(store: str, path: str, passage: str = "", first: int = 0, search: str = "") -> dict[str, str]:
    """The parameters of a document's page: the passage that is marked, or the number of the first shown, and
    the ``search`` that led there, as it stands in that page's own address."""
    number = str(first or "")
    parameters = {"store": store, "path": path, "passage": passage, "from": number, "search": search}
    return {name: value for name, value in parameters.items() if value}


def anchor(parameters: Mapping[str, str], text: str, *, named: str = "") -> str:
    """A link with these parameters."""
    aria = f' aria-label="{html.escape(named)}"' if named else ""
    return f'<a href="files?{html.escape(urlencode(parameters))}"{aria}>{html.escape(text)}</a>'
