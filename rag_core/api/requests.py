"""The requests of REST and MCP: typed dictionaries, published as JSON Schema. Validation is strict: unknown
fields and numbers in quotes are refused. Errors name the field."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Final, Required, cast

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    with_config,
)
from typing_extensions import TypedDict

from rag_core import types
from rag_core.errors import EmptyQuery, InvalidInput, NotFound
from rag_core.library.pictures import LARGEST_SIDE, SIDE
from rag_core.replies import MAX_K
from rag_core.search.query import MAX_BYTES, MAX_LENGTH, MAX_OPERATORS, NAMES_OF_FILTERS, filters_from, parse
from rag_core.store.find import FILTERS
from rag_core.types import MAX_DEPTH, FileState, Group, Mode, Sort

Schema = dict[str, Any]

strict = with_config(ConfigDict(extra="forbid", strict=True))
"""Decorator for a typed dictionary: other fields are refused, and types are not converted."""


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _number(value: Any) -> Any:
    return int(value) if isinstance(value, str) and re.fullmatch("[0-9]{1,9}", value) else value


def described(description: str) -> Any:
    """Return a field with this description in the schema."""
    return Field(description=description)


def typed_dict(name: str, fields: Mapping[str, Any], required: Sequence[str] = ()) -> Any:
    """Create a strict typed dictionary class of ``fields``. All are optional except those in ``required``."""
    make, needed = cast("Any", TypedDict), cast("Any", Required)
    kinds = {field: needed[kind] if field in required else kind for field, kind in fields.items()}
    return strict(make(name, kinds, total=False))


WHOLE: Final = BeforeValidator(
    lambda value: int(value) if isinstance(value, float) and value.is_integer() else value
)
"""Accepts 2.0 as the whole number 2, as JSON Schema does."""
StoreParam = Annotated[str, Field(min_length=1, max_length=63)]
StoreParams = Annotated[list[StoreParam], Field(max_length=MAX_OPERATORS)]
TopK = Annotated[int, Field(ge=1, le=MAX_DEPTH), WHOLE]
MinScore = Annotated[float, Field(ge=0, le=1), described("Leave out lower scores.")]
Tokens = Annotated[int, Field(ge=1, le=10**9), WHOLE]
K = Annotated[int, Field(ge=0, le=MAX_K), WHOLE]
QueryText = Annotated[str, Field(min_length=1, max_length=MAX_BYTES)]
Path = Annotated[str, Field(min_length=1, max_length=4096)]

_VALUE: Schema = {"type": "string", "maxLength": MAX_LENGTH}
_Value = Annotated[str, Field(max_length=MAX_LENGTH)]
_Texts = Annotated[list[_Value], Field(max_length=MAX_OPERATORS)]
_Values = Annotated[
    _Texts,
    BeforeValidator(_listed),
    WithJsonSchema({**_VALUE, "type": ["string", "array"], "items": _VALUE, "maxItems": MAX_OPERATORS}),
]
FILTER_SYNTAX: Final = ", ".join(f"{name}:" for name in NAMES_OF_FILTERS)
_SYNTAX = f'Words, and {FILTER_SYNTAX}, store:, "exact", -not.'
GROUP: Final = "The kind of result: a `document` with its best passage, or each passage alone (`none`)."
FACETS: Final = "Whether to count what matches by type, tag, folder, store and year."
SORT: Final = "The order of passages that fit; near misses follow."
_HOW_MANY: Final = "Number of passages to answer from; 0 means the setting `top_k`, or 5."
_ALL_STORES = "Without any, all stores that you may see."

if TYPE_CHECKING:
    Filters = dict[str, Any]
else:
    _Day = Annotated[_Value, described("Like 2026-01-31.")]
    Filters = typed_dict(
        "Filters", {key: _Day if each.is_day else _Values for each in FILTERS for key in each.keys}
    )
    Filters.__doc__ = "As in a query. Values of one key are joined by or, keys by and."


@strict
class Search(TypedDict, total=False):
    query: Required[Annotated[str, Field(max_length=MAX_BYTES), described(_SYNTAX)]]
    stores: Annotated[StoreParams, described(_ALL_STORES)]
    mode: Mode
    top_k: TopK
    min_score: MinScore
    max_tokens: Tokens
    offset: Annotated[int, Field(ge=0, le=MAX_DEPTH - 1), WHOLE]
    filters: Filters
    group: Annotated[Group, described(GROUP)]
    facets: Annotated[bool, described(FACETS)]
    sort: Annotated[Sort, described(SORT)]


@strict
class Turn(TypedDict):
    question: QueryText
    answer: Annotated[str, Field(max_length=100_000)]
    private: Annotated[bool, described("The value of `private` in the reply.")]


@strict
class Question(TypedDict, total=False):
    question: Required[QueryText]
    vaults: Annotated[StoreParams, described(f"The stores to ask. {_ALL_STORES}")]
    stores: Annotated[StoreParams, described("Another name for `vaults`, as in a search.")]
    folders: Annotated[_Texts, described('Only documents below these; "" means the top folder.')]
    k: Annotated[K, described(_HOW_MANY)]
    top_k: Annotated[K, described("Another name for `k`, as in a search.")]
    min_score: MinScore
    filters: Filters
    history: Annotated[
        list[Turn], Field(max_length=100), described("The conversation so far, oldest question first.")
    ]


Nothing = typed_dict("Nothing", {})
OneStore = typed_dict("OneStore", {"store": StoreParam}, ["store"])
OneDocument = typed_dict("OneDocument", {"store": StoreParam, "path": Path}, ["store", "path"])


_Side = Annotated[int, Field(ge=16, le=LARGEST_SIDE), BeforeValidator(_number)]


@strict
class PictureRequest(TypedDict, total=False):
    store: Required[StoreParam]
    path: Required[Path]
    place: Annotated[str, Field(max_length=200), described("The anchor of a hit, such as `page 3`.")]
    side: Annotated[_Side, described(f"Pixels of the longer side; {SIDE} by default.")]


@strict
class FilesOfStore(TypedDict, total=False):
    store: StoreParam
    state: Annotated[list[FileState], Field(max_length=100), described("Only files in these states.")]


@strict
class SimilarTo(TypedDict, total=False):
    store: StoreParam
    path: Annotated[Path, described("A document, as `file_path` in a result.")]
    key: Annotated[_Value, described("The `id` of a passage, to compare with it alone.")]
    text: Annotated[_Value, described("A text to compare with, such as a selection.")]
    limit: Annotated[int, Field(ge=1, le=100), WHOLE]


_ALSO_CALLED: Final = (
    frozenset({"store", "stores", "vault", "vaults"}),
    frozenset({"question", "query", "text"}),
    frozenset({"k", "top_k", "n_results"}),
)
"""Field names that mean the same."""
_SHOWN: Final = 40  # characters of a wrong value that an error repeats


class RequestKind:
    """A kind of request. ``schema`` is its JSON schema, and `read` validates a value."""

    def __init__(self, fields: Any) -> None:
        self._fields = fields

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        return TypeAdapter(self._fields)

    @cached_property
    def schema(self) -> Schema:
        """The JSON schema, without references."""
        schema = self._adapter.json_schema()
        return {"required": [], **without_titles(schema, schema.pop("$defs", {}))}

    def read(self, value: Any) -> Any:
        """Validate ``value`` and return it. Raises InvalidInput with the field's name."""
        try:
            return self._adapter.validate_python(value)
        except ValidationError as error:
            raise self._refusal(error) from None

    def _refusal(self, error: ValidationError) -> InvalidInput:
        errors = error.errors(include_url=False, include_context=False)
        wrong = max(errors, key=lambda each: each["type"] == "extra_forbidden")
        steps = [f"[{step}]" if isinstance(step, int) else f".{step[:_SHOWN]}" for step in wrong["loc"]]
        place = "".join(steps).removeprefix(".") or "The request"
        if wrong["type"] == "extra_forbidden":
            return InvalidInput(f"{place}: There is no such field.", self._advice(wrong["loc"]))
        if wrong["type"] == "missing":
            return InvalidInput(f"{place}: It is missing.", "Send it, too.")
        sent = json.dumps(wrong["input"], ensure_ascii=False)
        sent = sent if len(sent) <= _SHOWN else f"{sent[: _SHOWN - 1]}…"
        advice = f"{wrong['msg']}."  # a sentence of pydantic
        return InvalidInput(f"{place}: {sent} cannot be used.", advice)

    def _advice(self, location: Sequence[int | str]) -> str:
        schema = self.schema
        for step in location[:-1]:
            schema = schema["items"] if isinstance(step, int) else schema["properties"][step]
        known, name = schema["properties"], str(location[-1])[:_SHOWN]
        also = [
            field_name for field_name in known if any({field_name, name} <= group for group in _ALSO_CALLED)
        ]
        if close := also or difflib.get_close_matches(name, known, n=1):
            return f"Did you mean {close[0]}?"
        return f"There are: {', '.join(known)}." if known else "Leave it out."


