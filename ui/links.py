"""Where links lead: the pages of the app, and the parameters of documents' pages."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_PAGES: Final = Path(__file__).resolve().parent.parent / "pages"
ASK_PAGE: Final = _PAGES / "ask.py"
FILES_PAGE: Final = _PAGES / "files.py"
INDEX_PAGE: Final = _PAGES / "index.py"
SEARCH_PAGE: Final = _PAGES / "search.py"
SETTINGS_PAGE: Final = _PAGES / "settings.py"
STORES_PAGE: Final = _PAGES / "stores.py"


def address(store: str, path: str, passage: str = "", first: int = 0, search: str = "") -> dict[str, str]:
    """The parameters of a document's page: the passage that is marked, or the number of the first shown, and
    the ``search`` that led there, as it stands in that page's own address."""
    number = str(first or "")
    parameters = {"store": store, "path": path, "passage": passage, "from": number, "search": search}
    return {name: value for name, value in parameters.items() if value}
