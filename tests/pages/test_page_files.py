"""The Files page, run by AppTest on a real store: the list, its filters, and what is done with a file."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.conftest import index
from tests.pages.files_page import done, open_page, page_links, paths, said, table
from tests.pages.visiting import GUEST, HOSTILE, drawn, markup, press
from tests.support.trees import write
from ui.files.file_filters import FileFilters
from ui.files.file_table import CHOSEN, chosen_rows, listing
from ui.frame.deps import library

NOTES = {
    "tea.md": "---\ntags: [drink/tea, garden]\n---\n# Tea\n\nGreen tea wants water.\n",
    "coffee.md": "---\ntags: [drink]\n---\n# Coffee\n\nCoffee wants water nearly boiling.\n",
    "code/kettle.py": "def boil(water):\n    return water\n",
    "secret.md": "---\nprivate: true\n---\n# Secret\n\nThe spare key.\n",
    "odd `name` <b>.md": f'---\ntitle: "{HOSTILE}"\n---\n\nNothing.\n',
}


pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.thorough]


@pytest.fixture
def shelf(notes: Path) -> Path:
    """Store ``notes`` over a few files, one of them broken."""
    write(notes, NOTES)
    (notes / "bad.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)
    index(library(), "notes", notes)
    return notes


def choose(page: AppTest, path: str) -> AppTest:
    page.session_state[CHOSEN] = ("notes", path)
    return drawn(page.run())


@pytest.mark.posix
def test_every_file_is_listed_with_what_is_known_of_it(shelf: Path) -> None:
    (shelf / "coffee.md").write_text("# Coffee\n\nCold now.\n", "utf-8")
    page = open_page(store="notes")
    rows = table(page).set_index("Name")
    assert paths(page) == sorted([*NOTES, "bad.md"])
    assert list(table(page).columns[:3]) == ["Name", "Open", "Folder"]
    known = [rows.loc["tea.md", name] for name in ("Title", "State", "Type", "Passages", "Tags")]
    assert known == ["", "up to date", "markdown", 1, "#drink/tea #garden"]
    assert rows.loc["coffee.md", "State"] == "changed"
    assert rows.loc["bad.md", "State"] == "failed"
    assert rows.loc["tea.md", "Size"] == len(NOTES["tea.md"]) / 1000
    assert rows.loc["tea.md", "Date"] > "2020"
    states = [each.content for each in page.get("button_group")[0].proto.options]
    assert states == ["4 up to date", "1 changed", "1 failed"]


@pytest.mark.posix
@pytest.mark.parametrize(
    ("params", "expected"),
    [
        ({"q": "TEA"}, ["tea.md"]),
        ({"q": "kettle code"}, ["code/kettle.py"]),
        ({"folder": "code"}, ["code/kettle.py"]),
        ({"folder": "cod"}, sorted([*NOTES, "bad.md"])),
        ({"q": "script alert"}, ["odd `name` <b>.md"]),
        ({"type": "python"}, ["code/kettle.py"]),
        ({"tag": "drink"}, ["coffee.md", "tea.md"]),
        ({"tag": "drink/tea", "q": "t"}, ["tea.md"]),
        ({"tag": "drink", "type": "python"}, []),
        ({"type": "nonsense", "tag": "nonsense", "state": "nonsense", "q": "tea"}, ["tea.md"]),
    ],
)
def test_the_address_says_what_is_listed(shelf: Path, params: dict[str, str], expected: list[str]) -> None:
    assert paths(open_page(store="notes", **params)) == expected


@pytest.mark.posix
def test_filters_go_into_the_address_and_out_again(shelf: Path) -> None:
    page = open_page(store="notes")
    page.text_input(key="files_q").set_value("e")
    assert page.selectbox(key="files_tag").options == ["#drink (2)", "#drink/tea (1)", "#garden (1)"]
    page.selectbox(key="files_tag").set_value("drink").run()
    assert dict(drawn(page).query_params) == {"store": "notes", "q": "e", "tag": "drink"}
    assert paths(page) == ["coffee.md", "tea.md"]
    press(page, "files_clear")
    assert dict(page.query_params) == {"store": "notes"}
    assert len(paths(page)) == 6


@pytest.mark.posix
def test_folders_stand_beside_the_list_as_far_as_they_are_open(shelf: Path) -> None:
    write(shelf, {"code/old/a.py": "a = 1\n", "code/old/b/c.py": "c = 1\n", "<b>x/y.md": "Y.\n"})
    index(library(), "notes")

    def folders(page: AppTest) -> list[tuple[str, str]]:
        nav = re.search(r'<nav class="cp cp-tree".*?</nav>', markup(page), re.DOTALL)
        found = re.findall(r'href="files\?([^"]*)" aria-label="([^"]*)"', nav[0]) if nav else []
        return [(dict(parse_qsl(unescape(asked))).get("folder", ""), unescape(name)) for asked, name in found]

    closed = [("", "All folders, 9 files"), ("<b>x", "<b>x, 1 file"), ("code", "code, 3 files")]
    assert folders(open_page(store="notes")) == closed
    page = open_page(store="notes", folder="code/old")
    opened = [("code/old", "old, 2 files"), ("code/old/b", "b, 1 file")]
    assert folders(page) == [*closed, *opened]
    assert paths(page) == ["code/old/a.py", "code/old/b/c.py"]
    assert "2 of 9 files" in said(page)
    page.text_input(key="files_q").set_value("c.py").run()
    assert dict(drawn(page).query_params) == {"store": "notes", "folder": "code/old", "q": "c.py"}
    assert paths(page) == ["code/old/b/c.py"]
    assert page.selectbox(key="files_type").options == ["python (2)"], "the numbers are of the folder"
    page.query_params["path"] = "code/old/a.py"
    back = page_links(drawn(page.run()))["Files"]
    assert parse_qsl(back) == [("store", "notes"), ("q", "c.py"), ("folder", "code/old")]


@pytest.mark.posix
def test_a_change_in_the_store_is_seen_at_once(shelf: Path) -> None:
    page = open_page(store="notes")
    (shelf / "new.md").write_text("New.\n", "utf-8")
    index(library(), "notes")
    assert "new.md" in paths(drawn(page.run()))


@pytest.mark.posix
def test_of_several_stores_one_is_chosen_in_the_address(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "plan.md").write_text("The plan.\n", "utf-8")
    index(library(), "work", tmp_path / "work")
    page = open_page()
    assert "tea.md" in paths(page)
    page.selectbox(key="files_store").set_value("work").run()
    assert dict(drawn(page).query_params) == {"store": "work"}
    assert paths(page) == ["plan.md"]


@pytest.mark.posix
def test_a_chosen_file_says_why_it_failed_and_leads_to_its_page(shelf: Path) -> None:
    page = choose(open_page(store="notes"), "bad.md")
    assert "Failed: 'bad.md' is marked as UTF-8 but is not valid UTF-8." in said(page)
    assert page_links(page)["Open document"] == "store=notes&path=bad.md"
    assert done(press(page, "file_Read again")) == ["'bad.md' could not be read."]


@pytest.mark.posix
def test_a_file_is_read_again_excluded_and_taken_back_and_that_is_told_once(shelf: Path) -> None:
    def act(button: str) -> tuple[list[str], str, int]:
        told = done(press(page, f"file_{button}"))
        assert not drawn(page.run()).success
        found = len(library().search(OWNER, '"Green tea"').hits)
        return told, table(page).set_index("Name")["State"]["tea.md"], found

    page = choose(open_page(store="notes"), "tea.md")
    assert act("Read again") == (["'tea.md' was read again."], "up to date", 1)
    assert act("Exclude") == (["'tea.md' is excluded now."], "excluded", 0)
    assert act("Include again") == (["'tea.md' is included again."], "up to date", 1)
    assert "Open document" not in page_links(page)


@pytest.mark.posix
def test_why_a_file_is_not_found_is_told(shelf: Path) -> None:
    page = open_page(store="notes")
    page.text_input(key="missing_file_path").set_value("bad.md")
    page.text_input(key="missing_file_query").set_value("tea")
    press(page, "missing_file_ask")
    assert "bad.md cannot be found in notes" in said(page)
    assert "It could not be read" in said(page)
    assert "For 'tea'" not in said(page), "it has no passage that could have a place"
    index(library(), "notes")  # nothing is said any more of a store that has changed
    assert "cannot be found" not in said(drawn(page.run()))


@pytest.mark.posix
@pytest.mark.parametrize(("query", "path"), [("bad.md", "bad.md"), ("green tea", "")])
def test_a_query_that_is_a_files_name_is_asked_about(shelf: Path, query: str, path: str) -> None:
    page = open_page(store="notes", why=query)
    assert page.text_input(key="missing_file_query").value == query
    assert page.text_input(key="missing_file_path").value == path
    assert ("bad.md cannot be found in notes" in said(page)) == bool(path)


@pytest.mark.posix
def test_a_guest_sees_granted_documents_without_states_actions_and_places(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.frame.access.viewer", lambda: GUEST)
    page = choose(open_page(store="notes"), "tea.md")
    assert paths(page) == sorted({*NOTES} - {"secret.md"})
    assert not {"State", "Reason"} & {*table(page).columns}
    assert not page.get("button_group")
    assert [button.label for button in page.button] == []
    assert not page.get("expander")
    assert "Open document" in page_links(page)
    assert str(shelf) not in said(page)
    assert "Open document" not in page_links(choose(page, "secret.md"))


def test_words_are_found_whatever_their_case_and_normal_form(notes: Path) -> None:
    (notes / "Café.md").write_text("One.\n", "utf-8")
    index(library(), "notes", notes)
    rows = listing(OWNER, "notes").rows
    assert len(chosen_rows(rows, FileFilters(q="cafe\u0301"))) == 1
    assert len(chosen_rows(rows, FileFilters(q="CAFÉ"))) == 1
    assert len(chosen_rows(rows, FileFilters(q="cafe"))) == 0