def without_titles(schema: Any, parts: Mapping[str, Any] | None = None) -> Any:
    """Return a schema without generated titles. References are replaced by the schemas in ``parts``."""
    if isinstance(schema, list):
        return [without_titles(part, parts) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if parts and "$ref" in schema:
        schema = {**parts[schema["$ref"].rpartition("/")[2]], **schema}
        del schema["$ref"]
    named = {name: part for name, part in schema.items() if name != "title" or isinstance(part, dict)}
    return {name: without_titles(part, parts) for name, part in named.items()}


@contextmanager
def field(name: str) -> Iterator[None]:
    """Context manager: put the field's name before the text of an error. InvalidInput and NotFound become
    InvalidInput."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        raise InvalidInput(f"{name}: {error.message}", error.suggestion) from None


def filters_of(given: Mapping[str, Any]) -> types.Filters:
    """Return the `Filters` in a request. Raises InvalidInput for an impossible value; the error names the
    field."""
    with field("filters"):
        return filters_from((key, value) for key, values in given.items() for value in _listed(values))


@contextmanager
def naming_stores(given: Mapping[str, Any], text: str, stores: str) -> Iterator[None]:
    """Context manager: the error for an unknown store names the field of the request. That is ``text`` if the
    query names stores, else ``stores``.

    Raises InvalidInput, also for an empty or malformed query.
    """
    with field(text):
        in_text = parse(given[text]).stores
    try:
        yield
    except (EmptyQuery, NotFound) as error:
        in_stores = isinstance(error, NotFound) and given.get(stores) and not in_text
        raise InvalidInput(f"{stores if in_stores else text}: {error.message}", error.suggestion) from None
