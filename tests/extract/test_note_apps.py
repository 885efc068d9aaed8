"""What Org, Logseq, Notion, Denote and a Zettelkasten say of a note: title, tags, date, aliases."""

from __future__ import annotations

from itertools import product
from pathlib import Path, PurePosixPath

import pytest

from rag_core.extract import extract, note_apps
from rag_core.extract.filetypes import title_of_name
from rag_core.library import Library
from rag_core.text.phrases import shows_phrase
from rag_core.types import OWNER, Extracted
from tests.conftest import index
from tests.support.trees import write

NOTION = "8f3a1c0d2b4e4f6a8c0d1e2f3a4b5c6d"
BLOCK = "64f1c1de-1111-4222-8333-0123456789ab"


def read(text: str, name: str) -> Extracted:
    return extract(text.encode(), PurePosixPath(name))


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("202511081015 Bread experiment.md", "Bread experiment"),
        ("20251108101559-bread_experiment.org", "Bread experiment"),
        ("20251108T101500--walk-in-the-woods__nature_dog.md", "Walk in the woods"),
        ("20251108T101500==1a2--walk__nature.org", "Walk"),
        (f"Meeting notes {NOTION}.md", "Meeting notes"),
        (f"Tasks {NOTION}.csv", "Tasks.csv"),
        (f"Tasks {NOTION}_all.csv", "Tasks_all.csv"),
        ("projects___garden___beds.md", "Projects/garden/beds"),
        ("projects%2Fgarden.md", "Projects/garden"),
        ("What%3F.md", "What?"),
        ("202511081015.md", "202511081015"),
        ("2025-11-08 standup.md", "2025-11-08 standup"),
        ("100% of it.md", "100% of it"),
        ("201 recipes.md", "201 recipes"),
    ],
)
def test_titles_are_without_what_apps_write_around_them(name: str, title: str) -> None:
    assert title_of_name(PurePosixPath(name)) == title


# --- Org --------------------------------------------------------------------------------

ORG = """:PROPERTIES:
:ID:       0b7c1f7e-0000-4000-8000-000000000001
:ROAM_ALIASES: "Natural yeast" Levain
:ROAM_REFS: https://example.org/bread
:END:
{title}
{tags}
{date}
#+author: Ada Lovelace
#+options: toc:nil

First words.
* TODO [#A] Feeding :routine:daily:
See [[id:0b7c1f7e-0000-4000-8000-000000000002][the oven notes]], [[file:stone.org::*Heat][the stone]],
[[https://example.org][a
page]].
** Evening
Rye flour.
"""


@pytest.mark.parametrize(
    ("title", "tags", "date"),
    list(
        product(
            ("#+title: Sourdough", "#+TITLE:   Sourdough"),
            ("#+filetags: :baking:kitchen:", "#+FILETAGS: baking kitchen", "#+roam_tags: baking kitchen"),
            ("#+date: [2025-11-08 Sat]", "#+DATE: <2025-11-08 Sat 10:15>", "#+date: 2025-11-08",
             "#+date: 8 November 2025", "#+created: [2025-11-08]"),
        )
    ),
)  # fmt: skip
def test_an_org_file_says_what_it_is(title: str, tags: str, date: str) -> None:
    found = read(ORG.format(title=title, tags=tags, date=date), "20260302101500-bread.org")
    assert (found.title, found.title_from, found.date) == ("Sourdough", "heading", "2025-11-08")
    assert set(found.tags) == {"baking", "kitchen", "routine", "daily"}
    assert found.aliases == ("Natural yeast", "Levain")
    assert found.metadata["author"] == "Ada Lovelace"
    assert found.metadata["roam_refs"] == "https://example.org/bread"
    assert [each.heading_path for each in found.segments] == [(), ("Feeding",), ("Feeding", "Evening")]
    assert found.text[found.segments[0].start :].startswith("First words.")
    assert "See the oven notes, the stone,\na\npage (https://example.org)." in found.text
    assert [(link.target, link.heading, link.label) for link in found.links] == [
        ("0b7c1f7e-0000-4000-8000-000000000002", "", "the oven notes"),
        ("stone.org", "Heat", "the stone"),
    ]
    assert all(found.text[link.start :].startswith(link.label) for link in found.links)


