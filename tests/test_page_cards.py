"""A card of the Search page: what it says, what opens below it, and the place that it offers."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from rag_core.library.stores import Stores
from tests import pages
from tests.pages import markup
from tests.search_page import TEA, Indexing, keys, open_card, open_page
from ui import hits

pytestmark = pytest.mark.usefixtures("owner")


def test_a_card_says_where_how_well_and_why(water_notes: Indexing) -> None:
    page = open_page(q="coffee boiling")
    card = re.findall(r"<article.*?</article>", markup(page), re.DOTALL)[0]
    assert "coffee.md:5-7" in card
    assert re.search(r"[01]\.\d\d", card)
    assert "every word" in card


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


def test_a_card_shows_its_path_once_and_offers_the_whole_to_be_copied(
    water_notes: Indexing, tmp_path: Path
) -> None:
    page = open_page(q="coffee boiling", k="1")
    assert page.code[0].value == str(tmp_path / "notes" / "coffee.md:5")
    assert re.sub("<[^>]*>", "", markup(page)).count("coffee.md") == 1
    # What is copied is not shown: ui/hits.css hides it by the name of the container around it.
    assert '[class*="st-key-place_card_"] .stCode pre { display: none; }' in hits.STYLE.read_text("utf-8")


# --- what a card says beyond the passage --------------------------------------------------


def test_a_title_leads_to_the_passage_and_back_to_the_search(water_notes: Indexing) -> None:
    page = open_page(q="coffee boiling", type="markdown", k="1")
    [(written, title)] = re.findall(r'<h2><a href="files\?([^"]*)">(.*?)</a></h2>', markup(page))
    link = dict(parse_qsl(html.unescape(written)))
    assert (title, link["path"], link["passage"]) == ("Coffee", "coffee.md", keys("coffee boiling")[0])
    page = pages.open_page("files", **link)
    assert "<mark>Coffee</mark> wants water nearly <mark>boiling</mark>" in markup(page)
    back = {each.proto.label: each.proto.query_string for each in page.get("page_link")}
    assert back["Back to the results"] == "q=coffee+boiling&type=markdown&k=1"


def test_a_card_says_what_has_become_of_its_file(water_notes: Indexing, tmp_path: Path) -> None:
    assert "cp-stale" not in markup(open_page(q="coffee tea"))
    (tmp_path / "notes" / "tea.md").write_text(TEA + "Or at seventy.\n")
    (tmp_path / "notes" / "coffee.md").unlink()
    said = markup(open_page(q="coffee tea"))
    assert '<p class="cp-stale">The file may have changed since it was indexed.</p>' in said
    assert '<p class="cp-stale">The file is gone. ' in said
