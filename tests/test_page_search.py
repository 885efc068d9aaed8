"""The Search page, run by AppTest on a real store: every test asserts no exception and one thing it shows."""

from __future__ import annotations

import html
import re
import sqlite3
from contextlib import closing
from datetime import date
from pathlib import Path
from urllib.parse import urlencode

import pytest

from rag_core.library.stores import Stores
from rag_core.types import OWNER, Viewer
from rag_core.wording import moment
from tests.configured import configure
from tests.files_page import page_links
from tests.pages import GUEST, HOSTILE, markup, params
from tests.pages import open_page as open_any
from tests.search_page import HOSTILE_PATH, TEA, Indexing, keys, open_card, open_page, titles
from ui import hits
from ui.deps import library
from ui.filters import with_parents
from ui.results import table_key
from ui.search_state import DEFAULT, Choices, Request, from_params, to_params

pytestmark = pytest.mark.usefixtures("owner")


def test_a_store_in_the_address_that_is_gone_is_named_and_no_other_searched(water_notes: Indexing) -> None:
    page = open_page(q="harbour", store="gone")
    assert titles(page) == []
    assert ["no store called" in error.value and "gone" in error.value for error in page.error] == [True]


def test_near_misses_stand_apart(water_notes: Indexing) -> None:
    def near(query: str) -> list[bool]:
        boxes = open_page(q=query).expander
        return [each.proto.expanded for each in boxes if each.label == "The nearest passages"]

    page = open_page(q="xylophone quantum")
    assert "Nothing fits well." in markup(page)
    assert "cp-near" in markup(page)
    assert near("xylophone quantum") == [False]
    assert near("xylophone water quantum") == [True], "one of the words stands there"
    assert near("coffee boiling") == []


def test_nothing_found_says_what_to_loosen(water_notes: Indexing) -> None:
    page = open_page(q='"no such words"', min="0.5")
    assert titles(page) == []
    assert "Take the quotes away" in markup(page)
    assert "Lower the minimum score" in markup(page)


@pytest.mark.parametrize("query", ["xylophone orchestra", '"no such words"'])
def test_where_nothing_fits_the_owner_reads_that_files_may_be_newer(
    water_notes: Indexing, monkeypatch: pytest.MonkeyPatch, query: str, tokyo: None
) -> None:
    begun = moment(library().jobs.all(OWNER, "notes", 1)[0].start_time)
    page = open_page(q=query)
    assert f"Files newer than the last full run ({begun}) may not be read yet." in markup(page)
    assert page_links(page)["Index"] == "store=notes"
    assert page_links(page)["Why is a file not found?"] == urlencode({"store": "notes", "why": query})
    assert "Files newer" not in markup(open_page(q="green tea"))
    monkeypatch.setattr("ui.access.viewer", lambda: GUEST)
    guest = open_page(q=query)
    assert "Files newer" not in markup(guest)
    assert "Index" not in page_links(guest)


@pytest.mark.parametrize("table", ["meta", "jobs", "documents"])
def test_a_store_that_was_damaged_meanwhile_takes_no_page_from_the_others(
    water_notes: Indexing, table: str
) -> None:
    water_notes({"sea.md": "# Sea\n\nSalt water.\n"}, "broken")
    assert len(titles(open_page(q="water"))) > 1
    with closing(sqlite3.connect(library().settings.store_dir / "broken.db")) as db, db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute(f"DROP TABLE {table}")
    page = open_page(q="green tea")
    assert titles(page)[0] == "Tea"
    for view in ("ask", "index", "files"):
        assert not open_any(view, store="notes").error, view
    stores = open_any("stores")
    assert all("broken" in error.value for error in stores.error)
    assert {"**broken**", "**notes**"} <= {*page_links(stores)}


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"type": "python"}, {"kettle.py"}),
        ({"tag": "drink"}, {"Tea", "Coffee"}),
        ({"q": "water tag:drink", "tag": "drink/tea"}, {"Tea"}),
        ({"path": "projects/garden"}, {"Garden plan"}),
        ({"path": "/"}, {"Tea", "Coffee", "Secret"}),
        ({"after": "2026-01-01", "before": "2026-03-01"}, {"Tea"}),
        ({"q": "", "tag": "drink"}, {"Tea", "Coffee"}),
    ],
)
def test_filters_in_the_url_hold(water_notes: Indexing, filters: dict[str, str], found: set[str]) -> None:
    assert set(titles(open_page(**{"q": "water", **filters}))) == found


