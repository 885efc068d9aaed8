"""The fourth stage of a search: passages become documents. Each document appears once, at the rank of its
best passage.

Passages that are nearly equal are one result. Two passages are nearly equal if nine tenths of their shingles
(runs of four words) are the same; Broder, "On the resemblance and containment of documents" (1997).

Sets that are so similar share a shingle among their first tenth, in any fixed order. So only passages with
such a shingle in common are compared; Chaudhuri et al., "A primitive operator for similarity joins" (2006).
Pure functions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rag_core.search.weigh import RELEVANT, Weighed

_WORD = re.compile(r"[a-z0-9]+(?:[.,][0-9]+)*|\w")  # a word, a number, or one letter of another script
_SHINGLE = 4  # words
_ALIKE = 0.9  # share of the shingles of both passages

Shingles = frozenset[tuple[str, ...]]


@dataclass(slots=True)
class FoldedResult:
    """A document as one result of a search."""

    #: The document's passage, then equal or nearly equal passages of other documents.
    passages: list[Weighed]
    more: int = 0  #: Number of other passages of the document that fit.


class Folding:
    """Fold the passages of one store into documents, each of which is one result. Groups of equal passages
    are added best first.

    If a document's passage is equal to another document's passage, the document is first shown as a copy of
    the other. It becomes its own result when it has a further passage that the other document lacks.
    """

    def __init__(self) -> None:
        self._texts: dict[int, list[str]] = {}  # by document
        self._places: dict[int, FoldedResult] = {}  # by document
        self._shown_at: dict[int, int] = {}  # the document in whose place another one was shown
        self._starts: dict[tuple[str, ...], list[tuple[Shingles, int]]] = {}  # what begins with a shingle

    def look_at(self, groups: Mapping[str, Sequence[Weighed]], document_of: Mapping[int, int]) -> None:
        """Remember which texts each document has. Call this before `add`, which compares them. ``groups``
        maps a text to the passages that have it, and ``document_of`` the id of a chunk to the id of its
        document."""
        for text, group in groups.items():
            for passage in group:
                self._texts.setdefault(document_of[passage.candidate.chunk_id], []).append(text)

    def add(
        self, text: str, group: Sequence[Weighed], document_of: Mapping[int, int], *, nearly: bool
    ) -> FoldedResult | None:
        """Add ``group``, passages with the same ``text``, best first. Return the new result, or None if the
        group belongs to an earlier result. With ``nearly``, a group that is nearly equal to an earlier result
        belongs to it, too."""
        passages: dict[int, Weighed] = {}
        for passage in group:
            passages.setdefault(document_of[passage.candidate.chunk_id], passage)
        first = next(iter(passages))
        owner = next((document for document in passages if document in self._places), None)
        if owner is not None:
            if group[0].score >= RELEVANT:
                self._places[owner].more += 1
        else:
            owner = self._had_by_another(text, first) or (self._alike(text, first) if nearly else None)
        if owner is None:
            place = self._places[first] = FoldedResult(list(passages.values()))
            self._shown_at |= dict.fromkeys(passages, first)
            return place
        for document, passage in passages.items():
            if document not in self._shown_at:
                self._shown_at[document] = owner
                self._places[owner].passages.append(passage)
        return None

    def _had_by_another(self, text: str, document: int) -> int | None:
        """Return the document that ``document`` is shown as a copy of, if that document also has ``text`` or
        nearly the same text; else None."""
        owner = self._shown_at.get(document)
        if owner is None:
            return None
        wanted = shingles(text)
        return owner if any(_are_alike(wanted, shingles(other)) for other in self._texts[owner]) else None

    def _alike(self, text: str, document: int) -> int | None:
        """Return the document of an earlier result whose text is nearly equal to ``text``. If there is none,
        remember ``text`` for ``document`` and return None."""
        wanted = shingles(text)
        beginning = sorted(wanted, key=hash)[: int(len(wanted) * (1 - _ALIKE)) + 1]
        for shingle in beginning:
            for other, its_document in self._starts.get(shingle, ()):
                if _are_alike(wanted, other):
                    return its_document
        for shingle in beginning:
            self._starts.setdefault(shingle, []).append((wanted, document))
        return None


def _are_alike(one: Shingles, other: Shingles) -> bool:
    return len(one & other) >= _ALIKE * len(one | other)


def shingles(text: str) -> Shingles:
    """Return all runs of four words of a text, without punctuation and case. A shorter text is one run. The
    result is empty if the text has no words."""
    words = _WORD.findall(text.casefold())
    if not words:
        return frozenset()
    last = max(len(words) - _SHINGLE, 0)
    return frozenset(tuple(words[start : start + _SHINGLE]) for start in range(last + 1))
