"""Markdown: titles, sections, tags and links, and what only looks like them."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from rag_core.extract import extract
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.types import Extracted


def note(text: str) -> Extracted:
    return extract(text.encode(), PurePosixPath("dir/File name.md"))


def headings(text: str) -> list[str]:
    return [segment.anchor_ref for segment in note(text).segments if segment.anchor_type == "heading"]


def links(text: str) -> list[tuple[str, str, str, str]]:
    found = note(text)
    for link in found.links:
        assert found.text[link.start] in "![", "the offset is where the link begins"
    return [(link.type, link.target, link.heading, link.label) for link in found.links]


@pytest.mark.parametrize(
    ("text", "title", "source"),
    [
        ("---\ntitle: Given\n---\n# One\n", "Given", "front matter"),
        ("## Two\n# One\n", "One", "heading"),
        ("\n## Two\n### Three\n", "Two", "section"),
        ("## Monday\n## Tuesday\n", "Monday", "section"),
        ("The tap drips.\n## Todo\n", "Todo", "section"),
        ("---\ntags: [a]\n---\n\n## Two\n", "Two", "section"),
        ("### Three\ntext\n", "File name", "file name"),
        ("", "File name", "file name"),
    ],
)
def test_the_title_comes_from_the_best_source(text: str, title: str, source: str) -> None:
    found = note(text)
    assert (found.title, found.title_from) == (title, source)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("my-weekly-notes.md", "My weekly notes"),
        ("my_weekly_notes.md", "My weekly notes"),
        ("2026-03-15-standup.md", "2026-03-15 standup"),
        ("on e-mail.md", "On e-mail"),
        ("iPhone-setup.md", "iPhone setup"),
        ("_index.md", "Index"),
        ("--.md", "--"),
        ("über-uns.md", "Über uns"),
        ("my-weekly-notes.txt", "my-weekly-notes.txt"),
    ],
)
def test_a_note_without_headings_is_titled_by_its_name_in_words(name: str, title: str) -> None:
    assert extract(b"text", PurePosixPath(name)).title == title


def test_a_section_that_gives_the_title_is_not_embedded_above_the_others() -> None:
    found = cut(note(f"## Monday\n{'walk ' * 20}\n## Tuesday\n{'rest ' * 20}"), chunk_spec(256), None)
    assert [each.prefix for each in found] == ["Monday", "Tuesday"]


def test_sections_know_the_headings_above_them() -> None:
    text = "before\n# A\na\n### C\nc\n## B\nb\n# D\nd\n"
    found = note(text)
    assert [(text[s.start : s.end], s.heading_path) for s in found.segments] == [
        ("before\n", ()),
        ("# A\na\n", ("A",)),
        ("### C\nc\n", ("A", "C")),
        ("## B\nb\n", ("A", "B")),
        ("# D\nd\n", ("D",)),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Plain", ["Plain"]),
        ("   ###### Deep ##  ", ["Deep"]),
        ("# C# is # not closed #x!", ["C# is # not closed #x!"]),
        ("#\tTab", ["Tab"]),
        ("# 中文标题\r\nx", ["中文标题"]),
        ("#NoSpace\n####### Seven\n#\n# #\n    # code", []),
        ("Title\n=====\nSub\n---\n", ["Title", "Sub"]),
        ("Two\nlines\n---\n", ["Two lines"]),
        ("text\n\n---\n", []),
        ("- item\n---\n> quote\n---\n| a |\n---\n***\n---\n", []),
        ("word " * 100 + "\n---\n", []),
        ("```\n# code\n```\n# yes", ["yes"]),
        ("~~~ `x`\n# code\n```\n# code\n~~~~\n# yes", ["yes"]),
        ("````\n```\n# code\n````\n# yes", ["yes"]),
        ("- ```\n  # code\n  ```\n# yes", ["yes"]),
        ("> ```\n> # code\n# yes", ["yes"]),
        ("`` ```x``\n# yes", ["yes"]),
        ("```\n# never closed", []),
        ("<!--\n# no\n--> x\n# yes", ["yes"]),
        ("text <!-- a\n# no\n-->\n# yes <!-- b -->", ["yes"]),
        ("<!-- never closed\n# yes", ["yes"]),
        ("`<!--`\n# yes\n-->", ["yes"]),
        ("$$\n# no\n$$\n# yes\n%%\n# no\n%%\n%%x%%\n# too", ["yes", "too"]),
        ("<pre>\n# no\n</pre>\n# yes", ["yes"]),
        ("> # quoted\n- # listed", []),
    ],
)
def test_headings_are_told_from_what_looks_like_them(text: str, expected: list[str]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("**Bold** and *it* __too__ _x_", "Bold and it too x"),
        ("[Label](http://x.y/a_(b)) ![alt](i.png)", "Label alt"),
        ("[[Note|shown]] [[Other]]", "shown Other"),
        ("`__init__` of snake_case_name", "__init__ of snake_case_name"),
        ("2 * 3 ~~gone~~ ==marked==", "2 * 3 gone marked"),
        ("Plan #work/plan #2026 #x", "Plan #work/plan #2026"),
        ("#only #tags", "#only"),
        ("Issue #4", "Issue #4"),
        ("The `a #b` and #c, #d", "The a #b and #c,"),
        (r"\*stars\* <b>bold</b> ^block-id", "*stars* bold"),
    ],
)
def test_heading_names_are_free_of_markup(written: str, plain: str) -> None:
    assert headings(f"# {written}\n") == [plain]


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#one text #Two/three #ONE", ("one", "Two/three")),
        ("#标签 和#不是 #中文，后面 #日本語。", ("标签", "中文", "日本語")),
        ("#été-2024 #a_b #🎉 #हिन्दी", ("été-2024", "a_b", "🎉", "हिन्दी")),
        ("#1984 #12-3 #y1984", ("y1984",)),
        ("x#no (#no) http://a.b/#no ##no # no", ()),
        ("`#no` `` `#no `` #yes.", ("yes",)),
        ("[a #no](x#no) [[N #no]] [x](<y #no>) #yes", ("yes",)),
        ('<a style="color: #fff">x</a> #yes', ("yes",)),
        ("```\n#no\n```\n\n    #no\n\n#yes", ("yes",)),
        ("- item\n\n    #in-list", ("in-list",)),
        ("## Heading #tagged ##", ("tagged",)),
        ("> #quoted\n- #listed", ("quoted", "listed")),
        ("<!-- #no -->\n%%\n#no\n%%", ()),
        ("---\ntags: [A]\n---\n#a #b", ("A", "b")),
    ],
)
def test_tags_follow_obsidians_rule(text: str, tags: tuple[str, ...]) -> None:
    assert note(text).tags == tags


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[[Note]]", [("wikilink", "Note", "", "")]),
        ("[[a/Note|label]]", [("wikilink", "a/Note", "", "label")]),
        ("[[Note#Head#Sub|label]]", [("wikilink", "Note", "Head#Sub", "label")]),
        ("[[#Head]] [[N#^id]]", [("wikilink", "", "Head", ""), ("wikilink", "N", "^id", "")]),
        ("![[pic.png|100]]", [("embed", "pic.png", "", "100")]),
        (r"| [[a\|b]] |", [("wikilink", "a", "", "b")]),
        ("[[ [[x]] [[open", [("wikilink", "x", "", "")]),
        ("[text](a%20b.md#h)", [("markdown", "a b.md", "h", "text")]),
        ('[t](<a b.md> "title")', [("markdown", "a b.md", "", "t")]),
        ("[t](a(b).md 'x')", [("markdown", "a(b).md", "", "t")]),
        ("![alt](img.png)", [("embed", "img.png", "", "alt")]),
        ("[![alt](i.png)](n.md)", [("markdown", "n.md", "", "![alt](i.png)"), ("embed", "i.png", "", "alt")]),
        ("[t](#here)", [("markdown", "", "here", "t")]),
        ("[u](https://x.y) [m](mailto:a@b.c) [p](//x.y)", []),
        ("`[[no]]` `[no](no.md)` [x] (y) [x]()", []),
        ("```\n[[no]]\n```\n", []),
        (r"\[no\](no.md)", []),
    ],
)
def test_links_are_found_as_written(text: str, expected: list[tuple[str, str, str, str]]) -> None:
    assert links(text) == expected


@pytest.mark.parametrize(
    "unit", ["[", "`", "#", "*", "[[", "](", "[](", "](a(b)", "`a``b", "<!--", "%%", "$$", "<a ", "- ", "> "]
)
@pytest.mark.parametrize("newline", ["", "\n"])
def test_a_megabyte_of_markup_is_read_in_linear_time(unit: str, newline: str) -> None:
    """Quadratic work over 500,000 openers would not end within the life of the test run."""
    text = (unit + newline) * (500_000 // len(unit + newline))
    assert note(text).text == text
    assert note("# " + text.replace("\n", "")).title
