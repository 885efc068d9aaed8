"""Reads files ahead in one process per core, while the run stores the files before them."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

from rag_core.extract.worker import Worker

_MOST_PROCESSES = 4
_MOST_ITEMS = 200  # maximum number of items that are read ahead
_LOOK_S = 0.05
_STOP_S = 0.4

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


class Workers:
    """Worker processes, each created by ``new`` and started when it is first needed. The processes of `ahead`
    are killed when ``is_over()``, called in another thread, returns True; reading their files then fails.

    Call `close` at the end; the object can be used again afterwards.
    """

    def __init__(
        self,
        new: Callable[[], Worker],
        is_over: Callable[[], bool] = lambda: False,
        most: int = _MOST_PROCESSES,
    ) -> None:
        self._is_over = is_over
        self._all: list[Worker] = []
        self._idle: SimpleQueue[Worker] = SimpleQueue()
        for _ in range(min(os.cpu_count() or 1, most)):
            self._all.append(new())
            self._idle.put(self._all[-1])

    @property
    def cpu_s(self) -> float:
        """Total processor time of all documents read."""
        return sum(worker.cpu_s for worker in self._all)

    @contextmanager
    def one(self) -> Iterator[Worker]:
        """Context manager: lend a worker to this thread as soon as one is idle."""
        worker = self._idle.get()
        try:
            yield worker
        finally:
            self._idle.put(worker)

    def close(self) -> None:
        """End all processes."""
        for worker in self._all:
            worker.close()

    def ahead(
        self, items: Iterable[_Item], work: Callable[[_Item], _Result], begins_early: Callable[[_Item], bool]
    ) -> Generator[tuple[_Item, Future[_Result] | None]]:
        """Yield each item in order, with the future of ``work(item)`` if ``begins_early(item)``. This work
        begins in another thread before the item's turn. Other items come with None. When the iterator is
        closed, the processes of unfinished work are killed."""
        threads = ThreadPoolExecutor(len(self._all))
        begun = deque[tuple[_Item, Future[_Result] | None]]()
        is_done = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(is_done,), daemon=True)
        watcher.start()
        try:
            for item in items:
                is_early = begins_early(item)
                while len(begun) == _MOST_ITEMS or (is_early and self._is_full(begun)):
                    yield begun.popleft()
                begun.append((item, threads.submit(work, item) if is_early else None))
            while begun:
                yield begun.popleft()
        finally:
            is_done.set()
            watcher.join()
            threads.shutdown(wait=False, cancel_futures=True)
            while not all(future is None or future.done() for _, future in begun):
                self.kill()
                time.sleep(_LOOK_S)

    def _watch(self, is_done: threading.Event) -> None:
        while not is_done.wait(_STOP_S):
            if self._is_over():
                self.kill()

    def kill(self) -> None:
        """Kill all processes. Safe in any thread. Reading their current files fails."""
        for worker in self._all:
            worker.kill()

    def _is_full(self, begun: Iterable[tuple[object, Future[_Result] | None]]) -> bool:
        """Whether the read-ahead buffer is full: it has one item more than the processes can read. Results
        take memory."""
        return sum(future is not None for _, future in begun) > len(self._all)
