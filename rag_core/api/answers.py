"""Models of all answers of REST, MCP and ``--json``. ``Model.of(value)`` reads the attributes of a library
value; `at` names the attribute where it has another name or lies deeper."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_type_hints

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
from rag_core.api.requests import said
from rag_core.hits import SHOWN
from rag_core.types import FileState, Group, JobState, LinkType, Mode, Phase, Viewer


class Shown(BaseModel):
    """A library value as JSON."""

    model_config = ConfigDict(from_attributes=True, defer_build=True)

    @classmethod
    def of(cls, value: object) -> Self:
        """The model of a value of the library."""
        return cls.model_validate(value)


def _fields(*values: Any) -> dict[str, Any]:
    """The fields of frozen values; a later value overrides an earlier one."""
    return {name: getattr(value, name) for value in values for name in value.__slots__}


def at(*path: str) -> Any:
    """A field whose value is at another ``path`` of attributes."""
    return Field(validation_alias=AliasPath(*path))


# Bounds are only documented in the schema.
Count = Annotated[int, Field(json_schema_extra={"minimum": 0})]
Number = Annotated[int, Field(json_schema_extra={"minimum": 1})]
Share = Annotated[float, Field(json_schema_extra={"minimum": 0, "maximum": 1})]
Score = Annotated[Share, AfterValidator(lambda score: round(score, 4))]
Tenths = Annotated[float, AfterValidator(lambda number: round(number, 1))]
Seconds = Annotated[int | None, BeforeValidator(lambda time: None if time is None else round(time))]
Tags = Annotated[list[str], BeforeValidator(lambda tags: [f"#{tag}" for tag in tags])]
Messages = Annotated[list[str], BeforeValidator(lambda notices: [notice.message for notice in notices])]
Size = Annotated[int, BeforeValidator(len), Field(json_schema_extra={"minimum": 0})]
OnlyOne = Annotated[str | None, BeforeValidator(lambda values: values[0] if len(values) == 1 else None)]
TextOrNull = Annotated[str | None, BeforeValidator(lambda text: text or None)]
State = Literal["indexed"] | FileState
_Pending = Annotated[Count, said("Passages that are found by words only until they are embedded.")]
_OnDisk = Annotated[TextOrNull, said("Null for a guest.")]


class ErrorText(Shown):
    code: Annotated[str, said("The kind of error, for programs, such as `not_found` or `store_busy`.")]
    message: str
    suggestion: str


class Error(Shown):
    error: ErrorText


class Metadata(Shown):
    title: str
    tags: Tags
    indexed_at: Annotated[str, said("Empty for a guest.")]
    file_hash: Annotated[str, said("Empty for a guest.")]
    chunk_index: Count
    heading_path: list[str]
    folder: str
    anchor_type: str
    anchor_ref: str
    split_part: Annotated[Count, said("Which part of a section that is too long; 0 for a whole one.")]
    date: str


class _Hit(Shown):
    rank: Number
    score: Score
    file_path: str = at("path")
    file_type: str
    start_line: Count
    end_line: Count
    content: str
    metadata: Metadata
    store: str
    id: str = at("key")
    relevant: Annotated[bool, said("Whether it is good enough, by the scores of `mode`.")]
    similarity: Annotated[float, AfterValidator(lambda number: round(number, 4))] | None
    bm25: Annotated[float, AfterValidator(lambda number: round(number, 3))] | None
    reasons: list[str]
    highlights: list[tuple[Count, Count]] = at("spans")
    copies: list[str]
    absolute_path: _OnDisk
    state: State

    @model_validator(mode="before")
    @classmethod
    def _with_its_file(cls, hit: types.Hit) -> dict[str, Any]:
        whole = {**_fields(hit.document, hit), "absolute_path": hit.document.absolute_path}
        return {**whole, "metadata": whole}


class Freshness(Shown):
    reading: Annotated[Count, said("Files that a run still reads.")]
    waiting: Annotated[Count, said("Passages that are found by words only until they are embedded.")]
    failed: Annotated[Count, said("Files that could not be read.")]

    @computed_field
    def summary(self) -> str:
        """All of it in one line, such as *up to date*."""
        return wording.freshness(reports.Freshness(self.reading, self.waiting, self.failed))


def _other_fields() -> dict[str, Any]:
    """The fields of a hit and its document that faces show and the models above do not name."""
    named = {*Metadata.model_fields, *_Hit.model_fields}
    for each in _Hit.model_fields.values():
        if isinstance(each.validation_alias, AliasPath):
            named.add(str(each.validation_alias.path[0]))
    kinds = get_type_hints(types.Hit) | get_type_hints(types.Document)
    return {name: kinds[name] for name in SHOWN if name not in named}


if TYPE_CHECKING:
    Hit = _Hit
else:
    Hit = create_model("Hit", __base__=_Hit, **_other_fields())


class Answer(Shown):
    query: str = at("query", "raw")
    store: Annotated[OnlyOne, said("The one store that was searched, else null.")] = at("stores")
    stores: list[str]
    mode: Mode
    convincing: Annotated[bool, said("Whether anything found is good enough.")]
    results: list[Hit] = at("hits")
    total_results: Size = at("hits")
    offset: Count
    has_more: Annotated[bool, said("Whether more follows that is good enough.")]
    unshown: Annotated[Count, said("How many near misses follow at least; `offset` gives them.")]
    query_time_ms: Tenths
    timestamp: Annotated[str, said("When it was asked: ISO 8601, UTC.")]
    pending: _Pending
    freshness: Annotated[Freshness | None, said("How far the stores are behind. Null for a guest.")] = None
    warnings: list[str]
    group: Annotated[Group, said("What a result is, and what all numbers count.")]
    facets: Annotated[dict[str, dict[str, Count]] | None, said("Documents that match, if asked for.")]

    @classmethod
    def with_freshness(cls, answer: types.Answer, now: reports.Freshness | None) -> Self:
        """The model of what a search found, and of how far its stores are behind."""
        return cls.of(answer).model_copy(update={"freshness": Freshness.of(now) if now else None})


class SharedFile(Shown):
    """A file as a guest sees it."""

    file_path: str = at("path")
    file_type: str
    title: str
    tags: Tags
    date: str
    private: bool
    state: State
    reason: str
    chunks: Count
    absolute_path: _OnDisk


class File(SharedFile):
    size: Count
    file_hash: str
    indexed_at: str


class Files(Shown):
    store: str
    files: list[File] | list[SharedFile]


class Passage(Shown):
    """A passage in reading order; its first ``repeats`` characters are the end of the one before."""

    id: str = at("key")
    start_line: Count
    end_line: Count
    heading_path: list[str]
    content: str
    repeats: Count


class Link(Shown):
    """A link; the file is null where it leads to nothing."""

    type: LinkType
    target: str
    heading: str
    label: str
    file_path: str | None = at("path")
    title: str | None


class Similar(Shown):
    """A document near in meaning, with its nearest passage."""

    file_path: str = at("document", "path")
    title: str = at("document", "title")
    file_type: str = at("document", "file_type")
    similarity: Annotated[float, AfterValidator(lambda number: round(number, 4))]
    is_linked: Annotated[bool, said("Whether one of both links to the other.")]
    id: str = at("key")
    content: str
    heading_path: list[str]
    start_line: Count
    end_line: Count


class SimilarDocuments(Shown):
    store: str
    similar: list[Similar]


def similar(store: str, found: Iterable[types.Similar]) -> SimilarDocuments:
    """The documents nearest in meaning, nearest first."""
    return SimilarDocuments.model_construct(store=store, similar=[Similar.of(each) for each in found])


class _Text(Shown):
    store: str
    aliases: list[str]
    properties: Annotated[dict[str, str], BeforeValidator(dict), said("What else the front matter says.")]
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


def files(store: str, found: Iterable[types.Document], viewer: Viewer) -> Files:
    """The files of a store."""
    kind = File if viewer.is_owner else SharedFile
    return Files.model_construct(store=store, files=[kind.of(each) for each in found])


def document(found: types.DocumentView, viewer: Viewer) -> Document | SharedDocument:
    """A document with its text and its links."""
    return (Document if viewer.is_owner else SharedDocument).of(found)


class SharedStore(Shown):
    """A store as a guest sees it: its name and counts."""

    name: str
    file_count: Count
    chunk_count: Count
    pending: Count
    types: dict[str, Count]


def _in_s3(part: int) -> Any:
    """A part of the address ``s3vectors://BUCKET/INDEX``; null for a store that is elsewhere."""
    return BeforeValidator(lambda at: at.split("/")[part] if at.startswith("s3vectors:") else None)


