"""A remote vector index as one search asks it: with a deadline."""

from __future__ import annotations

import time
from functools import partial

from rag_core.errors import VectorError, VectorsUnreachable
from rag_core.models.deadline import CircuitBreaker, with_deadline
from rag_core.types import Filters, Vectors
from rag_core.vectors import EVERYTHING, Match, RemoteIndex
from rag_core.vectors.service import Refused

SEARCH_S = 5.0
"""Seconds for everything that one search asks of an index."""


class WithDeadline:
    """The ``index`` at ``server`` for one search. ``absent`` is raised when there is none."""

    def __init__(
        self, index: RemoteIndex, server: str, patience: CircuitBreaker, absent: VectorError
    ) -> None:
        self._index = index
        self._server = server
        self._patience = patience
        self._absent = absent
        self._left = SEARCH_S

    def search(self, query: Vectors, k: int, filters: Filters = EVERYTHING) -> list[Match]:
        """See VectorIndex.search. Raises VectorsUnreachable at the deadline, and at once after another search
        got no answer."""
        started = time.monotonic()
        with self._patience.guard(self._server):
            try:
                return with_deadline(self._left, partial(self._index.search, query, k, filters))
            except Refused as error:
                raise self._absent if error.is_absence else error from None
            except TimeoutError:
                raise VectorsUnreachable(
                    f"The vector index at {self._server} gives no answer within {SEARCH_S:g} seconds.",
                    "Check the network; it is asked again in a few seconds.",
                ) from None
            finally:
                self._left -= time.monotonic() - started
