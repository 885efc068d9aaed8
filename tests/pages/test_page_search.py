"""The Search page, run by AppTest on a real store: every test asserts no exception and one thing it shows."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from datetime import date
from itertools import count, pairwise
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER, Freshness, Viewer
from tests.pages.files_page import page_links
from tests.pages.search_page import (
    HOSTILE_PATH,
    TEA,
    Indexing,
    component,
    open_page,
    plain,
    shown,
    titles,
)
from tests.pages.visiting import GUEST, HOSTILE, markup, texts
from tests.pages.visiting import open_page as open_any
from tests.support.configured import configure
from tests.support.documents_made import pdf
from tests.support.mailboxes import mailbox, message
from ui.frame import hits
from ui.frame.deps import library
from ui.frame.search_state import NOTHING_ASKED, Choices, SearchState, from_params, to_params
from ui.search import results
from ui.search.results import _TEXT
from ui.search.search_box import KEY

pytestmark = pytest.mark.usefixtures("owner")


def test_a_store_in_the_address_that_is_gone_is_named_and_no_other_searched(water_notes: Indexing) -> None:
    page = open_page(q="harbour", store="gone")
    assert titles(page) == []
    assert "no store called" in shown(page)["error"]
    assert "gone" in shown(page)["error"]


def test_near_misses_are_told_apart_and_few(water_notes: Indexing) -> None:
    water_notes({f"{number}.md": f"# Note {number}\n\nWater {number}.\n" for number in range(9)})
    found = shown(open_page(q="xylophone quantum"))
    assert found["status"].startswith("Nothing fits; 6 near misses")
    assert [card["is_near"] for card in found["cards"]] == [True] * 6
    assert not any(card["is_near"] for card in shown(open_page(q="coffee boiling"))["cards"][:1])


def test_nothing_found_offers_what_to_loosen(water_notes: Indexing) -> None:
    found = shown(open_page(q='"no such words" -tea', min="0.5", type="markdown", mode="lexical"))
    assert found["cards"] == []
    assert found["status"].startswith("Nothing found")
    offers = {each["label"]: each["params"] for each in found["offers"] if each["params"]}
    assert offers == {
        "Without the quotes": {"q": ["no such words -tea"]},
        "Without the minus": {"q": ['"no such words"']},
        "Score below 50 %, too": {"min": []},
        "Without filters": {"type": []},
        "By meaning, too": {"mode": []},
    }


@pytest.mark.parametrize("query", ["xylophone orchestra", '"no such words"'])
def test_where_nothing_fits_the_owner_is_led_to_files_that_are_not_read(
    water_notes: Indexing, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def links(page: AppTest) -> dict[str, str]:
        return {each["label"]: each["href"] for each in shown(page)["offers"] if each["href"]}

    assert links(open_page(q=query)) == {
        "Read new files": "index?store=notes",
        "Why is a file not found?": f"files?{urlencode({'store': 'notes', 'why': query})}",
    }
    assert links(open_page(q="green tea")) == {}
    monkeypatch.setattr("ui.frame.access.viewer", lambda: GUEST)
    assert links(open_page(q=query)) == {}


def test_a_word_that_is_misspelled_can_be_corrected_by_a_press(water_notes: Indexing) -> None:
    [correction] = [
        each for each in shown(open_page(q="kettel xylophone"))["offers"] if "q" in each["params"]
    ]
    assert (correction["label"], correction["params"]) == ('Search "kettel"', {"q": ['"kettel" xylophone']})


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


def test_a_card_tells_a_note_from_others_and_has_its_place(water_notes: Indexing, tmp_path: Path) -> None:
    found = shown(open_page(q="coffee boiling", view="table"))
    assert found["view"] == "table"
    card = found["cards"][0]
    assert (card["title"], card["name"], card["crumb"], card["day"]) == (
        "Coffee",
        "coffee.md",
        "",
        "2025-02-01",
    )
    assert card["place"] == str(tmp_path / "notes" / "coffee.md:5")
    assert plain(card["extract"]) == "Coffee wants water nearly boiling."
    assert ["Coffee", True] in card["extract"]
    assert parse_qs(card["passage"]["href"].partition("?")[2])["search"] == ["q=coffee+boiling&view=table"]
    scores = [each["score"] for each in found["cards"]]
    assert scores == sorted(scores, reverse=True)


def test_words_that_stand_in_a_title_are_marked_there(indexing: Indexing) -> None:
    indexing({"a.md": "# Boiling <b>water</b> twice\n\nNothing of it stands here.\n"})
    [card] = shown(open_page(q="boils water"))["cards"]
    marked = [text for text, is_marked in card["marked_title"] if is_marked]
    assert marked == ["Boiling", "water"]
    assert "".join(text for text, _ in card["marked_title"]) == card["title"]


def test_the_url_restores_box_and_filters(water_notes: Indexing) -> None:
    asked = {
        "q": "water",
        "type": "markdown",
        "after": "2026-01-01",
        "mode": "lexical",
        "min": "0.2",
        "k": "7",
    }
    found = shown(open_page(**asked))
    assert found["text"] == "water"
    assert parse_qs(found["search"]) == {name: [value] for name, value in asked.items()}
    assert [each["shown"] for each in found["chips"] if each["shown"]] == [
        "markdown",
        "From 2026-01-01",
        "Score ≥ 20 %",
        "Words",
    ]


def test_bad_parameters_are_ignored(water_notes: Indexing) -> None:
    bad = {
        "type": "nope", "tag": "nope", "path": "../etc", "after": "yesterday",
        "before": "2026-99-99", "sort": "loud", "has": "status", "mode": "magic", "min": "nan", "k": "0",
        "view": "spiral", "x": "y",
    }  # fmt: skip
    page = open_page(q="green tea", **bad)
    assert titles(page)[0] == "Tea"
    assert not shown(page)["error"]


def test_params_and_requests_are_inverse() -> None:
    choices = Choices(("a", "b"), {"python": 1}, {"x/y": 2}, {"/": 1, "p/q": 3})
    full = SearchState(
        q="a b", store=("a", "b"), type="python", tag="x/y", path="p/q", after=date(2026, 1, 2),
        before=date(2026, 2, 1), mode="vector", min=0.35, k=25, view="table", sort="newest",
        has=("status:=open", "due:>2026-01"),
    )  # fmt: skip
    assert from_params(to_params(full), choices) == full
    assert to_params(NOTHING_ASKED) == {}
    assert from_params({}, choices) == NOTHING_ASKED


def test_a_number_out_of_range_is_the_default() -> None:
    for text in ("inf", "-1", "1.01", "", "1e999", "x"):
        assert from_params({"min": [text], "k": [text]}, Choices((), {}, {}, {})).min == NOTHING_ASKED.min
    for page in ("0", "-1", "x", "101", "1e9", "nan"):
        assert from_params({"page": [page]}, Choices((), {}, {}, {})).page == 1


def test_an_empty_store_says_so() -> None:
    library().create_store(OWNER, "notes", "hashing")
    assert "There is no document to search yet." in texts(open_page())


def test_the_owner_is_told_that_indexing_is_paused(
    water_notes: Indexing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(library().jobs), "freshness", lambda *_: Freshness(False, 0, 3, 0))
    assert shown(open_page())["status"].endswith(" · 3 passages not embedded yet")
    with library()._shared.stores.open(OWNER, "notes").store.note() as db:
        db.execute("INSERT INTO jobs (state, start_time) VALUES ('cancelled', '2026-01-01T00:00:00Z')")
    assert shown(open_page())["status"].endswith(" · 3 passages not embedded yet · paused")


def test_an_error_stands_in_the_place_of_the_honest_line(water_notes: Indexing) -> None:
    found = shown(open_page(q="after:![x](http://evil.example/x.png)"))
    assert "'![x](http://evil.example/x.png)' is not a date" in found["error"]
    assert found["cards"] == []


@pytest.mark.parametrize(
    "half", ["type:", "before:202", "store:no", "date:last", "date:2025..", "tag:dri", "path:proj"]
)
def test_a_filter_that_is_being_typed_is_no_error_and_its_values_are_offered(
    water_notes: Indexing, half: str
) -> None:
    page = open_page()
    page.session_state[_TEXT] = f"green tea {half}"
    found = shown(page.run())
    assert (found["error"], found["said"]) == ("", [])
    assert found["cards"][0]["title"] == "Tea"
    if half != "before:202":
        assert found["completions"][0]["text"].startswith(f"green tea {half}")


def test_the_value_that_was_meant_can_be_pressed(water_notes: Indexing) -> None:
    found = shown(open_page(q="water type:markdwn tag:drink"))
    assert any("Did you mean 'markdown'?" in said for said in found["said"])
    [meant] = [way for way in found["offers"] if way["label"] == "Search type:markdown"]
    assert meant["params"] == {"q": ["water type:markdown tag:drink"]}
    assert meant["beside"] == "instead of type:markdwn"


def test_the_values_that_there_are_can_be_pressed(indexing: Indexing) -> None:
    for number, status in enumerate(("open", "done", "on hold")):
        indexing({f"{number}.md": f"---\nstatus: {status}\n---\n# Plan {number}\n\nA plan.\n"})
    found = shown(open_page(q='plan status:"never heard"'))
    ways = {way["label"]: way["params"] for way in found["offers"] if way["beside"]}
    assert ways == {
        "Search status:open": {"q": ["plan status:open"]},
        "Search status:done": {"q": ["plan status:done"]},
        'Search status:"on hold"': {"q": ['plan status:"on hold"']},
    }
    assert titles(open_page(q='plan status:"on hold"')) == ["Plan 2"]


def test_words_are_found_while_the_model_is_loading(
    water_notes: Indexing, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.frame.deps.meaning_is_loading", lambda _viewer: True)
    page = open_page(q="green tea")
    assert titles(page) == ["Tea"]
    assert " by words · the model is loading" in shown(page)["status"]


def test_a_guest_never_sees_a_private_note_or_an_absolute_path(
    water_notes: Indexing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Secret" in titles(open_page(q="spare key water meter"))
    monkeypatch.setattr("ui.frame.access.viewer", lambda: GUEST)
    assert "Secret" not in titles(open_page(q="spare key water meter"))
    assert "Secret" not in str(shown(open_page(q="secr")) | shown(open_page()))
    page = open_page(q="green tea")
    [card] = [each for each in shown(page)["cards"] if each["title"] == "Tea"]
    assert (card["place"], card["app"]) == ("tea.md:5", "")
    assert str(tmp_path) not in str(shown(page))


def test_a_guest_without_a_store_is_told_so(water_notes: Indexing, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ui.frame.access.viewer", lambda: Viewer("ann@example.org"))
    page = open_page(q="water", store="notes")
    assert "No store is shared with you yet" in markup(page)
    assert titles(page) == []


def test_a_hostile_note_is_data_and_never_markup(indexing: Indexing) -> None:
    text = f'---\ntitle: "{HOSTILE}"\n---\n\nneedle <img src=http://evil.example/y.png onerror=alert(2)>\n'
    indexing({HOSTILE_PATH: text})
    page = open_page(q="needle")
    assert titles(page) == [HOSTILE]
    assert shown(page)["cards"][0]["name"] == r"odd `name`\n<b>.md"
    assert not component(page).html_content
    assert "evil" not in markup(page)
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
    assert hits.marked_html(text, [(6, 12), (15, 21)]) == (
        "a &lt;b&gt; <mark>needle</mark> &amp; <mark>needle</mark>"
    )
    assert hits.marked_html(text, [(6, 12), (15, 21)], (8, 17)) == "<mark>edle</mark> &amp; <mark>ne</mark>"


def test_a_note_is_one_card_however_many_of_its_passages_fit(indexing: Indexing) -> None:
    long = "\n\n".join(f"## Part {n}\n\n" + f"number{n} herons " * 20 for n in range(1, 6))
    indexing({"long.md": f"# Long\n\n{long}\n", "short.md": "# Short\n\nOne heron.\n"})
    [long_card] = [card for card in shown(open_page(q="herons"))["cards"] if card["title"] == "Long"]
    assert long_card["more"] == 4
    assert plain(long_card["extract"]).startswith("number")


def test_the_other_passages_of_a_note_come_when_they_are_asked_for(indexing: Indexing) -> None:
    long = "\n\n".join(f"## Part {n}\n\n" + f"number{n} herons " * 20 for n in range(1, 4))
    indexing({"long.md": f"# Long\n\n{long}\n"})
    page = open_page(q="herons")
    key = shown(page)["cards"][0]["key"]
    assert shown(page)["others"] is None
    page.session_state[KEY] = {"asked": {"text": "herons", "search": "q=herons", "here": key}}
    others = shown(page.run())["others"]
    assert others["key"] == key
    assert [each["where"][:5] for each in others["passages"]] == ["lines", "lines"]


def test_another_passage_does_not_repeat_what_the_one_before_it_shows(indexing: Indexing) -> None:
    indexing({"long.md": " ".join(f"The heron number{n} waits beside the water." for n in range(60))})
    page = open_page(q="heron")
    [card] = shown(page)["cards"]
    page.session_state[KEY] = {"asked": {"text": "heron", "search": "q=heron", "here": card["key"]}}
    passages = [card["passage"], *shown(page.run())["others"]["passages"]]
    words = [word for each in passages for block in each["blocks"] for word in plain(block["pieces"]).split()]
    numbers = [word for word in words if word.startswith("number")]
    assert sorted(numbers) == sorted(f"number{n}" for n in range(60))


def test_a_card_says_the_page_of_its_passage_and_a_file_name_that_is_not_the_title(
    indexing: Indexing, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.pdf").write_bytes(pdf("Coffee.", "Green tea wants water at eighty degrees."))
    indexing(
        {"house/green-tea.md": "# Green tea\n\nGreen tea.\n", "house/a.md": "# Tea, green\n\nGreen tea.\n"}
    )
    crumbs = {each["name"]: each["crumb"] for each in shown(open_page(q="green tea"))["cards"]}
    assert crumbs == {"green-tea.md": "house", "a.md": "house › a.md", "tea.pdf": "page 2"}


def test_of_a_passage_with_only_the_title_the_text_behind_it_is_shown(indexing: Indexing) -> None:
    indexing(
        {"tea.md": "# Green tea\n\n## Storage\n\nIt keeps.\n", "b.md": "---\ntags: [x]\n---\n# Black tea\n"}
    )
    cards = {each["title"]: each for each in shown(open_page(q="tea"))["cards"]}
    assert plain(cards["Green tea"]["extract"]) == "It keeps."
    assert plain(cards["Black tea"]["extract"]) == "#x"


def test_a_card_says_what_has_become_of_its_file(water_notes: Indexing, tmp_path: Path) -> None:
    assert {card["state"] for card in shown(open_page(q="coffee tea"))["cards"]} == {""}
    (tmp_path / "notes" / "tea.md").write_text(TEA + "Or at seventy.\n", "utf-8")
    (tmp_path / "notes" / "coffee.md").unlink()
    states = {card["title"]: card["state"] for card in shown(open_page(q="coffee tea"))["cards"]}
    assert states["Tea"] == "changed since it was read"
    assert "Coffee" not in states, "its file is gone"


def test_the_page_begins_with_what_was_searched_opened_and_changed_last(water_notes: Indexing) -> None:
    open_any("files", store="notes", path="coffee.md", search="q=boiling")
    start = dict(shown(open_page())["start"])
    assert [each["params"] for each in start["Searched"]] == [{"q": ["boiling"]}]
    assert [each["href"] for each in start["Opened"]] == ["files?store=notes&path=coffee.md"]
    assert {each["label"] for each in start["Changed"]} >= {"Tea", "Garden plan"}


def test_what_is_typed_may_be_the_beginning_of_a_title_or_a_tag(water_notes: Indexing) -> None:
    quick = shown(open_page(q="gard"))["quick"] + [
        {"label": card["title"]} for card in shown(open_page(q="gard"))["cards"]
    ]
    assert "Garden plan" in [each["label"] for each in quick]
    [tag] = [each for each in shown(open_page(q="water dri"))["quick"] if each["label"] == "#drink"]
    assert tag["params"] == {"tag": ["drink"], "q": ["water"]}
    assert quick != shown(open_page(q="gard", type="markdown"))["quick"] == [], "a filter may leave it out"


def test_a_mistake_in_the_settings_is_shown_with_its_line(home: Path) -> None:
    configure(home, "topk: 5\n")
    said = open_page(q="zebra").error[0].value.replace("\\", "")
    assert "'topk' is not a setting (line 1 of" in said
    assert "Did you mean 'top_k'?" in said


def test_the_script_of_the_page_is_a_file_that_streamlit_serves(water_notes: Indexing) -> None:
    """Registered by names that are no part of Streamlit's interface: a new version may take them away."""
    script = component(open_page())
    assert script.js_source_path.startswith("search.js")
    assert not script.js_content, "the content policy would refuse it"


