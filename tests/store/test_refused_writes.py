"""On a full disk, and in a data folder that nobody may write in, every step that writes says what cannot be
done and what to do about it, and all that was there stays."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from rag_core.config import Settings
from rag_core.errors import StoreError
from rag_core.library import Library
from rag_core.replies import Reply
from rag_core.types import OWNER
from tests.conftest import index
from tests.store.refused_writes import LOCKED, Said, Step, assert_refused
from tests.support.unwritable import for_reading_only, no_file_grows, without_rights

CREATED = Said(
    "Store 'new' cannot be created: {why}.",
    "Check that '{stores}' can be written and that its disk is not full.",
)
IMPORTED = Said(
    "Store 'copy' cannot be made: {why}.",
    "Check that '{stores}' can be written and that its disk is not full. Nothing was imported.",
)
EXPORTED = Said(
    "Store 's' cannot be exported: {why}.",
    "Check that '{stores}' can be written and that its disk is not full. No file was left.",
)
STATE = "Check that state.db in the data folder is sound and can be written, and that its disk is not full."
ACCESS = Said(
    "The access list cannot be read or written: {why}.",
    f"{STATE} Without it only the owner at this computer has access.",
)
HISTORY = Said(
    "The history of questions cannot be read or written: {why}.",
    f"{STATE} Without it the history starts empty.",
)


def zebra(library: Library) -> str:
    """The key of the only passage."""
    return library.search(OWNER, "zebra", mode="lexical").hits[0].key


ADA, BOB = "ada@example.com", "bob@example.com"
REPLY = Reply("Why?", "nothing found", ("s",), message="Nothing.")
STEPS = {
    "create": Step(lambda here, _: here.create_store(OWNER, "new", "hashing"), CREATED, CREATED),
    "add folder": Step(lambda here, beside: here.add_source(OWNER, "s", beside / "more", ["*.md"])),
    "change folder": Step(lambda here, _: here.sources.change(OWNER, "s", 1, ["*.md"])),
    "pause folder": Step(lambda here, _: here.sources.pause(OWNER, "s", 1)),
    "remove folder": Step(lambda here, _: here.sources.remove(OWNER, "s", 1)),
    "ask for a run": Step(lambda here, _: here.jobs.request(OWNER, "s")),
    "run": Step(lambda here, _: here.jobs.run(OWNER, "s"), read_only=LOCKED),
    "cancel": Step(lambda here, _: here.jobs.cancel(OWNER, "s")),
    "exclude file": Step(lambda here, _: here.files.exclude(OWNER, "s", "old.md")),
    "take file back": Step(lambda here, _: here.files.include(OWNER, "s", "out.md")),
    "read file again": Step(lambda here, _: here.jobs.request_file(OWNER, "s", "old.md")),
    "read folder again": Step(lambda here, _: here.jobs.request_below(OWNER, "s", "")),
    "take out passage": Step(lambda here, _: here.documents.remove_passages(OWNER, "s", [zebra(here)])),
    "clear": Step(lambda here, _: here.stores.clear(OWNER, "s", confirm=True)),
    "private rule": Step(lambda here, _: here.privacy.set(OWNER, "s", ["old.md"])),
    "rename": Step(lambda here, _: here.stores.rename(OWNER, "s", "t"), read_only=LOCKED),
    "repair": Step(lambda here, _: here.upkeep.repair(OWNER, "s"), read_only=LOCKED),
    "verify": Step(lambda here, _: here.upkeep.verify(OWNER, "s")),
    "switch": Step(lambda here, _: here.placement.switch(OWNER, "s", "hashing:64"), read_only=LOCKED),
    "private may leave": Step(
        lambda here, _: here.placement.let_private_leave(OWNER, "s", allowed=True), read_only=LOCKED
    ),
    "export": Step(lambda here, beside: here.stores.export(OWNER, "s", beside), read_only=EXPORTED),
    "import": Step(
        lambda here, beside: here.stores.import_file(OWNER, beside / "away.commonplace", "copy"),
        IMPORTED,
        IMPORTED,
    ),
    "share": Step(lambda here, _: here.sharing.share(OWNER, BOB, ["s"]), read_only=ACCESS),
    "unshare": Step(lambda here, _: here.sharing.unshare(OWNER, ADA), ACCESS, ACCESS),
    "make owner": Step(lambda here, _: here.sharing.make_owner(OWNER, BOB), ACCESS, ACCESS),
    "create token": Step(lambda here, _: here.sharing.create_token(OWNER, "new"), ACCESS, ACCESS),
    "revoke token": Step(lambda here, _: here.sharing.revoke_token(OWNER, "key"), ACCESS, ACCESS),
    "keep answer": Step(lambda here, _: here.asking.keep_reply(OWNER, "1" * 32, REPLY), HISTORY, HISTORY),
    "forget questions": Step(lambda here, _: here.asking.forget_conversations(OWNER), HISTORY, HISTORY),
}


def opened(folder: Path) -> Library:
    return Library.open(Settings(folder / "home", folder / "home" / "models", (folder,)))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a home in which there is one of everything, and a run is asked for."""
    folder = tmp_path_factory.mktemp("made")
    folder.chmod(0o755)
    for name, text in {
        "notes/old.md": "The zebra sleeps.",
        "notes/out.md": "A lion.",
        "more/a.md": "A.",
    }.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    library = opened(folder)
    index(library, "s", folder / "notes")
    library.files.exclude(OWNER, "s", "out.md")
    index(library, "s")
    library.sharing.create_token(OWNER, "key")
    library.sharing.share(OWNER, ADA, ["s"])
    library.asking.keep_reply(OWNER, "0" * 32, REPLY)
    library.stores.export(OWNER, "s", folder / "away.commonplace")
    library.jobs.request(OWNER, "s")
    library.close()
    return folder


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Iterator[Library]:
    """The home, for one test; the store still reads the notes of the first."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    library = opened(tmp_path)
    yield library
    library.close()


def assert_as_it_was(library: Library) -> None:
    assert library.stores.names(OWNER) == ["s"]
    assert [hit.document.path for hit in library.search(OWNER, "zebra", mode="lexical").hits] == ["old.md"]
    assert library.upkeep.verify(OWNER, "s").sound
    assert library.stores.info(OWNER, "s").embedder == "hashing"
    [source] = library.sources.all(OWNER, "s")
    assert (source.source.include, source.source.paused) == (("**/*",), False)
    assert {file.path: file.state for file in library.files.all(OWNER, "s", compared=False)} == {
        "old.md": "indexed",
        "out.md": "excluded",
    }
    assert [token.name for token in library.sharing.tokens(OWNER)] == ["key"]
    assert [(each.login, each.stores, each.is_owner) for each in library.sharing.people(OWNER)] == [
        (ADA, ("s",), False)
    ]
    assert len(library.asking.conversations(OWNER)) == 1
    assert library.jobs.requested(OWNER, "s")


@pytest.mark.posix
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_full_disk_is_named_at_every_step_and_nothing_is_lost(
    copied: Library, tmp_path: Path, step: Step
) -> None:
    with no_file_grows():
        assert_refused(copied, step, tmp_path, step.full)
    assert_as_it_was(copied)
    job = copied.jobs.run(OWNER, "s")
    assert job is not None
    assert job.state == "done"


WRITES = {name: step for name, step in STEPS.items() if name != "verify"}  # which looks at what it can


@pytest.mark.posix
@pytest.mark.parametrize("step", WRITES.values(), ids=WRITES)
def test_a_read_only_data_folder_is_named_at_every_step(copied: Library, tmp_path: Path, step: Step) -> None:
    with for_reading_only(tmp_path), without_rights():
        assert_refused(copied, step, tmp_path, step.read_only)
    assert_as_it_was(copied)


# --- deleting -----------------------------------------------------------------------------


@pytest.mark.posix
def test_a_store_can_be_deleted_on_a_full_disk(copied: Library) -> None:
    with no_file_grows(), pytest.raises(StoreError, match=r"Store 's' is deleted, but not the conversations"):
        copied.stores.delete(OWNER, "s")
    assert copied.stores.names(OWNER) == []
    assert [path.suffix for path in copied.settings.store_dir.iterdir()] == []
    copied.create_store(OWNER, "s", "hashing")
    assert copied.sharing.people(OWNER) == [], "who could see the old one does not see the new one"


@pytest.mark.posix
def test_a_store_that_cannot_be_written_is_not_deleted(copied: Library, tmp_path: Path) -> None:
    with for_reading_only(tmp_path), without_rights():
        assert_refused(copied, Step(lambda here, _: here.stores.delete(OWNER, "s")), tmp_path, LOCKED)
    assert_as_it_was(copied)


# --- in the course of things --------------------------------------------------------------


@pytest.mark.posix
def test_a_data_folder_that_may_be_written_again_is_written_without_a_restart(
    copied: Library, tmp_path: Path
) -> None:
    pause = STEPS["pause folder"]
    with for_reading_only(tmp_path), without_rights():
        assert copied.search(OWNER, "zebra").hits
        assert_refused(copied, pause, tmp_path, pause.read_only)
    pause.act(copied, tmp_path)
    assert [each.source.paused for each in copied.sources.all(OWNER, "s")] == [True]
