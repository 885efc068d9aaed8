"""A web page has the words that a browser shows, and no others."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import extract

SHOWN = {  # source → text
    "quotes": ("<p>a <q>harvest <q>moon</q></q> rises", "a “harvest ‘moon’” rises"),
    "possible breaks": ("<p>har<wbr>vest mo&shy;on", "harvest moon"),
    "text in a field": ("<p>the <input value='harvest moon'> rises", "the harvest moon rises"),
    "empty field": (
        "<p>the <input placeholder=harvest> <textarea placeholder=moon></textarea>",
        "the harvest moon",
    ),
    "button": ("<form><input type=submit value=Harvest><button>Moon</button></form>", "Harvest Moon"),
    "fields without text": (
        "<p>a<input type=hidden value=x><input type=checkbox value=y><input type=password value=z> moon",
        "a moon",
    ),
    "choice": ("<p><select><option>sun<option selected>moon</select>", "moon"),
    "details": ("<details><summary>The harvest</summary>moon</details>", "The harvest\n\nmoon"),
    "template": ("<p>a<template>harvest</template><span hidden>sun</span> moon", "a moon"),
    "dialogs": ("<dialog>harvest</dialog><dialog open>moon</dialog>", "moon"),
    "instead of a video": ("<p>a <video>Your browser is old.</video><audio>No.</audio> moon", "a moon"),
    "drawing": (
        "<svg><title>x</title><defs><text>y</text></defs><text>the <tspan>harvest</tspan><tspan dy=1> moon"
        "</tspan></text><text>rises</text></svg>",
        "the harvest moon\n\nrises",
    ),
    "frame": ("<p>a<iframe srcdoc='&lt;p>harvest &amp;lt; moon'>old</iframe>", "a\n\nharvest < moon"),
    "hidden frame": ("<p>a<iframe hidden srcdoc='harvest'></iframe>", "a"),
    "number of a note": ("<p>harvest<a href=#fn1 role=doc-noteref><sup>1</sup></a> moon", "harvest moon"),
    "number of a source": (
        "<p>harvest<sup class=reference><a href=#cite-1>[1]</a></sup> moon",
        "harvest moon",
    ),
    "number of a note in a book": (
        "<p>harvest<a href=n.xhtml#fn1 epub:type=noteref>1</a> moon",
        "harvest moon",
    ),
    "power": ("<p>x<sup>2</sup> <sup><a href=#up>back to the top</a></sup>", "x2 back to the top"),
    "picture": ("<p>a <img alt=harvest title=sun> moon", "a harvest moon"),
    "readings": (
        "<p><ruby><rb>旧<rb>金<rb>山<rt>jiù<rt>jīn<rt>shān<rtc>San Francisco</rtc></ruby>",
        "旧金山\n\n旧金山 jiùjīnshānSanFrancisco",
    ),
}


@pytest.mark.parametrize(("source", "shown"), SHOWN.values(), ids=SHOWN)
def test_a_page_has_the_words_that_a_browser_shows(source: str, shown: str) -> None:
    found = extract(f"<!doctype html><body>{source}".encode(), PurePosixPath("a.html"))
    assert found.text.strip() == shown


def test_frames_in_frames_end() -> None:
    source = "moon"
    for _ in range(8):
        source = 'sun<iframe srcdoc="' + source.replace("&", "&amp;").replace('"', "&quot;") + '"></iframe>'
    found = extract(f"<body>{source}".encode(), PurePosixPath("a.html"))
    assert found.text.count("sun") == 4
