"""Models of all answers of REST, MCP and ``--json``. ``Model.of(value)`` reads the attributes of a library
value. `shows` adds the value's fields to a model, and `at` takes a field from another path."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import fields
from typing import Annotated, Any, Literal, Self, TypeVar, get_type_hints

from pydantic import (
    AfterValidator,
    AliasPath,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    computed_field,
    create_model,
    model_validator,
)

from rag_core import replies, reports, types, wording
from rag_core.api.requests import described
from rag_core.types import FileState, Group, Viewer


class Shown(BaseModel):
    """A library value as JSON."""

    model_config = ConfigDict(from_attributes=True, defer_build=True)

    @classmethod
    def of(cls, value: object) -> Self:
        """Convert a value of the library to this model."""
        return cls.model_validate(value)


def _fields(*values: Any) -> dict[str, Any]:
    """Return the fields of frozen dataclass values as a dict. Later values override earlier ones."""
    return {name: getattr(value, name) for value in values for name in value.__slots__}


def at(*path: str) -> Any:
    """Return a model field that takes its value from another ``path`` of attributes: ``at("document",
    "title")`` is ``value.document.title``."""
    return Field(validation_alias=AliasPath(*path))


_M = TypeVar("_M", bound=Shown)


def shows(*values: type, without: str = "") -> Callable[[type[_M]], type[_M]]:
    """Return a class decorator that adds the fields of the dataclasses ``values`` to a model. Left out are
    fields that the model already has, internal fields, and those named in ``without``, separated by
    spaces."""

    def complete(model: type[_M]) -> type[_M]:
        named = {*without.split(), *model.model_fields}
        for model_field in model.model_fields.values():
            if isinstance(model_field.validation_alias, AliasPath):
                named.add(str(model_field.validation_alias.path[0]))
        more: dict[str, Any] = {
            value_field.name: get_type_hints(value)[value_field.name]
            for value in values
            for value_field in fields(value)
            if value_field.name not in named and "inner" not in value_field.metadata
        }
        return create_model(model.__name__, __base__=model, __doc__=model.__doc__, **more)

    return complete


Rounded = Annotated[float, AfterValidator(lambda number: round(number, 4))]
Tenths = Annotated[float, AfterValidator(lambda number: round(number, 1))]
Seconds = Annotated[int | None, BeforeValidator(lambda time: None if time is None else round(time))]
Tags = Annotated[list[str], BeforeValidator(lambda tags: [f"#{tag}" for tag in tags])]
Messages = Annotated[list[str], BeforeValidator(lambda notices: [notice.message for notice in notices])]
Size = Annotated[int, BeforeValidator(len)]
OnlyOne = Annotated[str | None, BeforeValidator(lambda values: values[0] if len(values) == 1 else None)]
TextOrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]
DocumentState = Literal["indexed"] | FileState
_Pending = Annotated[int, described("Number of passages not embedded yet, which are found by words only.")]
_OnDisk = Annotated[TextOrNull, described("Null for a guest.")]
_Anchor = Annotated[str | None, described("The place, such as `page 3`. Null if line numbers say it.")]


class ErrorText(Shown):
    code: Annotated[str, described("The kind of error, for programs, such as `not_found` or `store_busy`.")]
    message: str
    suggestion: str


class Error(Shown):
    error: ErrorText


class Metadata(Shown):
    title: str
    tags: Tags
    indexed_at: Annotated[str, described("Empty for a guest.")]
    file_hash: Annotated[str, described("Empty for a guest.")]
    chunk_index: int
    heading_path: list[str]
    folder: str
    anchor_type: str
    anchor_ref: str
    split_part: Annotated[int, described("Number of this part of a long section; 0 for a whole section.")]
    date: str


@shows(types.Hit, types.Document, without=" ".join(Metadata.model_fields))
class Hit(Shown):
    rank: int
    score: Rounded
    file_path: str = at("path")
    metadata: Metadata
    id: str = at("key")
    relevant: Annotated[bool, described("Whether it fits the query, by its score in this `mode`.")]
    similarity: Rounded | None
    bm25: Annotated[float, AfterValidator(lambda number: round(number, 3))] | None
    highlights: list[tuple[int, int]] = at("spans")
    anchor: _Anchor
    absolute_path: _OnDisk
    state: DocumentState

    @model_validator(mode="before")
    @classmethod
    def _with_its_file(cls, hit: types.Hit) -> dict[str, Any]:
        own = {"absolute_path": hit.document.absolute_path, "anchor": hit.anchor}
        whole = {**_fields(hit.document, hit), **own}
        return {**whole, "metadata": whole}


class Freshness(Shown):
    looking: Annotated[bool, described("Whether a run is still looking for changed files.")]
    reading: Annotated[int, described("Number of files that a run still has to read.")]
    waiting: Annotated[int, described("Number of passages not embedded yet, which are found by words only.")]
    failed: Annotated[int, described("Number of files that could not be read.")]
    eta_seconds: Annotated[Seconds, described("Seconds until a run has finished its present phase.")] = at(
        "eta"
    )
    pictures: Annotated[int, described("Number of pictures and scanned pages still to read.")]

    @computed_field
    def summary(self) -> str:
        """The freshness in one line, such as *up to date*."""
        eta, pictures = self.eta_seconds, self.pictures
        state = types.Freshness(self.looking, self.reading, self.waiting, self.failed, eta, pictures)
        return wording.freshness(state)


_Freshness = Annotated[
    Freshness | None, described("How far the stores are behind their folders. Null for a guest.")
]


@shows(types.Answer, without="notices fitting fits_more by_words")
class Answer(Shown):
    query: str = at("query", "raw")
    store: Annotated[OnlyOne, described("The store, if only one was searched; else null.")] = at("stores")
    stores: list[str]
    convincing: Annotated[bool, described("Whether any result fits the query.")]
    results: list[Hit] = at("hits")
    total_results: Size = at("hits")
    has_more: Annotated[bool, described("Whether more results that fit the query follow.")]
    unshown: Annotated[int, described("Near misses that follow, at least; `offset` returns them.")]
    query_time_ms: Tenths
    timestamp: Annotated[str, described("When it was asked: ISO 8601, UTC.")]
    pending: _Pending
    freshness: _Freshness = None
    warnings: list[str]
    reordered: Annotated[
        bool, described("Whether a reranker chose the order: scores may rise down the list.")
    ]
    score_counts: Annotated[
        list[int],
        described("Results with a score of at least 0.0, 0.1 … 1.0, whatever `min_score` is."),
    ]
    group: Annotated[
        Group, described("What results are: `document`, or `none` for passages. Numbers count these.")
    ]
    facets: Annotated[dict[str, dict[str, int]] | None, described("Documents that match, if requested.")]
    properties: Annotated[
        dict[str, dict[str, int]] | None,
        described("The commonest front matter properties of these documents, if facets were requested."),
    ]

    @classmethod
    def with_freshness(cls, answer: types.Answer, now: types.Freshness | None) -> Self:
        """Return the model of a search's result, including the freshness of its stores."""
        return cls.of(answer).model_copy(update={"freshness": Freshness.of(now) if now else None})


