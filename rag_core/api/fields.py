"""The fields that several requests share, and naming the one that is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rag_core.api.schema import Schema, record
from rag_core.errors import EmptyQuery, InvalidInput, NotFound
from rag_core.search.query import FILTER_KEYS, MAX_LENGTH, MAX_OPERATORS, filters_from, parse
from rag_core.types import Filters

Given = dict[str, Any]
"""A request that was checked."""

STORE: Schema = {"type": "string", "minLength": 1, "maxLength": 63}
STORES: Schema = {
    "type": "array",
    "items": STORE,
    "maxItems": MAX_OPERATORS,
    "description": "Without any, all that you may see.",
}
_VALUE: Schema = {"type": "string", "maxLength": MAX_LENGTH}
_VALUES: Schema = {
    "type": ["string", "array"],
    "maxLength": MAX_LENGTH,
    "items": _VALUE,
    "maxItems": MAX_OPERATORS,
}
FILTERS: Schema = {
    **record({key: _VALUE if key in ("after", "before") else _VALUES for key in FILTER_KEYS}, ()),
    "description": "As in a query; the values of one key are alternatives, keys are joined by and.",
}


@contextmanager
def field(name: str) -> Iterator[None]:
    """What is wrong inside is wrong with this field."""
    try:
        yield
    except (InvalidInput, NotFound) as error:
        raise InvalidInput(f"{name}: {error.message}", error.suggestion) from None


def filters_of(given: Mapping[str, str | Sequence[str]]) -> Filters:
    """The filters in a body. Raises InvalidInput."""
    pairs = ((key, [value] if isinstance(value, str) else value) for key, value in given.items())
    with field("filters"):
        return filters_from((key, each) for key, values in pairs for each in values)


@contextmanager
def asked_in(text: str) -> Iterator[None]:
    """Where nothing is asked, that is wrong with the field ``text``."""
    try:
        yield
    except EmptyQuery as error:
        raise InvalidInput(f"{text}: {error.message}", error.suggestion) from None


@contextmanager
def naming_stores(given: Given, text: str, stores: str) -> Iterator[None]:
    """A store that is not there is wrong in the field ``text``, where that names one, or else in ``stores``.

    Raises InvalidInput, also for a text that is no query or asks nothing.
    """
    with field(text):
        in_text = parse(given[text]).stores
    try:
        with asked_in(text):
            yield
    except NotFound as error:
        at = text if in_text or not given.get(stores) else stores
        raise InvalidInput(f"{at}: {error.message}", error.suggestion) from None
