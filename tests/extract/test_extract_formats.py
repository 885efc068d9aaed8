"""Code, data and other formats: where their parts begin and end, and what they are called."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.extract import extract
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.types import Extracted

LONG = "x" * 250


def read(text: str, name: str) -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


def parts(text: str, name: str) -> list[tuple[str, str]]:
    """(anchor_ref, text) of each segment, which must follow one another without a gap."""
    found = read(text, name)
    assert "".join(text[segment.start : segment.end] for segment in found.segments) == text
    return [(segment.anchor_ref, text[segment.start : segment.end]) for segment in found.segments]


PYTHON = '''"""Doc."""
import os

# about f
@cache
def f():
    # inside
    return 1
X = 2

class A(B):
    """Class doc."""
    y = 1

    def one(self): pass

    # about two
    async def two(self):
        def inner(): pass

    class Deep:
        def three(self): pass
    z = 3
'''


def test_python_definitions_are_segments_with_their_comments_and_decorators() -> None:
    assert parts(PYTHON, "a.py") == [
        ("", '"""Doc."""\nimport os\n\n'),
        ("f", "# about f\n@cache\ndef f():\n    # inside\n    return 1\n"),
        ("", "X = 2\n\n"),
        ("A", 'class A(B):\n    """Class doc."""\n    y = 1\n\n'),
        ("A.one", "    def one(self): pass\n\n"),
        ("A.two", "    # about two\n    async def two(self):\n        def inner(): pass\n\n"),
        ("A.Deep", "    class Deep:\n"),
        ("A.Deep.three", "        def three(self): pass\n"),
        ("A", "    z = 3\n"),
    ]
    segment = read(PYTHON, "a.py").segments[4]
    assert (segment.anchor_type, segment.heading_path) == ("definition", ("A", "one"))


def test_python_that_does_not_parse_is_read_by_its_indentation() -> None:
    assert parts(PYTHON + "x = (\n", "a.py")[:-1] == parts(PYTHON + "x = 1\n", "a.py")[:-1]


@pytest.mark.parametrize("statement", ["a;", "a\n"])
def test_python_with_very_many_statements_takes_little_memory(statement: str) -> None:
    text = "def tea():\n    return 1\n" + statement * 900_000
    tracemalloc.start()
    try:
        found = read(text, "a.py")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 250_000_000
    assert found.segments[0].heading_path == ("tea",), "it is read by its indentation"


def test_large_values_of_a_json_object_are_segments() -> None:
    text = f'{{"name": "n", "version": 1,\n "scripts": {{"a": "{LONG}"}},\n "more\\u0022": ["{LONG}"]}}\n'
    assert [name for name, _ in parts(text, "a.json")] == ["name", "scripts", 'more"']
    assert read(text, "a.json").segments[1].heading_path == ("scripts",)
    assert read(text, "a.json").segments[0].heading_path == ()


def test_records_of_json_lines_are_kept_whole_and_short_ones_share_a_segment() -> None:
    short = [json.dumps({"at": n, "what": "watered"}) + "\n" for n in range(40)]
    long = [json.dumps({"at": n, "what": LONG}) + "\n" for n in range(2)]
    text = "".join([*short[:3], *long, "\n", *short[3:]])
    found = parts(text, "log.jsonl")
    assert [name for name, _ in found[:4]] == ["1-3", "4", "5", "6-25"]
    assert found[0][1] == "".join(short[:3])
    assert all(len(part) <= 620 for _, part in found)
    assert read(text, "log.jsonl").segments[1].heading_path == ()
    assert parts(text.replace("\n", "\r\n"), "log.ndjson")[1] == ("4", long[0].replace("\n", "\r\n"))


@pytest.mark.parametrize(
    ("first", "last", "day"),
    [
        ({"timestamp": "2024-03-01T10:00:00Z"}, {"timestamp": "2024-03-09T23:59:00Z"}, "2024-03-09"),
        ({"Date": "2024-03-09"}, {"Date": "2024-03-01"}, "2024-03-09"),
        ({"ts": "1709287200.000200"}, {"text": "no time"}, "2024-03-01"),
        ({"created_at": 1709287200}, {"created_at": 1709373600000}, "2024-03-02"),
        ({"date": "soon", "time": "2024-03-01 10:00"}, {"time": "12:30"}, "2024-03-01"),
        ({"date": "2024-13-01", "ts": 12}, {"date": None, "ts": True, "time": 1e400}, None),
        ([1709287200], ["2024-03-01"], None),
    ],
)
def test_json_lines_have_the_day_of_their_newest_record(first: object, last: object, day: str | None) -> None:
    between = [json.dumps({"date": "2030-01-01", "text": LONG})] * 4
    text = "\n".join([json.dumps(first), *between, json.dumps({"text": LONG}), json.dumps(last), "{}"])
    assert read(text, "chat.jsonl").date == day
    assert read(text.replace("\n", "\r\n"), "chat.jsonl").date == day


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1}',
        json.dumps([LONG]),
        f'{{"a": "{LONG}"',
        f'{{"a": "{LONG}"}} {{"b": 1}}',
        f'{{"a": "{LONG}"\n}}\n{{"b": 1}}',
        f'{{"a": "{LONG}"}}\nb',
        f'{{"a" "{LONG}"}}\n{{"b": 1}}',
        '{"a": ' * 9999,
        LONG,
    ],
)
def test_other_json_is_one_segment(text: str) -> None:
    assert parts(text, "a.json") == [("", text)]


def test_yaml_is_cut_at_top_level_keys_with_their_comments() -> None:
    text = f"---\nkind: X\n# about spec\nspec:\n  a: {LONG}\n  # b\n'quoted key':\n- {LONG}\n"
    assert parts(text, "a.yaml") == [
        ("kind", "---\nkind: X\n"),
        ("spec", f"# about spec\nspec:\n  a: {LONG}\n  # b\n"),
        ("quoted key", f"'quoted key':\n- {LONG}\n"),
    ]


def test_toml_is_cut_at_its_tables() -> None:
    text = f'top = 1\n[a.b]\ns = """\n[no]\n"""\nx = "{LONG}"\n# about c\n[[c]]\ny = "{LONG}"\n'
    assert [name for name, _ in parts(text, "a.toml")] == ["a.b", "c"]
    assert parts(text, "a.toml")[1][1].startswith("# about c\n[[c]]")


def test_ini_is_cut_at_its_sections() -> None:
    text = f"[one]\na = {LONG}\n; about two\n[two]\nb = {LONG}\n"
    assert [name for name, _ in parts(text, "a.cfg")] == ["one", "two"]


@pytest.mark.posix
def test_terraform_blocks_are_called_by_their_address() -> None:
    text = '# bucket\nresource "aws_s3_bucket" "logs" {\n  a {\n  }\n}\n\nlocals {\n}\n'
    assert [name for name, _ in parts(text, "a.tf")] == ["resource.aws_s3_bucket.logs", "locals"]


def test_csv_is_cut_into_whole_rows_under_its_columns() -> None:
    text = "name,note\n" + "".join(f"n{n},x\n" for n in range(1, 121))
    found = read(text, "a.csv")
    assert [segment.anchor_ref for segment in found.segments] == ["2-51", "52-101", "102-121"]
    assert {segment.heading_path for segment in found.segments} == {("name, note",)}
    assert parts(text, "a.csv")[1][1].startswith("n51,x\n")


def test_csv_rows_with_line_breaks_inside_stay_whole() -> None:
    text = 'a\tb\r\n"one\r\ntwo"\tx\r\n' + f"{LONG}{LONG}{LONG}\ty\r\n"
    assert [name for name, _ in parts(text, "a.tsv")] == ["2-2", "3-3"]


def test_rst_sections_take_their_levels_as_they_appear() -> None:
    text = "=====\nTitle\n=====\nintro\n\nPart\n====\n\nSub ``x``\n---------\ntext\n\nNext\n====\nend\n"
    found = read(text, "a.rst")
    assert [segment.heading_path for segment in found.segments] == [
        ("Title",),
        ("Title", "Part"),
        ("Title", "Part", "Sub x"),
        ("Title", "Next"),
    ]
    assert text[found.segments[0].start :].startswith("=====\nTitle")
    assert (found.title, found.title_from) == ("Title", "heading")


def test_org_headings_are_sections() -> None:
    text = "#+TITLE: My Org\n* TODO [#A] One :tag:\na\n** Two\nb\n"
    found = read(text, "a.org")
    assert [segment.heading_path for segment in found.segments] == [("One",), ("One", "Two")]
    assert found.title == "My Org"


def test_of_html_is_read_what_a_browser_shows() -> None:
    text = (
        "<html><head><title lang=en>\n A &amp; B </title><style>p {}</style></head><body><header>One</header>"
        "<SCRIPT src=x>if (a < b) lights()</SCRIPT ><h2>Two</h2><p>two<!-- <script> secret --><p>three"
    )
    found = read(text, "a.html")
    assert (found.title, found.title_from) == ("A & B", "heading")
    passages = cut(found, chunk_spec(256), None)
    assert [(passage.text, passage.heading_path) for passage in passages] == [
        ("One\n\nTwo\n\ntwo\n\nthree", ("Two",))
    ]


@pytest.mark.parametrize(
    ("cells", "shown"),
    [
        ("<td><p>one</p></td><td><div><span>two</span></div></td>", "one | two"),
        ("<td>please bring<div>umbrella</div>tomorrow</td>", "please bring\n\numbrella\n\ntomorrow"),
        ("<td><div>street 5</div><div><b>1234</b> town</div></td>", "street 5\n\n1234 town"),
        ("<td><div><span>Bob</span></div><div><span>fits</span></div></td>", "Bob\n\nfits"),
        ("<td>Street 5<p>Town</p>after</td><td>b</td>", "Street 5\n\nTown\n\nafter | b"),
        ("<td>Dear Bob,<br><br>Ada wrote:<br>&gt; the walrus</td>", "Dear Bob,\n\nAda wrote:\n> the walrus"),
        ("<td>a</td><td><ul><li>x</li><li>y</li></ul></td>", "a\n\nx\n\ny"),
    ],
)
def test_the_texts_of_a_cell_stay_apart(cells: str, shown: str) -> None:
    assert extract(f"<table><tr>{cells}</tr></table>".encode(), PurePosixPath("a.html")).text == shown


@pytest.mark.parametrize(("inside", "times"), [("<div>", 1_500), ("<span>", 1_500), ("<table><tr><td>", 450)])
def test_a_cell_with_very_many_elements_in_each_other_is_read(inside: str, times: int) -> None:
    page = f"<table><tr><td>{inside * times}walnut"  # a parser takes 2,000
    assert "walnut" in extract(page.encode(), PurePosixPath("a.html")).text


@given(
    st.text(alphabet=st.sampled_from("ab1 \n\r\t,\"=-*#[]{}:()'中"), max_size=200),
    st.sampled_from(["a.json", "a.yaml", "a.toml", "a.tf", "a.csv", "a.rst", "a.py"]),
)
@settings(deadline=None)
def test_segments_follow_one_another_for_any_text(text: str, name: str) -> None:
    parts(text, name)
