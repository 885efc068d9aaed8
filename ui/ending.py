"""Knowing that the app is to end while requests are under way.

The server tells the app only when the last request was answered, and an answer may take minutes. So the
signals that stop the server are heard on their way to it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)
_AGAIN_S: Final = 0.2  # what had not begun yet is under way now


@contextmanager
def at_the_end(act: Callable[[], None]) -> Iterator[None]:
    """As long as this lasts: call ``act`` in a thread again and again once the process is told to stop."""
    told, over = threading.Event(), threading.Event()
    thread = threading.Thread(target=_repeat, args=(act, told, over), daemon=True)
    thread.start()
    hooked = {each: before for each in _ours() if (before := _hook(each, told)) is not None}
    try:
        yield
    finally:
        for each, before in hooked.items():
            signal.signal(each, before)
        over.set()
        told.set()
        thread.join()


def _ours() -> tuple[signal.Signals, ...]:
    """The signals that can be heard: Python hands them to the main thread alone."""
    return SIGNALS if threading.current_thread() is threading.main_thread() else ()


def _hook(number: signal.Signals, told: threading.Event) -> Any:
    """Hear a signal before who is told of it now, which is returned; None where nobody of this program is."""
    before = signal.getsignal(number)
    if not callable(before):
        return None

    def hear(received: int, frame: FrameType | None) -> None:
        told.set()
        before(received, frame)

    signal.signal(number, hear)
    return before


def _repeat(act: Callable[[], None], told: threading.Event, over: threading.Event) -> None:
    told.wait()
    while not over.is_set():
        act()
        over.wait(_AGAIN_S)