def test_a_picture_and_a_page_are_shown_small(indexing: Indexing, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "tea.pdf").write_bytes(pdf("Green tea wants water at eighty degrees."))
    indexing({"coffee.md": "Coffee wants boiling water.\n"})
    pictures = {each["title"]: each["picture"] for each in shown(open_page(q="water"))["cards"]}
    assert pictures == {"tea.pdf": "note-picture?store=notes&path=tea.pdf&place=page+1", "Coffee": ""}


def test_failed_files_lead_to_the_pages_of_their_stores(
    water_notes: Indexing,
) -> None:
    for store, failed, page in (("notes", 1, "index?store=notes"), ("more", 2, "stores?")):
        water_notes({"a.docx": "not what its name says"}, store)
        way = shown(open_page(q="water"))["unread"]
        assert (way["label"], way["href"]) == (f"{failed} failed", page)


def test_the_page_state_follows_index_and_status(
    water_notes: Indexing,
) -> None:
    states = [results.state(OWNER), results.state(OWNER)]
    assert states[0] == states[1]
    water_notes({"well.md": "The well is full."})
    states.append(results.state(OWNER))
    with library()._shared.stores.open(OWNER, "notes").store.note() as db:
        db.execute("INSERT INTO queue (hash) VALUES (x'00')")
    states.append(results.state(OWNER))
    with library()._shared.stores.open(OWNER, "notes").store.note() as db:
        db.execute("INSERT INTO jobs (state, start_time) VALUES ('cancelled', '2026-01-01T00:00:00Z')")
    states.append(results.state(OWNER))
    assert all(old != new for old, new in pairwise(states[1:]))


def test_a_page_whose_state_changes_while_it_is_drawn_is_drawn_in_whole(
    water_notes: Indexing, monkeypatch: pytest.MonkeyPatch
) -> None:
    water_notes({"well.md": "The well is full."})
    states = count()
    monkeypatch.setattr(results, "state", lambda viewer: str(next(states)))
    assert titles(open_page(q="well"))[0] == "Well"
    assert next(states) == 1, "one look, before the search"


def test_messages_of_a_mailbox_are_counted_as_documents(indexing: Indexing) -> None:
    written = [message(name, f"The {name} is red.", 2, f"{name}@x.org") for name in ("roof", "boat")]
    indexing({"all.mbox": mailbox(*written)})
    found = shown(open_page(q="red"))
    assert found["status"].startswith("2 documents")
    assert sorted(titles(open_page(q="red"))) == ["boat", "roof"]
