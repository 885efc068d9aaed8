"""How a step that writes is refused on a full disk, and in a data folder that nobody may write in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from rag_core.errors import StoreError
from rag_core.library import Library


class Said(NamedTuple):
    """A refusal: ``{why}`` is what the system said, ``{stores}`` and ``{beside}`` are folders."""

    message: str
    suggestion: str


OPENED = Said(
    "Store 's' cannot be opened: {why}.",
    "Check who may read and write in '{stores}', and that its disk is not full."
    " Other stores are not affected.",
)
LOCKED = Said(
    "Store 's' cannot be locked: {why}.",
    "Check that '{stores}' can be written and that its disk is not full.",
)


class Step(NamedTuple):
    """Something that writes, and how it is refused on a full disk and where nobody may write."""

    act: Callable[[Library, Path], object]
    full: Said = OPENED
    read_only: Said = OPENED


def assert_refused(library: Library, step: Step, beside: Path, said: Said) -> None:
    with pytest.raises(StoreError) as refused:
        step.act(library, beside)
    why = refused.value.message.rpartition(": ")[2].removesuffix(".")
    assert why in WHY, refused.value
    places = {"stores": library.settings.store_dir, "beside": beside, "why": why}
    assert (refused.value.message, refused.value.suggestion) == tuple(each.format(**places) for each in said)


WHY = (
    "database or disk is full",
    "disk I/O error",
    "File too large",
    "attempt to write a readonly database",
    "unable to open database file",
    "Permission denied",
)
