"""Notice that the app is to end while requests are under way.

The server tells the app only after the last request, which may take minutes. So the signals that stop the
server are caught first.
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
    """Within this, call ``act`` in a thread again and again once the process gets a signal to stop."""
    told, over = threading.Event(), threading.Event()

    def repeat() -> None:
        told.wait()
        while not over.is_set():
            act()
            over.wait(_AGAIN_S)

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    # Python hands signals to the main thread alone.
    signals = SIGNALS if threading.current_thread() is threading.main_thread() else ()
    hooked = {each: before for each in signals if (before := _hook(each, told)) is not None}
    try:
        yield
    finally:
        for each, before in hooked.items():
            signal.signal(each, before)
        over.set()
        told.set()
        thread.join()


def _hook(number: signal.Signals, told: threading.Event) -> Any:
    """Set ``told`` at a signal, before its handler, which is returned; None if there is no handler."""
    before = signal.getsignal(number)
    if not callable(before):
        return None

    def hear(received: int, frame: FrameType | None) -> None:
        told.set()
        before(received, frame)

    signal.signal(number, hear)
    return before