def test_an_active_filter_is_shown_and_can_be_removed(water_notes: Indexing) -> None:
    page = open_page(q="water", after="2026-01-01", type="markdown")
    assert page.button(key="remove_after").label == "From 2026-01-01"
    page.button(key="remove_after").click().run()
    assert params(page) == {"q": "water", "type": "markdown"}
    page.button(key="clear_filters").click().run()
    assert not page.exception
    assert params(page) == {"q": "water"}


def test_the_table_holds_the_same_hits_and_a_chosen_row_shows_its_passage(
    water_notes: Indexing, tmp_path: Path
) -> None:
    page = open_page(q="coffee boiling", view="table")
    table = page.dataframe[0].value
    assert (table["Title"][0], table["Place"][0]) == ("Coffee", "coffee.md:5-7")
    assert table["Score"].is_monotonic_decreasing
    key = table_key(Request(q="coffee boiling", view="table"))
    page.session_state[key] = {"selection": {"rows": [0], "columns": [], "cells": []}}
    page.run()
    assert "cp-here" in markup(page)
    assert page.code[0].value == str(tmp_path / "notes" / "coffee.md:5")


def test_the_url_restores_box_and_filters(water_notes: Indexing) -> None:
    page = open_page(q="water", type="markdown", after="2026-01-01", mode="lexical", min="0.2", k="7")
    assert not page.exception
    assert page.text_input[0].value == "water"
    assert page.selectbox(key="search_type").value == "markdown"
    assert page.text_input(key="search_after_typed").value == "2026-01-01"
    assert page.number_input[0].value == 7
    assert page.slider[0].value == 0.2


def test_bad_parameters_are_ignored(water_notes: Indexing) -> None:
    bad = {
        "type": "nope", "tag": "nope", "path": "../etc", "after": "yesterday",
        "before": "2026-99-99", "mode": "magic", "min": "nan", "k": "0", "view": "spiral", "x": "y",
    }  # fmt: skip
    page = open_page(q="green tea", **bad)
    assert titles(page)[0] == "Tea"
    assert not page.error


def test_params_and_requests_are_inverse() -> None:
    choices = Choices(("a", "b"), {"python": 1}, {"x/y": 2}, {"/": 1, "p/q": 3})
    full = Request(
        q="a b", store=("a", "b"), type="python", tag="x/y", path="p/q", after=date(2026, 1, 2),
        before=date(2026, 2, 1), mode="vector", min=0.35, k=25, view="table",
    )  # fmt: skip
    assert from_params(to_params(full), choices) == full
    assert to_params(DEFAULT) == {}
    assert from_params({}, choices) == DEFAULT


def test_a_number_out_of_range_is_the_default() -> None:
    for text in ("inf", "-1", "1.01", "", "1e999", "x"):
        assert from_params({"min": [text], "k": [text]}, Choices((), {}, {}, {})).min == DEFAULT.min
    for page in ("0", "-1", "x", "101", "1e9", "nan"):
        assert from_params({"page": [page]}, Choices((), {}, {}, {})).page == 1


def test_an_empty_store_says_so() -> None:
    library().create_store(OWNER, "notes", "hashing")
    assert "no document to search yet" in markup(open_page())


def test_an_error_is_two_sentences(water_notes: Indexing) -> None:
    page = open_page(q="after:![x](http://evil.example/x.png)")
    assert not page.exception
    said = page.error[0].value.replace("\\", "").replace("\u2060", "")
    assert "'![x](http://evil.example/x.png)' is not a date" in said
    assert "![" not in page.error[0].value


