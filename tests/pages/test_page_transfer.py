"""Export and import on the Stores page, through AppTest on real store files."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.index import portable
from rag_core.library import Library
from rag_core.types import OWNER
from tests.pages.stores_page import links, page, settled
from tests.pages.visiting import press, press_label, texts
from tests.support.stored import found
from tests.support.waiting import until
from ui.frame import tasks
from ui.frame.deps import library
from ui.frame.hits import label
from ui.stores.task_status import library_name

pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.thorough]


def test_an_export_can_be_downloaded_and_replaces_a_file_only_when_that_is_ticked(garden: Library) -> None:
    app = page(store="garden")
    file = garden.settings.data_dir / "exports" / "garden.commonplace"
    file.parent.mkdir()
    file.write_text("mine", "utf-8")
    settled(press(app, "store_export_start_garden"))
    assert f"'{file}' exists already." in texts(app)
    assert file.read_text("utf-8") == "mine"
    app.checkbox(key="store_export_force_garden").set_value(True).run()
    settled(press(app, "store_export_start_garden"))
    assert f"Exported 3 passages of 3 files to {file}" in texts(app)
    assert [button.proto.label for button in app.get("download_button")] == ["Download"]
    assert garden.stores.import_file(OWNER, file, "again").file_count == 3
    app = page()
    press_label(app, label(file.name))
    assert app.text_input(key="stores_import_path").value == str(file)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Exports go no further than half until the event is set."""
    go, real = threading.Event(), portable.export_store

    def slow(store: Any, target: Path, *, force: bool, report: portable.TransferReport) -> Any:
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
    until(lambda: tasks.known_tasks(library_name())[0].part == 0.5)
    other = page(store="garden")
    [bar] = other.get("progress")
    said = bar.proto.text.replace("\\", "")
    assert "Export of 'garden' · Writing the file · 50.0 MB of 100.0 MB" in said
    assert next(b for b in other.button if b.key == "store_export_start_garden").disabled
    press(other, "task_cancel_export_0")
    assert "Stopping" in texts(other)
    held.set()
    settled(other)
    assert "Export of 'garden' was cancelled. Nothing was changed." in texts(other)
    assert not (garden.settings.data_dir / "exports" / "garden.commonplace").exists()


def test_a_store_is_imported_from_a_path_under_another_name(garden: Library, tmp_path: Path) -> None:
    exported = garden.stores.export(OWNER, "garden", tmp_path).path
    app = page()
    app.text_input(key="stores_import_path").set_value(str(exported))
    app.text_input(key="stores_import_name").set_value("once again")
    settled(press(app, "stores_import"))
    assert "Store 'once-again' is ready: 3 passages of 3 files." in texts(app)
    assert "The next run compares the store with 1 folder" in texts(app)
    assert links(app)["Open the store"] == "stores?store=once-again"
    assert "once-again" in links(app)
    assert found(garden, "roses in late winter", "once-again") == ["rose.md"]


def test_what_was_dropped_and_is_no_store_is_refused_by_its_own_name() -> None:
    app = page()
    app.file_uploader(key="stores_import_upload").upload("<b>.commonplace", b"x" * 100).run()
    settled(press(app, "stores_import"))
    assert "'<b>.commonplace' cannot be imported" in texts(app)
    assert library().stores.names(OWNER) == []
