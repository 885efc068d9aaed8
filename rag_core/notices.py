"""What is said beside an answer: which stores were searched by words only, which values nothing has."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, islice

from rag_core.errors import RagError
from rag_core.store import Store, find
from rag_core.types import Filters, Notice, Viewer

_MOST_COMPARED = 5000
_MOST_NAMED = 8


def failures(errors: Mapping[str, RagError]) -> list[Notice]:
    """One notice for each store (by name) that could not be searched, or not as it should."""
    return [Notice(str(error), (name,), error.for_page()) for name, error in errors.items()]


def words_only(reasons: Mapping[str, RagError]) -> list[Notice]:
    """One notice a reason, given why each store (by name) is searched by words only."""
    stores: dict[tuple[str, str], list[str]] = {}
    for name, error in reasons.items():
        stores.setdefault((str(error), error.for_page()), []).append(name)
    return [_words_only(names, *reason) for reason, names in stores.items()]


def _words_only(names: Sequence[str], reason: str, on_page: str) -> Notice:
    said = f"{_named(names)} {_is(names)} searched by words only."
    return Notice(f"{said} {reason}", tuple(names), f"{said} {on_page}")


def unknown_values(stores: Sequence[Store], filters: Filters, viewer: Viewer) -> list[Notice]:
    """One notice for each type and tag in ``filters`` that nothing ``viewer`` may see in ``stores`` has."""
    if not (filters.types or filters.tags):
        return []
    lacking: list[list[tuple[str, str]]] = []
    for store in stores:
        with store.read() as db:
            lacking.append(find.unknown(db, filters, viewer))
    everywhere = [pair for pair in lacking[0] if all(pair in others for others in lacking)]
    return [_nothing_has(facet, value, stores, viewer) for facet, value in dict.fromkeys(everywhere)]


def _nothing_has(facet: str, value: str, stores: Sequence[Store], viewer: Viewer) -> Notice:
    known: dict[str, int] = {}
    for store in stores:
        with store.read() as db:
            known |= find.facets(db, viewer)[facet]
    names = tuple(store.name for store in stores)
    what = "is of the type" if facet == "types" else "has the tag"
    message = f"No document in {_named(names, 's')} {what} {value[:80]!r}."
    close = _closest(value, known)
    if close:
        message += f" Did you mean {close!r}?"
    elif facet == "types" and known:
        message += f" There are: {', '.join(list(known)[:_MOST_NAMED])}."
    return Notice(message, names)


def _closest(value: str, known: Iterable[str]) -> str:
    """The most similar of ``known`` and of the tags above them (``a`` of ``a/b``), if any is similar."""
    folded = {above.casefold(): above for name in islice(known, _MOST_COMPARED) for above in _path(name)}
    close = difflib.get_close_matches(value.casefold(), folded, n=1)
    return folded[close[0]] if close else ""


def _path(tag: str) -> Iterable[str]:
    return accumulate(tag.split("/"), lambda above, name: f"{above}/{name}")


def _named(names: Sequence[str], kind: str = "S") -> str:
    quoted = ", ".join(map(repr, names))
    return f"{kind}tore {quoted}" if len(names) == 1 else f"{kind}tores {quoted}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