def test_words_are_found_while_the_model_is_loading(
    water_notes: Indexing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.deps.meaning_is_loading", lambda _viewer: True)
    page = open_page(q="green tea")
    assert titles(page) == ["Tea"]
    assert "The meaning index is loading" in markup(page)


def test_a_guest_never_sees_a_private_note_or_an_absolute_path(
    water_notes: Indexing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Secret" in titles(open_page(q="spare key water meter"))
    monkeypatch.setattr("ui.access.viewer", lambda: GUEST)
    assert "Secret" not in titles(open_page(q="spare key water meter"))
    page = open_card(open_page(q="green tea"), keys("green tea")[0])
    assert "cp-here" in markup(page)
    assert page.code[0].value == "tea.md:5"
    assert str(tmp_path) not in markup(page)


def test_a_guest_without_a_store_is_told_so(water_notes: Indexing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.access.viewer", lambda: Viewer("ann@example.org"))
    page = open_page(q="water", store="notes")
    assert "No store is shared with you yet" in markup(page)
    assert titles(page) == []


def test_a_hostile_note_is_shown_as_it_is_written(indexing: Indexing) -> None:
    text = f'---\ntitle: "{HOSTILE}"\n---\n\nneedle <img src=http://evil.example/y.png onerror=alert(2)>\n'
    indexing({HOSTILE_PATH: text})
    page = open_page(q="needle")
    open_card(page, keys("needle")[0])
    assert titles(page) == [HOSTILE]
    for tag in ("<script", "<img", "<b>"):
        assert tag not in markup(page)
    assert "odd `name`" in html.unescape(markup(page))
    labels = [element.label for element in (*page.expander, *page.button, *page.selectbox)]
    assert not any("evil" in label for label in labels)
    assert not page.markdown


def test_label_leaves_nothing_for_markdown_to_read() -> None:
    said = hits.label("![x](http://e.x) `c`\n<b> a -> b www.e.x me@e.x \u202e")
    assert re.sub(r"\\[!-/:-@\[-`{-~]", "", said).replace("\u2060", "").replace(" ", "").isalnum()
    assert "\n" not in said
    assert "://" not in said
    assert "\u202e" not in said


def test_marks_stay_inside_the_window_and_escape_what_is_around() -> None:
    text = "a <b> needle & needle"
    assert hits.marked(text, [(6, 12), (15, 21)]) == (
        "a &lt;b&gt; <mark>needle</mark> &amp; <mark>needle</mark>"
    )
    assert hits.marked(text, [(6, 12), (15, 21)], (8, 17)) == "<mark>edle</mark> &amp; <mark>ne</mark>"


def test_folders_stand_as_people_count_with_what_is_below_them() -> None:
    assert with_parents({"a/b": 2, "a": 1, "": 3}) == {"/": 3, "a": 3, "a/b": 2}
    names = ["B", "week 10", "week 2", "week 2 (old)", "week 2/a", "week 2/A/1", "2026", "²"]
    assert list(with_parents(dict.fromkeys(names, 1))) == [
        "2026", "B", "week 2", "week 2/a", "week 2/A", "week 2/A/1", "week 2 (old)", "week 10", "²",
    ]  # fmt: skip


def test_a_card_opens_with_its_neighbours(indexing: Indexing) -> None:
    long = "\n\n".join(f"## Part {n}\n\n" + f"number{n} " * 60 for n in range(1, 6))
    indexing({"long.md": f"# Long\n\n{long}\n"})
    page = open_page(q="number3")
    assert "cp-here" not in markup(page)
    open_card(page, keys("number3")[0])
    passages = re.findall(r'<div class="cp-passage ([\w-]+)">(.*?)</div>', markup(page), re.DOTALL)
    assert [kind for kind, _ in passages] == ["cp-beside", "cp-here", "cp-beside"]
    assert [re.findall(r"number\d", text)[-1] for _, text in passages] == ["number2", "number3", "number4"]


def test_a_passage_that_is_gone_says_so(water_notes: Indexing, monkeypatch: pytest.MonkeyPatch) -> None:
    (key, *_) = keys("green tea")
    # As when the file changes between the search and the click: the answer is still the old one.
    monkeypatch.setattr(Stores, "generations", lambda *_: (("notes", 0),))
    page = open_page(q="green tea")
    water_notes({"tea.md": "# Tea\n\nSomething else.\n"})
    assert "no longer in the store" in markup(open_card(page, key))


def test_a_card_says_what_has_become_of_its_file(water_notes: Indexing, tmp_path: Path) -> None:
    assert "cp-stale" not in markup(open_page(q="coffee tea"))
    (tmp_path / "notes" / "tea.md").write_text(TEA + "Or at seventy.\n")
    (tmp_path / "notes" / "coffee.md").unlink()
    said = markup(open_page(q="coffee tea"))
    assert '<p class="cp-stale">The file may have changed since it was indexed.</p>' in said
    assert "coffee.md" not in said, "its file is gone"


def test_a_mistake_in_the_settings_is_shown_with_its_line(home: Path) -> None:
    configure(home, "topk: 5\n")
    said = open_page(q="zebra").error[0].value.replace("\\", "")
    assert "'topk' is not a setting (line 1 of" in said
    assert "Did you mean 'top_k'?" in said
