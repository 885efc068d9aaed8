"""Runs that a test can hold, watch and kill."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import rag_core.index.index
from rag_core.models.hashing import Hashing
from rag_core.store import Store
from rag_core.types import Job, Vectors

WAIT_S = 20
REPOSITORY = Path(__file__).parents[2]

HOLD = """
import sys
from pathlib import Path
from rag_core.store import lock
with lock.hold(Path(sys.argv[1])):
    print("holding", flush=True)
    sys.stdin.readline()
"""

RUN = """
import sys, time
from pathlib import Path
import rag_core.index.index
from rag_core.models.hashing import Hashing
from rag_core.store import Store

class Stuck(Hashing):
    batches = 0  # the first one is the canary

    def embed_documents(self, texts):
        print("embedding", flush=True)
        self.batches += 1
        time.sleep(60 if self.batches == 3 else 0)
        return super().embed_documents(texts)

store = Store(Path(sys.argv[1]))
rag_core.index.index.run(store, lambda _: Stuck())
"""


RUN_AT_A_WORD = """
import sys
from pathlib import Path
import rag_core.index.index
from rag_core.models.hashing import Hashing
from rag_core.store import Store

class Waiting(Hashing):
    def embed_documents(self, texts):
        print("embedding", flush=True)
        sys.stdin.readline()
        return super().embed_documents(texts)

rag_core.index.index.run(Store(Path(sys.argv[1])), lambda _: Waiting())
"""


class Gate(Hashing):
    """Stops at every batch until it is let on, so that a test can act in between."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.reached.release()
        assert self.go_on.acquire(timeout=WAIT_S)
        return super().embed_documents(texts)

    def wait(self) -> None:
        """Until the run is at its next batch."""
        assert self.reached.acquire(timeout=WAIT_S)

    def step(self) -> None:
        """Let the run do the batch it is at, and go on to the next one."""
        self.go_on.release()
        self.wait()

    def open(self) -> None:
        """Let the run go on to its end."""
        self.go_on.release(1_000_000)


class Run(threading.Thread):
    """A run in a thread of its own; ``job`` when it has ended."""

    def __init__(self, store: Store, embedder: Hashing) -> None:
        super().__init__(daemon=True)
        self.store, self.embedder = store, embedder
        self.job: Job | None = None
        self.start()

    def run(self) -> None:
        self.job = rag_core.index.index.run(self.store, lambda _: self.embedder)

    def end(self) -> Job:
        self.join(WAIT_S)
        assert not self.is_alive()
        assert self.job is not None
        return self.job


def child(script: str, store: Path) -> subprocess.Popen[str]:
    """A second process, once it has said its first word."""
    process = subprocess.Popen(
        [sys.executable, "-c", script, str(store)],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    assert process.stdout is not None
    assert process.stdout.readline().strip() in ("holding", "embedding")
    return process


def stop(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.communicate()