class Store(SharedStore):
    """A store; ``bucket_name`` and ``index_name`` are those of Amazon S3 Vectors."""

    bucket_name: Annotated[str | None, _in_s3(2)] = at("address")
    index_name: Annotated[str | None, _in_s3(3)] = at("address")
    dimension: Count
    distance_metric: str
    created_at: str
    backend: str
    address: str
    attached: bool
    unsent: Count
    refused: Count
    switching: str
    to_switch: Count
    sends_private: bool
    embedder: str
    identity: str
    calibrated: Count
    withheld: Count
    unreadable: Count
    failed: Count
    skipped: Count
    excluded: Count
    size_bytes: Count
    sources: list[types.Source]


class Progress(Shown):
    phase: Phase
    done: Count
    total: Count
    rate: Tenths
    eta_seconds: Seconds = at("eta")
    current: str


class Job(Shown):
    """An indexing run."""

    id: Count
    store: str
    state: JobState
    start_time: str
    end_time: str | None
    duration_ms: Count
    total_files: Count
    succeeded: Count
    failed: Count
    total_chunks_added: Count
    texts_embedded: Count
    counts: dict[str, Count]
    message: str
    progress: Progress
    results: list[types.FileResult]


class Stores(Shown):
    stores: list[Store] | list[SharedStore]
    warnings: list[str]


