"""The order of the results that fit, if it is not the order of their scores."""

from __future__ import annotations

from collections.abc import Sequence

from rag_core.text.words import name_order
from rag_core.types import Hit, Sort


def in_order(hits: Sequence[Hit], sort: Sort) -> list[Hit]:
    """Sort the hits that fit by date or by title. Other hits follow in their present order. Hits with equal
    dates or titles keep their order."""
    fitting = [hit for hit in hits if hit.relevant]
    near_misses = [hit for hit in hits if not hit.relevant]
    match sort:
        case "newest":
            fitting.sort(key=lambda hit: hit.document.date, reverse=True)
        case "oldest":
            fitting.sort(key=lambda hit: (not hit.document.date, hit.document.date))
        case "name":
            fitting.sort(key=lambda hit: name_order(hit.document.title))
    return fitting + near_misses
