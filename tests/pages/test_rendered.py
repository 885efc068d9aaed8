"""Markdown as HTML: what a reader sees, what is marked, and that nothing of a note is passed on."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_core.search.query import parse
from ui.reader.code_view import code_kinds
from ui.reader.rendered import MARK, NotePlace, note_html, written_note

HERE = NotePlace("notes", "tea.md", leads={"pot": "kitchen/pot.md", "./pot.md": "kitchen/pot.md"})
TAGS = frozenset(
    "a article blockquote br code div em h1 h2 h3 h4 h5 h6 hr img kbd li mark ol p pre s section span strong"
    " sub sup table tbody td th thead tr ul".split()
)
ATTRIBUTES = {
    "a": {"href"},
    "img": {"src", "alt", "loading"},
    "ol": {"start", "class", "id"},
    "span": {"class", "id", "title"},
    "td": {"style"},
    "th": {"style"},
}
ALIGNED = re.compile(r"text-align:(left|right|center)")
PIECES = st.sampled_from([
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<iframe src=http://evil.example>", "<br>",
    "<style>*{}</style>", "[x](javascript:alert(1))", "![x](http://evil.example/x.png)", "[[pot|<b>]]",
    "![[../../etc/passwd.png]]", "[[#x]]", "[x](data:text/html,<script>)", "<http://a.example>", "==x==",
    "%%", "<javascript:alert(1)>", "![x](data:image/svg+xml,x)", "[x](obsidian://open)",
    "<svg onload=alert(1)>", "<sub onclick=x>", "<kbd>", "`", "```html", "- [x] ", "> [!note] ", "# ",
    "&lt;script&gt;", "[x]", "[^<b>]", "[^<i>]: ",
    "[x]: javascript:alert(1)", '![x](a.png "onerror=1")', 'https://x.example/"onmouseover="x', "\n", "\n\n",
    "'><b>", "  ", "\\", '<a href="vbscript:x" id=marked>', '<div style="x">', "[x](//evil.example)",
    "<!--", "-->", "![](\\\\evil\\a.png)", "|", "| a | b |\n|---|:-:|\n| 1 | 2 |\n",
])  # fmt: skip


class Elements(HTMLParser):
    """Every element of some HTML with its attributes."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(body)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_comment(self, data: str) -> None:
        self.found.append(("a comment", {}))

    def handle_decl(self, decl: str) -> None:
        self.found.append(("a declaration", {}))


def html_of(text: str, place: NotePlace = HERE) -> str:
    body = note_html(text, place, "").html
    return body.removeprefix('<article class="cp cp-note">').removesuffix("</article>")


def check(body: str) -> None:
    """Fail for whatever could run, load, restyle or lead somewhere else."""
    for tag, attributes in Elements(body).found:
        assert tag in TAGS, (tag, body)
        assert attributes.keys() <= ATTRIBUTES.get(tag, {"class", "id"}), (tag, attributes)
        assert ALIGNED.fullmatch(attributes.get("style") or "text-align:left")
        if tag == "img":
            assert str(attributes["src"]).startswith("note-picture?store=notes&path=tea.md&target=")
        if href := attributes.get("href"):
            scheme = urlsplit(href).scheme
            assert scheme in ("http", "https", "mailto") or href.startswith(("#", "files?store=")), href


@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=12).map("".join), st.integers(1, 9))
@example("<ScRiPt\n>x</script >", 1)
@example("[a](&#106;avascript:x) [b](java\nscript:x) [c](JAVASCRIPT:x) <a\nhref=x>", 1)
@example("[![a](b.png)](javascript:x) [a [[pot]] b](http://x.example)", 1)
@example("http://x.example/<b>&quot;onclick=1", 2)
def test_no_note_brings_anything_that_runs_loads_restyles_or_leads_away(text: str, line: int) -> None:
    query = parse("script pot x")
    for place in (
        HERE,
        NotePlace("notes", "tea.md", query=query, lines=(line, line + 2)),
        NotePlace("notes", "tea.md"),
    ):
        check(html_of(text, place))
    check(written_note(text, HERE, 50))


