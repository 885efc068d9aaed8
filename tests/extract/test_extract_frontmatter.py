"""Front matter: what a note says of itself, read without trusting it."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.extract import extract
from rag_core.types import Extracted


def note(block: str, body: str = "Body.\n") -> Extracted:
    return extract(f"---\n{block}\n---\n{body}".encode(), PurePosixPath("dir/File name.md"))


def body(found: Extracted) -> str:
    return "".join(found.text[segment.start : segment.end] for segment in found.segments)


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: T\n---\nBody.\n",
        "---\r\ntitle: T\r\n---\r\nBody.\n",
        "\ufeff---\ntitle: T\n---\nBody.\n",
        "---  \ntitle: T\n...\nBody.\n",
        "---\rtitle: T\r---\rBody.\n",
    ],
)
def test_valid_front_matter_is_metadata_and_not_body(text: str) -> None:
    found = extract(text.encode(), PurePosixPath("a.md"))
    assert (found.title, found.title_from) == ("T", "front matter")
    assert found.metadata == {"title": "T"}
    assert body(found) == "Body.\n"
    assert found.warnings == ()


@pytest.mark.parametrize("block", ["", "# only a comment", "\n"])
def test_empty_front_matter_is_allowed(block: str) -> None:
    found = note(block)
    assert (found.metadata, found.warnings, body(found)) == ({}, (), "Body.\n")


@pytest.mark.parametrize("block", ["title: [unclosed", "\tkey: {", "just words", "- a\n- list", "a: b: c"])
def test_unreadable_front_matter_stays_searchable_with_a_warning(block: str) -> None:
    found = note(block)
    assert found.metadata == {}
    assert body(found) == found.text
    assert found.segments[-1].start == found.text.index("Body.")
    assert "front matter was kept as text" in found.warnings[0]


def test_an_opening_rule_that_is_never_closed_is_body() -> None:
    found = extract(b"---\nSome words.\n", PurePosixPath("a.md"))
    assert body(found) == found.text
    assert found.warnings == ()


def test_front_matter_beyond_the_limit_is_text() -> None:
    found = note("\n".join(f"key{n}: {'x' * 50}" for n in range(2000)))
    assert found.metadata == {}
    assert body(found) == found.text
    assert "longer than" in found.warnings[0]


def test_keys_become_strings_and_values_json() -> None:
    found = note("1: one\ntrue: yes\n? [a, b]\n: pair\nnull: x\ndeep: {list: [1, 2.5, ~, true]}")
    assert json.loads(json.dumps(found.metadata)) == found.metadata
    assert found.metadata["1"] == "one"
    assert found.metadata["deep"] == {"list": [1, 2.5, None, True]}


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("2024-03-05", "2024-03-05"),
        ("2024-3-5", "2024-03-05"),
        ("2024-03-05 10:20:30", "2024-03-05T10:20:30"),
        ("2024-13-45", "2024-13-45"),
        ("12:30", "12:30"),
        ("007", "007"),
        ("1.10", "1.10"),
        ("on", "on"),
        ("'5'", "5"),
        ("5", 5),
        ("!!python/object/apply:os.system [ls]", ["ls"]),
        ("!secret x", "x"),
    ],
)
def test_values_mean_what_their_author_wrote(raw: str, value: object) -> None:
    assert note(f"key: {raw}").metadata == {"key": value}


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: [Work, '#home', work]", ("Work", "home")),
        ("Tags: a, b c", ("a", "b", "c")),
        ("tag: solo\nkeywords: [two words]", ("solo", "two words")),
        ("tags:\n  - 2024\n  - a/b\n  -\n", ("2024", "a/b")),
        ("tags:", ()),
        ("tags: {a: b}", ()),
    ],
)
def test_tags_are_taken_from_lists_and_strings(block: str, tags: tuple[str, ...]) -> None:
    assert note(block).tags == tags


@pytest.mark.parametrize(
    ("block", "aliases"),
    [
        ("aliases: [One, two, ONE]", ("One", "two")),
        ("alias: One name, another", ("One name", "another")),
        ("ALIASES:\n- 7\n", ("7",)),
    ],
)
def test_aliases_are_taken_from_lists_and_strings(block: str, aliases: tuple[str, ...]) -> None:
    assert note(block).aliases == aliases


@pytest.mark.parametrize(
    ("block", "date"),
    [
        ("date: 2024-03-05T10:00:00Z", "2024-03-05"),
        ("date created: 2022-06-09\ndate modified: 2023-01-01", "2022-06-09"),
        ("updated: 2020-01-01\ncreated: 2019-01-01", "2019-01-01"),
        ("date: someday\ncreated: '2019/1/2'", "2019-01-02"),
        ("date: 2024-02-31", None),
        ("modified: 2024-02-01", None),
    ],
)
def test_the_first_valid_date_is_the_documents(block: str, date: str | None) -> None:
    assert note(block).date == date


@pytest.mark.parametrize("value", ["true", "True", "yes", "'true'", "on", "1"])
def test_private_is_believed_in_every_spelling(value: str) -> None:
    assert note(f"Private: {value}").private
    assert note(f"private: {value}\nbroken: [").private


@pytest.mark.parametrize(
    "block", ["private: false", "private:", "title: private", "note: it is private: true"]
)
def test_private_is_not_assumed(block: str) -> None:
    assert not note(block).private


def test_private_is_believed_when_the_fence_is_never_closed() -> None:
    assert extract(b"---\nprivate: true\n\ntext", PurePosixPath("a.md")).private
    assert not extract(b"---\n\nabout\nprivate: true\n", PurePosixPath("a.md")).private


PLAIN = "Some words.\n"
TOO_LONG = "".join(f"key{n}: {'x' * 50}\n" for n in range(2000))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "---\nprivate: true\nprivate: false\n---\n"),
        ("a.md", "---\nPrivate: true\nprivate: false\n---\n"),
        ("a.md", "---\nprivate: false\nprivate: maybe\n---\n"),
        ("a.md", "---\nprivate: maybe\n---\n"),
        ("a.md", "---\nmine: &mine {private: true}\n<<: *mine\nprivate: false\n---\n"),
        ("a.md", "---\na: &a {private: true}\nb: &b {x: 1}\n<<: *a\n<<: *b\n---\n"),
        ("a.md", f"---\n{TOO_LONG}private: true\n---\n"),
        ("a.md", "---\ntitle: A: b\n  private: true\n---\n"),
        ("a.md", "---\n{title: A, private: true, tags: [}\n---\n"),
        ("a.md", "---\n? private\n: true\ntags: [\n---\n"),
        ("a.md", "---\nprivate: # yes\n\n  true\ntags: [\n---\n"),
        ("a.md", "---\n- private: true\n---\n"),
        ("a.md", "---\ntitle: A\nprivate:true\n---\n"),
        ("a.md", "---\ntitle: A\n--- # another\nprivate: true\n---\n"),
        ("a.md", "---\ntitle: A\n\nprivate: true\n\nNever closed.\n"),
        ("a.md", "\n\n---\nprivate: true\n---\n"),
        ("a.md", "---yaml\nprivate: true\n---\n"),
        ("a.md", "+++\ntitle = 'A'\nprivate = true\n+++\n"),
        ("a.md", '+++\nabout = """\nSome words.\n"""\nprivate = true\n+++\n'),
        ("a.txt", "---\nprivate: true\nprivate: false\n---\n"),
        ("a.txt", "+++\r\nprivate = true\r\n+++\r\n"),
    ],
)
def test_what_is_not_for_certain_public_is_private_and_says_why(name: str, text: str) -> None:
    found = extract((text + PLAIN).encode(), PurePosixPath(name))
    assert found.private
    assert "It is private to be safe: " in found.warnings[-1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "---\nprivate: true\n---\n"),
        ("a.html", "---\nprivate: yes\n---\n"),
        ("a.org", "---\nprivate: on\n---\n"),
        ("a.md", "---\nmine: &mine {private: true}\n<<: *mine\n---\n"),
        ("a.md", "---\nmine: &mine {private: true}\n<<: [{x: 1}, {<<: *mine}]\n---\n"),
    ],
)
def test_a_plain_yes_needs_no_reason(name: str, text: str) -> None:
    found = extract((text + PLAIN).encode(), PurePosixPath(name))
    assert (found.private, found.warnings) == (True, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", "---\n\nThe private: a rule, and words.\n\n---\n"),
        ("a.md", "---\n\nSome words.\n\nPrivate: 0171 555\n"),
        ("a.md", "Some words.\n\n---\nprivate: true\n---\n"),
        ("a.md", "---\nmine: {private: true}\n---\n"),
        ("a.md", "---\n# private: true\ntitle: A: b\n---\n"),
        ("a.md", "---\ntitle: A: b\nprivate: false  # not at all\n---\n"),
        ("a.md", "---\ntitle: Private: a play\n---\n"),
        ("a.md", "---\ntags: [private]\ntitle: A: b\n---\n"),
        ("a.md", f"---\n{TOO_LONG}private: no\n---\n"),
        ("a.md", "+++\nprivate = false\n+++\n"),
        ("a.md", "+++\ntitle = 'private = true'\n+++\n"),
        ("a.txt", "--- --- ---\nprivate: true\n"),
        ("a.txt", "---\nPrivate\n=======\n"),
        ("a.txt", "private: true\n"),
        ("a.sql", "---\n-- private: no access\n"),
        ("a.yaml", "---\nprivate: true\n"),
    ],
)
def test_a_note_that_does_not_ask_for_it_is_not_private(name: str, text: str) -> None:
    found = extract((text + PLAIN).encode(), PurePosixPath(name))
    assert not found.private
    assert not any("private" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    "part", ["{,", ",- ", ",& ", "&!", "private", "private: ", "private:\n ", "{private", "? "]
)
@pytest.mark.parametrize("first", ["+++\n", "---\n", "\n---\n"])
def test_a_megabyte_that_may_be_front_matter_is_looked_at_in_linear_time(first: str, part: str) -> None:
    extract((first + part * (1_000_000 // len(part))).encode(), PurePosixPath("a.md"))


@pytest.mark.parametrize("name", ["/".join("a" * 11), "/".join("a" * 8000), "a" * 201])
@pytest.mark.parametrize("text", ["#{}\n\n#good\n", "---\ntags: ['{}', good]\n---\n"])
def test_a_tag_that_is_too_deep_or_too_long_is_none_and_the_owner_is_told(text: str, name: str) -> None:
    found = extract(text.format(name).encode(), PurePosixPath("a.md"))
    assert found.tags == ("good",)
    assert found.warnings[-1].startswith("1 of its 2 tags are left out: a tag has at most 10 levels")


def test_the_tags_of_a_note_are_bounded() -> None:
    found = extract(" ".join(f"#tag{n}" for n in range(20_000)).encode(), PurePosixPath("a.md"))
    assert 4_990 < sum(map(len, found.tags)) <= 5_000
    assert "of its 20,000 tags are left out" in found.warnings[-1]


def test_links_in_properties_are_links_of_the_note() -> None:
    found = note('up: "[[Map of content|map]]"')
    assert [(link.target, link.label) for link in found.links] == [("Map of content", "map")]
    assert found.text[found.links[0].start :].startswith("[[Map")


def test_aliases_that_unfold_to_billions_are_refused() -> None:
    lines = ["a0: &a0 [lol, lol]"] + [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    found = note("\n".join(lines))
    assert found.metadata == {}
    assert "unfolds" in found.warnings[0]


@pytest.mark.parametrize("block", ["a: " + "[" * 30_000 + "]" * 30_000, "- " * 30_000 + "a", "? " * 30_000])
def test_nesting_that_would_crash_a_yaml_loader_is_refused(block: str) -> None:
    assert "nested" in note(block).warnings[0]


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!|>'\"#,?\n \t%@`1~"), max_size=80))
@settings(deadline=None)
def test_any_block_gives_json_or_stays_text(block: str) -> None:
    found = note(block)
    json.dumps(found.metadata)
    assert found.warnings == () or body(found).startswith("---")
