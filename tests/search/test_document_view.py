"""A document as it was indexed: its text in reading order, its links, and what a guest is shown of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, DocumentView, Viewer
from tests.conftest import index
from tests.support.stored import long_note
from tests.support.trees import write

GUEST = Viewer("ann@example.org", stores=frozenset({"s"}))
PRIVATE = "---\nprivate: true\n---\n"


def view(library: Library, path: str, viewer: Viewer = OWNER) -> DocumentView:
    return library.documents.get(viewer, "s", path)


# --- the text -------------------------------------------------------------------------


def without_space(text: str) -> str:
    return "".join(text.split())


def reads(found: DocumentView) -> str:
    """What somebody reads who reads one chunk after another."""
    return "".join(chunk.content[chunk.repeats :] for chunk in found.chunks)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, Path]]:
    """A store over a folder that is written to again and again."""
    home = tmp_path_factory.mktemp("shelf")
    (home / "notes").mkdir()
    library = Library.open(Settings(home / "data", home / "models", ()))
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", home / "notes", ("**/*",))
    yield library, home / "notes"
    library.close()


# Every {} becomes another number, so that no passage stands twice: that is stored once.
PARTS = (
    "# Part {}\n\n",
    "word{} " * 40,
    "Sentence {}. " * 9,
    "{}中文，" * 20,
    "\n\n",
    "def f{}():\n    pass\n",
)


@given(st.lists(st.sampled_from(PARTS), max_size=25), st.sampled_from(["a.md", "a.py", "a.txt", "a.json"]))
@settings(deadline=None, max_examples=40)
def test_the_chunks_one_after_another_are_the_text(
    shelf: tuple[Library, Path], parts: list[str], name: str
) -> None:
    library, notes = shelf
    numbers = map(str, count())
    text = re.sub("{}", lambda _: next(numbers), "".join(parts))
    (notes / name).write_text(text, "utf-8")
    index(library, "s", force=True)
    assert without_space(reads(view(library, name))) == without_space(text)


def test_whichever_chunk_is_asked_for_the_text_is_shown_once_and_that_one_whole(
    library: Library, notes: Path
) -> None:
    write(notes, {"long.md": long_note(60)})
    index(library, "s", notes)
    for key in ("", *(chunk.key for chunk in view(library, "long.md").chunks)):
        chunks = library.documents.get(OWNER, "s", "long.md", key).chunks
        shown = [chunk.content[slice(*chunk.shown)] for chunk in chunks]
        assert without_space("".join(shown)) == without_space(long_note(60))
        assert [text for text, chunk in zip(shown, chunks, strict=True) if chunk.is_hit] == [
            chunk.content for chunk in chunks if chunk.is_hit
        ]


def test_a_file_that_was_never_read_has_a_view_without_text(library: Library, notes: Path) -> None:
    (notes / "photo.md").write_bytes(bytes(range(256)) * 8)
    index(library, "s", notes)
    found = view(library, "photo.md")
    assert (found.chunks, found.links_out, found.links_in, found.aliases) == ((), (), (), ())
    assert (found.document.state, found.document.reason) == (
        "skipped",
        "'photo.md' is binary data, not text.",
    )


# --- links and names ------------------------------------------------------------------

LINKED = {
    "tea.md": "---\naliases: [Camellia, Green Tea]\n---\n# Tea\n\n[[pot#Spout|the pot]] [[nowhere]]\n",
    "pot.md": "# Pot\n\nFor [[Camellia]], again [[tea]], and [[pot]] itself.\n",
    "sub/cup.md": "# Cup\n\n![[tea]]\n",
}


def test_links_lead_both_ways_by_path_and_title(library: Library, notes: Path) -> None:
    write(notes, LINKED)
    index(library, "s", notes)
    found = view(library, "tea.md")
    out = [(x.type, x.target, x.heading, x.label, x.path, x.title) for x in found.links_out]
    assert out == [
        ("wikilink", "pot", "Spout", "the pot", "pot.md", "Pot"),
        ("wikilink", "nowhere", "", "", None, None),
    ]
    assert [(link.path, link.title) for link in found.links_in] == [("pot.md", "Pot"), ("sub/cup.md", "Cup")]


def test_what_else_front_matter_says_is_shown_as_far_as_it_is_short(library: Library, notes: Path) -> None:
    front = "tags: [tax]\ndate: 2026-01-02\nstatus: open\nfamily: {wife: Grete, sons: [Ole, Per]}\nempty:\n"
    write(
        notes,
        {"bill.md": f"---\n{front}---\nText.\n", "long.md": f"---\na: b\nx: {'y' * 2000}\n---\nText.\n"},
    )
    index(library, "s", notes)
    assert view(library, "bill.md").properties == (
        ("status", "open"),
        ("family", "wife: Grete, sons: Ole, Per"),
    )
    assert view(library, "long.md").properties == (("a", "b"),)


def test_a_private_document_is_no_target_no_backlink_and_no_title_for_a_guest(
    library: Library, notes: Path
) -> None:
    write(
        notes,
        {
            "open.md": "# Open\n\nSee [[secret]].\n",
            "secret.md": f"{PRIVATE}# The hidden title\n\nBack to [[open]].\n",
        },
    )
    index(library, "s", notes)
    shown = view(library, "open.md", GUEST)
    assert [(link.target, link.path, link.title) for link in shown.links_out] == [("secret", None, None)]
    assert shown.links_in == ()
    assert view(library, "open.md").links_out[0].title == "The hidden title"


# --- guests ---------------------------------------------------------------------------


def test_a_guest_is_led_past_a_private_namesake(library: Library, notes: Path) -> None:
    """Else a link to nothing, beside a visible document of that name, tells of the private one."""
    write(
        notes,
        {
            "plan.md": f"{PRIVATE}# Mine\n\nOnly mine.\n",
            "deep/plan.md": "# Ours\n\nFor all.\n",
            "here.md": "# Here\n\nSee [[plan]].\n",
        },
    )
    index(library, "s", notes)
    assert [link.path for link in view(library, "here.md").links_out] == ["plan.md"]
    assert [link.path for link in view(library, "here.md", GUEST).links_out] == ["deep/plan.md"]
    assert [link.path for link in view(library, "deep/plan.md").links_in] == []
    assert [link.path for link in view(library, "deep/plan.md", GUEST).links_in] == ["here.md"]


@pytest.mark.posix
def test_a_guest_sees_neither_states_nor_places_on_disk(library: Library, notes: Path) -> None:
    write(notes, {"a.md": "# A\n\nWords.\n"})
    index(library, "s", notes)
    (notes / "a.md").write_bytes(b"\xef\xbb\xbf" + b"\xff" * 20)  # marked as UTF-8, and is not
    index(library, "s")
    assert view(library, "a.md").document.state == "failed"
    shown = view(library, "a.md", GUEST).document
    assert (shown.state, shown.reason, shown.root) == ("indexed", "", "")
    assert [(each.state, each.reason) for each in library.documents.all(GUEST, "s")] == [("indexed", "")]
