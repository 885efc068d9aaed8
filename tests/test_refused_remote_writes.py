"""With a remote vector index, too, a full disk and a data folder that nobody may write in are named at every
step, and store and index stay as they were."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.refused_writes import LOCKED, OPENED, Said, Step, assert_refused
from tests.unwritable import for_reading_only, no_file_grows, without_rights

ADDRESS = "s3vectors://commonplace-s/main"
KEPT = "Check that '{stores}' can be written and its disk is not full; then attach it again."
COPY = Said("Store 'copy' cannot be attached: {why}.", KEPT)
AGAIN = Said("Store 's' cannot be attached: {why}.", KEPT)
STEPS = {
    "attach": Step(lambda here, _: here.placement.attach(OWNER, ADDRESS, "copy"), COPY, COPY),
    "bring up to date": Step(lambda here, _: here.placement.attach(OWNER, ADDRESS), OPENED, AGAIN),
    "take over": Step(lambda here, _: here.placement.take_over(OWNER, "s"), OPENED, AGAIN),
}


@pytest.fixture
def first(remote_library: Library, notes: Path) -> Library:
    (notes / "old.md").write_text("The zebra sleeps.\n")
    index(remote_library, "s", notes)
    return remote_library


@pytest.fixture
def second(first: Library, tmp_path: Path) -> Iterator[Library]:
    """Another machine, which reads the index of the first."""
    library = Library(first.settings.model_copy(update={"data_dir": tmp_path / "second", "backend": "local"}))
    library._shared.vector_options = first._shared.vector_options
    library.placement.attach(OWNER, ADDRESS)
    library.close()
    yield library
    library.close()


def assert_as_it_was(library: Library) -> None:
    assert library.stores.names(OWNER) == ["s"]
    assert [hit.document.path for hit in library.search(OWNER, "zebra").hits] == ["old.md"]
    assert library.upkeep.verify(OWNER, "s").findings == ()


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_full_disk(first: Library, second: Library, tmp_path: Path, step: Step) -> None:
    with no_file_grows():
        assert_refused(second, step, tmp_path, step.full)
    assert_as_it_was(second)
    assert_as_it_was(first)
    step.act(second, tmp_path)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_data_folder_that_nobody_may_write_in(
    first: Library, second: Library, tmp_path: Path, step: Step
) -> None:
    with for_reading_only(second.settings.data_dir), without_rights():
        assert_refused(second, step, tmp_path, step.read_only)
    assert_as_it_was(second)
    assert_as_it_was(first)


HEAL = Step(lambda here, _: here.placement.heal(OWNER, "s"), read_only=LOCKED)


def test_healing_on_a_full_disk(first: Library, tmp_path: Path) -> None:
    first.close()
    with no_file_grows():
        assert_refused(first, HEAL, tmp_path, HEAL.full)
    assert_as_it_was(first)
    assert first.placement.heal(OWNER, "s").sound


def test_healing_in_a_data_folder_that_nobody_may_write_in(first: Library, tmp_path: Path) -> None:
    with for_reading_only(first.settings.data_dir), without_rights():
        assert_refused(first, HEAL, tmp_path, HEAL.read_only)
    assert_as_it_was(first)
    assert first.placement.heal(OWNER, "s").sound
