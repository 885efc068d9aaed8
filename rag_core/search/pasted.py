"""A text that was pasted as a query: of its words only the rarest are looked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace

from rag_core.errors import StoreError
from rag_core.store import Store, find
from rag_core.text.words import is_unspaced, units
from rag_core.types import Query, Viewer

RAREST = 24
_COUNTED = 1000  # the longest words: long ones are rare, and quickly counted
_RUN = 8  # characters of a script without spaces that are looked for together


def rarest(query: Query, stores: Sequence[Store], viewer: Viewer) -> Query:
    """``query`` with those of its words that fewest passages hold which ``viewer`` may see in ``stores``.

    Words that none holds are left out, unless that is true of all.
    """
    words = list(dict.fromkeys(_cut(query.words)))
    longest = sorted(words, key=len, reverse=True)[:_COUNTED]
    held: Counter[str] = Counter()
    for store in stores:
        with suppress(StoreError), store.read() as db:
            held.update(find.frequencies(db, units(longest), viewer)[1])
    holders = {word: min(held[unit] for unit in units([word])) for word in longest}
    known = [word for word in longest if holders[word]] or longest
    chosen = {*sorted(known, key=lambda word: holders[word])[:RAREST]}
    kept = tuple(word for word in words if word in chosen)
    return replace(query, text=" ".join(kept), words=kept, loose=kept)


def _cut(words: Iterable[str]) -> Iterator[str]:
    for word in words:
        step = _RUN if is_unspaced(word) else max(1, len(word))
        yield from (word[start : start + step] for start in range(0, len(word), step))
