"""Notices that come with an answer: stores searched by words only, values that no document has, corrected
words."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from pathlib import PurePath

from rag_core.errors import RagError, StoreError
from rag_core.messages import Message, MessageValue, say
from rag_core.search.query import FILTER_KEYS
from rag_core.store import Store, facets, find, view
from rag_core.store.properties import key_of
from rag_core.store.sources import all_sources
from rag_core.text import tags
from rag_core.types import Filters, Notice, Query, Viewer

_MOST_COMPARED = 5000
_MOST_NAMED = 8


def words_only(reasons: Mapping[str, RagError]) -> list[Notice]:
    """Return one notice for each reason why stores are searched by words only, with the names of these
    stores. ``reasons`` maps the name of a store to the error that is the reason."""
    stores: dict[str, tuple[RagError, list[str]]] = {}
    for name, error in reasons.items():
        stores.setdefault(str(error), (error, []))[1].append(name)
    return [_about(names, "words_only", reason=e.message, next=e.next_step) for e, names in stores.values()]


def hints(stores: Sequence[Store], query: Query, unmatched: find.Unmatched, viewer: Viewer) -> list[Notice]:
    """Return notices about the parts of ``query`` that match nothing ``viewer`` may see, with suggestions.
    Also return notices about words that were searched instead of misspelled ones."""
    hints = [Notice("corrected", {"word": word, "meant": meant[0]}) for word, meant in query.terms.corrected]
    try:
        for kind, value in unmatched.values:
            if kind.is_day:
                hints.append(_undated(stores, query.filters, viewer))
            elif kind.field == "properties":
                hints.append(_no_such_value(kind, value, stores, viewer))
            else:
                hints.append(_nothing_has(kind, value, stores, viewer))
    except StoreError:  # the results are worth more than a hint
        return []
    if unmatched.together and not unmatched.values:
        hints.append(_about([store.name for store in stores], "no_match"))
    return hints


def _undated(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> Notice:
    """Return a notice that no document is dated between ``after`` and ``before``, with the dates that
    exist."""
    after, before = filters.after, filters.before
    if after and before and after >= before:
        return Notice("reversed_dates")
    known: list[str] = []
    for store in stores:
        with store.read() as db:
            known += view.days(db, viewer) or ()
    bounds = (after and f"{after} or later", before and f"before {before}")
    wanted = " and ".join([bound for bound in bounds if bound])
    dates = say("known_days", first=min(known), last=max(known)) if known else ""
    return _about([store.name for store in stores], "no_such_days", days=wanted, known=dates)


def no_property(name: str, names: Mapping[str, str]) -> Notice:
    """Return a notice that no document has the property ``name``. ``names`` are the existing properties, by
    key."""
    names = {key: each for key, each in names.items() if key not in FILTER_KEYS}  # those mean something else
    hints: list[Message] = []
    if close := difflib.get_close_matches(key_of(name), names, n=1):
        hints.append(say("did_you_mean", value=names[close[0]]))
    if names:
        hints.append(_there_are(names.values()))
    return Notice("unknown_property", {"name": name[:80], "hints": tuple(hints)})


def _no_such_value(kind: find.Filter, asked: str, stores: Sequence[Store], viewer: Viewer) -> Notice:
    """Return a notice that no document has the property and value ``asked`` (``key:value``), with an existing
    value."""
    key, _, value = asked.partition(":")
    names: dict[str, str] = {}
    values: list[str] = []
    for store in stores:
        with store.read() as db:
            names |= facets.property_names(db, viewer)
            values += facets.property_values(db, key, viewer, _MOST_COMPARED)
    if not values:
        return no_property(key, names)
    close = _closest(value, values)
    hint = say("did_you_mean", value=close) if close else _there_are(dict.fromkeys(values))
    called = [store.name for store in stores]
    lacks = f"{kind.lacks} {names[key]!r} with the value"
    return _about(called, "unknown_value", lacks=lacks, value=value[:80], hints=(hint,))


def _there_are(names: Iterable[str]) -> Message:
    named = tuple(islice(names, _MOST_NAMED))
    return say("there_are", values=", ".join(named), each=named)


def _nothing_has(kind: find.Filter, value: str, stores: Sequence[Store], viewer: Viewer) -> Notice:
    """Return a notice that no document fits a filter, with an existing value or another place to look."""
    existing: dict[str, int] = {}
    roots: list[str] = []  # of first folders, whose names are in no path
    skipped = 0
    for store in stores:
        with store.read() as db:
            roots += [source.root for source in all_sources(db) if not source.label]
            if kind.facet:
                existing |= facets.of_all(db, store.name, viewer)[kind.facet]
            elif kind.field == "files":
                existing |= dict.fromkeys(find.file_names(db, viewer, _MOST_COMPARED), 1)
            if kind.field == "types" and viewer.is_owner:
                skipped += find.skipped_count(db, f".{value}")
    hints = _instead(kind, value, existing)
    if skipped:
        hints.append(say("skipped_type", count=skipped))
    if kind.field == "paths" and viewer.is_owner:
        hints += _first_folder(value, roots)
    names = [store.name for store in stores]
    return _about(names, "unknown_value", lacks=kind.lacks, value=value[:80], hints=tuple(hints))


def _instead(kind: find.Filter, value: str, existing: Mapping[str, int]) -> list[Message]:
    """Return suggestions to replace a value that no document has; empty if there are none."""
    if kind.field == "pages":
        return [say("no_pages")]
    if close := _closest(value, existing):
        return [say("did_you_mean", value=close)]
    tops = dict.fromkeys([name.partition("/")[0] for name in existing])
    tops.pop("", None)
    return [_there_are(tops)] if kind.field in ("types", "paths") and tops else []


def _first_folder(value: str, roots: Sequence[str]) -> list[Message]:
    """Return a hint if ``value`` begins with the name of a store's main folder, which paths leave out; else
    nothing."""
    name = value.strip("/").partition("/")[0].casefold()
    for root in roots:
        if PurePath(root).name.casefold() == name:
            return [say("first_folder", root=root)]
    return []


def _about(names: Sequence[str], code: str, **data: MessageValue) -> Notice:
    """Return a notice about the stores ``names``. Its sentence may contain these names."""
    return Notice(code, {"stores": tuple(names), **data}, tuple(names))


def _closest(value: str, known: Iterable[str]) -> str:
    """Return the name in ``known``, or the parent of a name (``a`` of ``a/b``), that is most similar to
    ``value``; '' if none is similar. A similar last part of a name is enough."""
    folded = {above.casefold(): above for name in islice(known, _MOST_COMPARED) for above in tags.above(name)}
    last = {name.rpartition("/")[2]: name for name in reversed(folded)}  # of equal ones the first
    asked = value.strip("/").casefold()
    close = [last[asked]] if asked in last else difflib.get_close_matches(asked, folded, n=1)
    close = close or [name for name in folded if asked and name.startswith(asked)]
    close = close or [last[name] for name in difflib.get_close_matches(asked, last, n=1)]
    close = close or [last[name] for name in last if asked and asked in re.split(r"[\W_]+", name)]
    return folded[close[0]] if close else ""
