"""Reading a part of a document, around a passage, and in the one store that can be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, NotFound
from rag_core.library import Library
from rag_core.library.documents import EXCERPT_TOKENS
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.trees import write

GUEST = Viewer("friend@example.com", stores=frozenset({"s"}))
SECTION = "## Part {0}\n\n" + "The tide of part {0} comes in at six and goes out at noon. " * 8 + "\n\n"
LONG = "# Tides\n\n" + "".join(SECTION.format(number) for number in range(200))
NOTES = {
    "tides.md": LONG,
    "line.txt": "".join(f"Wave {number} follows the one before it. " for number in range(3000)),
    "moon.md": "# Moon\n\nThe [[tides]] follow the moon, and so does the [[diary]].\n",
    "diary.md": "---\nprivate: true\n---\n# Diary\n\nThe moon is full.\n",
}


@pytest.fixture
def sea(library: Library, notes: Path) -> Library:
    write(notes, NOTES)
    index(library, "s", notes)
    return library


@pytest.mark.parametrize("path", ["tides.md", "line.txt"])
def test_a_long_document_comes_in_parts_that_are_all_of_it(sea: Library, path: str) -> None:
    start, read, parts = "", [], 0
    while start is not None and parts < 100:
        part = sea.documents.excerpt(OWNER, "s", path, start=start)
        assert sum(len(each.content) for each in part.chunks) < 6 * EXCERPT_TOKENS
        read += [each.key for each in part.chunks]
        start, parts = part.next_key, parts + 1
    assert read == [each.key for each in sea.documents.get(OWNER, "s", path).chunks]
    assert parts > 1, "it did not fit at once"


def test_only_the_passages_of_the_lines_that_are_asked_for(sea: Library) -> None:
    whole = sea.documents.get(OWNER, "s", "tides.md").chunks
    some = sea.documents.excerpt(OWNER, "s", "tides.md", whole[3].start_line, whole[4].end_line)
    assert [each.key for each in some.chunks] == [each.key for each in whole[3:5]]
    assert some.next_key is None


def test_lines_that_cannot_be_are_refused(sea: Library) -> None:
    for lines in ((0, None), (5, 4), (-1, -1)):
        with pytest.raises(InvalidInput):
            sea.documents.excerpt(OWNER, "s", "moon.md", *lines)
    with pytest.raises(NotFound, match="no text from line 99") as error:
        sea.documents.excerpt(OWNER, "s", "moon.md", 99)
    assert "3" in error.value.suggestion


def test_around_a_passage_with_the_links_of_its_document(sea: Library) -> None:
    whole = sea.documents.get(OWNER, "s", "tides.md").chunks
    found = sea.documents.around(OWNER, "s", whole[5].key, 2)
    assert [each.key for each in found.chunks] == [each.key for each in whole[3:8]]
    assert found.document.path == "tides.md"
    assert [link.path for link in found.links_in] == ["moon.md"]
    assert [each.key for each in sea.documents.around(OWNER, "s", whole[5].key).chunks] == [whole[5].key]


def test_the_store_that_is_meant(library: Library, notes: Path) -> None:
    with pytest.raises(NotFound, match="no store yet"):
        library.stores.resolve(OWNER)
    index(library, "s", notes)
    assert library.stores.resolve(OWNER) == library.stores.resolve(OWNER, "s") == "s"
    index(library, "other", notes)
    with pytest.raises(InvalidInput) as several:
        library.stores.resolve(OWNER)
    assert "other, s" in several.value.suggestion
    assert library.stores.resolve(GUEST) == "s", "the only one that is granted"
    with pytest.raises(NotFound) as ungranted:
        library.stores.resolve(GUEST, "other")
    with pytest.raises(NotFound) as unknown:
        library.stores.resolve(GUEST, "mother")
    assert str(ungranted.value).replace("other", "…") == str(unknown.value).replace("mother", "…")


def test_lines_are_cut_out_of_their_passages(sea: Library) -> None:
    [whole] = sea.documents.get(OWNER, "s", "moon.md").chunks
    [part] = sea.documents.excerpt(OWNER, "s", "moon.md", 3, 3).chunks
    assert (part.start_line, part.end_line) == (3, 3)
    assert part.content.strip() == whole.content.splitlines()[-1]
    assert part.content[slice(*part.shown)] == part.content
    with pytest.raises(NotFound, match="no text in lines 2 to 2"):
        sea.documents.excerpt(OWNER, "s", "moon.md", 2, 2)
