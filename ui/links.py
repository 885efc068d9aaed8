"""The addresses of documents' pages: plain parameters, for links of whatever kind."""

from __future__ import annotations


def address(store: str, path: str, passage: str = "", first: int = 0, search: str = "") -> dict[str, str]:
    """The parameters of a document's page: the passage that is marked, or the number of the first shown, and
    the ``search`` that led there, as it stands in that page's own address."""
    number = str(first or "")
    parameters = {"store": store, "path": path, "passage": passage, "from": number, "search": search}
    return {name: value for name, value in parameters.items() if value}
