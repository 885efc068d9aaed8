"""Export and import on the Stores page, through AppTest on real store files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.library import Library, portable
from rag_core.types import OWNER
from tests.conftest import index
from tests.pages import drawn, press, press_label, texts
from tests.stored import found
from tests.stores_page import links, page, settled
from tests.waiting import until
from ui import tasks, work
from ui.deps import library
from ui.task_status import library_name

pytestmark = pytest.mark.usefixtures("owner")


def export(app: AppTest, target: str = "", *, replace: bool = False) -> AppTest:
    if target:
        app.text_input(key="store_export_garden").set_value(target)
    app.checkbox(key="store_export_force_garden").set_value(replace).run()
    return settled(press(app, "store_export_start_garden"))


def test_an_export_goes_into_the_exports_folder_and_can_be_downloaded(garden: Library) -> None:
    app = page(store="garden")
    assert "private notes too" in texts(app)
    export(app)
    file = garden.settings.data_dir / "exports" / "garden.commonplace"
    assert f"Exported 3 passages of 3 files to {file}" in texts(app)
    assert [button.proto.label for button in app.get("download_button")] == ["Download"]
    assert garden.stores.take_in(OWNER, file, "again").file_count == 3


def test_an_end_stays_until_it_is_closed(garden: Library) -> None:
    app = export(page(store="garden"))
    assert "Exported" in texts(page(store="garden")), "in another session, too"
    press(app, "task_close_export_0")
    assert "Exported" not in texts(app)


def test_an_existing_file_is_replaced_only_when_that_is_ticked(garden: Library, tmp_path: Path) -> None:
    mine = tmp_path / "garden.commonplace"
    mine.write_text("mine")
    app = export(page(store="garden"), str(tmp_path))
    assert f"'{mine}' exists already." in texts(app)
    assert mine.read_text() == "mine"
    export(app, replace=True)
    assert "Exported 3 passages" in texts(app)


def test_a_target_that_is_no_whole_path_is_refused(garden: Library) -> None:
    app = page(store="garden")
    app.text_input(key="store_export_garden").set_value("here")
    assert "'here' is not a whole path." in texts(press(app, "store_export_start_garden"))


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Exports go no further than half until the event is set."""
    go, real = threading.Event(), portable.export_store

    def slow(store: Any, target: Path, *, force: bool, report: portable.Report) -> Any:
        report(portable.Transfer("packing", 50_000_000, 100_000_000))
        assert go.wait(20)
        return real(store, target, force=force, report=report)

    monkeypatch.setattr(portable, "export_store", slow)
    yield go
    go.set()


def test_an_export_under_way_is_seen_and_cancelled_from_any_session(
    garden: Library, held: threading.Event
) -> None:
    press(page(store="garden"), "store_export_start_garden")
    until(lambda: tasks.known(library_name())[0].part == 0.5)
    other = page(store="garden")
    assert "Export of 'garden' · Writing the file · 50.0 MB of 100.0 MB" in progress(other)
    assert next(b for b in other.button if b.key == "store_export_start_garden").disabled
    assert page(store="garden").title[0].value == "garden", "nobody waits for it"

    press(other, "task_cancel_export_0")
    assert "Stopping" in texts(other)
    held.set()
    settled(other)
    assert "Export of 'garden' was cancelled; nothing was changed." in texts(other)
    assert not (garden.settings.data_dir / "exports" / "garden.commonplace").exists()


def test_the_end_of_the_app_cancels_what_is_under_way(garden: Library, held: threading.Event) -> None:
    press(page(store="garden"), "store_export_start_garden")
    [task] = tasks.known(library_name())
    until(lambda: task.part == 0.5)
    threading.Timer(0.1, held.set).start()
    work.stop_all()
    assert (task.running, task.result, task.error) == (False, None, None)


def progress(app: AppTest) -> str:
    return " ".join(element.proto.text for element in app.get("progress")).replace("\\", "")


@pytest.fixture
def exported(garden: Library, tmp_path: Path) -> Path:
    """The portable file of garden."""
    return garden.stores.export(OWNER, "garden", tmp_path).path


def test_a_store_is_imported_from_a_path_under_another_name(garden: Library, exported: Path) -> None:
    app = page()
    app.text_input(key="stores_import_path").set_value(str(exported))
    app.text_input(key="stores_import_name").set_value("again")
    settled(press(app, "stores_import"))
    assert "Store 'again' is ready: 3 passages of 3 files." in texts(app)
    assert "The next run compares the store with 1 folder" in texts(app)
    assert links(app)["Look at it"] == "stores?store=again"
    assert "again" in links(app)
    assert found(garden, "roses in late winter", "again") == ["rose.md"]


def test_a_store_is_imported_from_what_was_dropped(garden: Library, exported: Path) -> None:
    garden.stores.delete(OWNER, "garden")
    app = page()
    app.file_uploader(key="stores_import_upload").upload("garden.commonplace", exported.read_bytes()).run()
    settled(press(app, "stores_import"))
    assert "Store 'garden' is ready" in texts(app)