def test_links_of_org_lead_to_files_by_their_id(library: Library, notes: Path) -> None:
    oven = ":PROPERTIES:\n:ID: 0b7c1f7e-0000-4000-8000-000000000002\n:END:\n#+title: Oven\n\nHot.\n"
    write(notes, {"bread.org": ORG.format(title="", tags="#+filetags: :a:", date=""), "oven.org": oven})
    index(library, "notes", notes)
    view = library.documents.get(OWNER, "notes", "bread.org")
    assert "oven.org" in [link.path for link in view.links_out]
    assert {hit.document.path for hit in library.search(OWNER, "tag:routine").hits} == {"bread.org"}


@pytest.mark.parametrize(
    "text", ["", "* Head", "#+title: X", ":PROPERTIES:\n:ID: x\n", "plain\n", "#+begin_src\nx\n"]
)
def test_nothing_of_a_short_org_file_is_lost(text: str) -> None:
    found = read(text, "a.org")
    shown = found.title + "".join(found.text[each.start : each.end] for each in found.segments)
    for word in ("Head", "X", "plain", "begin_src"):
        assert word not in text or word in shown


# --- Joplin -----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("body", ["The spokeshave is in drawer 4.", "id: none\n\ntype_: no footer", ""])
def test_what_joplin_writes_below_a_note_is_no_part_of_it(body: str, end: str) -> None:
    footer = (
        f"id: {NOTION}\nparent_id: {NOTION[::-1]}\ncreated_time: 2025-02-03T10:00:00.000Z\n"
        "updated_time: 2025-02-04T10:00:00.000Z\nauthor: \nsource: joplin-desktop\ntype_: 1"
    )
    found = read(f"Wheelwright tools\n\n{body}\n\n{footer}".replace("\n", end), f"{NOTION}.md")
    assert (found.title, found.date) == ("Wheelwright tools", "2025-02-04")
    assert found.text.split() == f"Wheelwright tools {body}".split()


def test_the_data_of_a_drawing_is_no_text() -> None:
    data = "\n\n".join(["N4KAkARALgngDgUwgLgAQQQDwMYEMA2AlgCYBOuA7hADTgQBuCpAzoQPYB2KqATL" * 4] * 3)
    drawing = f"%%\n## Drawing\n```compressed-json\n{data}\n```\n%%"
    text = f"---\nexcalidraw-plugin: parsed\n---\n## Text Elements\nlock keeper ^a1b2\n\n{drawing}\n"
    found = read(text, "a.excalidraw.md")
    assert "lock keeper" in found.text
    assert "N4KAk" not in found.text
    assert found.text.count("\n") == text.count("\n")


# --- Logseq -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "tags"),
    list(product(("", "- "), ("baking, two words", "[[baking]], [[two words]]", "#baking, #[[two words]]"))),
)
def test_a_page_of_logseq_says_what_it_is(before: str, tags: str) -> None:
    inner = " " * len(before)
    text = f"{before}title:: Sourdough\n{inner}alias:: Levain, [[Natural yeast]]\n{inner}tags:: {tags}\n"
    text += f"{inner}date:: [[Nov 8th, 2025]]\n{inner}status:: open\n\n- A block #[[slow food]]\n"
    found = read(text, "pages/bread.md")
    assert (found.title, found.date) == ("Sourdough", "2025-11-08")
    assert found.aliases == ("Levain", "Natural yeast")
    assert set(found.tags) == {"baking", "two words", "slow food"}
    assert found.metadata["status"] == "open"
    assert found.text[found.segments[0].start :].strip().startswith("- A block")


def test_references_to_blocks_are_shown_as_their_text() -> None:
    text = (
        f"- Feed the starter\n  id:: {BLOCK}\n  collapsed:: true\n- Then\n"
        f"  - (({BLOCK}))\n  - {{{{embed (({BLOCK}))}}}}\n  - [as said]((({BLOCK})))\n"
        "  - ((64f1c1de-9999-4222-8333-0123456789ab))\n  tags:: later\n"
    )
    found = read(text, "a.md")
    assert found.text.count("Feed the starter") == 3
    assert "- as said\n" in found.text
    assert "((64f1c1de-9999" in found.text, "what is not known stays"
    assert "id::" not in found.text
    assert "collapsed" not in found.text
    assert found.text.count("\n") == text.count("\n"), "lines stay where they are"
    assert found.tags == ("later",)


