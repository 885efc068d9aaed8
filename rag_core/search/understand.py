"""The first stage of a search: interpreting a query for these stores and this viewer.

The stores tell which keys are properties, which filters match nothing, and which words no passage has.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from contextlib import suppress
from dataclasses import dataclass

from rag_core.errors import StoreError
from rag_core.search import notices
from rag_core.search.query import MAX_LENGTH, asked, other_keys
from rag_core.store import Store, facets, find, lexical, spelling, word_forms
from rag_core.text.words import with_corrections, with_units, with_words
from rag_core.types import Filters, Mode, Notice, Query, Viewer


@dataclass(frozen=True, slots=True)
class Interpreted:
    """A query after `understand`, ready to search."""

    query: Query  #: The query with the words to search.
    allowed: find.Eligible  #: The documents that may be found, for one viewer.
    unmatched: find.Unmatched  #: The filters that no document matches.
    notices: tuple[Notice, ...] = ()  #: Remarks on parts of the query that are not searched as typed.


def understand(
    query: Query,
    filters: Filters | None,
    stores: Sequence[Store],
    viewer: Viewer,
    mode: Mode,
    known: Set[str] = frozenset(),
) -> Interpreted:
    """Interpret a query that `asked` parsed, and its ``filters``, for these stores.

    A key that names a property of a document becomes a filter. Words that no passage has are replaced by
    similar words, except ``known`` words, which are not typing errors.

    Of a pasted text only the rarest words are searched. Stores that cannot be read are left out.
    """
    remarks = [Notice.of(remark) for remark in query.remarks]
    if keys := other_keys(query.raw):
        names = _property_names(stores, viewer)
        query = asked(query.raw, filters, names)
        remarks += [notices.no_property(keys[key], names) for key in keys if names and key not in names]
    allowed = find.eligible(query, viewer)
    unmatched = find.unmatched(stores, query, viewer) if allowed.narrows else find.Unmatched()
    if len(query.raw) > MAX_LENGTH:
        remarks.append(Notice("long_query", {"length": len(query.raw)}))
        query = with_words(query, lexical.rarest(stores, dict(query.terms.typed), viewer))
    elif mode != "vector":
        query = _spelled(query, stores, viewer, known)
    return Interpreted(query, allowed, unmatched, tuple(remarks))


def _spelled(query: Query, stores: Sequence[Store], viewer: Viewer, known: Set[str]) -> Query:
    """Return ``query`` with other spellings of its words, and with corrections of words that no passage has
    and that are not ``known``."""
    spellings = word_forms.other_forms(stores, query, viewer)
    for word, others in spelling.together_or_apart(stores, query, viewer).items():
        spellings[word] = (*spellings.get(word, (word,)), *others[1:])
    loose = [word for word in query.terms.loose if word.isalpha() and word not in spellings]
    if corrections := spelling.corrections(stores, loose, viewer, known):
        query = with_corrections(query, corrections)
    return with_units(query, {word: "|".join(others) for word, others in spellings.items()})


def _property_names(stores: Sequence[Store], viewer: Viewer) -> dict[str, str]:
    """Return the property names in the documents that ``viewer`` may see, by their `key_of`."""
    names: dict[str, str] = {}
    for store in stores:
        with suppress(StoreError), store.read() as db:
            names = facets.property_names(db, viewer) | names
    return names
