"""What only the owner can say of a store is kept in it and beside it, and no damage undoes it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.errors import StoreError
from rag_core.library import Library
from rag_core.store import decisions
from rag_core.types import OWNER
from tests.store.damaged_store import (
    Expected,
    assert_comes_back,
    change,
    decided,
    expected_of,
    sound_store,
    tear,
)
from tests.support.stored import copy_of, file_of


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with sound_store(tmp_path_factory.mktemp("sound")) as made:
        yield made


@pytest.fixture(scope="module")
def expected(sound: Library) -> Expected:
    return expected_of(sound)


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
def test_a_decision_that_the_file_has_lost_is_found_and_made_again(
    library: Library, expected: Expected, sql: str
) -> None:
    change(library, sql)
    assert "decisions" in {each.check for each in library.upkeep.verify(OWNER, "s").findings}
    assert_comes_back(library, expected)


def test_a_decision_counts_though_its_process_was_killed_before_the_copy_was_made(
    library: Library, expected: Expected
) -> None:
    copy, announced = decisions.files(file_of(library))
    before = copy.read_bytes()
    library.sources.pause(OWNER, "s", 1)
    library.close()
    copy.rename(announced)
    copy.write_bytes(before)

    assert library.upkeep.verify(OWNER, "s").sound
    assert decided(library) != expected.decided
    assert not announced.exists()


def test_a_decision_that_was_announced_and_not_made_is_none(library: Library, expected: Expected) -> None:
    copy, announced = decisions.files(file_of(library))
    before = copy.read_bytes()
    library.sources.pause(OWNER, "s", 1)
    copy.rename(announced)
    copy.write_bytes(before)
    library.sources.pause(OWNER, "s", 1, paused=False)
    library.close()
    decisions.announce(file_of(library), {**expected.decided, "exclusions": []})

    assert library.upkeep.verify(OWNER, "s").sound
    assert decided(library) == expected.decided


def test_a_damaged_copy_is_found_and_written_anew(library: Library, expected: Expected) -> None:
    copy, _ = decisions.files(file_of(library))
    copy.write_text(copy.read_text("ascii").replace("hidden", "hidder"), "ascii")
    [finding] = library.upkeep.verify(OWNER, "s").findings
    assert finding.examples == ("the copy of them beside the store is damaged",)

    assert library.upkeep.repair(OWNER, "s").done == (
        "The copy of your decisions beside the store was written again.",
    )

    assert decided(library) == expected.decided
    assert library.upkeep.verify(OWNER, "s").findings == ()


def test_where_both_are_lost_nothing_is_made_up(library: Library) -> None:
    tear(library, "sources")
    decisions.files(file_of(library))[0].write_bytes(b"{")
    before = file_of(library).read_bytes()
    with pytest.raises(StoreError) as refused:
        library.upkeep.repair(OWNER, "s")
    assert refused.value.message == (
        "Store 's' is damaged beyond repair: neither it nor the copy of your decisions beside it can be read."
    )
    assert refused.value.suggestion == "Delete the store, then import its export or index its folders again."
    assert file_of(library).read_bytes() == before


def test_only_the_owner_can_read_the_copy(library: Library) -> None:
    library.sources.pause(OWNER, "s", 1)
    assert decisions.files(file_of(library))[0].stat().st_mode & 0o777 == 0o600


def test_a_store_without_a_copy_gets_one_when_it_is_opened(library: Library, expected: Expected) -> None:
    library.close()
    decisions.files(file_of(library))[0].unlink()
    assert library.search(OWNER, "subject7").hits
    assert decided(library) == expected.decided
