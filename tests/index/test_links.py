"""What a document says about itself and others: links, tags, dates, what is private."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER, Filters
from tests.conftest import index
from tests.support.consistency import check_library
from tests.support.stored import links
from tests.support.trees import write

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


LEADS: dict[str, tuple[dict[str, str], dict[tuple[str, str], str | None]]] = {
    "to its own folder, then by the shortest path": (
        {
            "long/way/down/x.md": "One.\n",
            "mid/x.md": "Two.\n",
            "long/way/down/here.md": "[[x]]\n",
            "elsewhere/here.md": "[[x]]\n",
        },
        {("long/way/down/here.md", "x"): "long/way/down/x.md", ("elsewhere/here.md", "x"): "mid/x.md"},
    ),
    "to a file name rather than an alias": (
        {
            "a.md": "---\naliases: [much-longer-name]\n---\nOne.\n",
            "z/much-longer-name.md": "Two.\n",
            "here.md": "[[much-longer-name]]\n",
        },
        {("here.md", "much-longer-name"): "z/much-longer-name.md"},
    ),
    "where a relative one points": (
        {"a/x.md": "One.\n", "b/here.md": "[text](./x.md) [other](../a/x.md)\n"},
        {("b/here.md", "./x.md"): None, ("b/here.md", "../a/x.md"): "a/x.md"},
    ),
    "to no document from inside the note": ({"a.md": "# Part\n\n[[#Part]]\n"}, {("a.md", ""): None}),
}


@pytest.mark.parametrize(("files", "expected"), LEADS.values(), ids=LEADS)
def test_a_link_leads(
    library: Library, notes: Path, files: dict[str, str], expected: dict[tuple[str, str], str | None]
) -> None:
    write(notes, files)
    index(library, "s", notes)
    assert links(library, "s") == expected


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


CHANGES: dict[str, tuple[dict[str, str], Callable[[Path], object], str, dict[str, str | None]]] = {
    "its best target goes": (
        {"x.md": "One.\n", "deep/x.md": "Two.\n"},
        lambda notes: (notes / "x.md").unlink(),
        "[[x]]\n",
        {"x": "deep/x.md"},
    ),
    "its target is renamed": (
        {"old.md": "It is here.\n"},
        lambda notes: (notes / "old.md").rename(notes / "new.md"),
        "[[old]] [[new]]\n",
        {"old": None, "new": "new.md"},
    ),
    "an alias is removed": (
        {"a.md": "---\naliases: [Nick]\n---\nOne.\n"},
        lambda notes: (notes / "a.md").write_text("One.\n", "utf-8"),
        "[[Nick]]\n",
        {"Nick": None},
    ),
    "its target becomes binary": (
        {"a.md": "One.\n"},
        lambda notes: (notes / "a.md").write_bytes(b"\x00\x01\x02\x03" * 100),
        "[[a]]\n",
        {"a": "a.md"},  # whose page says why it is not read
    ),
}


@pytest.mark.parametrize(("files", "change", "note", "expected"), CHANGES.values(), ids=CHANGES)
def test_a_link_follows_when(
    library: Library,
    notes: Path,
    files: dict[str, str],
    change: Callable[[Path], object],
    note: str,
    expected: dict[str, str | None],
) -> None:
    write(notes, {**files, "here.md": note})
    index(library, "s", notes)
    assert {*links(library, "s").values()} & {*files}
    change(notes)

    index(library, "s")

    assert links(library, "s") == {("here.md", target): path for target, path in expected.items()}
    check_library(library, "s")


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
    assert library.documents.facets(OWNER)["tag"] == {
        "Work": 1,
        "Work/Client": 1,
        "Work/Client/Acme": 1,
        "workshop": 1,
    }
    assert {d.path: d.tags for d in library.documents.all(OWNER, "s")} == {
        "a.md": ("Work/Client/Acme",),
        "b.md": ("workshop",),
    }


def test_a_note_is_private_as_soon_and_as_long_as_it_says_so(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "---\nprivate: true\n---\nA note.\n", "b.md": "A note.\n"})
    index(library, "s", notes)
    assert {d.path: d.private for d in library.documents.all(OWNER, "s")} == {"a.md": True, "b.md": False}

    write(notes, {"a.md": "A note.\n", "b.md": "---\nprivate: true\n---\nA note.\n"})
    index(library, "s")
    assert {d.path: d.private for d in library.documents.all(OWNER, "s")} == {"a.md": False, "b.md": True}


@pytest.mark.posix
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
