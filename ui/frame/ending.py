"""Reacts to the end of the app while requests are running. The server reports its end only after the last
request."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_AGAIN_S: Final = 0.2  # by then, requests that had not begun are running


@contextmanager
def at_the_end(act: Callable[[], None]) -> Iterator[None]:
    """Context manager: after a signal to stop the process, a thread calls ``act`` repeatedly until the block
    ends."""
    told, over = threading.Event(), threading.Event()

    def repeat() -> None:
        told.wait()
        while not over.is_set():
            act()
            over.wait(_AGAIN_S)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    hooked: dict[signal.Signals, Any] = {}
    if threading.current_thread() is threading.main_thread():  # only the main thread gets signals in Python
        hooked = {
            number: signal.getsignal(number) for number in SIGNALS if callable(signal.getsignal(number))
        }

    def hear(received: int, frame: FrameType | None) -> None:
        told.set()
        hooked[signal.Signals(received)](received, frame)

    for number in hooked:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number, before in hooked.items():
            signal.signal(number, before)
        over.set()
        told.set()
        thread.join()
