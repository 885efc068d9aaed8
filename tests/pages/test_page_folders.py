"""The folders of a store on the Index page: how they stand, and what can be done with each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.conftest import index
from tests.pages.index_page import finished, page, texts, until
from tests.pages.visiting import drawn, has_key, markup, press
from ui.frame.deps import library
from ui.index.folders import FOLDER_BOX as FOLDER

STORE = "mine"


pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.thorough]


@pytest.fixture
def garden(notes: Path) -> Path:
    """The first folder of the store ``mine``: three notes and a text."""
    for name in ("rose.md", "bee.md", "deep/ink.md", "todo.txt"):
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / name).write_text(f"It tells of the {name}.\n", "utf-8")
    index(library(), STORE, notes)
    return notes


@pytest.fixture
def code(garden: Path, tmp_path: Path) -> Path:
    """The second folder, with one script."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "run.py").write_text("print('hello')\n", "utf-8")
    index(library(), STORE, folder)
    return folder


def paths() -> list[str]:
    return [document.path for document in library().documents.all(OWNER, STORE)]


def done(app: AppTest) -> AppTest:
    """Until nothing runs and nothing is asked for."""
    return until(app, lambda app: finished(app) and not library().jobs.requested(OWNER, STORE))


@pytest.mark.posix
def test_each_folder_is_shown_with_its_patterns_and_files(garden: Path, code: Path) -> None:
    (garden / "broken.md").write_bytes(b"\xff\xfe" + b"\x00\xd8" * 9)
    (garden / "song.mp3").write_bytes(b"ID3\x03" + b"\x00" * 50)
    index(library(), STORE)
    shown = texts(page())
    assert f"{garden} · every file" in shown
    assert "4 files · 1 failed · 1 skipped" in shown
    assert f"{code} · " in shown
    assert "Not on the disk" not in shown
    shutil.rmtree(code)
    library().jobs.request(OWNER, STORE, [1])
    library().jobs.run(OWNER, STORE)  # what is remembered of the disk is of the store as it was
    shown = texts(page())
    assert shown.count("Not on the disk") == 1
    assert "mount its disk, or remove the folder" in shown


def test_patterns_are_edited_previewed_saved_and_followed(garden: Path) -> None:
    app = press(page(), f"source_edit_{STORE}_1")
    assert app.text_area(key=f"source_{STORE}_1_include").value == "**/*"
    drawn(app.text_area(key=f"source_{STORE}_1_include").set_value("**/*.md").run())
    drawn(app.text_area(key=f"source_{STORE}_1_exclude").set_value("bee*").run())
    press(app, f"source_{STORE}_1_dry_run")
    assert "**2** forgotten · **2** unchanged" in texts(app)
    assert len(paths()) == 4, "a look changes nothing"
    press(app, f"source_{STORE}_1_save")
    assert "cp-arrive" in markup(app), "the run stands at the top of the page"
    done(app)
    assert paths() == ["deep/ink.md", "rose.md"]
    assert "**/*.md, without bee*" in texts(app)
    assert not has_key(app, f"source_{STORE}_1_save")


def test_a_pattern_that_leaves_nothing_out_is_said_with_what_would(garden: Path) -> None:
    app = drawn(page().text_input(key=FOLDER).set_value(str(garden)).run())
    drawn(app.text_area(key="index_exclude").set_value(f"{garden.name}/deep/**").run())
    said = f"The pattern '{garden.name}/deep/**' leaves nothing out. Did you mean 'deep/**'?"
    assert said in texts(app)
    drawn(app.text_area(key="index_exclude").set_value("deep/**").run())
    assert "leaves nothing out" not in texts(app)


def test_a_paused_folder_is_marked_and_left_out_until_it_is_resumed(garden: Path, code: Path) -> None:
    (garden / "new.md").write_text("It is new.\n", "utf-8")
    app = drawn(page().toggle(key=f"source_kept_{STORE}_1").set_value(False).run())
    done(press(app, "index_again"))
    assert "new.md" not in paths()
    drawn(app.toggle(key=f"source_kept_{STORE}_1").set_value(True).run())
    done(press(app, "index_again"))
    assert "new.md" in paths()


def test_a_folder_is_removed_with_its_documents_behind_a_preview_and_a_question(
    garden: Path, code: Path
) -> None:
    app = press(page(), f"source_remove_{STORE}_1")
    assert "This removes **4 files** from the index; they stay on disk" in texts(app)
    assert set(app.dataframe[0].value["File"]) == {"rose.md", "bee.md", "deep/ink.md", "todo.txt"}
    assert len(paths()) == 5, "a look changes nothing"
    done(press(app, f"source_{STORE}_1_remove"))
    assert paths() == ["code/run.py"]
    assert f"**{garden}**" not in texts(app)
    assert (garden / "rose.md").exists()
