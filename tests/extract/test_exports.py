"""Exports of other apps, told by their content: chats, Keep, Kindle, canvas, bookmarks."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path, PurePosixPath

import pytest

from rag_core.extract import extract, kindle
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.extract.test_telegram import TELEGRAM
from tests.support.trees import write


def read(text: str, name: str) -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


def paths(found: Extracted) -> list[tuple[str, ...]]:
    return [segment.heading_path for segment in found.segments]


def days(found: Extracted) -> list[str]:
    """The headings of a chat, each once."""
    return list(dict.fromkeys(" > ".join(path) for path in paths(found)))


DAYS = ["2025-11-08 (Saturday, 8 November 2025)", "2025-11-25 (Tuesday, 25 November 2025)"]

# --- WhatsApp ---------------------------------------------------------------------------

STAMPS = {
    "iOS, German": ("[08.11.25, 10:15:00] ", "[25.11.25, 22:05:00] "),
    "iOS, English": ("[11/8/25, 10:15:00\u202fAM] ", "[11/25/25, 10:05:00\u202fPM] "),
    "iOS, with a mark": ("\u200e[08.11.25, 10:15:00] ", "\u200e[25.11.25, 22:05:00] "),
    "Android, German": ("08.11.25, 10:15 - ", "25.11.25, 22:05 - "),
    "Android, older": ("08.11.25 um 10:15 - ", "25.11.25 um 22:05 - "),
    "Android, American": ("11/8/25, 10:15 AM - ", "11/25/25, 10:05 PM - "),
    "Android, British": ("08/11/2025, 10:15 - ", "25/11/2025, 22:05 - "),
    "Android, Spanish": ("8/11/25 10:15 - ", "25/11/25 22:05 - "),
    "Android, Italian": ("08/11/25, 10:15 - ", "25/11/25, 22:05 - "),
    "Android, Swedish": ("2025-11-08, 10:15 - ", "2025-11-25, 22:05 - "),
    "a. m. with narrow spaces": (
        "8/11/2025, 10:15\u202fa.\u00a0m. - ",
        "25/11/2025, 10:05\u202fp.\u00a0m. - ",
    ),
    "French": ("08/11/2025 à 10:15 - ", "25/11/2025 à 22:05 - "),
    "Chinese": ("2025/11/8 上午10:15 - ", "2025/11/25 下午10:05 - "),
    "Japanese": ("2025/11/08, 午前10:15 - ", "2025/11/25, 午後10:05 - "),
    "a. m.": ("8/11/25, 10:15 a. m. - ", "25/11/25, 10:05 p. m. - "),
}


@pytest.mark.parametrize(
    ("stamps", "end", "length"), list(product(STAMPS.values(), ("\n", "\r\n"), (1, 40))), ids=repr
)
def test_a_chat_of_whatsapp_is_a_section_for_each_day(stamps: tuple[str, str], end: str, length: int) -> None:
    first, second = stamps
    lines = [
        f"{first}Messages are end-to-end encrypted.",
        *[f"{first}Anna Müller: Bring walnuts", "and time: now"] * length,
    ]
    lines += [f"{second}Bob: \u200eimage omitted", f"{second}Bob: Good night"]
    found = read(end.join(lines), "WhatsApp Chat with Anna.txt")
    assert (found.title, found.date) == ("WhatsApp Chat with Anna", "2025-11-25")
    assert days(found) == DAYS
    assert "10:15 Anna Müller: Bring walnuts\nand time: now" in found.text
    assert found.text.endswith("22:05 Bob: image omitted\n22:05 Bob: Good night")
    assert found.metadata == {"from": ["Anna Müller", "Bob"]}
    assert read(end.join(lines), "_chat.txt").title == "Chat: Anna Müller, Bob"


TALKS = {
    "an hour of silence after three messages": ([0, 5, 9, 90, 95, 99, 200], [3, 3, 1]),
    "fewer go on": ([0, 90, 180, 270, 360], [3, 2]),
    "at most eight": ([*range(20)], [8, 8, 4]),
    "few": ([0, 200], [2]),
}


@pytest.mark.parametrize(("minutes", "lengths"), TALKS.values(), ids=[*TALKS])
def test_a_day_of_a_chat_is_cut_where_nobody_writes(minutes: list[int], lengths: list[int]) -> None:
    said = [f"2025-11-08, {9 + m // 60:02}:{m % 60:02} - Ada: word{n}" for n, m in enumerate(minutes)]
    found = read("\n".join(said), "WhatsApp Chat with Ada.txt")
    talks = [found.text[segment.start : segment.end] for segment in found.segments]
    assert [talk.count("Ada:") for talk in talks] == lengths


def test_a_long_message_of_a_chat_ends_a_part() -> None:
    said = [f"2025-11-08, 10:0{n} - Ada: {'so it goes ' * 40}" for n in range(3)]
    assert len(read("\n".join(said), "WhatsApp Chat with Ada.txt").segments) == 3


@pytest.mark.parametrize(("stamps", "end"), list(product(STAMPS.values(), ("\n", "\r\n"))), ids=repr)
def test_each_day_of_a_chat_is_a_document(
    library: Library, notes: Path, stamps: tuple[str, str], end: str
) -> None:
    first, second = stamps
    chat = notes / "WhatsApp Chat with Anna.txt"
    lines = [
        f"{first}Messages are end-to-end encrypted.",
        f"{first}Anna Müller: Bring walnuts",
        "and time: now",
        f"{second}Bob: Good night",
    ]
    chat.write_text("\ufeff" + end.join(lines) + end, "utf-8", newline="")
    index(library, "notes", notes)
    [hit] = library.search(OWNER, '"bring walnuts and time"', mode="lexical").hits
    assert (hit.document.title, hit.document.date) == (
        "WhatsApp Chat with Anna, 8 November 2025",
        "2025-11-08",
    )
    assert not library.search(OWNER, '"good night" before:2025-11-20', mode="lexical").hits
    whole = library.documents.get(OWNER, "notes", chat.name)
    assert [part.title[-16:] for part in whole.parts] == ["25 November 2025", " 8 November 2025"]
    with chat.open("a", encoding="utf-8", newline="") as file:
        file.write(f"{second}Bob: Sleep well{end}")
    changes = index(library, "notes", notes)
    assert changes.total_chunks_added == 1
    assert library.search(OWNER, '"sleep well"').hits[0].document.title.endswith(", 25 November 2025")


@pytest.mark.parametrize(
    "text",
    [
        "2025-11-08 10:15:00 - INFO: started\n2025-11-08 10:15:01 - INFO: done\n",
        "[2025-11-08 10:15:00] local.ERROR: x\n[2025-11-08 10:15:00] local.ERROR: y\n",
        "08.11.25, 10:15 - one line\n" + "and much prose\n" * 30,
        "1.2.3 is a version\n1.2.4 is another\n",
        "1.2.3, 10:15 - fix: the gate\n1.2.4, 10:16 - feat: the mill\n",
    ],
)
def test_a_log_is_no_chat(text: str) -> None:
    assert read(text, "a.txt").text == text


# --- Keep, Kindle, canvas, bookmarks ----------------------------------------------------


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_note_of_keep_is_shown_as_keep_shows_it(ascii_only: bool) -> None:
    note = {
        "color": "DEFAULT",
        "isTrashed": False,
        "isPinned": True,
        "title": "Einkauf für Müller",
        "listContent": [
            {"text": "Brötchen", "isChecked": True},
            {"text": "東京のお土産", "isChecked": False},
        ],
        "textContent": "Erste Zeile\nZweite Zeile",
        "labels": [{"name": "Haus"}, {"name": "two words"}],
        "annotations": [{"title": "Shop", "url": "https://example.org"}],
        "createdTimestampUsec": 1762596000000000,
        "userEditedTimestampUsec": 1772442000000000,
    }
    found = read(json.dumps(note, ensure_ascii=ascii_only), "2025-11-08T10_00.json")
    assert (found.title, found.date, found.file_type) == ("Einkauf für Müller", "2025-11-08", "text")
    assert found.tags == ("Haus", "two words")
    assert (
        "Erste Zeile\nZweite Zeile\n- [x] Brötchen\n- [ ] 東京のお土産\n\nShop\nhttps://example.org"
        in found.text
    )


CLIPPINGS = {
    "English": "- Your Highlight on page 12 | location 170-171"
    " | Added on Saturday, November 8, 2025 10:15:00 AM",
    "German": "- Ihre Markierung auf Seite 12 | bei Position 170-171"
    " | Hinzugefügt am Samstag, 8. November 2025 10:15:00",
    "French": "- Votre surlignement sur la page 12 | emplacement 170-171"
    " | Ajouté le samedi 8 novembre 2025 10:15:00",
    "Spanish": "- La subrayado en la página 12 | posición 170-171"
    " | Añadido el sábado, 8 de noviembre de 2025 10:15:00",
    "Italian": "- La tua evidenziazione a pagina 12 | posizione 170-171"
    " | Aggiunto in data sabato 8 novembre 2025 10:15:00",
    "Portuguese": "- Seu destaque na página 12 | posição 170-171"
    " | Adicionado: sábado, 8 de novembro de 2025 10:15:00",
    "Japanese": "- 12ページ|位置No. 170-171のハイライト |作成日: 2025年11月8日土曜日 10:15:00",
    "Chinese": "- 您在第 12 页（位置 #170-171）的标注 | 添加于 2025年11月8日星期六 上午10:15:00",
}


@pytest.mark.parametrize(("place", "end"), list(product(CLIPPINGS.values(), ("\n", "\r\n"))))
def test_each_highlight_of_a_kindle_is_a_section(place: str, end: str) -> None:
    whale, emma = "Moby Dick (Melville)", "Emma (Austen)"
    highlights = ((whale, "Call me Ishmael."), (emma, "Handsome, clever, and rich."), (emma, "Badly done."))
    entries = [f"{book}\n{place}\n\n{text}\n" for book, text in highlights]
    text = "\ufeff" + "==========\n".join([*entries, ""])
    found = read(text.replace("\n", end), "My Clippings.txt")
    assert (found.title, found.date) == ("My Clippings", "2025-11-08")
    assert paths(found) == [
        ("Moby Dick (Melville)", "2025-11-08"),
        ("Emma (Austen)", "2025-11-08"),
        ("Emma (Austen)", "2025-11-08"),
    ]
    assert found.text.endswith("Badly done.")


@pytest.mark.parametrize("place", CLIPPINGS.values(), ids=CLIPPINGS)
def test_each_highlight_of_a_kindle_is_a_document(library: Library, notes: Path, place: str) -> None:
    early = place.replace("10:15", "09:05")
    entries = [
        f"Moby Dick (Herman Melville)\n{early}\n\nCall me Ishmael.\n",
        f"\ufeffEmma: A Novel (Annotated) (Austen, Jane)\n{place}\n\nHandsome, clever, and rich.\n",
        f"Emma: A Novel (Annotated) (Austen, Jane)\n{place}\n\n\n",  # a bookmark
    ]
    clippings = notes / "My Clippings.txt"
    clippings.write_text("\ufeff" + "==========\n".join([*entries, ""]), "utf-8")
    (notes / "list.txt").write_text("Shopping\n- tea | 2\n", "utf-8")
    index(library, "notes", notes)
    hits = library.search(OWNER, "clever", mode="lexical").hits
    assert [(hit.document.title, hit.document.date[:10]) for hit in hits] == [
        ("Emma: A Novel (Annotated)", "2025-11-08")
    ]
    view = library.documents.get(OWNER, "notes", hits[0].document.address)
    properties = dict(view.properties)
    assert (properties["author"], properties["page"], properties["location"]) == (
        "Austen, Jane",
        "12",
        "170-171",
    )
    assert [chunk.content for chunk in view.chunks] == [
        "2025-11-08 (Saturday, 8 November 2025)\nHandsome, clever, and rich."
    ]
    of_day = library.search(OWNER, "8 November 2025 handsome", mode="lexical").hits
    assert (of_day[0].document.title, of_day[0].reasons) == ("Emma: A Novel (Annotated)", ("every word",))
    whole = library.documents.get(OWNER, "notes", "My Clippings.txt")
    assert [part.title for part in whole.parts] == ["Emma: A Novel (Annotated)", "Moby Dick"]
    with clippings.open("a", encoding="utf-8") as file:
        file.write(f"Emma (Austen)\n{place}\n\nBadly done, Emma.\n==========\n")
    changes = index(library, "notes", notes)
    assert library.search(OWNER, '"badly done"').hits[0].relevant
    assert changes.total_chunks_added == 1


@pytest.mark.parametrize(
    "text", ["Title\n- an item\n==========\nMore\n", "Kettle (blue)\n- tea | 2\n\n", "==========\n", ""]
)
def test_other_texts_are_no_clippings(text: str) -> None:
    assert not kindle.are_clippings(text.encode())


def test_a_canvas_is_read_by_its_cards() -> None:
    size = {"width": 200, "height": 100}
    nodes = [
        {"id": "b", "type": "file", "file": "Tools.md", "subpath": "#Saws", "x": 300, "y": 0, **size},
        {"id": "a", "type": "text", "text": "# Beds\n\nRaspberries \\o/", "x": 0, "y": 0, **size},
        {"id": "c", "type": "link", "url": "https://example.org", "x": 10, "y": 510, **size},
        {"id": "g", "type": "group", "label": "Later", "x": 0, "y": 500, **size},
    ]
    edges = [{"id": "e", "fromNode": "a", "toNode": "b", "label": "needs"}]
    found = read(json.dumps({"nodes": nodes, "edges": edges}), "Garden plan.canvas")
    assert found.title == "Garden plan"
    cards = ["# Beds", "Raspberries \\o/", "Tools.md#Saws", "Later", "https://example.org"]
    assert found.text == "\n\n".join([*cards, "Beds Raspberries \\o/ → needs → Tools.md#Saws"])
    assert paths(found)[-1] == ("Later",)


def test_an_empty_canvas_is_read() -> None:
    assert read('{"nodes": [], "edges": []}', "a.canvas").text == ""


BOOKMARKS = """<!DOCTYPE NETSCAPE-Bookmark-file-1>
<META HTTP-EQUIV="Content-Type" CONTENT="text/html; charset=UTF-8">
<TITLE>Bookmarks</TITLE>
<H1>Bookmarks Menu</H1>
<DL><p>
    <DT><H3 ADD_DATE="1">Cooking</H3>
    <DL><p>
        <DT><A HREF="https://example.org/bread" ADD_DATE="2" TAGS="baking,slow food">Sourdough &amp; rye</A>
        <DD>How to feed it
        <DT><H3>Drinks</H3>
        <DL><p>
            <DT><A HREF="https://example.org/tea">Tea</A>
        </DL><p>
    </DL><p>
    <DT><A HREF="https://example.org/">Home</A>