class SharedFile(Shown):
    """A file as a guest sees it."""

    file_path: str = at("path")
    file_type: str
    title: str
    tags: Tags
    date: str
    private: bool
    state: DocumentState
    reason: str
    chunks: int
    part_count: Annotated[int, described("Number of documents in the file, such as messages; mostly 0.")]
    absolute_path: _OnDisk


class File(SharedFile):
    size: int
    file_hash: str
    indexed_at: str


class Files(Shown):
    store: str
    files: list[File] | list[SharedFile]


class Passage(Shown):
    """A passage in reading order. Its first ``repeats`` characters repeat the end of the passage before."""

    id: str = at("key")
    start_line: int
    end_line: int
    heading_path: list[str]
    anchor: _Anchor
    content: str
    repeats: int


@shows(types.DocumentLink)
class Link(Shown):
    """A link. The file is null if the target does not exist."""

    file_path: str | None = at("path")


@shows(types.Similar)
class Similar(Shown):
    """A document of similar meaning, with its nearest passage."""

    file_path: str = at("document", "path")
    title: str = at("document", "title")
    file_type: str = at("document", "file_type")
    similarity: Rounded
    relevant: Annotated[bool, described("Whether it is more similar than unrelated texts.")]
    is_linked: Annotated[bool, described("Whether one of the two documents links to the other.")]
    id: str = at("key")


class SimilarDocuments(Shown):
    store: str
    similar: list[Similar]


def similar(store: str, documents: Iterable[types.Similar]) -> SimilarDocuments:
    """Return the model of the documents most similar in meaning, in order."""
    return SimilarDocuments.model_construct(
        store=store, similar=[Similar.of(document) for document in documents]
    )


@shows(types.FilePart)
class Part(Shown):
    """A document in a file with many documents, such as a message of a mailbox."""

    file_path: Annotated[str, described("The path of the file, then # and the name of the part.")] = at(
        "address"
    )
    title: str
    date: str