def test_a_block_of_another_note_is_shown_as_its_text(library: Library, notes: Path) -> None:
    hidden = BLOCK.replace("1111", "2222")
    write(
        notes,
        {
            "pages/starter.md": f"- Feed the levain\n  id:: {BLOCK}\n",
            "pages/secret.md": f"---\nprivate: true\n---\n- The vault code\n  id:: {hidden}\n",
            "journals/2025_11_08.md": (
                f"- # Morning\n- (({BLOCK})) at dawn\n- {{{{embed (({BLOCK}))}}}}\n- (({hidden}))\n"
                "- # Evening\n- [[Rye]] is next\n"
            ),
        },
    )
    index(library, "notes", notes)
    hits = library.search(OWNER, '"feed the levain at dawn"').hits
    assert [(hit.document.path, hit.relevant) for hit in hits] == [("journals/2025_11_08.md", True)]
    view = library.documents.get(OWNER, "notes", "journals/2025_11_08.md")
    text = "\n".join(chunk.content for chunk in view.chunks)
    assert text.count("Feed the levain") == 2
    assert "vault code" not in text
    assert f"(({hidden}))" in text
    assert [link.target for link in view.links_out] == ["Rye"]
    assert "Feed the levain at dawn" in library.originals.text(OWNER, "notes", "journals/2025_11_08.md")


def test_the_places_of_a_note_move_with_the_blocks_that_are_shown_in_it() -> None:
    note = read(f"# One\n\nSee (({BLOCK})) first.\n\n# Two\n\nThen [[Rye]] and (({BLOCK})).\n", "a.md")
    assert note_apps.refers_to_blocks(note.text)
    whole = note_apps.with_blocks(note, {BLOCK: "a rather long text of a block that is shown"})
    assert [whole.text[part.start :][:5] for part in whole.segments] == ["# One", "# Two"]
    assert whole.segments[-1].end == len(whole.text)
    assert whole.text[whole.links[0].start :].startswith("[[Rye]]")


def test_code_with_colons_is_no_property() -> None:
    text = "std::vector is used\n\nand a::b\n"
    found = read(text, "a.md")
    assert (found.text, found.metadata) == (text, {})


def test_a_page_in_a_namespace_is_linked_by_its_name(library: Library, notes: Path) -> None:
    write(
        notes,
        {"projects___garden.md": "- Beds\n", "b%2Fc.md": "- C\n", "a.md": "- [[projects/garden]] [[b/c]]\n"},
    )
    index(library, "notes", notes)
    view = library.documents.get(OWNER, "notes", "a.md")
    assert {link.path for link in view.links_out} == {"projects___garden.md", "b%2Fc.md"}


# --- what other apps add to Markdown ---------------------------------------------------