class Status(Stores):
    """The status of all stores, with the runs and the data folder."""

    running: list[Job]
    data_dir: str


def stores(found: Iterable[types.StoreInfo], warnings: Iterable[str], viewer: Viewer) -> Stores:
    """Every store that ``viewer`` may see, and a warning about each that cannot be read."""
    kind = Store if viewer.is_owner else SharedStore
    return Stores.model_construct(stores=[kind.of(each) for each in found], warnings=list(warnings))


def status(found: reports.Status, viewer: Viewer) -> Stores:
    """The status of all stores; a guest sees neither runs nor folders."""
    return Status.of(found) if viewer.is_owner else stores(found.stores, found.warnings, viewer)


class Reference(Shown):
    """A numbered passage; ``spans`` are the places in ``content`` that were quoted word for word."""

    number: Number
    vault: str
    rel_path: str
    heading_path: str
    chunk_index: Count
    id: str = at("key")
    title: str
    file_type: str
    start_line: Count
    end_line: Count
    anchor_type: str
    anchor_ref: str
    content: str
    private: bool
    spans: list[tuple[Count, Count]]
    cited: bool
    score: Share
    relevant: Annotated[bool, said("True: only what fits is in an answer.")]
    link: Annotated[str, AfterValidator(lambda address: f"/{address}")] = at("address")


class Quote(Shown):
    start: Count
    end: Count
    holds: bool
    reference: Count = at("number")


class Statement(Shown):
    """A sentence of an answer, compared with its passages."""

    lead: str
    text: str
    support: replies.Support
    references: list[Count] = at("numbers")
    quotes: list[Quote]
    removed: Count


class Reply(Shown):
    question: str
    answer: Annotated[str, said("The whole answer, marked where its sources do not hold it.")]
    references: list[Reference]
    found: Annotated[bool, said("Whether any passage fits the question.")]
    retrieved_chunks: Annotated[Count, said("How many passages that fit were given.")]
    message: str
    ending: replies.Ending
    statements: list[Statement]
    stores: list[str]
    model: str
    private: bool
    pending: _Pending
    warnings: Messages = at("notices")
    took_ms: Tenths
    timestamp: Annotated[str, said("When it was asked: ISO 8601, UTC.")]


class Unanswered(Error, Reply):
    """No model answers; the passages that fit are still included."""
