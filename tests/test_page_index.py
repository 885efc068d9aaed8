"""The Index page through AppTest: real library, real files, real runs; only identity is replaced.

Each test asserts that the page raised nothing and one thing that a person would see.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.embedders.hashing import Hashing
from rag_core.types import OWNER
from tests.index_page import errors, finished, page, texts, until, with_folder
from tests.pages import drawn, has_key, markup, press, press_label
from ui import access
from ui.access import LOGIN_HEADER, ROLE_HEADER
from ui.deps import library
from ui.folders import BOX as FOLDER
from ui.folders import PICKER
from ui.hits import label

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = "![x](evil.example) <b>:red[x] `\nline.md"


pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with three notes, one of them below, and a script."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at eighty degrees.\n")
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n")
    (folder / "deep" / "ink.md").write_text("# Ink\n\nIron gall ink darkens as it dries.\n")
    (folder / "run.py").write_text("print('hello')\n")
    return folder


@pytest.fixture
def store(owner: None) -> str:
    """A store whose embedder needs no model."""
    library().create_store(OWNER, "mine", "hashing")
    return "mine"


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


# --- the store --------------------------------------------------------------------------


def test_a_first_store_is_created_and_stands_in_the_address(notes: Path) -> None:
    app = page()
    assert not app.get("form")  # the folder comes first: it is what there is
    app = with_folder(notes)
    app.text_input(key="index_new_name").set_value("garden")
    press(app, "index_create_store")
    assert app.selectbox(key="index_store").value == "garden"
    assert app.query_params["store"] == "garden"
    assert library().store_info(OWNER, "garden").embedder == "minilm"


def test_a_new_store_is_called_after_its_folder_and_takes_that_up(tmp_path: Path) -> None:
    for place in ("one", "two"):
        (tmp_path / place / "My notes, 2026").mkdir(parents=True)
        (tmp_path / place / "My notes, 2026" / "a.md").write_text("Words.\n")
    app = press(with_folder(tmp_path / "one" / "My notes, 2026"), "index_create_store")
    assert library().store_names(OWNER) == ["My-notes-2026"]
    assert "**1 file**" in texts(app)  # the folder is still there to be looked at
    app = press(app, "index_new_store")
    app = drawn(app.text_input(key=FOLDER).set_value(str(tmp_path / "two" / "My notes, 2026")).run())
    assert app.text_input(key="index_new_name").value == "My-notes-2026-2"
    app.text_input(key="index_new_name").set_value("other")
    press(app, "index_create_store")
    assert library().store_names(OWNER) == ["My-notes-2026", "other"]


def test_a_bad_name_is_refused_in_place_with_both_sentences(notes: Path) -> None:
    app = with_folder(notes)
    app.text_input(key="index_new_name").set_value("my notes!")
    press(app, "index_create_store")
    assert "'my notes!' cannot be a store's name. Use 1 to 63 letters" in errors(app)
    assert library().store_names(OWNER) == []


def test_the_address_chooses_the_store(store: str) -> None:
    library().create_store(OWNER, "another", "hashing")
    assert page(store="mine").selectbox(key="index_store").value == "mine"


def test_choosing_a_store_writes_the_address(store: str) -> None:
    library().create_store(OWNER, "another", "hashing")
    app = drawn(page().selectbox(key="index_store").set_value("mine").run())
    assert app.query_params["store"] == "mine"


def test_an_unknown_store_in_the_address_is_named_and_another_is_shown(store: str) -> None:
    app = page(store="mime")
    assert "There is no store called 'mime'. Did you mean 'mine'?" in errors(app)
    assert app.selectbox(key="index_store").value == "mine"


def test_a_broken_store_says_so_and_does_not_hide_the_others(store: str) -> None:
    (library().settings.store_dir / "broken.db").write_bytes(b"not a database" * 100)
    app = page(store="broken")
    assert "'broken'" in errors(app)
    drawn(app.selectbox(key="index_store").set_value("mine").run())
    assert not app.error
    assert app.text_input(key=FOLDER).value == ""


def test_a_second_store_can_be_named_and_given_up(store: str, notes: Path) -> None:
    app = press(with_folder(notes), "index_new_store")
    assert app.text_input(key="index_new_name").value == "notes"
    assert app.selectbox(key="index_embedder").value == "minilm"
    app = press(app, "index_keep_store")
    assert app.selectbox(key="index_store").value == "mine"


# --- the folder -------------------------------------------------------------------------


def test_chosen_files_that_will_hardly_be_read_are_counted(store: str, notes: Path) -> None:
    (notes / "scan.pdf").write_bytes(b"%PDF-1.4")
    assert "1 file of these will probably be skipped, going by their names." in texts(with_folder(notes))


def test_a_typed_folder_shows_count_samples_and_kinds(store: str, notes: Path) -> None:
    shown = texts(with_folder(notes))
    assert "**4 files**" in shown
    assert "deep/ink.md" in shown
    assert ".md 3  .py 1" in shown


def test_the_home_folder_may_be_written_with_a_tilde(
    store: str, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(notes.parent))
    assert "**4 files**" in texts(with_folder(Path("~/notes")))


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("/no/such/folder", "There is no folder '/no/such/folder'. Check the spelling"),
        ("notes", "'notes' is not a whole path. Start with / or ~"),
        ("~nobody-here/x", "The home folder in '~nobody-here/x' is unknown."),
    ],
)
def test_what_is_no_folder_is_refused(store: str, typed: str, said: str) -> None:
    app = with_folder(Path(typed))
    assert said in errors(app)
    assert not has_key(app, "index_now")


def test_a_file_is_no_folder_and_its_own_is_named(store: str, notes: Path) -> None:
    said = f"That is a file, not a folder. Its folder is '{notes}'."
    assert said in errors(with_folder(notes / "tea.md"))


def test_an_empty_folder_is_called_empty(store: str, tmp_path: Path) -> None:
    (tmp_path / "bare").mkdir()
    app = with_folder(tmp_path / "bare")
    assert [box.value for box in app.warning] == ["This folder is empty."]
    (tmp_path / "bare" / ".hidden").write_text("x")
    assert "No file in this folder matches" in texts(with_folder(tmp_path / "bare"))


def test_the_picker_offers_folders_inside_the_roots(store: str, notes: Path) -> None:
    app = press(page(), "index_browse")
    assert "notes" in {button.label for button in app.button}


def test_the_picker_walks_down_and_fills_the_box(store: str, notes: Path) -> None:
    app = page()
    app.session_state[PICKER] = notes.parent
    drawn(app.run())
    press_label(app, "notes")
    assert {"deep", "Use this folder"} <= {button.label for button in app.button}
    press_label(app, "Use this folder")
    assert app.text_input(key=FOLDER).value == str(notes)
    assert PICKER not in app.session_state
    assert "**4 files**" in texts(app)


def test_the_picker_never_leaves_the_roots(store: str, notes: Path) -> None:
    (notes / "out").symlink_to("/usr")
    app = page()
    app.session_state[PICKER] = notes
    drawn(app.run())
    assert "out" not in {button.label for button in app.button}
    app.session_state[PICKER] = Path("/usr")
    assert "cannot be chosen" in errors(drawn(app.run()))


def test_a_folder_whose_name_is_no_text_can_be_picked(store: str, notes: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(notes) + b"/\xff odd\nname"))
    odd.mkdir()
    (odd / "a.md").write_text("# A\n")
    app = page()
    app.session_state[PICKER] = odd
    drawn(app.run())
    press_label(app, "Use this folder")
    assert "**1 file**" in texts(app)
    until(press(app, "index_now"), finished)
    assert library().store_info(OWNER, store).file_count == 1


# --- what to take -----------------------------------------------------------------------


def test_the_patterns_change_the_count(store: str, notes: Path) -> None:
    app = with_folder(notes)
    app.text_area(key="index_include").set_value("*.md\n*.py")
    assert "**3 files**" in texts(drawn(app.run()))
    app.text_area(key="index_exclude").set_value("bread*")
    assert "**2 files**" in texts(drawn(app.run()))


def test_a_kind_fills_the_patterns(store: str, notes: Path) -> None:
    app = with_folder(notes)
    drawn(app.pills(key="index_kind").set_value("Notes").run())
    assert app.text_area(key="index_include").value == "**/*.{md,mdx,txt,rst}"
    assert "**3 files**" in texts(app)


def test_own_patterns_belong_to_no_kind(store: str, notes: Path) -> None:
    app = with_folder(notes)
    drawn(app.text_area(key="index_include").set_value("tea*").run())
    assert app.pills(key="index_kind").value is None


def test_a_pattern_that_leaves_the_folder_is_refused(store: str, notes: Path) -> None:
    app = with_folder(notes)
    drawn(app.text_area(key="index_include").set_value("../*.md").run())
    assert "leaves its folder" in errors(app)
    assert not has_key(app, "index_now")


def test_patterns_that_match_nothing_cannot_be_indexed(store: str, notes: Path) -> None:
    app = with_folder(notes)
    drawn(app.text_area(key="index_include").set_value("*.pdf").run())
    assert "No file in this folder matches" in texts(app)
    assert not has_key(app, "index_now")


def test_a_count_that_stopped_early_says_so(store: str, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.file_choice.MANY_FILES", 3)
    assert "more than 3 names" in texts(with_folder(notes))


# --- what would happen ------------------------------------------------------------------


def test_the_dry_run_shows_each_file_and_changes_nothing(store: str, notes: Path) -> None:
    app = press(with_folder(notes), "index_dry_run")
    assert "**4** added" in texts(app)
    assert set(app.dataframe[0].value["File"]) == {"tea.md", "bread.md", "deep/ink.md", "run.py"}
    assert library().store_info(OWNER, store).sources == ()


def test_the_dry_run_names_what_is_passed_over(store: str, notes: Path) -> None:
    (notes / "server.pem").write_text("not a key")
    app = press(with_folder(notes), "index_dry_run")
    [box] = app.warning
    assert "Passed over server.pem: looks like a key or secret" in box.value.replace("\\", "")


def test_a_folder_inside_one_of_the_store_is_explained(store: str, notes: Path) -> None:
    library().add_source(OWNER, store, notes, ("*.md",))
    app = with_folder(notes / "deep")
    assert f"'{notes / 'deep'}' lies in '{notes}', which the store has already." in texts(app)
    assert "No file is read twice" in texts(app)
    assert "which the store has already" not in texts(with_folder(notes.parent / "notes"))


def test_a_dry_run_of_other_patterns_is_not_shown(store: str, notes: Path) -> None:
    app = press(with_folder(notes), "index_dry_run")
    drawn(app.text_area(key="index_include").set_value("*.md").run())
    assert not app.dataframe
    assert "**2 files**" in texts(app)


# --- the run ----------------------------------------------------------------------------


def test_index_now_reads_the_folder_and_reports_the_end(store: str, notes: Path) -> None:
    app = until(press(with_folder(notes), "index_now"), finished)
    assert "**4** added" in texts(app)
    assert app.text_input(key=FOLDER).value == ""
    assert str(notes) in texts(app)
    assert library().store_info(OWNER, store).file_count == 4


def test_index_again_reads_only_what_changed(store: str, notes: Path) -> None:
    app = until(press(with_folder(notes), "index_now"), finished)
    (notes / "new.md").write_text("# New\n\nA new note.\n")
    until(press(app, "index_again"), lambda app: finished(app) and "**1** added" in texts(app))
    assert "**4** unchanged" in texts(app)


def test_read_everything_again_reads_every_file_but_embeds_nothing_twice(store: str, notes: Path) -> None:
    app = until(press(with_folder(notes), "index_now"), finished)
    until(press(app, "index_force"), lambda app: finished(app) and "**4** read again" in texts(app))
    assert "**0 texts** embedded" in texts(app)


def test_equal_passages_are_not_taken_for_failures(store: str, notes: Path) -> None:
    (notes / "copy.md").write_bytes((notes / "tea.md").read_bytes())
    app = until(press(with_folder(notes), "index_now"), finished)
    assert "**5 passages** added · **4 texts** embedded" in texts(app)
    assert "Equal passages share a vector" in texts(app)


def test_index_again_says_that_every_folder_is_paused_and_what_to_do(store: str, notes: Path) -> None:
    app = until(press(with_folder(notes), "index_now"), finished)
    press_label(app, "Pause")
    until(press(app, "index_again"), lambda app: "Every folder is paused" in texts(app))
    assert "Resume one to have it read again." in texts(app)
    assert "0 passages" not in texts(app)


def test_a_folder_that_is_read_for_the_first_time_has_no_number_of_files(
    store: str, notes: Path, slow: threading.Event
) -> None:
    app = until(press(with_folder(notes), "index_now"), lambda app: has_key(app, "index_cancel"))
    assert "being read" in texts(app)
    assert "0 files" not in texts(app)
    slow.set()
    assert "being read" not in texts(until(app, finished))


def test_a_folder_that_no_run_looked_at_has_no_number_of_files(store: str, notes: Path) -> None:
    library().add_source(OWNER, store, notes, ("**/*",))
    assert "no file read yet" in texts(page())


def test_the_last_run_is_seen_by_another_session(store: str, notes: Path) -> None:
    until(press(with_folder(notes), "index_now"), finished)
    assert "**4** added" in texts(page())


def test_the_box_offers_names_that_no_run_changes(store: str, notes: Path, slow: threading.Event) -> None:
    library().create_store(OWNER, "other", "hashing")
    library().add_source(OWNER, store, notes, ("*.md",))
    app = page(store=store)
    box = app.selectbox(key="index_store")
    assert (before := box.options) == ["mine", "other"]
    press(app, "index_again")
    assert app.selectbox(key="index_store").options == before
    slow.set()
    until(app, finished)
    assert app.selectbox(key="index_store").options == before
    assert app.query_params["store"] == "mine"


def test_while_a_run_is_under_way_its_numbers_stand_once_and_no_folder_can_be_paused(
    store: str, notes: Path, slow: threading.Event
) -> None:
    source = library().add_source(OWNER, store, notes, ("*.md",))
    app = press(page(), "index_again")
    pause = app.button(key=f"source_pause_{store}_{source.id}")
    assert pause.disabled
    assert pause.help == "Pause it when the run has ended: this run would go on all the same."
    assert "Embedding" not in markup(app)
    assert "A folder can be paused or resumed when the run has ended." in markup(app)
    slow.set()
    until(app, finished)
    assert not app.button(key=f"source_pause_{store}_{source.id}").disabled


def test_a_cancelled_run_is_why_texts_are_not_embedded(
    store: str, notes: Path, slow: threading.Event
) -> None:
    app = until(press(with_folder(notes), "index_now"), lambda app: has_key(app, "index_cancel"))
    press(app, "index_cancel")
    slow.set()
    until(app, finished)
    assert "share a vector" not in texts(app)
    assert "The run ended before all of them were embedded." in texts(app)


def test_that_it_is_indexed_stands_beside_what_was_pressed(
    store: str, notes: Path, slow: threading.Event
) -> None:
    source = library().add_source(OWNER, store, notes, ("*.md",))
    app = press(page(), "index_again")
    assert markup(app).count("The store is being indexed; ") == 1
    press(until(app, lambda app: has_key(app, "index_cancel")), "index_cancel")
    slow.set()
    until(app, lambda app: "Cancelled" in texts(app) or "** embedded" in texts(app))
    slow.clear()
    press(app, f"source_index_{store}_{source.id}")
    assert markup(app).count("The store is being indexed; ") == 1


def test_cancel_stops_the_run_and_go_on_ends_it(store: str, notes: Path, slow: threading.Event) -> None:
    app = until(press(with_folder(notes), "index_now"), lambda app: has_key(app, "index_cancel"))
    press(app, "index_cancel")
    assert "Stopping after" in texts(app)
    slow.set()
    until(app, finished)
    assert library().jobs(OWNER, store, 1)[0].state == "cancelled"
    until(press(app, "index_go_on"), lambda app: finished(app) and not has_key(app, "index_go_on"))
    assert library().store_info(OWNER, store).pending == 0


def test_a_run_that_nobody_took_is_not_hidden(store: str, notes: Path) -> None:
    library().add_source(OWNER, store, notes, ("**/*",))
    library().request_index(OWNER, store)
    app = page()
    assert "Asked for, and nobody is at it: all folders." in texts(app)
    until(press(app, "index_go_on"), finished)
    assert library().store_info(OWNER, store).file_count == 4


def test_a_run_of_another_process_is_seen_takes_what_is_asked_and_can_be_cancelled(
    store: str, notes: Path
) -> None:
    library().add_source(OWNER, store, notes, ("**/*",))
    other = subprocess.Popen([sys.executable, "-c", _OTHER_PROCESS], cwd=ROOT, stdin=subprocess.PIPE)
    try:
        app = until(page(), lambda app: has_key(app, "index_cancel"))
        press(app, f"source_index_{store}_1")
        until(app, lambda app: f"Asked for: all folders · {notes}" in texts(app))
        press(app, "index_cancel")
        assert other.stdin is not None
        other.stdin.close()
        until(app, finished)
    finally:
        other.kill()
        other.wait()
    assert library().jobs(OWNER, store, 1)[0].state == "cancelled"


_OTHER_PROCESS = textwrap.dedent(
    """
    import sys
    from rag_core.embedders.hashing import Hashing
    from rag_core.library import Library
    from rag_core.types import OWNER

    embed = Hashing.embed_documents
    def wait(self, texts):
        sys.stdin.read()
        return embed(self, texts)
    Hashing.embed_documents = wait

    library = Library.open()
    library.request_index(OWNER, "mine")
    library.run(OWNER, "mine")
    """
)


# --- who may, and what may not ----------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {ROLE_HEADER: "guest", LOGIN_HEADER: "ann@example.com"}])
def test_nobody_but_the_owner_gets_the_page(
    store: str, monkeypatch: pytest.MonkeyPatch, headers: dict[str, str]
) -> None:
    monkeypatch.setattr(access, "_headers", lambda: headers)
    app = page()
    assert len(app.error) == 1
    assert not app.title
    assert not app.selectbox


def test_hostile_names_are_never_markdown(store: str, tmp_path: Path) -> None:
    folder = tmp_path / "![i](evil.example) *"
    folder.mkdir()
    (folder / HOSTILE).write_text("# A\n\nA note.\n")
    app = page()
    app.session_state[PICKER] = tmp_path
    drawn(app.run())
    assert label("![i](evil.example) *") in {button.label for button in app.button}
    del app.session_state[PICKER]
    app.text_input(key=FOLDER).set_value(str(folder))
    press(drawn(app.run()), "index_dry_run")
    until(press(app, "index_now"), finished)
    markup = [*app.markdown, *app.caption, *app.warning, *app.error, *app.info]
    assert not [m.value for m in markup if "](" in m.value or "<b>" in m.value]
    assert library().store_info(OWNER, store).file_count == 1
