"""What a document says about itself and others: links, tags, dates, what is private."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Filters
from tests.conftest import index
from tests.consistency import check_library
from tests.stored import links, store_of
from tests.trees import write

# --- links ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "target",
    ["target", "Target", "target.md", "deep/target", "deep/target.md", "a/deep/target", "Other Name"],
    ids=["name", "case", "file name", "path tail", "tail with suffix", "path", "alias"],
)
def test_a_wikilink_may_name_its_target_in_every_way(library: Library, notes: Path, target: str) -> None:
    write(
        notes,
        {
            "a/deep/target.md": "---\naliases: [Other Name]\n---\nIt is here.\n",
            "b/here.md": f"See [[{target}#Part|the other]].\n",
        },
    )
    index(library, "s", notes)

    assert links(library, "s") == {("b/here.md", target): "a/deep/target.md"}
    check_library(library, "s")


def test_a_link_prefers_its_own_folder_then_the_shortest_path(library: Library, notes: Path) -> None:
    write(
        notes,
        {
            "long/way/down/x.md": "One.\n",
            "mid/x.md": "Two.\n",
            "long/way/down/here.md": "[[x]]\n",
            "elsewhere/here.md": "[[x]]\n",
        },
    )
    index(library, "s", notes)

    assert links(library, "s") == {
        ("long/way/down/here.md", "x"): "long/way/down/x.md",
        ("elsewhere/here.md", "x"): "mid/x.md",
    }


def test_a_file_name_outranks_an_alias(library: Library, notes: Path) -> None:
    write(
        notes,
        {
            "a.md": "---\naliases: [much-longer-name]\n---\nOne.\n",
            "z/much-longer-name.md": "Two.\n",
            "here.md": "[[much-longer-name]]\n",
        },
    )
    index(library, "s", notes)

    assert links(library, "s") == {("here.md", "much-longer-name"): "z/much-longer-name.md"}


def test_a_link_resolves_when_its_target_appears_and_not_after_it_is_gone(
    library: Library, notes: Path
) -> None:
    write(notes, {"here.md": "[[later]] and ![[picture-notes]]\n"})
    index(library, "s", notes)
    assert set(links(library, "s").values()) == {None}

    write(notes, {"later.md": "It came.\n", "sub/picture-notes.md": "It too.\n"})
    index(library, "s")
    assert links(library, "s") == {
        ("here.md", "later"): "later.md",
        ("here.md", "picture-notes"): "sub/picture-notes.md",
    }

    (notes / "later.md").unlink()
    index(library, "s")
    assert links(library, "s")["here.md", "later"] is None
    check_library(library, "s")


def test_a_link_falls_back_to_the_next_best_when_its_target_goes(library: Library, notes: Path) -> None:
    write(notes, {"x.md": "One.\n", "deep/x.md": "Two.\n", "here.md": "[[x]]\n"})
    index(library, "s", notes)
    assert links(library, "s") == {("here.md", "x"): "x.md"}
    (notes / "x.md").unlink()

    index(library, "s")

    assert links(library, "s") == {("here.md", "x"): "deep/x.md"}


def test_renaming_the_target_breaks_the_link_until_the_note_follows(library: Library, notes: Path) -> None:
    write(notes, {"old.md": "It is here.\n", "here.md": "[[old]] [[new]]\n"})
    index(library, "s", notes)
    (notes / "old.md").rename(notes / "new.md")

    index(library, "s")

    assert links(library, "s") == {("here.md", "old"): None, ("here.md", "new"): "new.md"}


def test_an_alias_that_is_taken_out_no_longer_leads_anywhere(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\naliases: [Nick]\n---\nOne.\n", "here.md": "[[Nick]]\n"})
    index(library, "s", notes)
    write(notes, {"a.md": "One.\n"})

    index(library, "s")

    assert links(library, "s") == {("here.md", "Nick"): None}


def test_a_target_that_becomes_binary_is_no_target(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "One.\n", "here.md": "[[a]]\n"})
    index(library, "s", notes)
    (notes / "a.md").write_bytes(b"\x00\x01\x02\x03" * 100)

    index(library, "s")

    assert links(library, "s") == {("here.md", "a"): None}
    check_library(library, "s")


def test_embeds_and_markdown_links_are_kept_with_their_kind(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "One.\n", "sub/here.md": "![[a]]\n\n[[a]]\n\n[text](../a.md)\n"})
    index(library, "s", notes)
    store = store_of(library, "s")
    with store.read() as db:
        rows = [tuple(row) for row in db.execute("SELECT type, target_id IS NULL FROM links ORDER BY start")]
    store.close()

    assert rows == [("embed", 0), ("wikilink", 0), ("markdown", 0)]


def test_a_relative_link_leads_only_where_it_points(library: Library, notes: Path) -> None:
    write(notes, {"a/x.md": "One.\n", "b/here.md": "[text](./x.md) [other](../a/x.md)\n"})
    index(library, "s", notes)

    assert links(library, "s") == {("b/here.md", "./x.md"): None, ("b/here.md", "../a/x.md"): "a/x.md"}


def test_a_link_inside_a_note_has_no_target_document(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "# Part\n\n[[#Part]]\n"})
    index(library, "s", notes)

    assert links(library, "s") == {("a.md", ""): None}


# --- tags, privacy, dates -------------------------------------------------------------


def matching(library: Library, filters: Filters) -> list[str]:
    answer = library.search(OWNER, "note", ["s"], filters=filters, mode="lexical", top_k=50)
    return sorted({hit.document.path for hit in answer.hits})


def test_a_nested_tag_belongs_to_its_parents_too(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "A note. #Work/Client/Acme\n", "b.md": "A note. #workshop\n"})
    index(library, "s", notes)

    for tag in ("work", "work/client", "work/client/acme", "WORK"):
        assert matching(library, Filters(tags=(tag,))) == ["a.md"]
    assert matching(library, Filters(tags=("client",))) == []
    assert library.documents.facets(OWNER)["tags"] == {
        "Work": 1, "Work/Client": 1, "Work/Client/Acme": 1, "workshop": 1,
    }  # fmt: skip
    assert {d.path: d.tags for d in library.documents.all(OWNER, "s")} == {
        "a.md": ("Work/Client/Acme",),
        "b.md": ("workshop",),
    }


def test_a_tag_that_is_taken_out_is_gone(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "A note. #old\n"})
    index(library, "s", notes)
    write(notes, {"a.md": "A note. #new\n"})
    index(library, "s")

    assert library.documents.facets(OWNER)["tags"] == {"new": 1}


def test_a_note_is_private_as_soon_and_as_long_as_it_says_so(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\nprivate: true\n---\nA note.\n", "b.md": "A note.\n"})
    index(library, "s", notes)
    assert {d.path: d.private for d in library.documents.all(OWNER, "s")} == {"a.md": True, "b.md": False}

    write(notes, {"a.md": "A note.\n", "b.md": "---\nprivate: true\n---\nA note.\n"})
    index(library, "s")
    assert {d.path: d.private for d in library.documents.all(OWNER, "s")} == {"a.md": False, "b.md": True}


def test_a_private_note_stays_private_while_it_cannot_be_read(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\nprivate: true\n---\nA note.\n"})
    index(library, "s", notes)
    (notes / "a.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)  # marked as UTF-8, and is not
    index(library, "s")

    [document] = library.documents.all(OWNER, "s")
    assert (document.state, document.private) == ("failed", True)


def test_the_date_is_the_note_s_own_then_its_name_s_then_the_file_s(library: Library, notes: Path) -> None:
    write(
        notes,
        {
            "2026-03-15 a.md": "---\ndate: 2020-01-02\n---\nA note of one.\n",
            "2026-03-15 b.md": "A note of two.\n",
            "c.md": "A note of three.\n",
        },
    )
    for name in ("2026-03-15 a.md", "2026-03-15 b.md", "c.md"):
        os.utime(notes / name, (1_000_000_000, 1_000_000_000))
    index(library, "s", notes)

    dates = {document.path: document.date for document in library.documents.all(OWNER, "s")}
    assert dates == {"2026-03-15 a.md": "2020-01-02", "2026-03-15 b.md": "2026-03-15", "c.md": "2001-09-09"}
    assert matching(library, Filters(after="2001-09-09", before="2026-03-15")) == ["2026-03-15 a.md", "c.md"]
