"""The table of what can be asked: each with what it may be given, what it answers, and the library's method.

A store that is named in a body or a parameter is a field, and a wrong one is refused as such (400); one that
is part of the address is not there (404). The texts are the same whether it does not exist or is not granted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from rag_core.api.asking import QUESTION
from rag_core.api.fields import FILTERS, STORE, STORES, Given, field, filters_of, naming_stores
from rag_core.api.forms import render
from rag_core.api.schema import Schema, record
from rag_core.library import Library
from rag_core.search.query import MAX_LENGTH
from rag_core.types import MAX_DEPTH, FileState, Mode, Viewer

Act = Callable[[Library, Viewer, Given], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked: ``given`` is its body (POST), or its parameters, of which those in
    ``path`` are part of the address. ``answer`` names a schema of ``answers``; without ``act`` it is
    answered, whole or as events, by ``asking``."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    given: Schema
    answer: str
    act: Act | None
    refusals: tuple[int, ...] = ()


_SEARCH = record(
    {
        "query": {
            "type": "string",
            "maxLength": MAX_LENGTH,
            "description": 'Words, and type:, tag:, path:, file:, after:, before:, store:, "exact", -not.',
        },
        "stores": STORES,
        "mode": {"type": "string", "enum": list(get_args(Mode))},
        "top_k": {"type": "integer", "minimum": 1, "maximum": MAX_DEPTH},
        "min_score": {"type": "number", "minimum": 0, "maximum": 1},
        "max_tokens": {"type": "integer", "minimum": 1, "maximum": 10**9},
        "offset": {"type": "integer", "minimum": 0, "maximum": MAX_DEPTH - 1},
        "filters": FILTERS,
    },
    ("query",),
)


# --- what is done -----------------------------------------------------------------------


def _search(library: Library, viewer: Viewer, given: Given) -> dict[str, Any]:
    options = {name: value for name, value in given.items() if name not in ("query", "filters")}
    filters = filters_of(given.get("filters", {}))
    with naming_stores(given, "query", "stores"):
        return render.answer(library.search(viewer, given["query"], filters=filters, **options))


def _stores(library: Library, viewer: Viewer, _: Given) -> dict[str, Any]:
    return render.stores(*library.store_infos(viewer), viewer)


def _store(library: Library, viewer: Viewer, given: Given) -> dict[str, Any]:
    return render.store_for(library.store_info(viewer, given["store"]), viewer)


def _status(library: Library, viewer: Viewer, _: Given) -> dict[str, Any]:
    return render.status(library.status(viewer), viewer)


def _documents(library: Library, viewer: Viewer, given: Given) -> dict[str, Any]:
    states = given.get("state", ())
    with field("store"):
        store = library.one_store(viewer, given.get("store"))
        found = library.files(viewer, store) if viewer.is_owner else library.documents(viewer, store)
    return render.files(store, (each for each in found if not states or each.state in states), viewer)


def _document(library: Library, viewer: Viewer, given: Given) -> dict[str, Any]:
    return render.document_view(library.document(viewer, given["store"], given["path"]), viewer)


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "search", "POST", "/search", "Find passages by words and by meaning.",
        _SEARCH, "Answer", _search, (502, 503),
    ),
    Operation(
        "ask", "POST", "/ask", "Answer a question from the notes, every quote compared with its passage.",
        QUESTION, "Reply", None, (502, 503),
    ),
    Operation(
        "status", "GET", "/status", "Every store, what is running, and what was not finished.",
        record({}), "Status", _status,
    ),
    Operation(
        "stores", "GET", "/stores", "Every store that you may see.", record({}), "Stores", _stores,
    ),
    Operation(
        "store", "GET", "/stores/{store}", "One store.", record({"store": STORE}), "Store", _store, (404,),
    ),
    Operation(
        "documents", "GET", "/documents",
        "The files of a store; for its owner each compared with the disk.",
        record(
            {
                "store": STORE,
                "state": {
                    "type": "array",
                    "items": {"type": "string", "enum": list(get_args(FileState))},
                    "description": "Only files of these states.",
                },
            },
            (),
        ),
        "Files", _documents,
    ),
    Operation(
        "document", "GET", "/documents/{store}/{path}", "A document: its text in passages, and its links.",
        record({"store": STORE, "path": {"type": "string", "minLength": 1, "maxLength": 4096}}),
        "Document", _document, (404,),
    ),
)  # fmt: skip
