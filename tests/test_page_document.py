"""A document's page, run by AppTest on a real store: its text, its links, and what is done with it."""

from __future__ import annotations

import html
import re
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from rag_core.types import OWNER, DocumentView
from tests.conftest import index
from tests.files_page import idle, open_page, page_links, said
from tests.pages import GUEST, HOSTILE, markup, press
from tests.stored import long_note
from tests.trees import write
from ui.deps import library

PAGE = 20  # so many passages at once are enough here
TEA = """---
tags: [drink/tea]
date: 2026-02-01
aliases: [Camellia, "<i>Green</i>"]
---
# Tea

See [[pot#Spout|the pot]], [[secret]] and [[<b>nowhere</b>]]; the pot stands on the shelf.

## Drying

Leaves are dried on racks in the sun, turned twice a day, and put away in tins.
"""
NOTES = {
    "tea.md": TEA,
    "pot & lid.md": "---\naliases: [pot]\nfrom: <b>Assam</b>\n---\n# Pot\n\nFor [[Camellia]], for [[tea]].\n",
    "secret.md": "---\nprivate: true\n---\n# The hidden title\n\nThe spare key, see [[tea]].\n",
    "odd `name` <b>.md": f'---\ntitle: "{HOSTILE}"\n---\n\nneedle <img src=http://evil.example/y.png>\n',
}


pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def shelf(notes: Path) -> Path:
    """Store ``notes`` over a few linked files."""
    write(notes, NOTES)
    index(library(), "notes", notes)
    return notes


@pytest.fixture
def long_shelf(notes: Path, monkeypatch: pytest.MonkeyPatch) -> DocumentView:
    """A document that is shown in several parts."""
    monkeypatch.setattr("ui.document_page.PAGE", PAGE)
    (notes / "long.md").write_text(long_note(15 * PAGE), "utf-8")
    index(library(), "notes", notes)
    view = library().documents.get(OWNER, "notes", "long.md")
    assert len(view.chunks) > 2 * PAGE
    return view


def passages(body: str) -> list[tuple[str, str, str]]:
    """(class, lines, text) of each passage, in order."""
    where = r'<span class="cp-lines"><a[^>]*>Lines? ([\d-]+)</a></span>'
    found = re.findall(rf'<div class="cp-passage ([\w -]+)"[^>]*>{where}(.*?)</div>', body, re.DOTALL)
    return [(kind, lines, html.unescape(text)) for kind, lines, text in found]


def anchors(body: str) -> dict[str, dict[str, str]]:
    """Name → parameters of the links to the Files page, those of passages left out."""
    found = re.findall(r'<a href="files\?([^"]*)">(.*?)</a>', body)
    return {html.unescape(name): dict(parse_qsl(html.unescape(query))) for query, name in found}


