"""Titles, headings and words of texts with light markup, and how such a text is told by its content."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import pytest

from rag_core.extract import extract
from rag_core.extract.containers import data_of, parts_of
from rag_core.library import Library
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support.trees import write

MAN = """.\\" Copyright of the makers
.de TA
..
.TH HARVEST 1 "May 2026"
.SH NAME
harvest \\- the \\fBmoon\\fR\\-light tool
.SS "What it does"
It gathers\\fIall\\fP.
"""
TOLD_OF_MAN = [  # lines of macros, and what of them is told
    ('.ie n .IP """use"" <integer>" 4\n.el .IP "``use\'\' <integer>" 4', "``use'' <integer>"),
    (".UR https://example.org/moon\n.UE", "https://example.org/moon"),
    ('.MTO "ada@example.org" "Ada" ""', '"ada@example.org" "Ada"'),
    (".SY /sbin/harvest\n.OP \\-a moon\n.YS", "/sbin/harvest\n-a moon"),
]
FILES = {  # name → text, type, title, headings
    "a.adoc": (
        "= The *harvest*\n\nText.\n\n== Moon\n\nMore.\n",
        "asciidoc",
        "The harvest",
        ["The harvest", "Moon"],
    ),
    "a.typ": ("= The _harvest_\nText.\n== Moon\nMore.\n", "typst", "The harvest", ["The harvest", "Moon"]),
    "b.typ": ("== Moon\nMore.\n", "typst", "b.typ", ["Moon"]),
    "a.texi": (
        "@title The @code{harvest}\n@chapter Moon\nText.\n",
        "texinfo",
        "The harvest",
        ["The harvest", "Moon"],
    ),
    "a.textile": (
        "h1. The *harvest*\n\nText.\n\nh2(#m). Moon\n\nMore.\n",
        "textile",
        "The harvest",
        ["The harvest", "Moon"],
    ),
    "a.wiki": ("Text.\n\n== Moon ==\nMore.\n=== Rise ===\nMore.\n", "wiki", "a.wiki", ["Moon", "Rise"]),
    "page.txt": (
        "====== The harvest ======\n\nText.\n\n===== Moon =====\nMore.\n",
        "wiki",
        "The harvest",
        ["The harvest", "Moon"],
    ),
    "zim.txt": (
        "Content-Type: text/x-zim-wiki\nWiki-Format: zim 0.6\n\n====== The harvest ======\nText.\n",
        "wiki",
        "The harvest",
        ["The harvest"],
    ),
    "harvest.1": (MAN, "man", "harvest.1", ["NAME", "What it does"]),
    "harvest": (MAN, "man", "harvest", ["NAME", "What it does"]),
    "a.tid": (
        "created: 20260301101500000\ntags: sky [[two words]]\ntitle: The harvest\n\n! Moon\nMore.\n",
        "tiddlywiki",
        "The harvest",
        ["Moon"],
    ),
    "log.1": ("The harvest.\n.TH is no macro in a log\n", "text", "log.1", []),
    "art.txt": ("===== x\n===== y =====\n", "text", "art.txt", []),
}


def read(name: str, text: str) -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


@pytest.mark.parametrize("name", FILES)
def test_a_text_with_light_markup_has_its_type_title_and_headings(name: str) -> None:
    text, file_type, title, headings = FILES[name]
    found = read(name, text)
    assert (found.file_type, found.title) == (file_type, title)
    assert [part.heading_path[-1] for part in found.segments if part.heading_path] == headings
    assert found.text.count("\n") == text.count("\n"), "lines stay where they are"


def test_words_of_a_manual_page_are_whole() -> None:
    found = read("harvest.1", MAN)
    assert "harvest - the moon-light tool\n" in found.text
    assert "It gathersall." in found.text


@pytest.mark.parametrize(("lines", "told"), TOLD_OF_MAN)
def test_options_and_addresses_of_a_manual_page_are_read(lines: str, told: str) -> None:
    assert told in read("harvest.1", f"{MAN}{lines}\nText.\n").text


def test_a_tiddler_has_tags_and_a_date() -> None:
    found = read("a.tid", FILES["a.tid"][0])
    assert (found.tags, found.date) == (("sky", "two words"), "2026-03-01")
    assert found.text[found.segments[0].start :].strip().startswith("! Moon")


def test_a_phrase_is_found_in_each_language(library: Library, notes: Path) -> None:
    sentence = {
        "a.adoc": "the *harvest* _moon_ rises",
        "a.typ": "the #strong[harvest] _moon_ rises",
        "a.texi": "the @code{harvest} @emph{moon} rises",
        "a.textile": 'the *harvest* "moon":https://example.org rises',
        "a.wiki": "the '''harvest''' [[Night|moon]] rises",
        "a.tid": "title: x\n\nthe ''harvest'' //moon// rises",
        "a.1": ".TH A 1\nthe \\fBharvest\\fR\n.I moon\nrises",
        "forum.txt": "the [b]harvest[/b] [i]moon[/i] rises",
    }
    write(notes, {name: f"{text}\n" for name, text in sentence.items()})
    index(library, "notes", notes)
    hits = library.search(OWNER, '"the harvest moon rises"').hits
    assert {hit.document.path for hit in hits} == set(sentence)
    assert all(hit.spans for hit in hits)


@pytest.mark.parametrize(
    ("head", "rest"),
    [
        ("@string{cup = {Cambridge}}\n@STRING(hup = {Harvard (Press)})\n", ""),
        ('@preamble{"\\\\newcommand{\\\\x}{y}"}\n@comment{a1, b}\n', ""),
        ("% my library\n@string{cup = {Cambridge}}\n", "% my library"),
        ("@comment{not closed\n", ""),
    ],
)
def test_directives_of_bibtex_are_no_references(head: str, rest: str) -> None:
    path = PurePosixPath("a.bib")
    title = "On \\mkbibquote{{The} harvest} moons"
    entries = f"@book{{a1,\n title = {{{title}}}\n}}\n@comment{{x,y}}\n@misc{{b2, title={{Tides}}}}\n"
    data = (head + entries).encode()
    parts = [data_of(data, path, part) or b"" for part in parts_of(data, path)]
    titles = [extract(part, path).title for part in parts[-2:]]
    assert titles == ["On The harvest moons", "Tides"]
    assert len(parts) == 2 + bool(rest)
    assert parts[0].startswith(head.encode()) == bool(rest)
