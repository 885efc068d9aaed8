"""Notice that the app is to end while requests are under way: the server tells it only after the last one."""

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
    if threading.current_thread() is threading.main_thread():  # Python hands signals to it alone
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
