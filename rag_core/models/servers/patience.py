"""How long somebody waits who searches: a few seconds for a server, and not at all for one that another
has just waited for in vain."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from rag_core.errors import Unreachable, VectorsUnreachable
from rag_core.models.background import in_background

ANSWER_S = 20.0
"""How long the first word of a vector index is waited for by who then goes on for as long as it takes."""

_LONG_S = 0.3
_GIVEN_UP_S = 15.0
"""How long nobody waits again for a server that could not be reached after a wait."""

_T = TypeVar("_T")


class Patience:
    """Which servers were waited for in vain, by any name. Safe to share between threads."""

    def __init__(self) -> None:
        self._in_vain: dict[str, tuple[float, Unreachable | VectorsUnreachable]] = {}

    @contextmanager
    def asking(self, server: str) -> Iterator[None]:
        """What a search asks of a server. Raises at once what another search has just waited for in vain."""
        at, error = self._in_vain.get(server, (0.0, None))
        if error is not None and time.monotonic() - at < _GIVEN_UP_S:
            raise type(error)(error.message, error.suggestion)
        started = time.monotonic()
        try:
            yield
        except (Unreachable, VectorsUnreachable) as error:
            if time.monotonic() - started > _LONG_S:
                self._in_vain[server] = time.monotonic(), error
            raise

    def renew(self, server: str) -> None:
        """Let a server be asked again."""
        self._in_vain.pop(server, None)


def within(seconds: float, act: Callable[[], _T]) -> _T:
    """What ``act`` gives or raises; TimeoutError when that takes longer, while it goes on by itself.

    A timeout of the connection would not do: names are looked up and credentials fetched before there is one.
    """
    return in_background("asking a server", act).result(seconds)


def answered(act: Callable[[], _T], server: str) -> _T:
    """What ``act`` gives, which asks the vector index at ``server``.

    Raises VectorsUnreachable when that takes longer than ``ANSWER_S``.
    """
    try:
        return within(ANSWER_S, act)
    except TimeoutError:
        raise VectorsUnreachable(
            f"The vector index at {server} gives no answer within {ANSWER_S:g} seconds.",
            "Check that it runs and can be reached, then try again.",
        ) from None
