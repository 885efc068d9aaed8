"""The Stores page through AppTest: real library, real store files; only identity is replaced.

Each test asserts that the page raised nothing and one thing that a person would see.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.library import Library
from rag_core.running import background
from rag_core.store import lock
from rag_core.types import OWNER
from tests.pages.stores_page import links, page, settled
from tests.pages.visiting import drawn, has_key, params, press, press_label, texts
from tests.support.stored import found
from tests.support.waiting import until
from ui.frame.deps import library

pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.thorough]


def test_every_store_is_listed_and_a_damaged_one_is_named_and_can_be_deleted(garden: Library) -> None:
    (garden.settings.store_dir / "torn.db").write_bytes(b"no database" * 1000)
    garden.create_store(OWNER, "empty", "hashing")
    app = page()
    assert "Store 'torn' cannot be opened" in texts(app)
    assert " · up to date · 1 failed" in texts(app)
    assert "empty" in texts(app)
    assert {"garden", "torn"} <= links(app).keys()
    app = page(store="gardn")
    assert "There is no store called 'gardn'. Did you mean 'garden'?" in texts(app)
    assert links(app)["garden"] == "stores?store=garden"
    app = page(store="torn")
    assert "Store 'torn' cannot be opened" in texts(app)
    app.text_input(key="store_delete_name_torn").set_value("torn")
    press_label(app, "Delete store")
    assert garden.stores.names(OWNER) == ["empty", "garden"]


def test_a_store_tells_everything_about_itself(garden: Library) -> None:
    app = page(store="garden")
    said = texts(app)
    info = garden.stores.info(OWNER, "garden")
    assert app.title[0].value == "garden"
    for name, value in {
        "Files": "3, 1 failed",
        "Passages": "3",
        "Embedder": "hashing",
        "Fingerprint": f"{info.identity} (which exact model made the vectors)",
        "Dimension": "256",
        "Vectors": "in the store's own file",
    }.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in said


def fill(app: AppTest, name: str) -> AppTest:
    return drawn(app.text_input(key="stores_new_name").set_value(name).run())


def test_a_new_store_gets_what_was_chosen_and_is_markup() -> None:
    library().create_store(OWNER, "weeds", "hashing")  # offered where another store has it
    app = fill(page(), " herbs ")
    app.selectbox(key="stores_embedder").select("hashing")
    press(app, "stores_create")
    info = library().stores.info(OWNER, "herbs")
    assert info.embedder == "hashing"
    assert params(app) == {"store": "herbs"}
    assert app.title[0].value == "herbs"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("../x", "cannot be a store's name."),
        ("<b>", "cannot be a store's name."),
        ("GARDEN", "A store called 'garden' exists already."),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_the_librarys_words(
    garden: Library, name: str, said: str
) -> None:
    assert said in texts(press(fill(page(), name), "stores_create"))
    assert garden.stores.names(OWNER) == ["garden"]


def test_a_store_is_renamed_with_all_that_is_in_it(garden: Library) -> None:
    app = page(store="garden")
    app.text_input(key="store_rename_name_garden").set_value("../x")
    assert "cannot be a store's name." in texts(press_label(app, "Rename"))
    app.text_input(key="store_rename_name_garden").set_value("plants")
    press_label(app, "Rename")
    assert app.title[0].value == "plants"
    assert params(app) == {"store": "plants"}
    assert found(garden, "roses in late winter", "plants") == ["rose.md"]


def test_a_store_is_deleted_once_its_name_was_typed(garden: Library, notes: Path) -> None:
    app = page(store="garden")
    assert "This deletes the index of 3 passages of 3 files; your files stay." in texts(app)
    app.text_input(key="store_delete_name_garden").set_value("gardn")
    press_label(app, "Delete store")
    assert "That is not the store's name. Nothing was deleted." in texts(app)
    assert garden.stores.names(OWNER) == ["garden"]
    app.text_input(key="store_delete_name_garden").set_value("garden")
    press_label(app, "Delete store")
    assert "Store 'garden' is deleted; its files are untouched." in texts(app)
    assert params(app) == {}
    assert garden.stores.names(OWNER) == []
    assert (notes / "rose.md").exists()
    assert "is deleted" not in texts(drawn(app.run()))


def test_a_store_whose_run_does_not_stop_leads_to_it_instead(
    garden: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_core.library.stores._STOP_S", 0.2)
    app = page(store="garden")
    with lock.hold(garden.settings.store_dir / "garden.db"):
        app.text_input(key="store_delete_name_garden").set_value("garden")
        press_label(app, "Delete store")
    assert "Store 'garden' is being indexed. Nothing was deleted. Cancel the run" in texts(app)
    links = {link.proto.label: link.proto.query_string for link in app.get("page_link")}
    assert links["Go to the run"] == "store=garden"
    assert garden.stores.names(OWNER) == ["garden"]


def test_faults_are_named_and_repaired(garden: Library) -> None:
    with closing(sqlite3.connect(garden.settings.store_dir / "garden.db")) as db:
        db.execute("UPDATE chunks SET start_line = -5")
        db.commit()
    app = settled(press(page(store="garden"), "store_verify_garden"))
    assert "2 faults in 11 checks" in texts(app)
    assert "4 documents have passages whose stored position is impossible." in texts(app)

    garden.jobs.request(OWNER, "garden", [])
    settled(press(app, "store_repair_garden"))
    until(lambda: not background.working(garden, "garden"))
    assert not garden.jobs.requested(OWNER, "garden"), "what was asked meanwhile is done"
    assert "3 documents read again into a new file, 3 vectors reused." in texts(app)
    assert not has_key(app, "store_repair_garden")
    assert "Sound: 11 checks" in texts(settled(press(app, "store_verify_garden")))


def test_a_store_that_cannot_be_read_is_repaired_on_its_page(garden: Library) -> None:
    garden.close()
    file = garden.settings.store_dir / "garden.db"
    with closing(sqlite3.connect(file)) as db:
        [page_number] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'documents'").fetchone()
    with file.open("r+b") as torn:
        torn.seek((page_number - 1) * 8192)
        torn.write(bytes(8192))
    app = page(store="garden")
    assert "Store 'garden' cannot be read: database disk image is malformed" in texts(app)
    assert "Export" not in texts(app)
    app = settled(press(app, "store_repair_garden"))
    assert "3 documents read again into a new file" in texts(app)
    assert has_key(app, "store_verify_garden"), "the page is whole again"
    assert garden.upkeep.verify(OWNER, "garden").sound
