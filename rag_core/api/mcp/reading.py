"""The tools that read. They return the same models as REST and the command line."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from rag_core.api import answers
from rag_core.api.encoding import JsonValue
from rag_core.api.operations import what_was_found
from rag_core.api.requests import field, filters_of, naming_stores
from rag_core.errors import InvalidInput, VectorError
from rag_core.library import Library
from rag_core.types import Similar, Viewer

LISTED = 1000
_N_RESULTS = 5
_SIMILAR = 5
_MOST_IN_A_BUDGET = 100


def search(library: Library, viewer: Viewer, given: Any, _: threading.Event) -> JsonValue:
    """Return the passages for a query: ``n_results`` of them, or as many as fit into ``max_tokens``."""
    budget = given.get("max_tokens")
    with naming_stores(given, "query", "store"):
        filters, stores = filters_of(given.get("filters", {})), [given["store"]] if "store" in given else []
        top_k = _MOST_IN_A_BUDGET if budget else given.get("n_results", _N_RESULTS)
        asked = {name: given[name] for name in ("group", "facets", "sort", "min_score") if name in given}
        answer = library.searching.search(
            viewer, given["query"], stores, filters=filters, top_k=top_k, max_tokens=budget, **asked
        )
    return what_was_found(library, viewer, answer)


def store_of(library: Library, viewer: Viewer, given: Any) -> str:
    """Return the name of the requested store. Raises InvalidInput with the field's name."""
    with field("store"):
        return library.stores.resolve(viewer, given.get("store"))


def open_(library: Library, viewer: Viewer, given: Any, _: threading.Event) -> JsonValue:
    """Return a document, a part of it, or one passage."""
    if ("id" in given) == ("file_path" in given):
        raise InvalidInput("file_path: Exactly one of file_path and id is needed.", "Give file_path or id.")
    store = store_of(library, viewer, given)
    if "id" in given:
        view = library.documents.around(viewer, store, given["id"])
    else:
        path = given["file_path"]  # for the owner, the path may also be one on this computer
        path = library.files.path_of(viewer, store, path) if viewer.is_owner else path
        lines = given.get("start_line", 1), given.get("end_line")
        view = library.documents.excerpt(viewer, store, path, *lines, start=given.get("start_id", ""))
    shown = {**answers.document(view, viewer).model_dump(), "next_id": view.next_key}
    if "file_path" in given and (chunks := view.chunks):
        shown |= {"start_line": chunks[0].start_line, "end_line": chunks[-1].end_line}
    return shown


def neighbors(library: Library, viewer: Viewer, given: Any, _: threading.Event) -> JsonValue:
    """Return the passages around a passage, the links of its document, and the documents of similar
    meaning."""
    store = store_of(library, viewer, given)
    view = library.documents.around(viewer, store, given["id"], given.get("around", 1))
    near: list[Similar] = []
    with suppress(VectorError):  # reading works even if the vector index does not answer
        near = library.searching.similar(viewer, store, key=given["id"], limit=_SIMILAR)
    return {
        **answers.document(view, viewer).model_dump(),
        "similar": answers.similar(store, near).model_dump()["similar"],
    }


def ask(library: Library, viewer: Viewer, given: Any, stop: threading.Event) -> JsonValue:
    """Return the answer of a model, or sentences of the passages."""
    stores = [given["store"]] if "store" in given else []
    with naming_stores(given, "question", "store"):
        asked = {name: given[name] for name in ("k", "top_k", "min_score") if name in given}
        reply = library.asking.ask(viewer, given["question"], stores, stop=stop, **asked)
    return answers.Reply.of(reply)


def status(library: Library, viewer: Viewer, given: Any, _: threading.Event) -> JsonValue:
    """Return the status of one store, or of all stores."""
    stores = [store_of(library, viewer, given)] if "store" in given else []
    return answers.status(library.stores.status(viewer, stores), viewer)


def get_index_stats(library: Library, viewer: Viewer, given: Any, _: threading.Event) -> JsonValue:
    """Return the counts of a store and the paths of its documents."""
    store = store_of(library, viewer, given)
    files = [document for document in library.documents.all(viewer, store) if document.chunks]
    return {
        "store": store,
        "total_chunks": sum(document.chunks for document in files),
        "unique_files": len(files),
        "files": [document.path for document in files[:LISTED]],
        "has_more": len(files) > LISTED,
    }
