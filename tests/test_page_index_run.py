"""A run from the Index page: begun, watched, cancelled, gone on with, and how it stands at its end."""

from __future__ import annotations

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.models.hashing import Hashing
from rag_core.types import OWNER
from tests.index_page import finished, page, texts, until, with_folder
from tests.pages import has_key, press
from ui.deps import library
from ui.folders import BOX as FOLDER

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Embedding waits until the event is set."""
    go = threading.Event()
    embed = Hashing.embed_documents

    def wait(self: Hashing, texts: Any) -> Any:
        if list(texts) != ["canary"] and threading.current_thread() is not threading.main_thread():
            go.wait(20)
        return embed(self, texts)

    monkeypatch.setattr(Hashing, "embed_documents", wait)
    yield go
    go.set()


def test_index_now_reads_the_folder_and_reports_the_end(hashing_store: str, four_files: Path) -> None:
    app = until(press(with_folder(four_files), "index_now"), finished)
    assert "**4** added" in texts(app)
    assert "**4** added" in texts(page()), "in another session, too"
    assert app.text_input(key=FOLDER).value == ""
    assert str(four_files) in texts(app)
    assert library().stores.info(OWNER, hashing_store).file_count == 4


def test_index_again_reads_only_what_changed(hashing_store: str, four_files: Path) -> None:
    app = until(press(with_folder(four_files), "index_now"), finished)
    (four_files / "new.md").write_text("# New\n\nA new note.\n")
    until(press(app, "index_again"), lambda app: finished(app) and "**1** added" in texts(app))
    assert "**4** unchanged" in texts(app)


def test_cancel_stops_the_run_and_go_on_ends_it(
    hashing_store: str, four_files: Path, slow: threading.Event
) -> None:
    app = until(press(with_folder(four_files), "index_now"), lambda app: has_key(app, "index_cancel"))
    press(app, "index_cancel")
    assert "Stopping after" in texts(app)
    slow.set()
    until(app, finished)
    assert library().jobs.all(OWNER, hashing_store, 1)[0].state == "cancelled"
    until(press(app, "index_go_on"), lambda app: finished(app) and not has_key(app, "index_go_on"))
    assert library().stores.info(OWNER, hashing_store).pending == 0


def test_a_run_of_another_process_is_seen_takes_what_is_asked_and_can_be_cancelled(
    hashing_store: str, four_files: Path
) -> None:
    library().add_source(OWNER, hashing_store, four_files, ("**/*",))
    other = subprocess.Popen([sys.executable, "-c", _OTHER_PROCESS], cwd=ROOT, stdin=subprocess.PIPE)
    try:
        app = until(page(), lambda app: has_key(app, "index_cancel"))
        library().jobs.request(OWNER, hashing_store, [1])  # as a command does
        until(app, lambda app: f"Asked for: all folders · {four_files}" in texts(app))
        press(app, "index_cancel")
        assert other.stdin is not None
        other.stdin.close()
        until(app, finished)
    finally:
        other.kill()
        other.wait()
    assert library().jobs.all(OWNER, hashing_store, 1)[0].state == "cancelled"


_OTHER_PROCESS = textwrap.dedent(
    """
    import sys
    from rag_core.models.hashing import Hashing
    from rag_core.library import Library
    from rag_core.types import OWNER

    embed = Hashing.embed_documents
    def wait(self, texts):
        sys.stdin.read()
        return embed(self, texts)
    Hashing.embed_documents = wait

    library = Library.open()
    library.jobs.request(OWNER, "mine")
    library.jobs.run(OWNER, "mine")
    """
)


def test_what_was_typed_last_is_indexed_though_the_page_was_not_drawn_with_it(
    hashing_store: str, four_files: Path
) -> None:
    app = with_folder(four_files)
    app.text_area(key="index_include").set_value("**/*.py")
    app.button(key="index_now").click()  # both in one run of the page, as by a quick click
    until(app.run(), finished)
    assert [each.include for each in library().stores.info(OWNER, hashing_store).sources] == [("**/*.py",)]
    assert [each.path for each in library().documents.all(OWNER, hashing_store)] == ["run.py"]