def test_what_was_dropped_and_is_no_store_is_refused_by_its_own_name() -> None:
    app = page()
    app.file_uploader(key="stores_import_upload").upload("<b>.commonplace", b"x" * 100).run()
    settled(press(app, "stores_import"))
    assert "'<b>.commonplace' cannot be imported" in texts(app)
    assert library().stores.names(OWNER) == []


def test_a_name_that_is_taken_is_refused_where_the_import_was_asked_for(
    garden: Library, exported: Path
) -> None:
    app = page()
    app.text_input(key="stores_import_path").set_value(str(exported))
    settled(press(app, "stores_import"))
    assert "A store called 'garden' exists already. Import it under another name" in texts(app)
    assert "--name" not in texts(app)
    assert app.text_input(key="stores_import_path").value == str(exported)
    app.text_input(key="stores_import_name").set_value("again")
    settled(press(app, "stores_import"))
    assert "Store 'again' is ready" in texts(app)
    assert app.text_input(key="stores_import_path").value == ""
    assert app.text_input(key="stores_import_name").value == ""


def test_an_import_takes_away_what_the_one_before_it_had_to_say(home: Path, tmp_path: Path) -> None:
    app = page()
    for name in ("one", "two"):
        (tmp_path / f"{name}.commonplace").write_bytes(b"no store")
        app.text_input(key="stores_import_path").set_value(str(tmp_path / f"{name}.commonplace"))
        settled(press(app, "stores_import"))
    assert ["two.commonplace" in error.value.replace("\\", "") for error in app.error] == [True]
    assert "cannot be imported" in texts(page()), "in another session, too"
    press(app, "task_close_import_0")
    assert not app.error


def test_the_built_in_model_is_called_so_and_an_excluded_file_is_counted(garden: Library) -> None:
    garden.create_store(OWNER, "later", "minilm")
    garden.files.exclude(OWNER, "garden", "rose.md")
    index(garden, "garden")
    assert "empty · built-in model" in texts(page())
    assert "2 files · 1 failed · 1 excluded · 2 passages" in texts(page())
    assert "<dt>Embedder</dt><dd>built-in model</dd>" in texts(page(store="later"))
    assert "minilm" not in texts(page(store="later"))


def test_that_a_store_is_ready_goes_when_who_asked_for_it_has_seen_it(
    garden: Library, exported: Path
) -> None:
    app = page()
    app.text_input(key="stores_import_path").set_value(str(exported))
    app.text_input(key="stores_import_name").set_value("again")
    press(app, "stores_import")
    until(lambda: not any(task.running for task in tasks.known(library_name())))
    assert "Store 'again' is ready" in texts(page()), "who asked for it has not seen it yet"
    assert "Store 'again' is ready" in texts(drawn(app.run()))
    assert "Store 'again' is ready" in texts(drawn(app.run())), "it stays while the page does"
    assert "is ready" not in texts(page()), "nor in other sessions"
    drawn(app.switch_page("../pages/settings.py").run())
    assert "is ready" not in texts(drawn(app.switch_page("../pages/stores.py").run()))


@pytest.mark.parametrize("end", ["Delete store", "Rename"])
def test_a_store_that_is_gone_is_not_called_ready_any_more(garden: Library, exported: Path, end: str) -> None:
    garden.stores.delete(OWNER, "garden")
    app = page()
    app.text_input(key="stores_import_path").set_value(str(exported))
    settled(press(app, "stores_import"))
    assert "Store 'garden' is ready" in texts(app)
    app = page(store="garden")
    app.text_input(key="store_delete_name_garden").set_value("garden")
    app.text_input(key="store_new_name_garden").set_value("plants")
    press_label(app, end)
    assert "Store 'garden' is ready" not in texts(page())


def test_a_file_of_the_exports_folder_is_chosen_and_not_typed(garden: Library) -> None:
    assert "stores_import_exported" not in [box.key for box in page().selectbox]
    export(page(store="garden"))
    file = garden.settings.data_dir / "exports" / "garden.commonplace"
    (file.parent / "other.txt").write_text("no export")
    app = page()
    assert app.selectbox(key="stores_import_exported").options == ["garden.commonplace"]
    drawn(app.selectbox(key="stores_import_exported").select("garden.commonplace").run())
    assert app.text_input(key="stores_import_path").value == str(file)
    app.text_input(key="stores_import_name").set_value("again")
    assert "Store 'again' is ready" in texts(settled(press(app, "stores_import")))
    assert app.selectbox(key="stores_import_exported").value is None


@pytest.mark.parametrize(
    ("typed", "said"), [("", "No file is named."), ("x.commonplace", "is not a whole path.")]
)
def test_an_import_without_a_path_is_refused_at_once(typed: str, said: str) -> None:
    app = page()
    app.text_input(key="stores_import_path").set_value(typed)
    assert said in texts(press(app, "stores_import"))
    assert tasks.known(library_name()) == []
