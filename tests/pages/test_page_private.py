"""The pages about private notes: the rules of a store, and why a document is private."""

from __future__ import annotations

import html
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.conftest import index
from tests.pages import visiting
from tests.pages.visiting import HOSTILE, drawn, markup, press
from tests.support.trees import write
from ui.frame import hits
from ui.frame.deps import library

NOTES = {
    "tea.md": "# Tea\n\nThe kettle whistles.\n",
    "my.key.md": "# Key\n\nThe key of the shed.\n",
    "journal/monday.md": "# Monday\n\nNothing happened.\n",
    "journal/tuesday.md": "# Tuesday\n\nIt rained.\n",
    "trips/rome.md": "# Rome\n\nThe fountain.\n",
    "own.md": "---\nprivate: true\n---\n# Own\n\nMy own word.\n",
}


@pytest.fixture
def page(owner: None, notes: Path) -> AppTest:
    write(notes, NOTES)
    index(library(), "notes", notes)
    return visiting.open_page("stores", store="notes")


def said(app: AppTest) -> str:
    return html.unescape(markup(app)) + "".join(each.value for each in (*app.markdown, *app.error))


def test_notes_that_do_not_say_for_certain_are_listed_with_the_reason(page: AppTest, notes: Path) -> None:
    assert not page.warning
    write(notes, {"odd.md": "---\nprivate: maybe\n---\nThe attic.\n"})
    index(library(), "notes", notes)
    [warning] = drawn(page.run()).warning
    assert warning.value.startswith("odd\\.md")
    assert "is neither yes nor no" in warning.value


@pytest.mark.parametrize("where", ["stores", "settings"])
def test_a_rule_is_tried_added_and_removed_on_both_pages(page: AppTest, where: str) -> None:
    if where == "settings":
        page = visiting.open_page("settings")
    assert "1 private note." in said(page)
    drawn(page.text_input(key="private_new_notes").set_value("journal/**").run())
    assert "Hides 2 files, and later ones that match." in said(page)
    assert tuple(library().privacy.report(OWNER, "notes").rules) == ()
    press(page, "private_add_notes")
    assert tuple(library().privacy.report(OWNER, "notes").rules) == ("journal/**",)
    assert "hides 2 files" in said(page)
    assert page.text_input(key="private_new_notes").value == ""
    press(page, "private_remove_notes_0")
    assert tuple(library().privacy.report(OWNER, "notes").rules) == ()
    assert "1 private note." in said(page)
    [rule] = library().privacy.set(OWNER, "notes", [HOSTILE]).rules
    assert f"**{hits.label(rule)}**" in [each.value for each in drawn(page.run()).markdown]
    assert "<script>" not in markup(page)


def test_the_page_of_a_document_says_why_it_is_private(page: AppTest) -> None:
    library().privacy.set(OWNER, "notes", ["own.md", "tea.md"])
    shown = {path: said(visiting.open_page("files", store="notes", path=path)) for path in NOTES}
    assert "private by a rule" in shown["tea.md"]
    assert "private by its front matter and by a rule" in shown["own.md"]
    assert "private" not in shown["my.key.md"]
