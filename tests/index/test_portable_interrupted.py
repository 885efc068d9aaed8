"""Exports and imports that do not come to their end: stopped, or refused by the disk."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.errors import StoreError
from rag_core.index.portable import Transfer
from rag_core.library import Library
from rag_core.types import OWNER
from tests.index.sea_store import leftovers, names_in

pytestmark = pytest.mark.thorough


class Stop(Exception):
    """What a caller may raise to end an export or import."""


def stop_at(phase: str, part: float = 0.0) -> Callable[[Transfer], None]:
    def report(now: Transfer) -> None:
        if now.phase == phase and now.done >= part * now.total:
            raise Stop

    return report


@pytest.mark.parametrize("phase", ["copying", "packing"])
def test_an_export_that_is_stopped_leaves_nothing(sea: Library, tmp_path: Path, phase: str) -> None:
    with pytest.raises(Stop):
        sea.stores.export(OWNER, "sea", tmp_path, stop_at(phase))
    assert names_in(tmp_path) == ["home", "notes"]
    assert leftovers(sea) == []


@pytest.mark.parametrize(("phase", "part"), [("unpacking", 0), ("unpacking", 1), ("checking", 0.5)])
def test_an_import_that_is_stopped_leaves_nothing(
    sea: Library, exported: Path, phase: str, part: float
) -> None:
    with pytest.raises(Stop):
        sea.stores.import_file(OWNER, exported, "back", stop_at(phase, part))
    assert sea.stores.names(OWNER) == ["sea"]
    assert leftovers(sea) == []


def test_export_and_import_tell_how_far_they_are(sea: Library, tmp_path: Path) -> None:
    told: list[Transfer] = []
    file = sea.stores.export(OWNER, "sea", tmp_path, told.append).path
    sea.stores.import_file(OWNER, file, "back", told.append)
    for phase in ("copying", "packing", "unpacking"):
        done = [now.done for now in told if now.phase == phase]
        assert done == sorted(done)
        assert (done[0], done[-1]) == (0, next(now.total for now in told if now.phase == phase))
    assert [now.phase for now in told if now.phase != "copying"][-1] == "checking"


@pytest.mark.posix
def test_a_damaged_store_is_sent_to_repair(sea: Library, tmp_path: Path) -> None:
    sea.close()
    path = sea.settings.store_dir / "sea.db"
    with closing(sqlite3.connect(path)) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'chunks'").fetchone()[0]
        size = db.execute("PRAGMA page_size").fetchone()[0]
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    with pytest.raises(StoreError, match="'sea' is damaged") as refused:
        sea.stores.export(OWNER, "sea", tmp_path)
    assert "Repair it" in refused.value.suggestion
    assert names_in(tmp_path) == ["home", "notes"]
