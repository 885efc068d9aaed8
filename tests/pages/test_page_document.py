"""A document's page, run by AppTest on a real store: its text, its links, and what is done with it."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from urllib.parse import parse_qsl, quote

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER, DocumentView
from tests.conftest import index
from tests.pages.files_page import done, idle, open_page, page_links, said, table
from tests.pages.visiting import GUEST, HOSTILE, drawn, has_key, markup, press
from tests.support.documents_made import pptx
from tests.support.mailboxes import mailbox, message
from tests.support.stored import long_note
from tests.support.trees import write
from ui.frame.deps import library
from ui.frame.links import in_vault

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
    "boil.py": f"def fill(pot):\n  {'pot.fill(); ' * 8}\n\n\ndef boil(water):\n  {'water.boil(); ' * 8}\n",
    "odd `name` <b>.md": f'---\ntitle: "{HOSTILE}"\n---\n\nneedle <img src=http://evil.example/y.png>\n',
}


pytestmark = [pytest.mark.usefixtures("owner"), pytest.mark.thorough]


@pytest.fixture
def shelf(notes: Path) -> Path:
    """Store ``notes`` over a few linked files."""
    write(notes, NOTES)
    index(library(), "notes", notes)
    return notes


@pytest.fixture
def long_shelf(notes: Path, monkeypatch: pytest.MonkeyPatch) -> DocumentView:
    """A document that is too long to be shown in full."""
    monkeypatch.setattr("ui.files.document_page.PAGE", PAGE)
    monkeypatch.setattr("ui.files.document_page.MOST_RENDERED", 1000)
    (notes / "long.md").write_text(long_note(15 * PAGE), "utf-8")
    index(library(), "notes", notes)
    view = library().documents.get(OWNER, "notes", "long.md")
    assert len(view.chunks) > 2 * PAGE
    return view


_SIMILAR = '<nav class="cp cp-beside-text" aria-label="Similar">'


def similar(page: AppTest) -> str:
    """The links to similar documents as HTML."""
    return markup(page).partition(_SIMILAR)[2].partition("</nav>")[0]


def test_a_slide_is_one_block_with_its_title_once(notes: Path) -> None:
    (notes / "talk.pptx").write_bytes(
        pptx(("Kettles", "Iron | Steel\nold | <b>new</b>", ""), ("Pots", "Clay", ""))
    )
    index(library(), "notes", notes)
    first, second = markup(open_page(store="notes", path="talk.pptx")).split('<section class="cp-slide">')[1:]
    assert first.count("Kettles") == first.count("<h2>Kettles</h2>") == 1
    assert "<tr><td>Iron</td><td>Steel</td></tr><tr><td>old</td><td>&lt;b&gt;new&lt;/b&gt;</td></tr>" in first
    assert "<h2>Pots</h2><p>Clay</p>" in second


_TABLE = "| cloth | 3 |\n|-------+---|\n| twine | <b> |\n"
MARKED = {
    "plan.org": (
        f"#+title: Plan\n\n* Sails\n:PROPERTIES:\n:ID: 7\n:END:\nPatch the *new* sail.\n\n{_TABLE}",
        "*",
    ),
    "plan.wiki": ("== Sails ==\nPatch the '''new''' sail.\n", "'"),
    "plan.adoc": ("= Plan\n\n== Sails\n\nPatch the *new* sail.\n", "*"),
    "plan.textile": ("h1. Sails\n\nPatch the *new* sail.\n", "*"),
    "plan.rst": ("Sails\n=====\n\nPatch the **new** sail.\n", "*"),
    "over.rst": ("=====\nSails\n=====\n\nPatch the **new** sail.\n", "*"),
}


@pytest.mark.parametrize("name", MARKED)
def test_text_with_marks_is_shown_as_it_looks_below_its_heading_or_as_source(notes: Path, name: str) -> None:
    text, sign = MARKED[name]
    write(notes, {name: text})
    index(library(), "notes", notes)
    shown = markup(open_page(store="notes", path=name))
    assert "Patch the new sail." in shown
    assert (
        len(re.findall(r">[^<]*Sails[^<]*<", shown.partition('class="cp cp-text"')[2].partition("<nav")[0]))
        == 1
    )
    assert f"{sign}new{sign}" in html.unescape(markup(open_page(store="notes", path=name, source="1")))


def test_the_table_of_an_org_file_is_a_table(notes: Path) -> None:
    write(notes, {"plan.org": MARKED["plan.org"][0]})
    index(library(), "notes", notes)
    shown = markup(open_page(store="notes", path="plan.org"))
    rows = "<tr><td>cloth</td><td>3</td></tr><tr><td>twine</td><td>&lt;b&gt;</td></tr>"
    assert f"<table>{rows}</table>" in shown


def test_a_canvas_and_an_outline_are_shown_as_their_cards_and_entries(notes: Path) -> None:
    card = {"id": "a", "type": "text", "text": "Mend the **keel**", "x": 0, "y": 0, "width": 9, "height": 9}
    outline = '<opml><body><outline text="Slates &amp; nails" _note="from the yard"/></body></opml>'
    write(notes, {"trip.canvas": json.dumps({"nodes": [card], "edges": []}), "buy.opml": outline})
    index(library(), "notes", notes)
    canvas, entries = (markup(open_page(store="notes", path=name)) for name in ("trip.canvas", "buy.opml"))
    assert "Mend the <strong>keel</strong>" in canvas
    assert "width" not in canvas.partition("<article")[2].partition("</article>")[0]
    assert "Slates &amp; nails\nfrom the yard" in entries
    assert "_note" not in entries


@pytest.fixture
def mail(notes: Path) -> None:
    """A mailbox of three messages."""
    days = (("roof", 2), ("boat", 5), ("lunch", 9))
    written = [message(f"The {name}", f"About the {name}.", day, f"{name}@x.org") for name, day in days]
    (notes / "all.mbox").write_text(mailbox(*written), "utf-8")
    index(library(), "notes", notes)


def test_the_page_of_a_message_leads_to_its_mailbox_and_to_the_messages_beside_it(mail: None) -> None:
    page = open_page(store="notes", path="all.mbox#boat@x.org")
    assert page.title[0].value == "The boat"
    assert "About the boat." in said(page)
    assert "About the roof." not in said(page)
    assert {name: asked["path"] for name, asked in anchors(markup(page)).items()} == {
        "all.mbox": "all.mbox",
        "All of all.mbox": "all.mbox",
        "Newer: The lunch": "all.mbox#lunch@x.org",
        "Older: The roof": "all.mbox#roof@x.org",
    }


def test_a_link_to_a_passage_of_a_mailbox_shows_its_message(mail: None) -> None:
    page = open_page(store="notes", path="all.mbox", passage=key_of("all.mbox#roof@x.org"))
    assert page.title[0].value == "The roof"


def test_the_page_of_a_mailbox_lists_its_messages_the_newest_first(mail: None) -> None:
    links = anchors(markup(open_page(store="notes", path="all.mbox")))
    assert [*links] == ["The lunch", "The boat", "The roof"]
    files = open_page(store="notes")
    assert [*table(files)["Title"]] == ["3 documents"]


def article(page: AppTest) -> str:
    """The text of the note as HTML."""
    found = re.search(r'<article class="cp cp-note">(.*?)</article>', markup(page), re.DOTALL)
    return found[1] if found else ""


def code_of(page: AppTest) -> tuple[str, str]:
    """The code on the page, and what is marked of it."""
    [code] = re.findall(r"<pre><code>(.*)</code></pre>", markup(page), re.DOTALL)
    marked = code.partition('<span class="cp-here" id="marked">')[2].partition("</span></span>")[0]
    whole, part = (html.unescape(re.sub(r"<[^>]*>", "", each)) for each in (code, marked))
    return whole, part


def words(page: AppTest) -> list[tuple[bool, str]]:
    """Whether it is marked, and the text, of each passage of a document that is not shown in full."""
    found = re.findall(
        r'<div( class="cp-here" id="marked")?><p class="cp-words[^>]*>(.*?)</p>', markup(page), re.S
    )
    return [(bool(mark), html.unescape(text)) for mark, text in found]


def anchors(body: str) -> dict[str, dict[str, str]]:
    """Name → parameters of the links to documents' pages, without similar ones."""
    body, _, _ = body.partition(_SIMILAR)
    found = re.findall(r'<a href="files\?([^"]*)">(.*?)</a>', body)
    links = {html.unescape(name): dict(parse_qsl(html.unescape(query))) for query, name in found}
    return {name: asked for name, asked in links.items() if "path" in asked}


