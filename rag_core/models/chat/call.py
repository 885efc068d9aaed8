"""One request to a model: how it ended, and cutting it from another thread.

A model may be silent for minutes while it is loaded, and a stream has no time limit of its own. Whoever
waits for its next word is in a read that nothing else ends, so the socket below it is shut down: the server
notices at once and stops working, too.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import httpx

Outcome = Literal["", "done", "too long", "stopped", "out of time"]
"""How a request ended: '' before its end and when the server broke it off, *done*, *too long* in tokens;
*stopped* and *out of time* are ours."""

_LOOK_S = 0.05


class Call:
    """A request under way."""

    def __init__(self) -> None:
        self.outcome: Outcome = ""
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []

    @property
    def cut_off(self) -> bool:
        """Whether it was ended from here."""
        return self.outcome in ("stopped", "out of time")

    def end(self, outcome: Outcome) -> None:
        """Note how it ended, unless it was cut off before."""
        with self._lock:
            self.outcome = self.outcome if self.cut_off else outcome

    def cut(self, outcome: Literal["stopped", "out of time"]) -> None:
        """End it now, whatever it waits for."""
        with self._lock:
            self.outcome = outcome
            for each in self._sockets:
                _shut(each)

    def hook(self, request: httpx.Request) -> None:
        """For ``event_hooks["request"]`` of httpx: learn of the connection that the request is sent over."""
        request.extensions["trace"] = self._trace

    def _trace(self, event: str, info: dict[str, Any]) -> None:
        if event not in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            return
        found = info["return_value"].get_extra_info("socket")
        with self._lock:
            self._sockets.append(found)
            if self.cut_off:
                _shut(found)

    @contextmanager
    def within(self, seconds: float, stop: threading.Event) -> Iterator[None]:
        """Cut it when ``stop`` is set or when the seconds are over, as long as this lasts."""
        over = threading.Event()
        watch = threading.Thread(target=self._watch, args=(seconds, stop, over), daemon=True)
        watch.start()
        try:
            yield
        finally:
            over.set()
            watch.join()

    def _watch(self, seconds: float, stop: threading.Event, over: threading.Event) -> None:
        end = time.monotonic() + seconds
        while not over.wait(_LOOK_S):
            if stop.is_set():
                self.cut("stopped")
                return
            if time.monotonic() > end:
                self.cut("out of time")
                return


def _shut(each: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already, or its place was taken by one with TLS
        each.shutdown(socket.SHUT_RDWR)
