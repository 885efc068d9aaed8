"""The Stores page through AppTest: real library, real store files; only identity is replaced.

Each test asserts that the page raised nothing and one thing that a person would see.
"""

from __future__ import annotations

import html
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_core import jobs, portable
from rag_core.embedders.hashing import Hashing
from rag_core.library import Library
from rag_core.store import lock
from rag_core.types import OWNER
from tests import pages
from tests.configured import configure
from tests.conftest import index
from tests.pages import drawn, has_key, markup, params, press, press_label
from tests.stored import found
from ui import access, tasks, work
from ui.access import REFUSAL
from ui.deps import library
from ui.task_status import library_name

pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def garden(owner: None, notes: Path) -> Library:
    """A library with a store called garden: two notes, a script, and one that cannot be read."""
    (notes / "rose.md").write_text("# Rose\n\nCut roses in late winter.\n", "utf-8")
    (notes / "diary.md").write_text("---\nprivate: true\n---\nThe gardener's secret.\n", "utf-8")
    (notes / "water.py").write_text("def water(roses):\n    return 'wet'\n", "utf-8")
    (notes / "broken.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    index(library(), "garden", notes)
    return library()


def page(**parameters: str) -> AppTest:
    return pages.open_page("stores", **parameters)


def texts(app: AppTest) -> str:
    kinds = (app.title, app.header, app.error, app.warning, app.success)
    said = "\n".join(str(element.value) for kind in kinds for element in kind).replace("\\", "")
    return f"{said}\n{html.unescape(markup(app))}".replace("\u2060", "")


def until(wanted: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not wanted():
        assert time.monotonic() < end
        time.sleep(0.01)


def settled(app: AppTest) -> AppTest:
    """The page once nothing is under way."""
    until(lambda: not any(task.running for task in tasks.known(library_name())))
    return drawn(app.run())


def links(app: AppTest) -> dict[str, str]:
    """The links of the page by their label, with the page and parameters that they lead to."""
    found = [element.proto for element in app.get("page_link")]
    return {link.label.strip("*").replace("\\", ""): f"{link.page}?{link.query_string}" for link in found}


# --- the list ---------------------------------------------------------------------------


def test_nobody_but_the_owner_sees_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    library().create_store(OWNER, "garden", "hashing")
    monkeypatch.setattr(access, "_headers", dict)
    app = page(store="garden")
    assert [error.value for error in app.error] == [REFUSAL]
    assert "garden" not in texts(app)


def test_without_a_store_the_page_leads_to_the_index() -> None:
    app = page()
    assert "There is no store yet" in texts(app)
    assert has_key(app, "first_folder")


def test_every_store_is_listed_with_what_is_in_it(garden: Library) -> None:
    garden.create_store(OWNER, "empty", "hashing")
    app = page()
    assert "3 files · 1 failed · 3 passages" in texts(app)
    assert "empty · hashing" in texts(app)
    assert links(app)["garden"] == "stores?store=garden"


def test_a_damaged_store_is_named_with_its_error_and_hides_no_other(garden: Library) -> None:
    (garden.settings.store_dir / "torn.db").write_bytes(b"no database" * 1000)
    app = page()
    assert "Store 'torn' cannot be opened" in texts(app)
    assert "3 files · 1 failed · 3 passages" in texts(app)
    assert {"garden", "torn"} <= links(app).keys()


def test_a_store_that_is_not_there_is_said_above_the_others(garden: Library) -> None:
    app = page(store="gardn")
    assert "There is no store called 'gardn'. Did you mean 'garden'?" in texts(app)
    assert "garden" in links(app)


# --- one store --------------------------------------------------------------------------


def test_a_store_tells_everything_about_itself(garden: Library, notes: Path) -> None:
    app = page(store="garden")
    said = texts(app)
    info = garden.store_info(OWNER, "garden")
    assert app.title[0].value == "garden"
    for name, value in {
        "Files": "3, 1 failed", "Passages": "3", "Embedder": "hashing", "Model": info.identity,
        "Dimension": "256", "Vectors": "in the store's own file",
    }.items():  # fmt: skip
        assert f"<dt>{name}</dt><dd>{value}</dd>" in said
    assert "all three metrics give the same order" in said
    assert str(notes) in said


def test_passages_that_the_model_cannot_read_are_said_with_who_reads_them(
    garden: Library, monkeypatch: pytest.MonkeyPatch, notes: Path
) -> None:
    monkeypatch.setattr(Hashing, "reads", lambda _self, text: "α" not in text)
    (notes / "greek.md").write_text("α and α.\n")
    index(garden, "garden")
    said = texts(page(store="garden"))
    assert "<dt>By words only</dt><dd>1 passage is in a script that this model cannot read" in said
    assert "ollama:bge-m3" in said
    assert "1 found by words only" in texts(page())


def test_file_types_are_drawn_with_their_numbers(garden: Library) -> None:
    said = texts(page(store="garden"))
    assert '<dt>markdown</dt><dd><span class="cp-track" aria-hidden="true"><i style="width:100.0%">' in said
    assert '<dt>python</dt><dd><span class="cp-track" aria-hidden="true"><i style="width:50.0%">' in said


def test_a_hostile_folder_is_shown_as_it_is_called(garden: Library, notes: Path) -> None:
    hostile = notes.parent / "<img src=x onerror=alert(1)>"
    hostile.mkdir()
    garden.add_source(OWNER, "garden", hostile, ["<b>*.md"])
    said = markup(page(store="garden"))
    assert "<img" not in said
    assert "<b>" not in said
    assert "&lt;img src=x onerror=alert(1)&gt;" in said


def test_its_search_files_and_folders_are_a_click_away(garden: Library) -> None:
    leads = links(page(store="garden"))
    assert leads["Search"] == "?store=garden"
    assert leads["Files"] == "files?store=garden"
    assert leads["Folders and runs"] == "index?store=garden"
    assert leads["All stores"] == "stores?"


def test_an_empty_store_begins_with_the_picker_of_its_first_folder() -> None:
    for name in ("another", "empty"):
        library().create_store(OWNER, name, "hashing")
    app = page(store="empty")
    assert not any("store=empty" in leads for leads in links(app).values())
    press(app, "store_add_folder_empty")
    assert app.title[0].value == "Index"
    assert app.selectbox(key="index_store").value == "empty"
    assert "Use this folder" in [button.label for button in app.button]


def test_a_store_with_a_folder_is_not_asked_for_its_first(garden: Library) -> None:
    assert not has_key(page(store="garden"), "store_add_folder_garden")


# --- a new one --------------------------------------------------------------------------


def fill(app: AppTest, name: str, embedder: str = "hashing") -> AppTest:
    app.selectbox(key="stores_embedder").select(embedder)
    return drawn(app.text_input(key="stores_new_name").set_value(name).run())


def test_a_new_store_gets_what_was_chosen_and_is_markup() -> None:
    app = fill(page(), " herbs ")
    assert app.selectbox(key="stores_metric").options == [
        "Cosine: the angle between two vectors; the usual choice",
        "Euclidean distance: the straight line between them",
        "Dot product: angle and length at once",
    ]
    app.selectbox(key="stores_metric").select("euclidean")
    app.number_input(key="stores_dimension_hashing").set_value(64).run()
    press(app, "stores_create")
    info = library().store_info(OWNER, "herbs")
    assert (info.embedder, info.dimension, info.distance_metric) == ("hashing:64", 64, "euclidean")
    assert params(app) == {"store": "herbs"}
    assert app.title[0].value == "herbs"


def test_a_dimension_is_asked_for_only_where_the_embedder_leaves_a_choice() -> None:
    app = page()
    assert "A vector of this embedder has 384 numbers." in texts(app)
    assert not app.number_input
    press(fill(app, "notes", "minilm"), "stores_create")
    assert library().store_info(OWNER, "notes").dimension == 384


def test_what_a_newcomer_need_not_know_is_folded_unless_it_is_chosen(home: Path) -> None:
    [fold] = [each for each in page().expander if each.label == "More"]
    assert not fold.proto.expanded
    assert [box.label for box in fold.selectbox] == ["Vectors", "Metric: how two vectors are compared"]
    configure(home, "backend: chroma\n")
    st.cache_resource.clear()
    [fold] = [each for each in page().expander if each.label == "More"]
    assert fold.proto.expanded


@pytest.mark.parametrize("name", ["", "../x", "x" * 300, "GARDEN", "<b>"])
def test_a_name_that_cannot_be_is_refused_with_the_librarys_words(garden: Library, name: str) -> None:
    app = press(fill(page(), name), "stores_create")
    said = "A store called 'garden' exists already." if name == "GARDEN" else "cannot be a store's name."
    assert said in texts(app)
    assert garden.store_names(OWNER) == ["garden"]
    renamed = page(store="garden")
    renamed.text_input(key="store_new_name_garden").set_value(name)
    if name != "GARDEN":  # which a store may well be called instead of garden
        assert said in texts(press_label(renamed, "Rename"))


# --- name and end -----------------------------------------------------------------------


def test_a_store_is_renamed_with_all_that_is_in_it(garden: Library) -> None:
    app = page(store="garden")
    app.text_input(key="store_new_name_garden").set_value("plants")
    press_label(app, "Rename")
    assert app.title[0].value == "plants"
    assert params(app) == {"store": "plants"}
    assert found(garden, "roses in late winter", "plants") == ["rose.md"]


def test_what_was_asked_of_a_store_is_done_once_it_is_renamed(garden: Library) -> None:
    garden.request_index(OWNER, "garden")
    app = page(store="garden")
    app.text_input(key="store_new_name_garden").set_value("plants")
    press_label(app, "Rename")
    until(lambda: not jobs.working(garden, "plants"))
    assert not garden.requested(OWNER, "plants")


def test_a_store_is_deleted_once_its_name_was_typed(garden: Library, notes: Path) -> None:
    app = page(store="garden")
    assert "forgets its 3 passages of 3 files" in texts(app)
    app.text_input(key="store_delete_name_garden").set_value("gardn")
    press_label(app, "Delete store")
    assert "That is not the store's name. Nothing was deleted." in texts(app)
    assert garden.store_names(OWNER) == ["garden"]

    app.text_input(key="store_delete_name_garden").set_value("garden")
    press_label(app, "Delete store")
    assert "Store 'garden' is deleted; its files are untouched." in texts(app)
    assert params(app) == {}
    assert garden.store_names(OWNER) == []
    assert (notes / "rose.md").exists()
    assert "is deleted" not in texts(drawn(app.run()))


def test_a_store_that_is_being_indexed_leads_to_its_run_instead(garden: Library) -> None:
    app = page(store="garden")
    with lock.hold(garden.settings.store_dir / "garden.db"):
        app.text_input(key="store_delete_name_garden").set_value("garden")
        press_label(app, "Delete store")
    assert "Store 'garden' is being indexed. Nothing was deleted; cancel the run" in texts(app)
    links = {link.proto.label: link.proto.query_string for link in app.get("page_link")}
    assert links["Go to the run"] == "store=garden"
    assert garden.store_names(OWNER) == ["garden"]


def test_a_damaged_store_can_be_deleted(garden: Library) -> None:
    (garden.settings.store_dir / "torn.db").write_bytes(b"no database" * 1000)
    app = page(store="torn")
    assert "Store 'torn' cannot be opened" in texts(app)
    app.text_input(key="store_delete_name_torn").set_value("torn")
    press_label(app, "Delete store")
    assert garden.store_names(OWNER) == ["garden"]


# --- export and import ------------------------------------------------------------------


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
    assert garden.import_store(OWNER, file, "again").file_count == 3


def test_an_end_stays_until_it_is_closed(garden: Library) -> None:
    app = export(page(store="garden"))
    assert "Exported" in texts(page(store="garden")), "in another session, too"
    press(app, "task_close_export_0")
    assert "Exported" not in texts(app)


def test_an_existing_file_is_replaced_only_when_that_is_ticked(garden: Library, tmp_path: Path) -> None:
    mine = tmp_path / "garden.commonplace"
    mine.write_text("mine")
    app = export(page(store="garden"), str(tmp_path))
    assert f"'{mine}' is there already." in texts(app)
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
    return garden.export_store(OWNER, "garden", tmp_path).path


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
    garden.delete_store(OWNER, "garden")
    app = page()
    app.file_uploader(key="stores_import_upload").upload("garden.commonplace", exported.read_bytes()).run()
    settled(press(app, "stores_import"))
    assert "Store 'garden' is ready" in texts(app)


def test_what_was_dropped_and_is_no_store_is_refused_by_its_own_name() -> None:
    app = page()
    app.file_uploader(key="stores_import_upload").upload("<b>.commonplace", b"x" * 100).run()
    settled(press(app, "stores_import"))
    assert "'<b>.commonplace' cannot be imported" in texts(app)
    assert library().store_names(OWNER) == []


def test_a_name_that_is_taken_is_refused_where_the_import_was_asked_for(
    garden: Library, exported: Path
) -> None:
    app = page()
    app.text_input(key="stores_import_path").set_value(str(exported))
    settled(press(app, "stores_import"))
    assert "A store called 'garden' exists already. Write another name into the box below" in texts(app)
    assert "--name" not in texts(app)


def test_an_import_takes_away_what_the_one_before_it_had_to_say(home: Path, tmp_path: Path) -> None:
    app = page()
    for name in ("one", "two"):
        (tmp_path / f"{name}.commonplace").write_bytes(b"no store")
        app.text_input(key="stores_import_path").set_value(str(tmp_path / f"{name}.commonplace"))
        settled(press(app, "stores_import"))
    assert ["two.commonplace" in error.value.replace("\\", "") for error in app.error] == [True]
    press(app, "task_close_import_0")
    assert not app.error


def test_the_built_in_model_is_called_so_and_an_excluded_file_is_counted(garden: Library) -> None:
    garden.create_store(OWNER, "later", "minilm")
    garden.exclude_file(OWNER, "garden", "rose.md")
    index(garden, "garden")
    assert "empty · built-in model" in texts(page())
    assert "2 files · 1 failed · 1 excluded · 2 passages" in texts(page())
    assert "<dt>Embedder</dt><dd>built-in model</dd>" in texts(page(store="later"))
    assert "minilm" not in texts(page(store="later"))


@pytest.mark.parametrize("end", ["Delete store", "Rename"])
def test_a_store_that_is_gone_is_not_called_ready_any_more(garden: Library, exported: Path, end: str) -> None:
    garden.delete_store(OWNER, "garden")
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


def test_a_file_that_is_not_there_is_named() -> None:
    app = page()
    app.text_input(key="stores_import_path").set_value("/no/x.commonplace")
    assert "There is no file '/no/x.commonplace'" in texts(settled(press(app, "stores_import")))


# --- health -----------------------------------------------------------------------------


def test_a_sound_store_is_said_to_be_sound(garden: Library) -> None:
    app = settled(press(page(store="garden"), "store_verify_garden"))
    assert "Sound: 20 checks" in texts(app)
    assert not has_key(app, "store_repair_garden")


def test_changed_files_are_noted_when_they_are_compared(garden: Library, notes: Path) -> None:
    (notes / "rose.md").write_text("# Rose\n\nAnother text.\n", "utf-8")
    app = page(store="garden")
    app.checkbox(key="store_files_garden").set_value(True).run()
    settled(press(app, "store_verify_garden"))
    assert "Sound, with a note" in texts(app)
    assert "rose.md: changed" in texts(app)
    assert not has_key(app, "store_repair_garden")


def test_faults_are_named_and_repaired(garden: Library) -> None:
    with closing(sqlite3.connect(garden.settings.store_dir / "garden.db")) as db:
        db.execute("UPDATE chunks SET start_line = -5")
        db.commit()
    app = settled(press(page(store="garden"), "store_verify_garden"))
    assert "1 fault in 20 checks" in texts(app)
    assert "3 passages with a place in the file that cannot be." in texts(app)

    garden.request_index(OWNER, "garden", [])
    settled(press(app, "store_repair_garden"))

    until(lambda: not jobs.working(garden, "garden"))
    assert not garden.requested(OWNER, "garden"), "what was asked meanwhile is done"
    assert "3 passages with a possible place again." in texts(app)
    assert "The next run reads 3 documents again." in texts(app)
    assert not has_key(app, "store_repair_garden")
    assert garden.verify(OWNER, "garden").sound