def test_a_document_is_shown_with_its_text_in_reading_order(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md")
    assert page.title[0].value == "Tea"
    assert "tea.md · in notes · markdown · dated 2026-02-01" in said(page)
    assert "#drink/tea" in said(page)
    assert "Also called Camellia, <i>Green</i>" in said(page)
    assert [(kind, lines) for kind, lines, _ in passages(markup(page))] == [
        ("cp-beside", "6-8"),
        ("cp-beside", "10-12"),
    ]
    assert re.findall("<h2>(.*?)</h2>", markup(page)) == ["Tea", "Tea › Drying"]
    assert passages(markup(page))[1][2].startswith("## Drying\n\nLeaves are dried")
    assert page.code[0].value == str(shelf / "tea.md")
    page = open_page(store="notes", path="tea.md", passage="00000000")
    assert "The passage that the link leads to is no longer in the document" in said(page)
    assert len(passages(markup(page))) == 2


def test_the_passage_of_the_link_is_marked_and_what_is_before_it_folded(long_shelf: DocumentView) -> None:
    wanted = long_shelf.chunks[5]
    page = open_page(store="notes", path="long.md", passage=wanted.key)
    folded, _, shown = markup(page).partition("</details>")
    assert "<summary>4 passages before</summary>" in folded
    assert len(passages(folded)) == 4
    kinds = [kind for kind, _, _ in passages(shown)]
    assert kinds[:3] == ["cp-beside", "cp-here", "cp-beside"]
    assert kinds.count("cp-here") == 1
    assert shown.count('id="marked"') == 1
    assert page.code[0].value.endswith(f"long.md:{wanted.start_line}")
    assert f'<a href="#marked">Go to lines {wanted.start_line}-{wanted.end_line}</a>' in markup(page)


def test_a_long_document_is_turned_page_by_page(long_shelf: DocumentView) -> None:
    total = len(long_shelf.chunks)
    page = open_page(store="notes", path="long.md")
    assert len(passages(markup(page))) == PAGE
    assert f"Passages 1 to {PAGE} of {total}" in said(page)
    later = anchors(markup(page))["Later passages"]
    assert later == {"store": "notes", "path": "long.md", "from": str(PAGE + 1)}
    page = open_page(**later)
    assert f"Passages {PAGE + 1} to {2 * PAGE} of {total}" in said(page)
    assert anchors(markup(page))["Earlier passages"]["from"] == "1"
    page = open_page(store="notes", path="long.md", **{"from": str(total)})
    assert len(passages(markup(page))) == 1
    assert "Later passages" not in anchors(markup(page))


def test_links_lead_to_the_documents_pages_both_ways(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md")
    assert anchors(markup(page)) == {
        "Pot": {"store": "notes", "path": "pot & lid.md"},
        "The hidden title": {"store": "notes", "path": "secret.md"},
    }
    assert "<summary>Links to 2 documents and 1 that is not there</summary>" in markup(page)
    assert "<summary>Linked from 2 documents</summary>" in markup(page)
    assert "<b>nowhere</b> leads to nothing in this store" in " ".join(said(page).split())
    assert open_page(**anchors(markup(page))["Pot"]).title[0].value == "Pot"


def test_the_search_in_the_address_is_highlighted_everywhere_and_the_way_back(shelf: Path) -> None:
    [key] = [chunk.key for chunk in library().documents.get(OWNER, "notes", "tea.md").chunks][:1]
    page = open_page(
        store="notes", path="tea.md", passage=key, search='q=dried+tea+"the pot"&view=table&evil=1'
    )
    assert re.findall("<mark>(.*?)</mark>", markup(page)) == ["Tea", "the pot", "the pot", "Drying", "dried"]
    assert page_links(page)["Back to the results"] == "q=dried+tea+%22the+pot%22&view=table"
    written = re.findall(r'<a href="files\?([^"]*)" aria-label="Mark', markup(page))
    searches = {dict(parse_qsl(html.unescape(each)))["search"] for each in written}
    assert searches == {"q=dried+tea+%22the+pot%22&view=table"}


def test_the_state_is_that_of_the_file_now(shelf: Path) -> None:
    assert "Changed:" not in said(open_page(store="notes", path="tea.md"))
    (shelf / "tea.md").write_text("Cold tea.\n")
    page = open_page(store="notes", path="tea.md")
    assert "Changed: the file is no longer what was read." in said(page)
    idle(press(page, "file_Read again"))
    assert "Changed:" not in said(page)
    assert passages(markup(page))[0][2] == "Cold tea."


def test_a_guest_reads_without_actions_places_and_private_titles(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.access.viewer", lambda: GUEST)
    (shelf / "tea.md").write_text(TEA + "\nChanged since.\n")
    page = open_page(store="notes", path="tea.md")
    assert len(passages(markup(page))) == 2
    assert not page.button
    assert page.code[0].value == "tea.md"
    assert {*anchors(markup(page))} == {"Pot"}
    for hidden in ("The hidden title", "secret.md", str(shelf), "Changed:"):
        assert hidden not in said(page)
    private, missing = (said(open_page(store="notes", path=path)) for path in ("secret.md", "nobody.md"))
    assert "has no document" in missing
    assert private.replace("secret", "nobody") == missing


def test_hostile_text_is_shown_as_it_stands(shelf: Path) -> None:
    (shelf / "more.md").write_text("[[odd `name` <b>]] [x](javascript:alert(1)) [y](http://evil.example)\n")
    index(library(), "notes")
    page, more = (open_page(store="notes", path=path) for path in ("odd `name` <b>.md", "more.md"))
    assert HOSTILE in said(page)
    assert "needle <img src=http://evil.example/y.png>" in said(page)
    assert anchors(markup(more))[HOSTILE] == {"store": "notes", "path": "odd `name` <b>.md"}
    for shown in map(markup, (page, more)):
        assert not [tag for tag in ("<script", "<img", "<b>", "<i>") if tag in shown]
        assert {*re.findall(r'href="([^"?#]*)', shown)} == {"files"}
