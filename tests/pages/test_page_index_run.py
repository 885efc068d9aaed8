"""A run from the Index page: begun, cancelled, gone on with, and its end; and the model that it needs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.errors import EmbedderError
from rag_core.models import built_in_install
from rag_core.models.built_in import BUILT_IN, BuiltIn
from rag_core.models.hashing import Hashing
from rag_core.store import lock
from rag_core.store.jobs import UNSAID
from rag_core.types import OWNER
from tests.conftest import index
from tests.pages.index_page import errors, finished, page, texts, until, with_folder
from tests.pages.visiting import drawn, has_key, press
from tests.support.packed_model import packed_model
from ui.frame.deps import library
from ui.index.folders import FOLDER_BOX as FOLDER

STORE = "mine"
BROKEN = b"\xff\xfe" + b"\x00\xd8" * 9

pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.thorough]


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
    assert "4 added" in texts(app)
    assert "4 added" in texts(page()), "in another session, too"
    assert app.text_input(key=FOLDER).value == ""
    assert str(four_files) in texts(app)
    (four_files / "new.md").write_text("# New\n\nA new note.\n", "utf-8")
    until(press(app, "index_again"), lambda app: finished(app) and "1 added · 4 unchanged" in texts(app))
    assert library().stores.info(OWNER, hashing_store).file_count == 5


def test_cancel_stops_the_run_and_go_on_ends_it(
    hashing_store: str, four_files: Path, slow: threading.Event
) -> None:
    app = until(press(with_folder(four_files), "index_now"), lambda app: has_key(app, "index_cancel"))
    press(app, "index_cancel")
    assert app.button(key="index_cancel").label == "Pausing …"
    slow.set()
    until(app, finished)
    assert library().jobs.all(OWNER, hashing_store, 1)[0].state == "cancelled"
    until(press(app, "index_go_on"), lambda app: finished(app) and not has_key(app, "index_go_on"))
    assert library().stores.info(OWNER, hashing_store).pending == 0


def test_what_was_typed_last_is_indexed_though_the_page_was_not_drawn_with_it(
    hashing_store: str, four_files: Path
) -> None:
    app = with_folder(four_files)
    app.text_area(key="index_include").set_value("**/*.py")
    app.button(key="index_now").click()  # both in one run of the page, as by a quick click
    until(app.run(), finished)
    assert [each.include for each in library().stores.info(OWNER, hashing_store).sources] == [("**/*.py",)]
    assert [each.path for each in library().documents.all(OWNER, hashing_store)] == ["run.py"]


def done(app: AppTest) -> AppTest:
    """Until nothing runs and nothing is asked for."""
    return until(app, lambda app: finished(app) and not library().jobs.requested(OWNER, STORE))


def test_files_that_failed_are_one_line_a_reason_and_only_they_are_tried_again(notes: Path) -> None:
    for name in ("a.md", "b.md"):
        (notes / name).write_bytes(BROKEN)
    (notes / "good.md").write_text("It is good.\n", "utf-8")
    index(library(), STORE, notes)
    app = page()
    assert "**2 files could not be read.** All for the same reason: It is marked as UTF-16-LE" in texts(app)
    assert "a.md\nb.md" in texts(app)
    (notes / "a.md").write_text("It is mended.\n", "utf-8")
    (notes / "new.md").write_text("It is new.\n", "utf-8")
    done(press(app, "index_retry_0"))
    assert "**1 file could not be read.**" in texts(app)
    assert [document.path for document in library().documents.all(OWNER, STORE)] == [
        "a.md",
        "b.md",
        "good.md",
    ]


def test_what_is_asked_while_another_process_holds_the_store_is_kept_and_shown(notes: Path) -> None:
    (notes / "a.md").write_text("It is a note.\n", "utf-8")
    index(library(), STORE, notes)
    library().sources.pause(OWNER, STORE, 1)
    with lock.hold(library().settings.store_dir / f"{STORE}.db"):
        app = press(page(), f"source_update_{STORE}_1")
        until(app, lambda app: f"Waiting: {notes}." in texts(app))
        assert library().jobs.requested(OWNER, STORE)
    done(press(app, "index_go_on"))
    assert library().jobs.all(OWNER, STORE, 1)[0].state == "done"


def test_a_run_that_was_killed_says_so_and_can_go_on(notes: Path) -> None:
    (notes / "a.md").write_text("It is a note.\n", "utf-8")
    library().create_store(OWNER, STORE, "hashing")
    library().add_source(OWNER, STORE, notes, ("**/*",))
    library().jobs.request(OWNER, STORE)
    with library()._shared.stores.open(OWNER, STORE).store.note() as db:
        db.execute("INSERT INTO jobs (state, start_time) VALUES ('running', '2026-01-01T00:00:00Z')")
    app = page()
    assert UNSAID in texts(app)
    done(press(app, "index_go_on"))
    assert library().stores.info(OWNER, STORE).file_count == 1


def test_the_button_installs_the_model_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    library().create_store(OWNER, "garden")
    done = threading.Event()

    def install(model: BuiltIn, model_dir: Path, report: Callable[[str], None]) -> None:
        report("Verifying the files …")
        done.wait(10)

    monkeypatch.setattr("ui.index.model_notice.install", install)
    app = press(page(), "index_install_model")
    until(app, lambda app: "Verifying the files" in texts(app))
    monkeypatch.setattr("ui.index.model_notice.is_installed", lambda model, model_dir: True)
    done.set()
    until(app, lambda app: "not installed" not in texts(app))


def test_a_failed_installation_says_why_and_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    library().create_store(OWNER, "garden")

    def install(model: BuiltIn, model_dir: Path, report: Callable[[str], None]) -> None:
        raise EmbedderError("pip could not fetch it.", "Check the network.")

    monkeypatch.setattr("ui.index.model_notice.install", install)
    app = page()
    assert "The button downloads it" in texts(app)
    assert "commonplace" not in texts(app)
    until(press(app, "index_install_model"), lambda app: bool(app.error))
    assert "pip could not fetch it. Check the network." in errors(app)
    assert has_key(app, "index_install_model")


def test_words_are_indexed_without_the_model_and_the_rest_is_offered_with_it(
    four_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library().create_store(OWNER, "garden")
    app = until(press(with_folder(four_files), "index_now"), finished)
    assert "4 passages not embedded yet" in texts(app)
    assert not has_key(app, "index_go_on")
    monkeypatch.setattr("ui.index.model_notice.is_installed", lambda model, model_dir: True)
    assert has_key(drawn(app.run()), "index_go_on")


def test_a_store_in_another_language_takes_the_model_for_it_with_one_press(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
    monkeypatch.setattr("rag_core.library.languages.MULTILINGUAL", row)
    install = partial(built_in_install.install, source=tmp_path / "source")
    monkeypatch.setattr("rag_core.library.languages.install", install)
    for number in range(6):
        (notes / f"{number}.md").write_text(
            f"Die Rechnung ist da, und das ist nicht schön. {number}\n", "utf-8"
        )
    library().create_store(OWNER, STORE, "minilm")
    index(library(), STORE, notes)
    app = page()
    assert "Mostly German. The model for every language finds such texts better," in texts(app)
    until(press(app, "index_take_languages"), lambda app: not has_key(app, "index_take_languages"))
    until(app, lambda app: library().stores.info(OWNER, STORE).embedder == "multilingual")
    assert "Mostly German" not in texts(page())


def test_a_store_keeps_its_model_if_the_owner_wants(notes: Path) -> None:
    for number in range(6):
        (notes / f"{number}.md").write_text(
            f"Die Rechnung ist da, und das ist nicht schön. {number}\n", "utf-8"
        )
    library().create_store(OWNER, STORE, "minilm")
    index(library(), STORE, notes)
    app = press(page(), "index_keep_model")
    assert "Mostly German" not in texts(app)
    assert not has_key(app, "index_take_languages")
