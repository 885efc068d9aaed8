"""However the files came to be as they are, the index ends as if it had only just seen them."""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import langchain_text_splitters  # noqa: F401  (now: as nobody it may not be readable)
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from rag_core.config import Settings
from rag_core.library import Library
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import contents, fresh_contents

pytestmark = pytest.mark.thorough

NOBODY = 65534
PATHS = ("a.md", "b.md", "2026-01-02 c.md", "d/a.md", "d/e/b.md", "d/code.py", "f/a.txt", "f/é.md")
TEXTS = (
    b"The zebra sleeps. [[b]] [[a]] [[d/a]] #tag/sub\n",
    b"---\naliases: [b, other]\ntags: [x/y]\ndate: 2020-01-01\n---\n# Head\n\n[there](./b.md) ![[code]].\n",
    b"# One\n\n## Two\n\n" + b"A paragraph that is long enough to stand alone in a note, goes on.\n\n" * 30,
    b"---\nprivate: true\n---\n[up](../a.md) [[other]] [[2026-01-02 c]]\n",
    b"",
    b"\x00\x01\x02" * 50,
)

a_path = st.sampled_from(PATHS)


class Notes(RuleBasedStateMachine):
    """A folder of notes that somebody works in, and now and then a run.

    Without the rights of root, who may read everything: a file that is locked cannot be read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.home = Path(tempfile.mkdtemp(prefix="commonplace-"))
        self.is_root = os.geteuid() == 0
        if self.is_root:
            os.chown(self.home, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        self.folder = self.home / "notes"
        self.library = Library.open(Settings(self.home / "data", self.home / "models", (self.home,)))
        self._write("kept.md", b"It stays, and links to [[a]], [[b]] and [[other]].\n")
        index(self.library, "s", self.folder)

    def _write(self, path: str, data: bytes) -> None:
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).unlink(missing_ok=True)  # it may be locked
        (self.folder / path).write_bytes(data)

    @rule(path=a_path, data=st.sampled_from(TEXTS))
    def create(self, path: str, data: bytes) -> None:
        self._write(path, data)

    @rule(path=a_path, more=st.sampled_from(TEXTS))
    def edit(self, path: str, more: bytes) -> None:
        with suppress(OSError), (self.folder / path).open("r+b") as file:
            file.seek(0, os.SEEK_END)
            file.write(more)

    @rule(old=a_path, new=a_path)
    def move(self, old: str, new: str) -> None:
        if (self.folder / old).is_file() and old != new:
            (self.folder / new).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / old).rename(self.folder / new)

    @rule(old=a_path, new=a_path)
    def copy(self, old: str, new: str) -> None:
        with suppress(OSError):
            data = (self.folder / old).read_bytes()
            self._write(new, data)

    @rule(path=a_path)
    def delete(self, path: str) -> None:
        (self.folder / path).unlink(missing_ok=True)

    @rule(old=st.sampled_from("df"), new=st.sampled_from("dfg"))
    def rename_folder(self, old: str, new: str) -> None:
        if (self.folder / old).is_dir() and not (self.folder / new).exists():
            (self.folder / old).rename(self.folder / new)

    @rule(path=a_path, mode=st.sampled_from([0, 0o400, 0o755]))
    def chmod(self, path: str, mode: int) -> None:
        if (self.folder / path).is_file():
            (self.folder / path).chmod(mode)

    @rule()
    def run(self) -> None:
        index(self.library, "s")
        check_library(self.library, "s")

    def teardown(self) -> None:
        """Unlock what is locked; then the store must be what a new one would be."""
        try:
            for file in self.folder.rglob("*.*"):
                file.chmod(0o600)
            self.run()
            assert contents(self.library, "s") == fresh_contents(self.library, self.folder)
        finally:
            self.library.close()
            if self.is_root:
                os.seteuid(0)
            shutil.rmtree(self.home)


TestNotes = Notes.TestCase
TestNotes.settings = settings(
    max_examples=10,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


@pytest.fixture
def somebody() -> Notes:
    """Notes for a history that is told here; ``teardown`` ends it."""
    return Notes()


def test_a_path_that_was_moved_away_and_written_anew_is_two_documents(somebody: Notes) -> None:
    somebody.create("a.md", TEXTS[0])
    somebody.run()
    somebody.move("a.md", "d/a.md")
    somebody.create("a.md", TEXTS[1])
    somebody.teardown()


def test_a_folder_that_was_renamed_and_copied_back_in_part_is_two_folders(somebody: Notes) -> None:
    somebody.create("d/a.md", TEXTS[3])
    somebody.run()
    somebody.rename_folder("d", "g")
    somebody.copy("g/a.md", "d/a.md")
    somebody.teardown()


@pytest.mark.posix
def test_a_file_that_was_locked_while_it_changed_is_read_when_it_is_open_again(somebody: Notes) -> None:
    somebody.create("a.md", TEXTS[0])
    somebody.run()
    somebody.edit("a.md", TEXTS[1])
    somebody.chmod("a.md", 0)
    somebody.run()
    somebody.teardown()
