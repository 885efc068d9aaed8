"""Processes that are killed at a random moment, and what they had acknowledged by then."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rag_core.models.hashing import Hashing
from rag_core.store import Store
from rag_core.store.chunks import embed_hash
from rag_core.store.embeddings import CANARY_TEXT
from rag_core.store.file import generation
from rag_core.types import Vectors

KILLS = int(os.environ.get("COMMONPLACE_TORTURE", "30"))
MUTATIONS = 2000 if "COMMONPLACE_TORTURE" in os.environ else 100
"""Damaged copies of each format that are read."""
BATCH_S = 0.03  # about what a small model takes
_PATIENCE_S = 60
_GROWTH = 1.1
_ROUNDS_A_KILL = 5  # at most; about three of four rounds are one


class Ledger:
    """What a process says that it has done, kept where no kill can take it back."""

    def __init__(self, path: Path, told: Connection) -> None:
        self._told = told
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def begins(self) -> None:
        """From here on it may be killed."""
        self._told.send("begins")

    def write(self, *words: object) -> None:
        os.write(self._file, (" ".join(map(str, words)) + "\n").encode())


class Killer:
    """Lets something begin in a process of its own and kills it somewhere on the way."""

    def __init__(self, folder: Path) -> None:
        self.seed = int(os.environ.get("COMMONPLACE_TEST_SEED", random.SystemRandom().randrange(10**6)))
        print(f"COMMONPLACE_TEST_SEED={self.seed}")
        self.random = random.Random(self.seed)
        self.begun = self.killed = 0
        self._whole_s = 0.0
        self._ledger = folder / "ledger"
        self._processes = multiprocessing.get_context("forkserver")
        programs = [
            "tests.store.test_crash",
            "tests.vectors.test_crash_remote",
            "tests.store.test_decisions",
            "tests.store.test_repair",
        ]
        self._processes.set_forkserver_preload(programs)

    def rounds(self, wanted: int) -> Iterator[int]:
        """Numbers of rounds of one `kill` each, until ``wanted`` of them did not come to their end."""
        for number in range(_ROUNDS_A_KILL * wanted):
            if self.killed == wanted:
                return
            yield number
        assert self.killed == wanted, f"{self.killed} of {self.begun} killed, {wanted} were wanted"

    def spare(self, act: Callable[..., None], *arguments: Any) -> list[list[str]]:
        """Let ``act(ledger, *arguments)`` come to its end, and see how long that takes."""
        return self._let(_PATIENCE_S, act, *arguments)

    def kill(self, act: Callable[..., None], *arguments: Any) -> list[list[str]]:
        """Let ``act(ledger, *arguments)`` run for a part of what it may take: what the last one took that
        came to its end, and more for each one since that did not, as there is more to do then.

        Gives the words that it wrote into its ledger.
        """
        return self._let(self.random.uniform(0, self._whole_s), act, *arguments)

    def _let(self, seconds: float, act: Callable[..., None], *arguments: Any) -> list[list[str]]:
        self._ledger.unlink(missing_ok=True)
        here, there = self._processes.Pipe(duplex=False)
        process = self._processes.Process(
            target=_begin, args=(act, self._ledger, there, *arguments), daemon=True
        )
        process.start()
        there.close()
        assert here.poll(_PATIENCE_S)
        assert here.recv() == "begins"
        started = time.monotonic()
        ended = here.poll(seconds)
        took_s = time.monotonic() - started
        process.kill()
        process.join(_PATIENCE_S)
        if ended:
            assert here.recv() == "ended"
        self._whole_s = took_s if ended else self._whole_s * _GROWTH
        self.begun += 1
        self.killed += not ended
        here.close()
        return [line.split() for line in self._ledger.read_text("utf-8").splitlines()]


def _begin(act: Callable[..., None], path: Path, told: Connection, *arguments: Any) -> None:
    act(Ledger(path, told), *arguments)
    told.send("ended")


class Accountable(Store):
    """A store that writes down each generation once it is committed."""

    def __init__(self, path: Path, ledger: Ledger) -> None:
        super().__init__(path)
        self._ledger = ledger

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        with super().write() as db:
            yield db
            number = generation(db) + 1
        self._ledger.write("generation", number)


class Embedding(Hashing):
    """Writes down each text that it begins to embed, and takes its time, so that kills fall there, too."""

    def __init__(self, ledger: Ledger) -> None:
        super().__init__()
        self._ledger = ledger

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        for text in texts:
            if text != CANARY_TEXT:
                self._ledger.write("embedded", embed_hash(text).hex())
        time.sleep(BATCH_S)
        return super().embed_documents(texts)
