"""What an export or import tells while it is under way, and what it leaves behind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rag_core.wording import size

SUFFIX = ".commonplace"

TransferPhase = Literal["copying", "packing", "unpacking", "checking"]
_PHASES: dict[TransferPhase, str] = {
    "copying": "Copying the store",
    "packing": "Writing the file",
    "unpacking": "Reading the file",
    "checking": "Checking the store",
}


@dataclass(frozen=True, slots=True)
class Transfer:
    """A snapshot of an export or import. ``done`` and ``total`` are bytes; while *checking*, checks."""

    phase: TransferPhase
    done: int
    total: int

    @property
    def said(self) -> str:
        """How far it is, in words: ``Writing the file · 12.0 MB of 80.0 MB``."""
        if self.phase == "checking" or not self.total:
            return _PHASES[self.phase]
        return f"{_PHASES[self.phase]} · {size(self.done)} of {size(self.total)}"


Report = Callable[[Transfer], None]
"""Called again and again during an export or import; what it raises ends that, and nothing is left."""


@dataclass(frozen=True, slots=True)
class Exported:
    """A portable file that was written: where, how large, and what is in it."""

    store: str
    path: Path
    size_bytes: int
    file_count: int
    chunk_count: int


def no_report(_: Transfer) -> None:
    """Tell nobody."""