def test_tags_are_left_out_and_their_text_is_kept() -> None:
    assert html_of("a<br>b <b onclick=x>c</b> H<sub>2</sub>O <!-- no --> d") == (
        "<p>a<br>b c H<sub>2</sub>O  d</p>\n"
    )
    assert html_of('<div align="center">\n<h1>Name</h1>\nSee &lt;this&gt;.\n</div>') == (
        "<p>Name\nSee &lt;this&gt;.</p>\n"
    )
    assert html_of("<script>\nalert(1)\n</script>\n\nText.") == "<p>Text.</p>\n"


def test_comments_that_never_end_are_read_once() -> None:
    assert html_of("<div>\nText" + "<!--" * 200_000) == "<p>Text</p>\n"  # else it takes many minutes


def test_what_obsidian_writes_is_shown_as_obsidian_shows_it() -> None:
    assert "☑ done" in html_of("- [x] done")
    assert "☐ open" in html_of("- [ ] open")
    callout = html_of("> [!tip] One rule\n> Buy less.")
    assert '<p class="cp-callout"><strong>One rule</strong><br />\nBuy less.</p>' in callout
    assert "<strong>Warning</strong>" in html_of("> [!warning]\n> Hot.")
    assert html_of("shown %%not shown%% again ^id-1") == "<p>shown  again</p>\n"
    assert html_of("%%\nnot\nshown\n%%\n\nshown") == "<p>shown</p>\n"
    assert html_of("==very== good") == "<p><em>very</em> good</p>\n"


def test_footnotes_show_their_number_and_their_text() -> None:
    note = "Tea[^1] keeps[^b<].\n\n[^1]: https://x.example\n[^b<]: For *six*\nmonths\n"
    shown = html_of(note)
    assert "Tea<sup>1</sup> keeps<sup>b&lt;</sup>." in shown
    assert "<sup>1</sup> <a" in shown
    assert "<sup>b&lt;</sup> For <em>six</em>" in shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("[[pot]]", '<a href="files?store=notes&amp;path=kitchen%2Fpot.md">pot</a>'),
        ("[[pot#Spout|the pot]]", "path=kitchen%2Fpot.md&amp;heading=Spout"),
        ("[it](./pot.md#Spout)", "path=kitchen%2Fpot.md&amp;heading=Spout"),
        ("[[nowhere]]", '<span class="cp-nowhere" title="Not in this store">nowhere</span>'),
        ("[x](ftp://a.example)", "<span>x</span>"),
        ("[x](https://a.example/?a=1&b=2)", '<a href="https://a.example/?a=1&amp;b=2">x</a>'),
        ("See https://a.example/b).", '<a href="https://a.example/b">https://a.example/b</a>).'),
        ("# One\n\n[[#One]]", '<a href="#heading-0">One</a>'),
        ("![[a b.png|300]]", '<img src="note-picture?store=notes&amp;path=tea.md&amp;target=a+b.png" alt=""'),
        ("![A shelf](img/a%20b.png)", 'target=img%2Fa+b.png" alt="A shelf"'),
        ("![A badge](https://a.example/b.png)", '<span class="cp-quiet">A badge</span>'),
        ("![A drawing](a.svg)", '<span class="cp-quiet">A drawing</span>'),
    ],
)
def test_links_and_pictures_lead_to_our_own_pages(written: str, shown: str) -> None:
    assert shown in html_of(written)


LONG = """# Tea

One.

- a
- b
  - c
- d

| x | y |
|---|---|
| 1 | 2 |
| 3 | 4 |

```py
code
```

End.
"""