class _Text(Shown):
    store: str
    part: Annotated[str, described("The name of this part, if the file contains many documents.")]
    parts: Annotated[list[Part], described("The newest documents in the file, if it contains many.")]
    newer: Part | None
    older: Part | None
    aliases: list[str]
    properties: Annotated[
        dict[str, str], BeforeValidator(dict), described("Other properties of the front matter.")
    ]
    warnings: list[str]
    passages: list[Passage]
    links_out: list[Link]
    links_in: list[Link]

    @model_validator(mode="before")
    @classmethod
    def _with_its_file(cls, view: types.DocumentView) -> dict[str, Any]:
        path = view.document.absolute_path
        return {**_fields(view, view.document), "absolute_path": path, "passages": view.chunks}


class SharedDocument(_Text, SharedFile):
    """A document as a guest sees it."""


class Document(_Text, File):
    """A document with its text and its links."""


def files(store: str, documents: Iterable[types.Document], viewer: Viewer) -> Files:
    """Return the model of the files of a store. Guests get fewer fields."""
    kind = File if viewer.is_owner else SharedFile
    return Files.model_construct(store=store, files=[kind.of(document) for document in documents])


def document(view: types.DocumentView, viewer: Viewer) -> Document | SharedDocument:
    """Return the model of a document with its text and links. Guests get fewer fields."""
    return (Document if viewer.is_owner else SharedDocument).of(view)


class SharedStore(Shown):
    """A store as a guest sees it: its name and counts."""

    name: str
    file_count: int
    chunk_count: int
    pending: int
    types: dict[str, int]


def _in_s3(part: int) -> Any:
    """Return a validator that extracts one part of an address ``s3vectors://BUCKET/INDEX``: 2 is BUCKET, 3 is
    INDEX. Other addresses become null."""
    return BeforeValidator(lambda at: at.split("/")[part] if at.startswith("s3vectors:") else None)


@shows(types.StoreInfo, without="generation notices")
class Store(SharedStore):
    """A store. ``bucket_name`` and ``index_name`` are set only for Amazon S3 Vectors."""

    bucket_name: Annotated[str | None, _in_s3(2)] = at("address")
    index_name: Annotated[str | None, _in_s3(3)] = at("address")
    address: str


@shows(types.Progress)
class Progress(Shown):
    rate: Tenths
    eta_seconds: Seconds = at("eta")


@shows(types.Job)
class Job(Shown):
    """An indexing run."""

    progress: Progress


class Stores(Shown):
    stores: list[Store] | list[SharedStore]
    warnings: list[str]


class Status(Stores):
    """The status of all stores, with the running jobs and the data folder."""

    running: list[Job]
    data_dir: str


def stores(infos: Iterable[types.StoreInfo], warnings: Iterable[str], viewer: Viewer) -> Stores:
    """Return the model of the stores ``infos``, with a warning for each store that cannot be read. Guests get
    fewer fields."""
    kind = Store if viewer.is_owner else SharedStore
    return Stores.model_construct(stores=[kind.of(info) for info in infos], warnings=list(warnings))


def status(known: reports.Status, viewer: Viewer) -> Stores:
    """Return the model of the status of all stores. Guests get neither jobs nor folders."""
    return Status.of(known) if viewer.is_owner else stores(known.stores, known.warnings, viewer)


@shows(replies.Reference)
class Reference(Shown):
    """A numbered passage. ``spans`` are the parts of ``content`` that are quoted word for word."""

    id: str = at("key")
    anchor: _Anchor
    relevant: Annotated[bool, described("Always true: an answer uses only passages that fit.")]
    link: Annotated[str, AfterValidator(lambda address: f"/{address}")] = at("address")


@shows(replies.Quote)
class Quote(Shown):
    reference: int = at("number")


@shows(replies.Statement)
class Statement(Shown):
    """A sentence of an answer, checked against its passages."""

    references: list[int] = at("numbers")
    quotes: list[Quote]


@shows(replies.Reply)
class Reply(Shown):
    question: str
    answer: Annotated[str, described("The whole answer. Parts that its sources do not support are marked.")]
    answer_kind: Annotated[
        Literal["model", "quotes", "none"],
        described(
            "`model`: a model wrote the answer. `quotes`: it is sentences of the passages, word for word."
        ),
    ]
    references: list[Reference]
    found: Annotated[bool, described("Whether any passage fits the question.")]
    retrieved_chunks: Annotated[int, described("Number of passages that fit and were given to the model.")]
    statements: list[Statement]
    pending: _Pending
    freshness: _Freshness
    warnings: Messages = at("notices")
    took_ms: Tenths
    timestamp: Annotated[str, described("When it was asked: ISO 8601, UTC.")]


class Unanswered(Error, Reply):
    """No model answers. The passages that fit are included."""