def key_of(path: str, number: int = 0) -> str:
    return library().documents.get(OWNER, "notes", path).chunks[number].key


def addresses(page: AppTest) -> dict[str, str]:
    """Name → address of the links into other programs."""
    return {link.proto.label: link.proto.url for link in page.get("link_button")}


@pytest.mark.posix
def test_a_note_is_shown_as_it_is_meant_to_look_without_its_front_matter(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md")
    assert page.title[0].value == "Tea"
    assert "dated 2026-02-01 · #drink/tea" in said(page)
    assert re.search(r"Also called\s+Camellia, <i>Green</i>", said(page))
    assert article(page).startswith(
        '<p>See <a href="files?store=notes&amp;path=pot+%26+lid.md&amp;heading=Spout">'
    )
    assert "<p>Leaves are dried on racks" in article(page)
    assert re.findall("<h.[^>]*>(.*?)</h.>", article(page)) == ["Drying"]
    assert "aliases" not in article(page)
    assert "no longer in the document" not in said(page)
    page = open_page(store="notes", path="tea.md", passage="00000000")
    assert "The passage that the link leads to is no longer in the document" in said(page)
    (shelf / "later.md").write_bytes(b"\xef\xbb\xbf\xff")  # which cannot be read
    index(library(), "notes")
    [hit] = library().search(OWNER, "later", mode="lexical").hits
    page = open_page(store="notes", path="later.md", passage=hit.key)
    assert "no longer in the document" not in said(page)


def test_the_passage_or_heading_of_the_link_is_marked(shelf: Path) -> None:
    for asked in ({"passage": key_of("tea.md", 1)}, {"heading": "Drying"}):
        shown = article(open_page(store="notes", path="tea.md", **asked))
        assert shown.count('id="marked"') == 1
        before, _, marked = shown.partition('<div class="cp-here" id="marked">')
        assert "See" in before
        assert ">Drying</h3>" in marked
    assert 'id="marked"' not in article(open_page(store="notes", path="tea.md"))


def test_the_source_of_a_note_is_shown_on_demand(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md", passage=key_of("tea.md", 1))
    asked = dict(parse_qsl(page_links(page)["Show source"]))
    page = open_page(**asked)
    whole, marked = code_of(page)
    assert whole == TEA
    assert marked.splitlines() == TEA.splitlines()[9:12]
    assert "As it looks" in page_links(page)


def test_the_lines_of_code_that_were_found_are_marked(shelf: Path) -> None:
    found = library().documents.get(OWNER, "notes", "boil.py").chunks
    page = open_page(store="notes", path="boil.py", passage=found[-1].key)
    whole, marked = code_of(page)
    assert whole.startswith("def fill(pot):")
    assert marked.splitlines() == whole.splitlines()[4:6]
    assert 'id="marked"' not in markup(open_page(store="notes", path="boil.py"))


def test_a_long_document_is_turned_page_by_page(long_shelf: DocumentView) -> None:
    total = len(long_shelf.chunks)
    page = open_page(store="notes", path="long.md")
    assert len(words(page)) == PAGE
    assert f"Passages 1 to {PAGE} of {total}" in said(page)
    later = anchors(markup(page))["Later passages"]
    assert later == {"store": "notes", "path": "long.md", "from": str(PAGE + 1)}
    page = open_page(**later)
    assert f"Passages {PAGE + 1} to {2 * PAGE} of {total}" in said(page)
    assert anchors(markup(page))["Earlier passages"]["from"] == "1"
    page = open_page(store="notes", path="long.md", **{"from": str(total)})
    assert len(words(page)) == 1
    assert "Later passages" not in anchors(markup(page))
    page = open_page(store="notes", path="long.md", passage=long_shelf.chunks[5].key)
    assert [number for number, (marked, _) in enumerate(words(page)) if marked] == [5]


def test_links_lead_to_the_documents_pages_both_ways(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md")
    assert anchors(markup(page)) == {
        "the pot": {"store": "notes", "path": "pot & lid.md", "heading": "Spout"},
        "secret": {"store": "notes", "path": "secret.md"},
        "Pot": {"store": "notes", "path": "pot & lid.md"},
        "The hidden title": {"store": "notes", "path": "secret.md"},
    }
    assert "<h2>Links to</h2>" in markup(page)
    assert "<h2>Linked from</h2>" in markup(page)
    assert "1 not in this store" in said(page)
    assert '<span class="cp-nowhere" title="Not in this store">&lt;b&gt;nowhere&lt;/b&gt;</span>' in article(
        page
    )
    assert open_page(**anchors(markup(page))["Pot"]).title[0].value == "Pot"


def test_similar_documents_are_offered_unless_they_are_linked(shelf: Path) -> None:
    write(shelf, {"more.md": "# More tea\n\nLeaves are dried on racks in the sun and put away in tins.\n"})
    write(shelf, {"tax.md": "# Tax\n\nThe declaration of income is due in July.\n"})
    index(library(), "notes")
    shown = similar(open_page(store="notes", path="tea.md"))
    assert ">More tea</a>" in shown
    assert "path=more.md&amp;passage=" in shown
    assert ">Pot</a>" not in shown
    assert ">Tax</a>" not in shown


def test_the_search_in_the_address_is_highlighted_everywhere_and_the_way_back(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md", search='q=dried+tea+"the pot"&view=table&evil=1')
    assert re.findall("<mark>(.*?)</mark>", article(page)) == ["the pot", "the pot", "Drying", "dried"]
    assert page_links(page)["Results"] == "q=dried+tea+%22the+pot%22&view=table"
    searches = {asked["search"] for asked in anchors(markup(page)).values()}
    assert searches == {"q=dried+tea+%22the+pot%22&view=table"}


def test_the_state_is_that_of_the_file_now(shelf: Path) -> None:
    assert "Changed:" not in said(open_page(store="notes", path="tea.md"))
    (shelf / "tea.md").write_text("Cold tea.\n", "utf-8")
    page = open_page(store="notes", path="tea.md")
    assert "Changed: the file was changed after it was read." in said(page)
    assert "Leaves are dried" in article(page), "as it was read"
    idle(press(page, "file_Read again"))
    assert "Changed:" not in said(page)
    assert article(page) == "<p>Cold tea.</p>\n"


def test_the_owner_opens_a_file_in_other_programs_at_its_line(shelf: Path) -> None:
    page = open_page(store="notes", path="tea.md", passage=key_of("tea.md", 1))
    assert addresses(page) == {"VS Code": f"vscode://file{shelf}/tea.md:10"}
    assert f"{shelf}/tea.md:10" in [block.value for block in page.code]
    (shelf / ".obsidian").mkdir()
    in_vault.cache_clear()
    page = open_page(store="notes", path="pot & lid.md")
    folder = quote(str(shelf), safe="")
    assert addresses(page)["Obsidian"] == f"obsidian://open?path={folder}%2Fpot%20%26%20lid.md"
    assert addresses(page)["VS Code"] == f"vscode://file{shelf}/pot%20%26%20lid.md"


def test_a_folder_that_cannot_be_opened_is_said_once(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    page = press(open_page(store="notes", path="tea.md"), "note_folder")
    assert "is not installed" in said(page)
    assert "is not installed" not in said(drawn(page.run()))


def test_a_document_is_marked_as_the_right_answer_of_the_search_that_led_to_it(shelf: Path) -> None:
    assert not has_key(open_page(store="notes", path="tea.md"), "note_right")
    page = press(open_page(store="notes", path="tea.md", search="q=drying+leaves"), "note_right")
    assert done(page) == ["'tea.md' is marked as a right answer for 'drying leaves'."]
    golden = library().evaluating.evaluate(OWNER, mode="lexical")
    assert [(each.query, each.rank) for each in golden.queries] == [("drying leaves", 1)]


def test_a_guest_reads_without_actions_places_and_private_titles(
    shelf: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ui.frame.access.viewer", lambda: GUEST)
    (shelf / "tea.md").write_text(TEA + "\nChanged since.\n", "utf-8")
    page = open_page(store="notes", path="tea.md", search="q=dried")
    assert "Leaves are" in article(page)
    assert not page.button
    assert addresses(page) == {}
    assert {*anchors(markup(page))} == {"the pot", "Pot"}
    everything = said(page) + "".join(block.value for block in page.code)
    for hidden in ("The hidden title", "secret.md", str(shelf), "Changed"):
        assert hidden not in everything
    private, missing = (said(open_page(store="notes", path=path)) for path in ("secret.md", "nobody.md"))
    assert "has no document" in missing
    assert private.replace("secret", "nobody") == missing


def test_hostile_text_is_shown_as_it_stands(shelf: Path) -> None:
    (shelf / "more.md").write_text(
        "[[odd `name` <b>]] [x](javascript:alert(1)) [y](data:text/html,z)\n", "utf-8"
    )
    index(library(), "notes")
    page, more = (open_page(store="notes", path=path) for path in ("odd `name` <b>.md", "more.md"))
    assert HOSTILE in said(page)
    assert article(page) == "<p>needle </p>\n"
    assert anchors(markup(more))[HOSTILE] == {"store": "notes", "path": "odd `name` <b>.md"}
    for shown in map(markup, (page, more)):
        assert not [tag for tag in ("<script", "<img", "<b>", "<i>") if tag in shown]
        assert {*re.findall(r'href="([^"?#]*)', shown)} == {"files"}
