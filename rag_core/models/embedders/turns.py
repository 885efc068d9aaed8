"""Who may talk to a server: one at a time, and a question before the documents that wait."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """One request at a time for all threads of this process.

    Servers embed one text after the other anyway, and some give wrong vectors or errors when asked
    for several at once.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._taken = False
        self._questions = 0

    @contextmanager
    def take(self, *, question: bool, patience_s: float | None = None) -> Iterator[None]:
        """Hold the turn. Raises TimeoutError when it was not to be had within ``patience_s``."""
        with self._changed:
            self._questions += question
            try:
                free = self._changed.wait_for(
                    lambda: not self._taken and (question or not self._questions), patience_s
                )
            finally:
                self._questions -= question
            if not free:
                self._changed.notify_all()
                raise TimeoutError
            self._taken = True
        try:
            yield
        finally:
            with self._changed:
                self._taken = False
                self._changed.notify_all()


_TURNS: dict[str, Turns] = {}
_lock = threading.Lock()


def turns_at(url: str) -> Turns:
    """The turns of a server, the same for every model that it has."""
    with _lock:
        return _TURNS.setdefault(url, Turns())
