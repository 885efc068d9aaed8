"""The folders of a store next to the list of its files, as HTML. The rules of `ui.frame.hits` hold."""

from __future__ import annotations

import html
from collections.abc import Mapping

from rag_core.wording import plural
from ui.frame.hits import anchor, in_one_line


def tree(store: str, folders: Mapping[str, int], total: int, chosen: str | None) -> str:
    """Return HTML links to the top folders, the folders on the way to the ``chosen`` one, and those in it.

    ``folders`` maps paths to the number of files in and below them. ``total`` is the number of files in the
    store.
    """
    below: dict[str, list[str]] = {}
    for folder in folders:
        below.setdefault(folder.rpartition("/")[0], []).append(folder)

    def items(parent: str) -> str:
        shown = ""
        for folder in below.get(parent, ()):
            is_open = chosen is not None and f"{chosen}/".startswith(f"{folder}/")
            link = _link(store, folder, folder.rpartition("/")[2], folders[folder], folder == chosen)
            shown += f'<li class="cp-way">{link}{items(folder)}</li>' if is_open else f"<li>{link}</li>"
        return f"<ul>{shown}</ul>" if shown else ""

    if not folders:
        return ""
    top = _link(store, "", "All folders", total, not chosen)
    return f'<nav class="cp cp-tree" aria-label="Folders">{top}{items("")}</nav>'


def _link(store: str, folder: str, name: str, count: int, is_chosen: bool) -> str:
    asked = {"store": store} | ({"folder": folder} if folder else {})
    link = anchor(asked, in_one_line(name), named=f"{in_one_line(name)}, {plural(count, 'file')}")
    here = ' class="cp-chosen"' if is_chosen else ""
    hint = html.escape(in_one_line(folder))
    return (
        f'<span{here} title="{hint}">{link}<span class="cp-quiet" aria-hidden="true">{count:,}</span></span>'
    )
