"""What a reader sees of markup is the same for phrases, snippets, cards, words and the page of a note."""

from __future__ import annotations

import sys
from pathlib import PurePosixPath

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rag_core.ask.verbatim import Held
from rag_core.extract.document import extract
from rag_core.search.shown import clean
from rag_core.search.snippet import highlight
from rag_core.text.inline import inline_marks, shown_line
from rag_core.text.other_markup import marks_of_language
from rag_core.text.phrases import exact, shows_phrase
from rag_core.text.shown import shown
from ui.reader.note_parser import make_parser, tidy

INLINE = {  # as written in a note → as it is shown
    "bold": ("the **error** budget", "the error budget"),
    "bold across lines": ("the **error\nbudget** of May", "the error\nbudget of May"),
    "bold around signs": ("a **(strict)** rule", "a (strict) rule"),
    "bold beside a word without spaces": ("在**价格**中", "在价格中"),
    "emphasis": ("a _very_ long *meeting*", "a very long meeting"),
    "both": ("a ***very*** long one", "a very long one"),
    "one in the other": ("a **very *long* one**", "a very long one"),
    "struck out": ("the ~~old~~ plan", "the old plan"),
    "highlight": ("the ==quarterly== review", "the quarterly review"),
    "highlight of bold": ("the ==**quarterly**== review", "the quarterly review"),
    "code": ("a `retry` limit", "a retry limit"),
    "code with a backtick": ("a `` ` `` sign", "a ` sign"),
    "signs in code": ("the `**kwargs**` of it", "the **kwargs** of it"),
    "link": ("the [release](https://example.org/a_b) train", "the release train"),
    "link with a title": ('the [release](a.md "It (all)") train', "the release train"),
    "link of bold": ("the [**release**](a.md) train", "the release train"),
    "bold link": ("the **[release](a_(b).md)** train", "the release train"),
    "brackets in a link": ("the [a [b] c](d.md) train", "the a [b] c train"),
    "wikilink": ("on [[Lake Constance]] we rowed", "on Lake Constance we rowed"),
    "alias": ("on [[Lake Constance|the lake]] we rowed", "on the lake we rowed"),
    "heading of a note": ("see [[Tea#Green tea]] first", "see Tea › Green tea first"),
    "heading of this note": ("see [[#Green tea]] first", "see Green tea first"),
    "address": ("at <https://example.org> now", "at https://example.org now"),
    "escaped signs": (r"2 \* 3 \* 4 \[x\]", "2 * 3 * 4 [x]"),
    "tag": ("the <b>error</b> budget", "the error budget"),
    "reference": ("salt &amp; pepper &frac12; &unknown;", "salt & pepper ½ &unknown;"),
    "comment": ("the %%really%%error budget", "the error budget"),
    "arithmetic": ("2 * 3 * 4 and a_b_c and 5 ** 2", "2 * 3 * 4 and a_b_c and 5 ** 2"),
    "no pair": ("a *star and **two", "a *star and **two"),
}
OF_PASSAGES = {  # of which file type, as written → as a phrase finds it
    "what is not seen": ("text", "a soft\u00adhyphen and zero\u200bwidth here", "softhyphen and zerowidth"),
    "quote": ("markdown", "> the harvest moon\n> rises", "the harvest moon rises"),
    "callout": ("markdown", "> [!note] the harvest\n> moon", "the harvest moon"),
    "signs between": ("markdown", "the harvest, (moon): rises", "the harvest moon rises"),
    "dots of ё": ("text", "Ёжик нашёл фонарь", "ежик нашел фонарь"),
    "vowel signs": ("text", "كَتَبَ الوَلَدُ", "كتب الولد"),
    "capitals of Turkish": ("text", "İNCİR AĞACI", "incir ağacı"),
    "letters joined": ("text", "l'œuvre du cœur", "l'oeuvre du coeur"),
    "accents left out": ("text", "la crème brûlée", "la creme brulee"),
    "accents of Greek": ("text", "Γιώργος είναι", "γιωργος ειναι"),
    "emphasis in an exported chat": (
        "json",
        '{"text": "the *hunter* and his _moon_, rising"}',
        "the hunter and his moon",
    ),
    "link of Slack": (
        "json",
        '{"text": "see <https://a.example/x|the hunter> &amp; <mailto:m@a.example|his moon> rise"}',
        "see the hunter & his moon rise",
    ),
    "bold in an exported chat": (
        "json",
        '{"content": "the **hunter** moon, **rising**."}',
        "the hunter moon, rising",
    ),
    "quotes between": ("text", 'the "harvest" moon said: "it rises"', "the harvest moon said it rises"),
    "quotes with spaces": ("text", "le « vieux » pont", "le vieux pont"),
    "low quotes": ("text", "der „leise“ Wind", "der leise Wind"),
    "brackets between": ("text", "the [harvest] <moon> {rises}.", "the harvest moon rises"),
    "mark of a note": ("text", "the harvest[12], or[*] the [3] moon", "the harvest or the moon"),
    "hyphen at the end of a line": (
        "text",
        "a long-\n  term and well-\r\nknown lease",
        "a long-term and well-known lease",
    ),
    "line of a Windows file in a run": ("text", "昨日は動物\r\n園に行った", "動物園に行った"),
    "the end of a sentence": ("text", "We saw the harvest.\nMoon and", "the harvest moon"),
    "heading": ("markdown", "## the **harvest** moon", "the harvest moon"),
    "task": ("markdown", "- [ ] the [[harvest]] moon", "the harvest moon"),
    "block id": ("markdown", "the harvest\nmoon ^a1", "the harvest moon"),
    "HTML comment": ("markdown", "the <!-- a\nb -->harvest moon", "the harvest moon"),
    "footnote of LaTeX": (
        "latex",
        r"the \emph{harvest} moon\footnote{It \emph{was} full.}",
        "the harvest moon",
    ),
    "footnote": ("markdown", "the harvest[^1] moon", "the harvest moon"),
    "text of a footnote": ("markdown", "[^1]: the **harvest**\nmoon", "the harvest moon"),
    "comment": ("python", "# the harvest\n# moon", "the harvest moon"),
    "comment of a crate": ("rust", "//! the harvest\n//! moon", "the harvest moon"),
    "comment of Doxygen": ("cpp", "/// the harvest\n/// moon", "the harvest moon"),
    "comment of Roxygen": ("r", "#' the harvest\n#' moon", "the harvest moon"),
    "comment of Sphinx": ("python", "#: the harvest\n#: moon", "the harvest moon"),
    "comment in Lua": ("lua", "--- the harvest\n--- moon", "the harvest moon"),
    "comment of Haddock": ("haskell", "-- | the harvest\n-- moon", "the harvest moon"),
    "comment in Erlang": ("erlang", "%% the harvest\n%% moon", "the harvest moon"),
    "comment in Lisp": ("lisp", ";;; the harvest\n;;; moon", "the harvest moon"),
    "comment in a batch file": ("batch", "@REM the harvest\n@REM moon", "the harvest moon"),
    "comment in COBOL": ("cobol", "      *> the harvest\n      *> moon", "the harvest moon"),
    "comment in Basic": ("visualbasic", "'' the harvest\n'' moon", "the harvest moon"),
    "comment in Terraform": ("terraform", "/* the harvest\n * moon */", "the harvest moon"),
    "docstring": ("python", 'def a():\n    """The harvest\n    moon."""', "the harvest moon"),
    "string in pieces": ("python", 'f("the harvest "\n  f"moon")', "the harvest moon"),
    "string in pieces of Java": ("java", 's = "the harvest " +\n    "moon";', "the harvest moon"),
    "string in pieces of Go": ("go", 's := "the harvest" +\n\t" moon"', "the harvest moon"),
    "string in pieces of PHP": ("php", "$s = 'the harvest '\n  . 'moon';", "the harvest moon"),
    "string in pieces of Lua": ("lua", 's = "the harvest " ..\n "moon"', "the harvest moon"),
    "string in pieces of Basic": ("visualbasic", 's = "the harvest " & _\n "moon"', "the harvest moon"),
    "string in pieces of SQL": ("sql", "'the harvest ' ||\n 'moon'", "the harvest moon"),
    "line that goes on": ("shell", 'echo "the harvest \\\nmoon"', "the harvest moon"),
    "strings of a list": ("python", '["the harvest",\n "moon"]', 'the harvest",'),
    "comment in C": ("go", "// the harvest\n// moon", "the harvest moon"),
    "comment of stars": ("java", "/* the harvest\n * moon */", "the harvest moon"),
    "list of stars": ("text", "the harvest\n* moon", "harvest\n* moon"),
    "comment in SQL": ("sql", "-- the harvest\n-- moon", "the harvest moon"),
    "comment in LaTeX": ("latex", "% the harvest\n% moon", "the harvest moon"),
    "apostrophe": ("text", "don´t go", "don't go"),
    "mail": ("mail", "> > the harvest\n> > moon", "the harvest moon"),
    "cues": (
        "subtitles",
        "1\n00:00:01,000 --> 00:00:02,000\nthe harvest\n\n2\n00:00:02,000 --> 00:00:03,000\nmoon\n",
        "the harvest moon",
    ),
    "stars": ("text", "the *harvest* **moon** rises", "the harvest moon rises"),
    "a wiki": ("text", "the ''harvest'' '''moon''' rises, 'tis so", "the harvest moon rises, 'tis so"),
    "a link of a wiki": (
        "text",
        "the [[Autumn|harvest]] [[moon]] rises, x[[1]]",
        "the harvest moon rises, x1",
    ),
    "bold italics of a wiki": ("text", "the '''''harvest'' moon''' rises", "the harvest moon rises"),
    "slashes and tildes": ("text", "the //harvest// ~~moon~~ rises", "the harvest moon rises"),
    "an address": ("text", "the http://a.org//b moon", "http://a.org//b moon"),
    "an element before a full stop": ("xml", "the <user.name>moon</user.name>. It rises", "moon. it rises"),
    "underscores": ("text", "the _harvest\nmoon_ rises", "the harvest moon rises"),
    "Org": ("org", "the *harvest* /moon/ =rises= ~a_*b*~ +x+", "the harvest moon rises a_*b* x"),
    "Org, nested": ("org", "the */harvest/ moon*[fn:1] rises", "the harvest moon rises"),
    "roles": ("rst", "the :term:`harvest` ``mo*on``, *rises* [1]_ now", "the harvest mo*on, rises now"),
    "references": (
        "rst",
        "the `harvest\n<https://e.org/a_b>`__ :ref:`moon <x>` rises_ now",
        "the harvest moon rises now",
    ),
    "escaped": ("rst", "the \\*harvest\\* |moon|", "the *harvest* |moon|"),
    "AsciiDoc": (
        "asciidoc",
        "the *harvest* _moon_ `rises` #now# **h**e H~2~O",
        "the harvest moon rises now he H2O",
    ),
    "links": (
        "asciidoc",
        "the https://e.org/a_b[harvest^] link:b.adoc[*moon*] <<a,rises>> xref:c.adoc[now]",
        "the harvest moon rises now",
    ),
    "LaTeX": (
        "latex",
        "the \\emph{harvest \\textbf{moon}}~rises \\cite{a,b}\\\\ now",
        "the harvest moon rises now",
    ),
    "LaTeX inside words": (
        "latex",
        "har\\-vest\\,{M}oon ``ri\\emph{ses}'' 5\\,\\%",
        "harvest Moon “rises” 5 %",
    ),
    "commands of LaTeX": ("latex", "\\frac{a}{b} the {\\bf harvest} moon", "\\frac{a}{b} the harvest moon"),
    "macros in a reference": (
        "bibtex",
        "On \\mkbibquote{{The} harvest \\mkbibemph{moon}} and \\foo[x]{tides} of \\frac{a}{b}",
        "On The harvest moon and tides of \\frac{a}{b}",
    ),
    "reference": ("bibtex", "title = {The {Harvest} \\emph{Moon}},", "title = The Harvest Moon,"),
    "DocBook": (
        "xml",
        '<para>the <emphasis role="b">harvest</emphasis> <x:code>moon</x:code></para>',
        "the harvest moon",
    ),
    "comment in XML": ("xml", "the har<!-- a -->vest &amp; m<tspan>oo</tspan>n", "the harvest & moon"),
    "elements": ("xml", "<term>harvest</term><desc>moon</desc>", "harvest moon"),
    "footnote of AsciiDoc": (
        "asciidoc",
        "the harvest footnote:[It *was*.] moon +\nrises",
        "the harvest moon rises",
    ),
    "words in the index of AsciiDoc": (
        "asciidoc",
        "the ((harvest)) moon(((sky, moon))) kbd:[F1]",
        "the harvest moon F1",
    ),
    "lines of AsciiDoc": (
        "asciidoc",
        "== The harvest\n[source]\n----\nmoon\n----\n// no\nrises",
        "the harvest moon rises",
    ),
    "footnote of Org": ("org", "the harvest[fn:: It /was/.] moon[fn:a:b]", "the harvest moon"),
    "block of Org": (
        "org",
        "the\n#+BEGIN_QUOTE\nharvest\\\\\nmoon\n#+end_quote\nrises",
        "the harvest moon rises",
    ),
    "address of Org": ("org", "the harvest (https://e.org/a) moon", "the harvest moon"),
    "lines of a verse": ("rst", "| the harvest\n| moon", "the harvest moon"),
    "Typst": (
        "typst",
        "= The *harvest*\n_moon_~rises `no*w*` @ref <b> // not",
        "the harvest moon rises no*w*",
    ),
    "functions of Typst": (
        "typst",
        'the #link("https://e.org")[har#emph[ve]st] #text(red)[*moon*]#footnote[It [was].] rises \\\nnow',
        "the harvest moon rises now",
    ),
    "brackets in Typst": (
        "typst",
        "the [harvest] at https://e.org \\#1",
        "the [harvest] at https://e.org #1",
    ),
    "Texinfo": (
        "texinfo",
        "@section The harvest\n@cindex no\n@code{moon} @emph{rises@dots{}}@footnote{It @i{was}.} a@@b",
        "the harvest moon rises… a@b",
    ),
    "Textile": (
        "textile",
        'h2(#a). The *harvest* _moon_\n\n"rises(now)":https://e.org/a_b. %{color:red}at% @la*s*t@[1]',
        "the harvest moon rises. at la*s*t",
    ),
    "no Textile": ("textile", 'say "moon" a@b -5 - 6', 'say "moon" a@b -5 - 6'),
    "MediaWiki": (
        "wiki",
        "== The '''harvest''' ==\n[[Moon|moon]]<ref name=a>It was.</ref> [https://e.org rises]<br>now",
        "the harvest moon rises now",
    ),
    "DokuWiki": (
        "wiki",
        "===== The harvest =====\n**moon** //rises// \\\\ ((It was.)) __now__",
        "the harvest moon rises now",
    ),
    "TiddlyWiki": (
        "tiddlywiki",
        "! The ''harvest''\n//moon// [[rises|A tiddler]] <<now>>",
        "the harvest moon rises",
    ),
    "manual page": (
        "man",
        '.SH The harvest\n.\\" no\n\\fImoon\\fR\n.BR rises , " at " last \\-x\n.TP\nit\\(aqs',
        "the harvest moon rises, at last-x it's",
    ),
    "manual page of BSD": ("man", ".Sh The harvest\n.Pp\nThe\n.Em moon\n.Fl x", "the harvest the moon x"),
    "BBCode": ("text", "the [b]harvest[/b] [url=https://e.org]moon[/url] [x]", "the harvest moon [x]"),
    "footnote of a wiki in words": ("latex", "the harvest\\footnote{moon} rises", "the harvest rises"),
    "lines of a table": ("latex", "\\hline the \\multicolumn{2}{c}{harvest} moon", "the harvest moon"),
    "JSON": ("json", '{"a": "the \\"harvest\\"\\nmoon"}', "the harvest moon"),
}
PARSER = make_parser()


