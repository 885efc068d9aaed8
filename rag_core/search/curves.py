"""Curves of `search/weigh.py`: from a signal to a score, which is the probability that a passage is relevant,
and from dates to newness."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Protocol

from rag_core.types import Mode


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic curve that turns a signal into the probability of relevance: 0.5 at ``middle``."""

    middle: float
    slope: float

    def __call__(self, value: float) -> float:
        """Return the probability, 0 to 1, for the signal ``value``."""
        return 1 / (1 + math.exp(min(50.0, self.slope * (self.middle - value))))


# For minilm, with benchmarks/nonsense.py: at most 3 % of nonsense lies above the middle of hybrid mode and
# 97 % of the paraphrases. Other embedders borrow it.
CURVES: Mapping[Mode, Logistic] = {
    "hybrid": Logistic(0.355, 7.0),
    "vector": Logistic(0.36, 10.0),
    "lexical": Logistic(0.28, 7.0),
}
"""The curve from a signal to relevance, by mode. A passage without a vector uses the curve for words
alone."""

_YEAR = 365.0  # days after which newness counts half


class _Dated(Protocol):
    @property
    def date(self) -> str: ...


def with_newness(values: Sequence[float], dated: Sequence[_Dated], recency: float) -> list[float]:
    """Return the values, each plus ``recency`` if its item has the newest date, and half as much for each
    year that its item is older. The ``date`` of an item is ISO 8601; '' adds nothing."""
    days = [date.fromisoformat(each.date[:10]).toordinal() if each.date else 0 for each in dated]
    newest = max(days, default=0)
    return [value + recency * 2 ** ((day - newest) / _YEAR) for value, day in zip(values, days, strict=True)]
