"""What only the owner can say of a store stands in a file beside it, and no damage undoes it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import StoreDamaged, StoreError
from rag_core.library import Library
from rag_core.store import decisions
from rag_core.types import OWNER
from tests.store.damaged_store import (
    Expected,
    assert_comes_back,
    change,
    decided,
    tear,
)
from tests.support.killing import KILLS, Killer, Ledger
from tests.support.stored import copy_of, file_of, store_of


@pytest.fixture
def library(sound: Library, tmp_path: Path) -> Iterator[Library]:
    """A library of one's own with a copy of the store, which reads the same notes."""
    with copy_of(sound, tmp_path) as opened:
        yield opened


UNDONE = {
    "a rule": "DELETE FROM meta WHERE key = 'private_rules'",
    "where private notes may go": "UPDATE meta SET value = '1' WHERE key = 'sends_private'",
    "an excluded file": "DELETE FROM exclusions",
    "patterns": "UPDATE sources SET include = '[\"**/*.txt\"]'",
    "the folders": "DELETE FROM sources",
    "the embedder": "UPDATE identities SET model = 'another'",
}


@pytest.mark.parametrize("sql", UNDONE.values(), ids=UNDONE)
def test_store_that_lost_a_decision_is_refused_and_made_again(
    library: Library, expected: Expected, sql: str
) -> None:
    change(library, sql)
    with pytest.raises(
        StoreDamaged, match=r"its settings, folders or rules are not those in 's\.decisions\.json'"
    ):
        library.search(OWNER, "subject7", ["s"])
    assert_comes_back(library, expected)


def test_open_store_that_loses_a_decision_takes_no_other_one(library: Library, expected: Expected) -> None:
    assert library.search(OWNER, "subject7").hits
    with closing(sqlite3.connect(file_of(library))) as db, db:
        db.execute(UNDONE["a rule"])

    assert [each.check for each in library.upkeep.verify(OWNER, "s").findings] == ["decisions", "private"]
    with pytest.raises(StoreDamaged, match="its settings, folders or rules are not those in"):
        library.sources.pause(OWNER, "s", 1)
    assert decided(library) == expected.decided


def test_store_put_there_by_hand_counts_without_the_file(library: Library) -> None:
    library.privacy.set(OWNER, "s", [])
    library.close()
    older = file_of(library).read_bytes()
    library.privacy.set(OWNER, "s", ["hidden/**"])
    library.close()
    file_of(library).write_bytes(older)

    with pytest.raises(StoreDamaged, match=r"keep it as it is, delete 's\.decisions\.json'"):
        library.search(OWNER, "subject7", ["s"])
    decisions.beside(file_of(library)).unlink()
    assert tuple(library.privacy.report(OWNER, "s").rules) == ()


# --- the file ---------------------------------------------------------------------------


def test_decision_that_was_not_committed_is_none(library: Library, expected: Expected) -> None:
    decisions.save(file_of(library), {**expected.decided, "exclusions": []}, expected.decided)
    assert library.upkeep.verify(OWNER, "s").sound
    assert decided(library) == expected.decided


def test_decision_whose_commit_fails_is_none(library: Library, expected: Expected) -> None:
    opened = store_of(library, "s")
    script = (
        *("PRAGMA defer_foreign_keys = ON", "INSERT INTO tags VALUES (999, 'a', 'a')"),
        "UPDATE exclusions SET reason = 'x'",
    )
    with pytest.raises(sqlite3.IntegrityError), opened.decide() as db:
        [db.execute(sql) for sql in script]
    opened.close()
    assert decided(library) != expected.decided
    store_of(library, "s").close()
    assert decided(library) == expected.decided


@pytest.mark.parametrize("damage", [lambda file: file.unlink(), lambda file: file.write_bytes(b"{")])
def test_file_that_is_lost_is_written_again(
    library: Library, expected: Expected, damage: Callable[[Path], object]
) -> None:
    damage(decisions.beside(file_of(library)))
    assert library.search(OWNER, "subject7").hits
    assert decided(library) == expected.decided
    assert library.upkeep.repair(OWNER, "s").done == ()


def test_where_both_are_lost_nothing_is_made_up(library: Library) -> None:
    tear(library, "sources")
    decisions.beside(file_of(library)).write_bytes(b"{")
    before = file_of(library).read_bytes()
    with pytest.raises(StoreError) as refused:
        library.upkeep.repair(OWNER, "s")
    assert refused.value.message == (
        "Store 's' is damaged beyond repair: neither it nor the file of your decisions next to it can be"
        " read."
    )
    assert refused.value.suggestion == "Delete the store, then import its export or index its folders again."
    assert file_of(library).read_bytes() == before


@pytest.mark.posix
def test_only_the_owner_can_read_the_file(library: Library) -> None:
    library.sources.pause(OWNER, "s", 1)
    assert decisions.beside(file_of(library)).stat().st_mode & 0o777 == 0o600


def test_file_of_version_1_is_written_again_from_the_rows(library: Library, expected: Expected) -> None:
    beside = decisions.beside(file_of(library))
    rows = {table: [list(row.values()) for row in expected.decided[table]] for table in ("sources",)}
    beside.write_text(json.dumps({"version": 1, "crc32": 0, "decisions": rows}), "utf-8")
    assert library.search(OWNER, "subject7").hits
    assert decided(library) == expected.decided


# --- killed -----------------------------------------------------------------------------


def decide_on(ledger: Ledger, settings: Settings) -> None:
    """In a process of its own: one decision after the other."""
    library = Library.open(settings)
    ledger.begins()
    for number in range(12):
        library.privacy.set(OWNER, "s", ["hidden/**", f"rule {number}/**"])
        ledger.write(number)
    library.close()


@pytest.mark.posix
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_decisions_that_were_acknowledged_survive_a_kill_and_the_loss_of_the_store(
    library: Library, tmp_path: Path
) -> None:
    library.close()
    killer = Killer(tmp_path)
    killer.spare(decide_on, library.settings)

    for _ in killer.rounds(KILLS // 5):
        library.privacy.set(OWNER, "s", ["hidden/**"])
        library.close()
        acknowledged = [int(number) for [number] in killer.kill(decide_on, library.settings)]

        may_hold = {("hidden/**", f"rule {len(acknowledged) - late}/**") for late in (0, 1)}
        rules = tuple(library.privacy.report(OWNER, "s").rules)
        assert rules in may_hold or (rules == ("hidden/**",) and not acknowledged)
        assert library.upkeep.verify(OWNER, "s").sound
        library.close()
        file_of(library).write_bytes(b"nothing is left")
        library.upkeep.repair(OWNER, "s")
        assert tuple(library.privacy.report(OWNER, "s").rules) == rules