</DL><p>
"""


def test_each_bookmark_is_a_part_with_its_address_below_its_folders() -> None:
    found = read(BOOKMARKS, "bookmarks.html")
    assert found.title == "Bookmarks"
    assert found.tags == ("baking", "slow food")
    assert paths(found) == [
        ("Bookmarks Menu", "Cooking", "Sourdough & rye"),
        ("Bookmarks Menu", "Cooking", "Drinks", "Tea"),
        ("Bookmarks Menu", "Home"),
    ]
    assert {(segment.anchor_type, segment.anchor_ref) for segment in found.segments} >= {("bookmark", "Tea")}
    assert "Sourdough & rye\nhttps://example.org/bread\nHow to feed it" in found.text
    assert "Home\nhttps://example.org/" in found.text


KEPT = {
    "seconds": ("1762596900", "2025-11-08"),
    "milliseconds": ("1762596900123", "2025-11-08"),
    "microseconds": ("1762596900123456", "2025-11-08"),
    "no time": ("0", ""),
}


@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("name", ["bookmarks.html", "bookmarks_11_25.htm"])
def test_each_bookmark_is_a_document_with_the_day_on_which_it_was_kept(
    library: Library, notes: Path, kept: str, name: str
) -> None:
    written, day = KEPT[kept]
    icon = "data:image/png;base64," + "iVBORw0KGgo" * 2000
    page = BOOKMARKS.replace('ADD_DATE="2"', f'ADD_DATE="{written}" ICON="{icon}"')
    write(notes, {name: page})
    index(library, "notes", notes)
    [hit] = [hit for hit in library.search(OWNER, "sourdough feed").hits if hit.relevant]
    assert hit.document.title == "Sourdough & rye"
    assert hit.heading_path == ("Bookmarks Menu", "Cooking", "Sourdough & rye")
    assert hit.content == "Sourdough & rye\nhttps://example.org/bread\nHow to feed it"
    if day:
        assert hit.document.date == day
        assert library.search(OWNER, "sourdough before:2025-11-09").hits
        assert not library.search(OWNER, "sourdough before:2025-11-08").hits


def test_exports_are_found_by_what_they_show(library: Library, notes: Path) -> None:
    chat = "[08.11.25, 10:15:00] Anna: Bring walnuts\n[08.11.25, 10:16:00] Bob: Yes\n"
    write(notes, {"_chat.txt": chat, "result.json": json.dumps(TELEGRAM), "bookmarks.html": BOOKMARKS})
    index(library, "notes", notes)

    def found(query: str) -> set[str]:
        return {hit.document.path for hit in library.search(OWNER, query).hits if hit.relevant}

    assert found('"bring walnuts"') == {"_chat.txt"}
    assert found('"see walnuts at the shop"') == {"result.json"}
    assert library.search(OWNER, "example.org/tea").hits[0].document.path == "bookmarks.html"
    assert found("8 November 2025 Anna walnuts") >= {"_chat.txt", "result.json"}
    assert found('tag:"slow food"') == {"bookmarks.html"}