@pytest.mark.parametrize(
    ("lines", "marked"),
    [
        ((3, 3), ["<p>One.</p>"]),
        ((1, 8), ["<h2", "<ul>", "<li>d</li>"]),
        ((5, 5), ['<li class="cp-here" id="marked">a</li>']),
        ((7, 7), ['<ul class="cp-here" id="marked">\n<li>c</li>']),
        ((13, 13), ['<tr class="cp-here" id="marked">\n<td>3</td>']),
        ((15, 19), ["<pre", "<p>End.</p>"]),
    ],
)
def test_the_blocks_of_the_passage_are_marked_and_no_others(
    lines: tuple[int, int], marked: list[str]
) -> None:
    body = html_of(LONG, NotePlace("notes", "tea.md", lines=lines))
    check(body)
    assert body.count(f'id="{MARK}"') == 1
    at = body.rindex("<", 0, body.index(f'id="{MARK}"'))
    end = "</div>" if body.startswith("<div", at) else "</li>" if body.startswith("<li", at) else "</tr>"
    here = body[at : body.index(end, at) + len(end)]
    assert all(each in here for each in marked)
    assert "End" not in here or lines[1] == 19


def test_of_a_long_block_of_code_only_the_lines_of_the_passage_are_marked() -> None:
    body = html_of("One.\n\n```c\na;\n/* b\nc\nd */\ne;\n```\n", NotePlace("notes", "tea.md", lines=(6, 7)))
    check(body)
    here = body.partition(f'<span class="cp-here" id="{MARK}">')[2]
    assert here.startswith(
        '<span class="cp-comment">c</span>\n<span class="cp-comment">d */</span>\n</span>e;'
    )


def test_front_matter_is_not_shown_and_does_not_move_the_mark() -> None:
    note = "---\ntitle: Tea\n---\n# Tea\n\nOne.\n\nTwo.\n"
    shown = note_html(note, NotePlace("notes", "tea.md", begins=4, lines=(8, 8)), "Tea")
    assert '<p>One.</p>\n<div class="cp-here" id="marked">\n<p>Two.</p>\n</div>\n' in shown.html
    assert "title" not in shown.html
    assert not shown.headings


def test_headings_are_listed_and_a_heading_can_be_marked() -> None:
    shown = note_html("## A `b` [[pot|c]]\n\nText.\n\n### D\n", NotePlace("notes", "tea.md", heading="a b C"))
    assert [(each.level, each.text) for each in shown.headings] == [(2, "A b c"), (3, "D")]
    assert '<div class="cp-here" id="marked">\n<h3 id="heading-0">A ' in shown.html
    assert f'id="{shown.headings[1].id}"' in shown.html


def test_the_words_of_the_search_are_highlighted_in_text_and_code() -> None:
    body = html_of("Dried *tea* `tea` and http://tea.example", NotePlace("notes", "a.md", query=parse("tea")))
    assert body.count("<mark>tea</mark>") == 2


def test_code_is_coloured_with_the_words_of_the_search_in_it() -> None:
    note = "```python\ndef tea(x):  # green tea\n    return 'a <b>' + 3\n```\n"
    body = html_of(note, NotePlace("notes", "a.md", query=parse("tea")))
    check(body)
    assert '<span class="cp-keyword">def</span> <span class="cp-name"><mark>tea</mark></span>(x):' in body
    assert '<span class="cp-comment"># green <mark>tea</mark></span>' in body
    assert '<span class="cp-string">&#x27;a &lt;b&gt;&#x27;</span> + <span class="cp-number">3</span>' in body
    assert "<span" not in html_of("```mermaid\nreturn 3\n```\n")


@given(
    st.text("'\"\\\\#/*<!- a1\n(", max_size=200), st.sampled_from(["python", "c", "sql", "html", "ini", "?"])
)
def test_the_pieces_of_code_are_all_of_it_in_order(code: str, language: str) -> None:
    assert "".join(code[start:end] for start, end, _ in code_kinds(code, language)) == code