def read_by_the_page(note: str) -> str:
    """The text of a note as the page shows it, without its blocks."""
    tokens = PARSER.parse(note)
    tidy(tokens)
    parts: list[str] = []
    for child in [child for token in tokens for child in token.children or ()]:
        if child.type in ("text", "code_inline", "wikilink"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
    return "".join(parts)


@pytest.mark.parametrize(("written", "seen"), INLINE.values(), ids=INLINE)
def test_every_consumer_sees_what_the_page_shows(written: str, seen: str) -> None:
    note = f"Here is {written}, at last."
    as_seen = f"Here is {seen}, at last."
    assert read_by_the_page(note) == as_seen
    assert shown(note, "markdown").text == as_seen
    assert "\n".join(block.text for block in clean(note, "markdown", ())) == as_seen
    assert shows_phrase(note, "markdown", seen)
    assert not shows_phrase(note, "markdown", f"{seen} again")
    assert Held(note).find(as_seen)
    if "\n" not in written and "%%" not in written:
        assert shown_line(note) == as_seen
        assert extract(f"# {note}\n".encode(), PurePosixPath("a.md")).title == as_seen


@pytest.mark.parametrize(("written", "seen"), INLINE.values(), ids=INLINE)
def test_a_phrase_is_marked_where_it_stands_in_the_source(written: str, seen: str) -> None:
    note = f"Here is {written}, at last."
    spans = highlight(note, (), [exact(f"is {seen},")], "markdown")
    assert [note[start:end] for start, end in spans] == [f"is {written},"]
    marked = [
        piece for block in clean(note, "markdown", spans) for piece, is_marked in block.pieces if is_marked
    ]
    assert "".join("".join(marked).split()) == "".join(f"is {seen},".split())


@pytest.mark.parametrize(("file_type", "written", "seen"), OF_PASSAGES.values(), ids=OF_PASSAGES)
def test_a_phrase_goes_on_across_lines_and_marks(file_type: str, written: str, seen: str) -> None:
    assert shows_phrase(
        f"{written}\n", file_type, seen.replace("harvest", '"harvest"') if file_type == "json" else seen
    )
    assert not shows_phrase(f"{written}\n", file_type, f"{seen} again")


@pytest.mark.parametrize("text", ["the harvest > moon", "the harvest < moon", "the harvest >\nmoon"])
def test_a_comparison_is_no_phrase(text: str) -> None:
    assert not shows_phrase(text, "text", "the harvest moon")


KEPT = [  # file type, text
    ("go", 'import (\n\t"flag"\n\t"fmt"\n)'),
    ("haskell", 'f "harvest"\n  "moon"'),
    ("java", "case 'a'\n'b'"),
    ("python", 'x = """\n"Harvest" moon"""'),
    ("sql", "SELECT\n  * FROM harvest"),
    ("lua", "  moon\n  * harvest"),
    ("notebook", "def f(**kw): 2 **3 + **kw and **kw"),
    ("csv", "src/**/*.ts **/a/** b/**"),
]


@pytest.mark.parametrize(("file_type", "text"), KEPT)
def test_code_that_only_looks_marked_or_joined_stays(file_type: str, text: str) -> None:
    assert shown(text, file_type).text == text


WORDS = st.sampled_from(["tea", "a", "的", "x_y", "2", "né"])
WRAPPED = st.sampled_from(
    [
        "{}",
        "**{}**",
        "*{}*",
        "_{}_",
        "~~{}~~",
        "=={}==",
        "`{}`",
        "[{}](b.md)",
        "[[t|{}]]",
        "<b>{}</b>",
        "({})",
    ]
)


@given(
    st.lists(st.tuples(WORDS, WRAPPED, WRAPPED, st.sampled_from([" ", "\n", ", "])), min_size=1, max_size=6)
)
def test_generated_markup_is_shown_as_the_page_shows_it(pieces: list[tuple[str, str, str, str]]) -> None:
    note = "so "
    for word, inner, outer, gap in pieces:
        inside = inner.format(word)
        is_once = inner == outer or ("[[" in outer and inner != "{}")  # ``====tea====`` is nobody's markup
        note += (inside if is_once else outer.format(inside)) + gap
    note += "end"
    assume("\n~~~" not in note)  # a block of code for the page
    assert shown(note, "markdown").text == read_by_the_page(note)


@given(st.text("ab *_~=`[]()<>!&;\\\n>#-|%^:x价。/+{}", max_size=60))
def test_the_map_leads_from_what_is_shown_to_the_source(text: str) -> None:
    for file_type in ("markdown", "json", "python", "org", "rst", "asciidoc", "latex", "xml", "text"):
        as_shown = shown(text, file_type)
        ends = 0
        for place, char in enumerate(as_shown.text):
            start, end = as_shown.source_span(place, place + 1)
            assert ends <= end or file_type in ("rst", "text"), "other than in tables, in order"
            assert start < end <= len(text)
            assert char in (text[start], "•") or end - start > 1 or file_type in ("json", "latex")
            ends = end


PUMPED = [
    *(("markdown", unit) for unit in "[ ** `a `` ![[ ]( [a]( ==a <b &a [] a*b_ _a".split()),
    *(("markdown", unit) for unit in ("*a ", "**a *", "`")),
    *(("org", unit) for unit in ("*a ", "*a b/ ", "=a ", "_{", "*a =b* c= ")),
    *(("rst", unit) for unit in ("`a ", ":a:`", "``a *b ", "*a b` ", "a_ ")),
    *(("asciidoc", unit) for unit in ("https://a[", "<<a,", "**", "*a b_ ", "~a ^")),
    *(("latex", unit) for unit in ("{", "\\emph{", "{a}", "\\a{b", "}{")),
    *(("typst", unit) for unit in ("#a[", "[", "*a _b", "#footnote[a", "`a ")),
    *(("texinfo", unit) for unit in ("@a{", "{", "@footnote{a}")),
    *(("textile", unit) for unit in ('"a ', "*a _b", '":a', "-a ", "!a")),
    *(("wiki", unit) for unit in ("[[a|", "((", "<ref>", "{{", "//a", "<b>")),
    *(("man", unit) for unit in ("\\fB", ".BR a\n", '.BR "a ')),
    *(("text", unit) for unit in ("[b]", "[/b]", "[url=a")),
    *(("xml", unit) for unit in ("<b>", "<b", "<!--", "</b>", "<a b='")),
]


@pytest.mark.parametrize(("file_type", "unit"), PUMPED)
def test_marks_are_found_in_steps_in_proportion_to_the_text(file_type: str, unit: str) -> None:
    counts = []
    for size in (2_000, 4_000):
        text = (unit * size)[:size]
        steps = 0

        def count(frame: object, event: str, argument: object) -> object:
            nonlocal steps
            steps += event == "line"
            return count

        before = sys.gettrace()
        sys.settrace(count)  # type: ignore[arg-type]
        try:
            if file_type == "markdown":
                inline_marks(text, 0, len(text))
            else:
                marks_of_language(text, file_type)
        finally:
            sys.settrace(before)
        counts.append(steps)
    assert counts[1] <= 2.2 * counts[0] + 100
