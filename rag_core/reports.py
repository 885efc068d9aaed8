"""How the folders and the work of a store stand, as its owner is told. Frozen values, like ``types``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_core.types import Source

ProblemKind = Literal["failed", "refused", "skipped"]


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """A folder of a store as it stands: its files by how their last reading went, and whether the
    folder is *missing* from the disk."""

    source: Source
    indexed: int
    failed: int
    skipped: int
    missing: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """Something asked of a store's run and not done yet: to bring ``folders`` up to date (None: all that
    are not paused; none: only the passages that wait to be embedded), or to read that many ``files`` of
    them again (0: all). ``force`` reads what did not change, too."""

    folders: tuple[str, ...] | None
    files: int = 0
    force: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """What cannot be found as it should, for one reason: files that *failed* or were *skipped*, or texts
    that the embedder *refused*, which are found by their words alone. ``count`` is of files or of texts;
    ``files`` names the documents, by path."""

    kind: ProblemKind
    reason: str
    count: int
    files: tuple[str, ...]
