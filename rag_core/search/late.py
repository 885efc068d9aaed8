"""A closer look at the first hits of a question in other words than theirs: the built-in model compares it
with them token by token (`models/token_states.py`), and those that are nearer move up.

A question that shares many words with what it finds is ordered by them well enough: there, comparing tokens
loses more than it gains. It takes the time of embedding `LOOKED_AT` passages; figures are in decision 42.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_core.search.rerank import passage_text
from rag_core.search.weigh import RELEVANT
from rag_core.types import Hit

Nearness = Callable[[Sequence[str]], Sequence[float]]
"""How near passages are to the question, token by token."""

LOOKED_AT = 3  # hits; more of them change nothing (decision 42)
_FEW_WORDS = 0.34  # the most of the question's words that each of them holds
_STEP = 0.03  # what a place in the order says, compared with nearness


def looked_at(hits: Sequence[Hit], nearness: Nearness) -> list[Hit]:
    """Return the hits, the first `LOOKED_AT` of them in a new order if the best hold few words of the
    question. Scores stay such that none is lower than one that follows."""
    first = [hit for hit in hits[:LOOKED_AT] if hit.words_share is not None]
    if len(first) < 2 or any((hit.words_share or 0) > _FEW_WORDS for hit in first):
        return [*hits]
    values = [near - _STEP * place for place, near in enumerate(nearness([*map(passage_text, first)]))]
    order = sorted(range(len(first)), key=lambda place: -values[place])
    score, reordered = 0.0, list[Hit]()
    for place in reversed(order):
        score = max(score, first[place].score)
        reordered.append(replace(first[place], score=score, relevant=score >= RELEVANT))
    return [*reversed(reordered), *hits[len(first) :]]
