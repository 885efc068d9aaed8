"""Words as they are shown: without markup in them, colours of terminals and escapes of JSON; and entries of
JSON and YAML that are found whole, with their path."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml

from rag_core.extract import extract
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.library import Library
from rag_core.search.shown import shown_text
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support.trees import write


def read(text: str, name: str) -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


@pytest.mark.parametrize(
    ("markup", "word"),
    [
        ("H<sub>2</sub>O", "H2O"),
        ("mc<sup>2</sup>", "mc2"),
        ("CO<sub>2</sub>", "CO2"),
        ("**w**ord", "word"),
        ("*w*ord", "word"),
        ("un**frigging**believable", "unfriggingbelievable"),
        ("<b>W</b>under", "Wunder"),
        ("über~~mut~~ig", "übermutig"),
        ("Gar==ten==haus", "Gartenhaus"),
    ],
)
@pytest.mark.parametrize("name", ["a.md", "a.html"])
def test_markup_inside_a_word_leaves_one_word(
    library: Library, notes: Path, markup: str, word: str, name: str
) -> None:
    if name == "a.html":
        markup = word if any(sign in markup for sign in "*~") or "==" in markup else markup
    write(notes, {name: f"A line before.\n\nThen {markup} was written.\n"})
    index(library, "notes", notes)
    for query in (word, f'"then {word} was"'):
        assert [hit.relevant for hit in library.search(OWNER, query).hits] == [True], query


@pytest.mark.parametrize(
    "line",
    [
        "2**3**4",
        "a * b * c",
        "x == y == z",
        "`un**f**b`",
        "    un**f**b",
        "```\nH<sub>2</sub>O\n```",
        "a\\*b*c",
    ],
)
def test_signs_that_are_no_markup_inside_a_word_stay(line: str) -> None:
    assert read(f"Text.\n\n{line}\n", "a.md").text == f"Text.\n\n{line}\n"


@pytest.mark.parametrize("name", ["a.log", "a.txt", "a.md", "build"])
def test_codes_of_terminals_are_gone(name: str) -> None:
    text = "\x1b[32mOK\x1b[0m built \x1b[1;31mfail\x1b[mure\n"
    text += "\x1b]0;title\x07\x1b[2K\x1b[38;5;208mnext\x1b[0m line\n"
    assert read(text, name).text == "OK built failure\nnext line\n"


def test_a_line_break_in_a_string_of_json_is_shown_as_one(library: Library, notes: Path) -> None:
    write(
        notes, {"a.jsonl": json.dumps({"text": "shopping list:\nwalnuts\nhazelnuts"}) + "\n" + '{"b": 1}\n'}
    )
    index(library, "notes", notes)
    hit = library.search(OWNER, "hazelnuts").hits[0]
    shown = "".join(block.text for block in shown_text(hit))
    assert "shopping list:\nwalnuts\nhazelnuts" in shown


@pytest.mark.parametrize(
    ("choices", "shown"),
    [
        ("<optgroup label=x><option selected>Main sail<option>Jib", "Main sail"),
        ("<option selected>Main sail<option>Jib<option selected>Keel", "Main sail | Keel"),
        ("<option>Main sail<option>Jib", "Main sail | Jib"),
        ("<option>Land" * 12, " | ".join(["Land"] * 12)),
        ("<option>Land" * 13, ""),
        ("<option>Land" * 200 + "<option selected>Chile", "Chile"),
    ],
)
def test_the_choices_of_a_page_are_found_each_for_itself(choices: str, shown: str) -> None:
    page = f"<p>Pick one: <select>{choices}</select> now</p><select><option>Other</select>"
    blocks = filter(None, ("Pick one:", shown, "now", "Other"))
    assert read(page, "a.html").text == "\n\n".join(blocks)


@pytest.mark.parametrize("name", ["a.jsonl", "a.json"])
def test_two_values_of_a_record_stand_apart_on_a_card(library: Library, notes: Path, name: str) -> None:
    said = {"from": "anna-petrov", "id": 7, "text": "Just a line about the mizzen mast and its sails"}
    records = [said, {**said, "from": "b-c", "text": "The keel was painted on a Sunday in May"}]
    write(notes, {name: "\n".join(map(json.dumps, records if name.endswith("l") else records[:1])) + "\n"})
    index(library, "notes", notes)
    hit = library.search(OWNER, "mizzen mast").hits[0]
    shown = "".join(block.text for block in shown_text(hit))
    assert "Just a line" in shown
    assert "petrovJust" not in shown


HELLO = '<p>Hello <b>wor</b>ld, it is<br>hal&uuml;sken &amp; <a href="x?y">tea</a></p>'
CARD = {"id": "1", "type": "text", "x": 0, "y": 0, "text": "# Boats\n\nHello **wor**ld, it is\nhal&uuml;sken"}
RECORDS: dict[str, tuple[str, Any]] = {
    "plain.json": ("body", {"id": 1, "body": HELLO, "by": "anna"}),
    "lines.jsonl": ("body", [{"body": HELLO}, {"body": "other"}]),
    "web.json": (
        "body",
        {"body": HELLO.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")},
    ),
    "php.json": ("body", {"body": HELLO.replace("/", "\\/")}),
    "board.canvas": ("text", {"nodes": [CARD], "edges": []}),
    "book.ipynb": ("source", {"cells": [{"cell_type": "markdown", "source": CARD["text"], "metadata": {}}]}),
}


@pytest.mark.parametrize("name", RECORDS)
def test_a_page_or_a_note_in_a_string_is_found_as_it_is_shown(
    library: Library, notes: Path, name: str
) -> None:
    _, value = RECORDS[name]
    records = value if name.endswith("l") else [value]
    write(notes, {name: "\n".join(json.dumps(each).replace("\\\\", "\\") for each in records)})
    index(library, "notes", notes)
    for query in ("world", '"hello world, it is halüsken"'):
        assert [hit.relevant for hit in library.search(OWNER, query).hits] == [True], query


@pytest.mark.parametrize(
    "value",
    [
        "if a < b then c > d",
        "write <b> for bold",
        "</div>",
        "List<String> names",
        "a <1>here</1>",
        "x <- y </ z",
    ],
)
def test_a_string_that_is_no_page_stays(value: str) -> None:
    assert json.loads(read(json.dumps({"a": value}), "a.json").text) == {"a": value}


def test_a_page_in_a_string_takes_no_line_and_leaves_json() -> None:
    text = read(
        json.dumps({"a": '<div>one</div><!-- x --><style>p {}</style><p>say "two"</p>', "b": 1}), "a.json"
    ).text
    assert json.loads(text) == {"a": 'one\n say "two"', "b": 1}  # nsay is no word
    assert "\n" not in text


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ('<p>See <a title="href=no" href="https://example.org/?a=1&amp;b=2">the shop</a> now</p>',
         "See the shop now\nhttps://example.org/?a=1&b=2"),
        ("<A HREF='#top'>up</A> <a href=/tea>tea</a> <a href=/tea>cup</a>", "up tea cup\n#top\n/tea"),
        ('<p>A <img src="a.png" alt="walnut tree"/> and <area alt=\'pond\'></p>',
         "A walnut tree and pond"),
        ("<p>Use Map<Walrus>, List<String> x and <code>Ref<Body></code></p>",
         "Use Map<Walrus>, List<String> x and Ref<Body>"),
        ("<p>no <script> in notes</p><p>walnuts</p>", "no <script> in notes\nwalnuts"),
        ("<p>the <head> of</p><style>p {}</style> <b>a</b> <!-- page", "the <head> of\na <!-- page"),
        ("<html><head><title>x</title></head><body><link href='a.css'><form><p>one</p></form></body></html>",
         "one"),
        ("<p>Dear<o:p></o:p></p><script>if (a<b) x()</script>walnuts", "Dear\nwalnuts"),
    ],
)  # fmt: skip
def test_a_page_in_a_string_keeps_what_is_text(value: str, shown: str) -> None:
    read_value = json.loads(read(json.dumps({"a": value}), "a.json").text)["a"]
    assert read_value.replace("\n ", "\n") == shown
    assert re.search(r"\n\w", read_value) is None, "no word begins with the letter of the escape"


# --- entries ----------------------------------------------------------------------------


def tree(services: int, ports: int, length: int) -> dict[str, Any]:
    return {
        "version": "3",
        "services": {
            f"svc{n}": {
                "image": f"registry/app{n}",
                "ports": [f"{8000 + 10 * n + p}:80" for p in range(ports)],
                "note": "word " * length,
            }
            for n in range(services)
        },
        "jobs": [{"name": f"job {n}", "run": "step " * length} for n in range(services)],
    }


SPELLINGS = {
    "indented.json": lambda data: json.dumps(data, indent=2),
    "dense.json": json.dumps,
    "a.yaml": lambda data: yaml.safe_dump(data, sort_keys=False, width=10_000),
    "indented.yml": lambda data: json.dumps(data, indent=4),
}


@pytest.mark.parametrize(
    ("name", "services", "ports", "length"), list(product(SPELLINGS, (1, 5), (2, 6), (3, 40)))
)
def test_passages_are_whole_entries_with_their_path(
    name: str, services: int, ports: int, length: int
) -> None:
    found = read(SPELLINGS[name](tree(services, ports, length)), name)
    assert "".join(found.text[each.start : each.end] for each in found.segments) == found.text
    passages = cut(found, chunk_spec(256), None)
    for n in range(services):
        holding = [each for each in passages if f"{8000 + 10 * n}:80" in each.text]
        assert len(holding) == 1
        whole = holding[0].text + " › ".join(holding[0].heading_path)
        assert all(f"{8000 + 10 * n + port}:80" in whole for port in range(ports)), "no list is cut"
        assert f"svc{n}" in whole, "the path says whose they are"
        assert "services" in whole


def test_an_item_is_called_by_its_name() -> None:
    long = "text " * 90
    text = f"steps:\n  - name: Build it\n    run: {long}\n"
    text += f"  # about the second\n  - name: Test it\n    run: {long}\n"
    found = read(text, "ci.yaml")
    paths = [each.heading_path[:2] for each in found.segments]
    assert paths[0] == ("steps", "Build it")
    assert ("steps", "Test it") in paths
    second = next(each for each in found.segments if "Test it" in each.heading_path)
    assert found.text[second.start :].startswith("  # about the second\n  - name: Test it")


def test_keys_in_a_block_of_text_are_none() -> None:
    text = "run: |\n" + "  key: value of a line\n" * 40 + "end: 1\n"
    assert [each.heading_path for each in read(text, "a.yaml").segments] == [("run",), ("end",)]
