"""A second comparison of the first hits, if the question uses other words than they do. The built-in model
compares the question with each hit token by token (`models/token_states.py`), and nearer hits move up.

If the question shares many words with the hits, those words order them well enough, and comparing tokens
would lose more than it gains. The comparison takes the time of embedding `LOOKED_AT` passages; decision 42
has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_core.search.rerank import passage_text
from rag_core.search.weigh import RELEVANT
from rag_core.types import Hit

Nearness = Callable[[Sequence[str]], Sequence[float]]
"""Returns how near passages are to the question, token by token."""

LOOKED_AT = 3  # number of hits; more of them change nothing (decision 42)
_FEW_WORDS = 0.34  # maximum share of the question's words in each of these hits
_STEP = 0.03  # nearness that one place in the order is worth


def looked_at(hits: Sequence[Hit], nearness: Nearness) -> list[Hit]:
    """Return the hits, with the first `LOOKED_AT` of them ordered by ``nearness`` if each of these has at
    most a third of the question's words. Scores are then adjusted so that they never rise down the list."""
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