DIALECTS = {  # as written → as the app shows it
    "highlight of Logseq and Roam": ("the ^^harvest^^ moon", "the harvest moon"),
    "highlight of Bear": ("the ::harvest:: moon", "the harvest moon"),
    "insertion of Joplin": ("the ++harvest++ moon", "the harvest moon"),
    "block of quotation": ("- #+BEGIN_QUOTE\n  the harvest\n  moon\n  #+END_QUOTE", "the harvest moon"),
    "block of code": ("#+BEGIN_SRC python\nthe *harvest* moon\n#+END_SRC", "the *harvest* moon"),
    "after a block": ("the\n#+BEGIN_NOTE\nharvest\n#+end_note\nmoon", "the harvest moon"),
    "size of a picture": ("the ![](a.png){:height 200, :width 300} harvest", "the harvest"),
    "task of Roam": ("- {{[[TODO]]}} the harvest", "TODO the harvest"),
    "task of the old Roam": ("- {{DONE}} the harvest", "DONE the harvest"),
    "query": ("the {{query (todo now)}} harvest", "the harvest"),
    "query of Roam": ("the {{[[query]]: {and: [[a]] [[b]]}}} harvest moon", "harvest moon"),
    "renderer": ("the {{renderer :todomaster}} harvest", "the harvest"),
    "cloze": ("the {{cloze harvest}} moon", "the harvest moon"),
    "embedded page": ("the {{embed [[harvest]]}} moon", "the harvest moon"),
    "block id below a table": ("the harvest\n\n^abc-1\n\nmoon", "the harvest moon"),
    "text with attributes": ("the [harvest]{.smallcaps} `moon`{.python}", "the harvest moon"),
    "attributes of kramdown": ("the harvest\n{: .lead #a}\n\nmoon", "the harvest moon"),
    "fenced division": ("::: {.note #a}\nthe harvest\n:::\nmoon", "the harvest moon"),
    "name of an admonition": ("the\n:::warning\nharvest\n:::", "the warning harvest"),
    "insertion of a sentence": ("the ++harvest is *in*++ moon", "the harvest is in moon"),
    "sizes": ('the ![](a.png){width=50% height="2 cm"} harvest', "the harvest"),
    "title of an admonition": (":::tip The harvest\nmoon\n:::", "the harvest moon"),
    "subscript": ("the H~2~O and CO~2~", "the H2O and CO2"),
    "superscript": ("the 4^th^ harvest of x^2^", "the 4th harvest of x2"),
}
KEPT = (
    "`^^a^^` and i++ and ++j and std::cout::x",
    "~~~\n^^a^^ {{query b}}\n~~~",
    "2^3^4 and ~5 to ~6 and ^^ a ^^",
    "a {{ page.title }} and {{< figure >}} and {a}",
    "a [b]: c and [x](y) {z}",
    "use f(x){return 1} and f(){x=1; return y} and if (a){b=2} and g(){:x}",
    "++i rather than C++, and ++i < n; j++",
    "::1 and fe80:: and <A as B>::c::<T>::new() and ::/0 to a::",
    "(^^) hello (^^)",
    "a prompt with {{query}} in {{namespace}}, {{pdf}} and {{function}}",
    "# Sets {.1, .2}",
    "a^1^b",
)


@pytest.mark.parametrize(("written", "seen"), DIALECTS.values(), ids=DIALECTS)
def test_marks_of_apps_are_not_in_the_way_of_a_phrase(written: str, seen: str) -> None:
    note = read(f"Here.\n\n{written}\n", "a.md")
    assert shows_phrase(note.text, "markdown", seen)
    assert note.text.count("\n") == written.count("\n") + 3, "lines stay where they are"


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_like_marks_of_apps_stays(text: str) -> None:
    assert read(f"Here.\n\n{text}\n", "a.md").text == f"Here.\n\n{text}\n"


def test_attributes_of_a_heading_are_not_in_the_title() -> None:
    assert read("# The harvest {#moon .unnumbered}\n\nText.\n", "a.md").title == "The harvest"


# --- Notion and Denote ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "date"),
    list(
        product(
            (f"Bread {NOTION}.md", "Bread.md"),
            ("November 8, 2025 10:15 AM", "2025/11/08", "8. November 2025"),
        )
    ),
)
def test_the_header_of_a_page_of_notion_is_read(name: str, date: str) -> None:
    text = f"# Bread\n\nCreated: {date}\nTags: baking, two words\nStatus: In progress\n\nFlour and water.\n"
    found = read(text, name)
    assert (found.title, found.date) == ("Bread", "2025-11-08")
    assert found.tags == ("baking", "two words")
    assert found.metadata["status"] == "In progress"
    assert "Status: In progress" in found.text[found.segments[0].start : found.segments[0].end]


@pytest.mark.parametrize(
    "header", ["Note: one line only", "One: a\nand then a sentence", "Web: //x\nTags: y"]
)
def test_a_paragraph_that_is_no_header_is_none(header: str) -> None:
    assert read(f"# Bread\n\n{header}\n\nText.\n", "Bread.md").metadata == {}


@pytest.mark.parametrize("suffix", ["md", "org"])
def test_a_name_of_denote_gives_tags(suffix: str) -> None:
    found = read("Some words.\n", f"20251108T101500--walk-in-the-woods__nature_dog.{suffix}")
    assert (found.title, found.tags) == ("Walk in the woods", ("nature", "dog"))
