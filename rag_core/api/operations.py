"""The table of REST operations: the request, the answer and the library's method of each. An unknown store is
400 in a body or a parameter and 404 in the address, whether the store does not exist or is not granted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rag_core import types
from rag_core.api import answers, requests
from rag_core.api.requests import RequestKind, field, filters_of, naming_stores
from rag_core.library import Library
from rag_core.types import Viewer

Operate = Callable[[Library, Viewer, Any], answers.Shown]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the REST interface."""

    name: str
    method: Literal["GET", "POST"]
    path: str
    summary: str
    given: RequestKind  #: Validates the body (POST), or the parameters, some of which are in ``path``.
    answer: Any  #: A model of `answers`, a union of models, or ``bytes`` for a picture.
    act: Operate | None  #: None for a picture, and for a question, which `asking` answers.
    refusals: tuple[int, ...] = ()  #: The HTTP statuses of its errors that not every operation has.


def _search(library: Library, viewer: Viewer, given: requests.Search) -> answers.Answer:
    options: dict[str, Any] = {name: value for name, value in given.items() if name != "query"}
    options["filters"] = filters_of(given.get("filters", {}))
    with naming_stores(given, "query", "stores"):
        return what_was_found(library, viewer, library.searching.search(viewer, given["query"], **options))


def what_was_found(library: Library, viewer: Viewer, answer: types.Answer) -> answers.Answer:
    """Return the model of a search's result. The owner also gets the freshness of the stores."""
    now = library.jobs.freshness(viewer, answer.stores) if viewer.is_owner else None
    return answers.Answer.with_freshness(answer, now)


def _documents(library: Library, viewer: Viewer, given: requests.FilesOfStore) -> answers.Files:
    states = given.get("state")
    with field("store"):
        store = library.stores.resolve(viewer, given.get("store"))
        documents = (
            library.files.all(viewer, store) if viewer.is_owner else library.documents.all(viewer, store)
        )
    return answers.files(
        store, (document for document in documents if not states or document.state in states), viewer
    )


def _similar(library: Library, viewer: Viewer, given: requests.SimilarTo) -> answers.SimilarDocuments:
    options: dict[str, Any] = {name: value for name, value in given.items() if name != "store"}
    with field("store"):
        store = library.stores.resolve(viewer, given.get("store"))
    return answers.similar(store, library.searching.similar(viewer, store, **options))


_NOTHING = RequestKind(requests.Nothing)

OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "search", "POST", "/search", "Find passages by words and by meaning.",
        RequestKind(requests.Search), answers.Answer, _search, (502, 503),
    ),
    Operation(
        "ask", "POST", "/ask", "Answer a question from the notes, every quote compared with its passage.",
        RequestKind(requests.Question), answers.Reply, None, (502, 503),
    ),
    Operation(
        "status", "GET", "/status", "Every store, running jobs, and unfinished work.",
        _NOTHING, answers.Status | answers.Stores,
        lambda library, viewer, _: answers.status(library.stores.status(viewer), viewer),
    ),
    Operation(
        "stores", "GET", "/stores", "Every store that you may see.", _NOTHING, answers.Stores,
        lambda library, viewer, _: answers.stores(*library.stores.infos(viewer), viewer),
    ),
    Operation(
        "store", "GET", "/stores/{store}", "One store.",
        RequestKind(requests.OneStore), answers.Store | answers.SharedStore,
        lambda library, viewer, given: (answers.Store if viewer.is_owner else answers.SharedStore).of(
            library.stores.info(viewer, given["store"])
        ),
        (404,),
    ),
    Operation(
        "documents", "GET", "/documents",
        "The files of a store. The owner also sees whether a file has changed since it was indexed.",
        RequestKind(requests.FilesOfStore), answers.Files, _documents,
    ),
    Operation(
        "document", "GET", "/documents/{store}/{path}", "A document: its text in passages, and its links.",
        RequestKind(requests.OneDocument), answers.Document | answers.SharedDocument,
        lambda library, viewer, given: answers.document(library.documents.get(viewer, **given), viewer),
        (404,),
    ),
    Operation(
        "picture", "GET", "/pictures/{store}/{path}", "A place in a document as a small picture.",
        RequestKind(requests.PictureRequest), bytes, None, (404,),
    ),
    Operation(
        "similar", "POST", "/similar",
        "The documents nearest in meaning to a document, one of its passages or a text.",
        RequestKind(requests.SimilarTo), answers.SimilarDocuments, _similar, (404, 502, 503),
    ),
)  # fmt: skip
