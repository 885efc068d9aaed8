"""Passages as documents: each document once, where its best passage stands.

Passages that are nearly equal are one result. Two are nearly equal if nine tenths of their shingles (runs of
four words) are the same; Broder, "On the resemblance and containment of documents" (1997). Sets that alike
share one of their first tenth, whatever order they are in, so only passages with such a shingle in common are
compared; Chaudhuri et al., "A primitive operator for similarity joins" (2006). Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_core.search.rank import RELEVANT, Ranked

_WORD = re.compile(r"[a-z0-9]+|\w")  # a word, or one letter of another script
_SHINGLE = 4  # words
_ALIKE = 0.9  # of the shingles of both

Shingles = frozenset[tuple[str, ...]]


@dataclass(slots=True)
class Place:
    """One result: its passage, then those of other documents that are equal or nearly so. ``more``: how many
    other passages of its document fit."""

    passages: list[Ranked]
    more: int = 0


class Folding:
    """The results of one store as documents. Groups of equal passages are added in their order.

    A document that was shown only as a place of another one's passage is a result of its own as soon as a
    passage follows that is not in the other one."""

    def __init__(self) -> None:
        self._places: dict[int, Place] = {}  # by document
        self._starts: dict[tuple[str, ...], list[tuple[Shingles, int]]] = {}  # what begins with a shingle

    def add(self, group: Sequence[Ranked], document_of: Mapping[int, int], text: str) -> Place | None:
        """The result that a group of equal passages begins, None if it belongs to an earlier one. ``text`` is
        theirs, '' where nearly equal ones are not looked for."""
        by_document: dict[int, Ranked] = {}
        for each in group:
            by_document.setdefault(document_of[each.found.chunk_id], each)
        owner = next(filter(self._places.__contains__, by_document), None)
        if owner is not None:
            self._places[owner].more += group[0].score >= RELEVANT
        else:
            owner = self._alike(text, next(iter(by_document)))
        if owner is None:
            place = Place(list(by_document.values()))
            self._places[next(iter(by_document))] = place
            return place
        known = {document_of[each.found.chunk_id] for each in self._places[owner].passages}
        for document, each in by_document.items():
            if document not in known and document not in self._places:
                self._places[owner].passages.append(each)
        return None

    def _alike(self, text: str, document: int) -> int | None:
        """The document with a result nearly equal to ``text``; remembers ``text`` where there is none."""
        found = shingles(text)
        beginning = sorted(found, key=hash)[: int(len(found) * (1 - _ALIKE)) + 1]
        for shingle in beginning:
            for other, its_document in self._starts.get(shingle, ()):
                if len(found & other) >= _ALIKE * len(found | other):
                    return its_document
        for shingle in beginning:
            self._starts.setdefault(shingle, []).append((found, document))
        return None


def shingles(text: str) -> Shingles:
    """The runs of four words of a text, whatever its signs, spaces and capitals; none of no words."""
    words = _WORD.findall(text.casefold())
    last = max(len(words) - _SHINGLE, 0)
    return frozenset(tuple(words[at : at + _SHINGLE]) for at in range(last + 1)) if words else frozenset()
