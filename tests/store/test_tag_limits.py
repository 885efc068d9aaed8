"""Tags without end: what a store takes of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.stored import file_of, store_of

ENDLESS = "/".join("a" * 8_000)


@pytest.mark.parametrize("note", [f"# A\n\n#{ENDLESS}\n", f"---\ntags: [{ENDLESS}]\n---\n# A\n"])
def test_a_tag_of_eight_thousand_levels_takes_no_room(library: Library, notes: Path, note: str) -> None:
    (notes / "a.md").write_text(note, "utf-8")
    index(library, "s", notes)
    with store_of(library, "s").read() as db:
        assert db.execute("SELECT count(*) FROM tags").fetchone()[0] == 0
    assert library.documents.facets(OWNER)["tag"] == {}
    library.close()
    assert file_of(library).stat().st_size < 1_000_000


def test_a_note_of_nothing_but_nested_tags_has_few_rows(library: Library, notes: Path) -> None:
    tags = ["/".join(f"{letter}{number}" for letter in "abcdefghij") for number in range(5_000)]
    (notes / "a.md").write_text(" ".join(f"#{tag}" for tag in tags), "utf-8")
    index(library, "s", notes)
    with store_of(library, "s").read() as db:
        assert db.execute("SELECT count(*) FROM tags").fetchone()[0] <= 2_500
    [document] = library.documents.all(OWNER, "s")
    assert document.tags[0] == tags[0]
    [warning] = library.documents.get(OWNER, "s", "a.md").warnings
    assert "of its 5,000 tags are left out" in warning
