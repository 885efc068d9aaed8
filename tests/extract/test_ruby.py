"""Ruby: the base is the text, and a word is found by its reading, too."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

import pytest

from rag_core.extract import extract, readers, webpage
from rag_core.extract.ruby import without_aozora
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support import documents_made as made

TWO = "<ruby>東<rt>とう</rt></ruby><ruby>京<rt>きょう</rt></ruby>"
WEB = {
    "a word in parts": ("<ruby>東<rt>とう</rt>京<rt>きょう</rt></ruby>", "東京", "東京 とうきょう"),
    "two rubies": (TWO, "東京", "東京 とうきょう"),
    "parentheses": (
        "<ruby>東京<rp>(</rp><rt>とうきょう</rt><rp>)</rp></ruby>",
        "東京",
        "東京 とうきょう",
    ),
    "bases first": (
        "<ruby><rb>東</rb><rb>京</rb><rt>とう</rt><rt>きょう</rt></ruby>",
        "東京",
        "東京 とうきょう",
    ),
    "missing end tags": ("<ruby>東京<rp>(<rt>とうきょう<rp>)</ruby>", "東京", "東京 とうきょう"),
    "white space": ("<ruby>\n 東 \n<rt>とう</rt>\n京<rt>きょう</rt>\n</ruby>", "東京", "東京 とうきょう"),
    "an element inside": ("<ruby><b>東京</b><rt><i>とうきょう</i></rt></ruby>", "東京", "東京 とうきょう"),
    "text between": (
        "<ruby>東<rt>とう</rt></ruby>は<ruby>京<rt>きょう</rt></ruby>",
        "東は京",
        "東 とう\n京 きょう",
    ),
    "Chinese": ("<ruby>北<rt>běi</rt>京<rt>jīng</rt></ruby>", "北京", "北京 běijīng"),
    "an ending": ("<ruby>食<rt>た</rt></ruby>べるのは", "食べるのは", "食べるのは たべるのは"),
    "a particle": ("<ruby>猫<rt>ねこ</rt></ruby>は", "猫は", "猫 ねこ"),
    "no ruby": ("東京", "東京", ""),
}


@pytest.mark.parametrize("kind", WEB)
def test_the_base_is_the_text_of_a_page(kind: str) -> None:
    markup, text, readings = WEB[kind]
    page = webpage.visible_page(f"<p>{markup}駅</p>")
    assert page.blocks == [(0, f"{text}駅")]
    assert page.readings == readings.splitlines()


@pytest.mark.parametrize("kind", WEB)
def test_the_base_is_the_text_of_a_note(kind: str) -> None:
    markup, text, readings = WEB[kind]
    note = extract(f"# {markup}駅\n\n`{markup}`\n".encode(), PurePosixPath("a.md"))
    shown, _, rest = note.text.partition("駅\n\n")
    assert "".join(re.sub("</?b>|# ", "", shown).split()) == text
    assert rest.startswith(f"`{markup}`") or "\n" in markup
    assert [note.text[each.start : each.end] for each in note.segments if each.anchor_ref == "Readings"] == (
        [readings] if readings else []
    )
    assert note.segments[0].heading_path == (f"{text}駅",)


AOZORA = {
    "吾輩《わがはい》は猫である。": ("吾輩は猫である。", ["吾輩 わがはい"]),
    "｜東《とう》京《きょう》の朝": ("東京の朝", ["東京 とうきょう"]),
    "その|ＣＤ《シーディー》を": ("そのＣＤを", ["ＣＤ シーディー"]),
    "人々《ひとびと》と霧ヶ峰《きりがみね》": ("人々と霧ヶ峰", ["人々 ひとびと", "霧ヶ峰 きりがみね"]),
    "猫《ねこ》［＃「猫」に傍点］だ\n次": ("猫だ\n次", ["猫 ねこ"]),
    "美味《おい》しい魚《さかな》を食《た》べる": (
        "美味しい魚を食べる",
        ["美味しい おいしい", "魚 さかな", "食べる たべる"],
    ),
    "他读《红楼梦》。": ("他读《红楼梦》。", []),
    "《はじめに》": ("《はじめに》", []),
}


@pytest.mark.parametrize("text", AOZORA)
def test_the_base_is_the_text_in_the_manner_of_aozora(text: str) -> None:
    assert without_aozora(text) == AOZORA[text]


def test_readings_stand_below_a_heading_at_the_end() -> None:
    text = extract("吾輩《わがはい》は猫\nである。\n".encode(), PurePosixPath("a.txt"))
    assert text.text == "吾輩は猫\nである。\n\n吾輩 わがはい"
    assert [segment.heading_path for segment in text.segments] == [(), ("Readings",)]
    book = readers.read(made.epub("x", one=f"<p>{TWO}</p>", two=f"<p>{TWO}</p>"), PurePosixPath("a.epub"))
    assert book.text.split("\n\n") == ["東京", "東京", "東京 とうきょう"]
    assert book.segments[-1].heading_path == ("Readings",)


@pytest.mark.parametrize("query", ["東京", "とうきょう", '"東京の朝"'])
@pytest.mark.parametrize("name", ["a.html", "a.epub", "a.txt", "a.md"])
def test_a_word_is_found_by_its_base_and_by_its_reading(
    library: Library, notes: Path, name: str, query: str
) -> None:
    page = f"<p>{TWO}の朝が来た。</p>"
    files = {
        "a.html": page.encode(),
        "a.epub": made.epub("x", one=page),
        "a.txt": "｜東《とう》京《きょう》の朝が来た。".encode(),
        "a.md": f"{TWO}の朝が来た。\n".encode(),
    }
    (notes / name).write_bytes(files[name])
    index(library, "s", notes)
    hits = library.search(OWNER, query, ["s"], mode="lexical").hits
    assert [hit.document.path for hit in hits if hit.relevant][:1] == [name]
    assert "東京" in hits[0].content
