"""Processes that draw small pictures of places in files, a few at a time and each for a few seconds at most.

Threat. A guest could request many pages of a file that takes minutes to draw, and then disconnect. So each
drawing runs in a process that can be killed, and ends with its request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from rag_core.errors import Stopped
from rag_core.extract.worker import Worker

LIMIT_S = 5.0
"""Maximum seconds for one drawing."""

_IDLE_S = 60.0  # seconds without a request after which the processes end
_LOOK_S = 0.05

IsCancelled = Callable[[], bool]


class DrawingProcesses:
    """A pool of at most ``at_once`` processes that draw pictures. Each is started when it is first needed.
    Call `close` at the end; the object can be used again afterwards."""

    def __init__(self, at_once: int) -> None:
        self._free: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(at_once):
            self._free.put(Worker(LIMIT_S))
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    @contextmanager
    def one(self, is_over: IsCancelled) -> Iterator[Worker]:
        """Context manager: lend a process to this thread as soon as one is free. The process is killed when
        ``is_over()`` returns True. Raises Stopped if that happens before one is free."""
        worker = self._next(is_over)
        is_done = threading.Event()
        watcher = threading.Thread(target=_kill_when_over, args=(worker, is_over, is_done), daemon=True)
        watcher.start()
        try:
            yield worker
        finally:
            is_done.set()
            watcher.join()
            if is_over():
                worker.close()  # it may be ending, and the next drawing needs a running process
            self._free.put(worker)
            self._close_when_idle()

    def close(self) -> None:
        """End the processes that are not drawing."""
        with self._lock:
            if self._timer:
                self._timer.cancel()
        closed: list[Worker] = []
        with suppress(Empty):
            while True:
                closed.append(self._free.get_nowait())
        for worker in closed:
            worker.close()
            self._free.put(worker)

    def _next(self, is_over: IsCancelled) -> Worker:
        while not is_over():
            try:
                return self._free.get(timeout=_LOOK_S)
            except Empty:
                continue
        raise Stopped

    def _close_when_idle(self) -> None:
        with self._lock:
            if self._timer:
                self._timer.cancel()
            self._timer = threading.Timer(_IDLE_S, self.close)
            self._timer.daemon = True
            self._timer.start()


def _kill_when_over(worker: Worker, is_over: IsCancelled, is_done: threading.Event) -> None:
    """Kill the process of a worker when ``is_over()`` returns True. Repeated until done, because the process
    may just be starting."""
    while not is_done.wait(_LOOK_S):
        if is_over():
            worker.kill()
