"""The tools that read. Each returns what REST and the command line return, too."""

from __future__ import annotations

import threading
from typing import Any

from rag_core.api.fields import Given, asked_in, field, filters_of
from rag_core.api.forms import render
from rag_core.ask import reply_forms
from rag_core.errors import InvalidInput
from rag_core.library import Library
from rag_core.search.query import parse
from rag_core.types import DocumentView, Viewer

N_RESULTS = 5
LISTED = 1000
_MOST_IN_A_BUDGET = 100


def search(library: Library, viewer: Viewer, given: Given, _: threading.Event) -> dict[str, Any]:
    """Passages for a query."""
    return _found(library, viewer, given, top_k=given.get("n_results", N_RESULTS))


def search_with_budget(library: Library, viewer: Viewer, given: Given, _: threading.Event) -> dict[str, Any]:
    """As many passages as fit."""
    return _found(library, viewer, given, top_k=_MOST_IN_A_BUDGET, max_tokens=given["max_tokens"])


def _found(library: Library, viewer: Viewer, given: Given, **options: Any) -> dict[str, Any]:
    stores = _stores(library, viewer, given, "query")
    filters = filters_of(given.get("filters", {}))
    with asked_in("query"):
        found = library.search(viewer, given["query"], stores, filters=filters, **options)
    return render.answer(found)


def _stores(library: Library, viewer: Viewer, given: Given, text: str) -> list[str]:
    """The store to search; none where the query names one itself."""
    with field(text):
        in_text = parse(given[text]).stores
        for name in in_text:
            library.one_store(viewer, name)
    return [] if in_text else [store_of(library, viewer, given)]


def store_of(library: Library, viewer: Viewer, given: Given) -> str:
    """The store that is meant. Raises InvalidInput that names the field."""
    with field("store"):
        return library.one_store(viewer, given.get("store"))


def open_(library: Library, viewer: Viewer, given: Given, _: threading.Event) -> dict[str, Any]:
    """A document, a part of it, or one passage."""
    if ("id" in given) == ("file_path" in given):
        raise InvalidInput("file_path: What to open is not said, or twice.", "Give file_path or id.")
    store = store_of(library, viewer, given)
    if "id" in given:
        found = library.around(viewer, store, given["id"])
    else:
        path = _path(library, viewer, store, given["file_path"])
        lines = given.get("start_line", 1), given.get("end_line")
        found = library.excerpt(viewer, store, path, *lines, start=given.get("start_id", ""))
    given_lines = _range(found.view) if "file_path" in given else {}
    return {**render.document_view(found.view, viewer), **given_lines, "next_id": found.next_key}


def _range(view: DocumentView) -> dict[str, int]:
    """Which lines are given; none of a document without text."""
    if not view.chunks:
        return {}
    return {"start_line": view.chunks[0].start_line, "end_line": view.chunks[-1].end_line}


def _path(library: Library, viewer: Viewer, store: str, path: str) -> str:
    """What the store calls it; a guest knows no other names."""
    return library.path_in_store(viewer, store, path) if viewer.is_owner else path


def neighbors(library: Library, viewer: Viewer, given: Given, _: threading.Event) -> dict[str, Any]:
    """The passages around one, and the links of its document."""
    store = store_of(library, viewer, given)
    found = library.around(viewer, store, given["id"], given.get("around", 1))
    return render.document_view(found.view, viewer)


def ask(library: Library, viewer: Viewer, given: Given, stop: threading.Event) -> dict[str, Any]:
    """An answer, or the passages where there is no model."""
    stores = _stores(library, viewer, given, "question")
    with asked_in("question"):
        reply = library.ask(viewer, given["question"], stores, k=given.get("k", 0), stop=stop)
    return reply_forms.reply(reply)


def status(library: Library, viewer: Viewer, given: Given, _: threading.Event) -> dict[str, Any]:
    """How one store stands, or all."""
    shown = render.status(library.status(viewer), viewer)
    if "store" not in given:
        return shown
    store = store_of(library, viewer, given)
    of_store = [each for each in shown["stores"] if each["name"] == store]
    running = (
        {"running": [job for job in shown["running"] if job["store"] == store]} if viewer.is_owner else {}
    )
    return {**shown, **running, "stores": of_store}


def get_index_stats(library: Library, viewer: Viewer, given: Given, _: threading.Event) -> dict[str, Any]:
    """Counts, and what the documents are called."""
    store = store_of(library, viewer, given)
    files = [each for each in library.documents(viewer, store) if each.chunks]
    return {
        "store": store,
        "total_chunks": sum(each.chunks for each in files),
        "unique_files": len(files),
        "files": [each.path for each in files[:LISTED]],
        "has_more": len(files) > LISTED,
    }
