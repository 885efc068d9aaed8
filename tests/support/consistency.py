"""What must hold in a store after every commit: that is for the product's own checks to say."""

from __future__ import annotations

import rag_core.store.health
from rag_core.library import Library
from rag_core.reports import Health
from rag_core.store import Store
from rag_core.types import OWNER, Job


def check_library(library: Library, name: str) -> None:
    """``check`` for a store of ``library``."""
    _expect_sound(library.upkeep.verify(OWNER, name))


def run(library: Library, name: str = "s") -> Job:
    """The run that a store was asked for, and ``check`` behind it."""
    job = library.jobs.run(OWNER, name)
    assert job is not None
    check_library(library, name)
    return job


def check(store: Store) -> None:
    """Fail when the store's rows contradict one another."""
    _expect_sound(rag_core.store.health.check(store))


def _expect_sound(health: Health) -> None:
    faults = [finding for finding in health.findings if finding.severity == "fault"]
    assert not faults, "\n".join(f"{fault.check}: {fault.sentence} {fault.examples}" for fault in faults)
