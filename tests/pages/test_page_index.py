"""The Index page through AppTest: real library, real files, real runs; only identity is replaced.

Each test asserts that the page raised nothing and one thing that a person would see.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_core.types import OWNER
from tests.pages.index_page import errors, finished, page, texts, until, with_folder
from tests.pages.visiting import drawn, has_key, press, press_label
from ui.frame.deps import library
from ui.frame.hits import label
from ui.index.folders import FOLDER_BOX as FOLDER
from ui.index.folders import PICKER

HOSTILE = "![x](evil.example) <b>:red[x] `\nline.md"

pytestmark = pytest.mark.usefixtures("owner")


def test_a_new_store_is_called_after_its_folder_and_takes_that_up(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "My notes, 2026").mkdir(parents=True)
        (tmp_path / place / "My notes, 2026" / "a.md").write_text("Words.\n", "utf-8")
    app = press(with_folder(tmp_path / "one" / "My notes, 2026"), "index_now")
    assert library().stores.names(OWNER) == ["My-notes-2026"]
    assert app.query_params["store"] == "My-notes-2026"
    assert library().stores.info(OWNER, "My-notes-2026").embedder == "minilm"
    app = press(until(app, finished), "index_new_store")
    assert app.header[0].value == "New store"
    app = drawn(app.text_input(key=FOLDER).set_value(str(tmp_path / "two" / "My notes, 2026")).run())
    assert app.text_input(key="index_new_name").value == "My-notes-2026-2"
    app.text_input(key="index_new_name").set_value("other")
    until(press(app, "index_now"), finished)
    assert library().stores.names(OWNER) == ["My-notes-2026", "other"]


def test_a_broken_store_says_so_and_does_not_hide_the_others(hashing_store: str) -> None:
    (library().settings.store_dir / "broken.db").write_bytes(b"not a database" * 100)
    app = page(store="broken")
    assert "'broken'" in errors(app)
    drawn(app.selectbox(key="index_store").set_value("mine").run())
    assert not app.error
    assert app.text_input(key=FOLDER).value == ""


def test_the_files_of_a_folder_are_counted_by_kinds_and_patterns(
    hashing_store: str, four_files: Path
) -> None:
    app = with_folder(four_files)
    assert all(said in texts(app) for said in ("**4 files**", "deep/ink.md"))
    assert app.pills(key="index_suffixes").options == [".md 3", ".py 1"]
    drawn(app.pills(key="index_kind").set_value("Notes").run())
    assert app.text_area(key="index_include").value == "**/*.{md,mdx,txt,rst}"
    assert "**3 files**" in texts(app)
    assert app.pills(key="index_suffixes").value == [".md"]
    drawn(app.pills(key="index_kind").set_value("Everything readable").run())
    drawn(app.pills(key="index_suffixes").set_value([".md", ".py"]).run())
    assert app.text_area(key="index_include").value == "**/*.{md,py}"
    drawn(app.pills(key="index_suffixes").set_value([".py"]).run())
    assert app.text_area(key="index_include").value == "**/*.py"
    assert "**1 file**" in texts(app)
    drawn(app.pills(key="index_suffixes").set_value([]).run())
    assert app.pills(key="index_kind").value == "Everything readable"
    assert library().stores.info(OWNER, hashing_store).sources == (), "a look changes nothing"
    app.text_area(key="index_include").set_value("*.md\n*.py")
    app.text_area(key="index_exclude").set_value("bread*")
    assert "**2 files**" in texts(drawn(app.run()))
    assert app.pills(key="index_kind").value is None, "own patterns are of no kind"


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/no/such/folder", "There is no folder '/no/such/folder'. Check the spelling"),
        ("notes", "'notes' is not a whole path. Start with / or ~"),
        ("~nobody-here/x", "The home folder in '~nobody-here/x' is unknown."),
    ],
)
def test_what_is_no_folder_is_refused(hashing_store: str, typed: str, said: str) -> None:
    app = with_folder(Path(typed))
    assert said in errors(app)
    assert not has_key(app, "index_now")


@pytest.mark.posix
def test_the_picker_never_leaves_the_roots(hashing_store: str, four_files: Path) -> None:
    (four_files / "out").symlink_to("/usr")
    app = page()
    app.session_state[PICKER] = four_files
    drawn(app.run())
    assert "out" not in {button.label for button in app.button}
    app.session_state[PICKER] = Path("/usr")
    assert "cannot be chosen" in errors(drawn(app.run()))


@pytest.mark.posix
def test_a_folder_whose_name_is_no_text_can_be_picked(hashing_store: str, four_files: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(four_files) + b"/\xff odd\nname"))
    odd.mkdir()
    (odd / "a.md").write_text("# A\n", "utf-8")
    app = page()
    app.session_state[PICKER] = odd
    drawn(app.run())
    [use] = [button.label for button in app.button if button.label.startswith("Use this folder: ")]
    press_label(app, use)
    assert "**1 file**" in texts(app)
    until(press(app, "index_now"), finished)
    assert library().stores.info(OWNER, hashing_store).file_count == 1


def test_hostile_names_are_never_markdown(hashing_store: str, tmp_path: Path) -> None:
    folder = tmp_path / "![i](evil.example) *"
    folder.mkdir()
    (folder / HOSTILE).write_text("# A\n\nA note.\n", "utf-8")
    app = page()
    app.session_state[PICKER] = tmp_path
    drawn(app.run())
    assert label("![i](evil.example) *") in {button.label for button in app.button}
    del app.session_state[PICKER]
    app.text_input(key=FOLDER).set_value(str(folder))
    drawn(app.run())
    until(press(app, "index_now"), finished)
    markup = [*app.markdown, *app.caption, *app.warning, *app.error, *app.info]
    assert not [m.value for m in markup if "](" in m.value or "<b>" in m.value]
    assert library().stores.info(OWNER, hashing_store).file_count == 1


def test_a_vault_is_offered_and_fills_the_box(hashing_store: str, four_files: Path) -> None:
    (four_files / ".obsidian").mkdir()
    app = page()
    [offer] = [button for button in app.button if button.label == "**notes** Obsidian vault"]
    assert app.text_input(key=FOLDER).value == ""
    drawn(offer.click().run())
    assert app.text_input(key=FOLDER).value == str(four_files)
    until(press(app, "index_now"), finished)
    assert not [button for button in page().button if "Obsidian vault" in button.label], "it is in a store"
