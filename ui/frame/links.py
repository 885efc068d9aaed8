"""The targets of links: the pages of the app, and the parameters of documents' pages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlencode

from rag_core.library.originals import IN_OWN_PROGRAM
from rag_core.types import Document

_PAGES: Final = Path(__file__).resolve().parents[2] / "pages"
ASK_PAGE: Final = _PAGES / "ask.py"
CONVERSATION: Final = "c"
"""The parameter in the address of the Ask page that holds the id of a conversation."""
FILES_PAGE: Final = _PAGES / "files.py"
INDEX_PAGE: Final = _PAGES / "index.py"
SEARCH_PAGE: Final = _PAGES / "search.py"
SETTINGS_PAGE: Final = _PAGES / "settings.py"
STORES_PAGE: Final = _PAGES / "stores.py"

SHARE: Final = "share"
"""The parameter of the Settings page that unfolds sharing."""

PICTURES: Final = "note-picture"
"""The path of the route for pictures of notes (`ui.reader.pictures`)."""


def document_parameters(
    store: str, path: str, passage: str = "", first: int = 0, search: str = "", heading: str = ""
) -> dict[str, str]:
    """Return the parameters in the address of a document's page.

    Args:
        store: The document's store.
        path: The document's path in the store.
        passage: The key of the passage to mark.
        first: The number of the first passage to show.
        search: The parameters of the search that led there, as in the search's address.
        heading: The heading to mark.

    """
    number = str(first or "")
    parameters = {"store": store, "path": path, "passage": passage, "from": number}
    parameters |= {"heading": heading, "search": search}
    return {name: value for name, value in parameters.items() if value}


def link(parameters: Mapping[str, str], page: Path = FILES_PAGE) -> str:
    """Return the address of a page with these parameters, relative to the root."""
    return f"{page.stem}?{urlencode(parameters)}"


def picture(document: Document, named: str) -> str:
    """Return the address of a picture of a place in a document: a page, a slide, or a picture; '' for other
    places. ``named`` is the anchor of a passage, such as *page 3*."""
    kind = named.partition(" ")[0]
    if document.file_type != "picture" and kind not in ("page", "slide", "picture"):
        return ""
    return f"{PICTURES}?{urlencode({'store': document.store, 'path': document.path, 'place': named})}"


def program(document: Document, line: int = 0) -> tuple[str, str]:
    """Return the address that opens a document in another program on this computer, and the program's name.

    The program is Obsidian for a note in a vault, and VS Code for text and code. Both values are empty for
    other files, and for a guest, who may not know where a file is.
    """
    path = document.absolute_path
    if not path or document.file_type in IN_OWN_PROGRAM:
        return "", ""
    if document.file_type == "markdown" and in_vault(path):
        return obsidian(path), "Obsidian"
    return vscode(path, line), "VS Code"


@lru_cache(maxsize=512)
def in_vault(path: str) -> bool:
    """Whether a file is in an Obsidian vault, that is, below a folder with ``.obsidian``."""
    return any((folder / ".obsidian").is_dir() for folder in Path(path).parents)


def obsidian(path: str) -> str:
    """Return the address that opens a file in Obsidian."""
    return f"obsidian://open?path={quote(path, safe='')}"


def vscode(path: str, line: int | None) -> str:
    """Return the address that opens a file in VS Code, at a line if given."""
    whole = path.replace(os.sep, "/")
    return f"vscode://file/{quote(whole.lstrip('/'))}" + (f":{line}" if line else "")
