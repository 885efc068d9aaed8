"""The text in pictures that a note embeds is found in the note, and follows the picture."""

from __future__ import annotations

import io
import os
import time
from pathlib import Path

import pytest
from PIL import Image

from rag_core.errors import NotFound
from rag_core.extract import ocr
from rag_core.library import Library
from rag_core.types import OWNER, Hit, Viewer
from tests.conftest import index
from tests.extract.test_ocr import packed, picture

GUEST = Viewer("ann", stores=frozenset({"s"}))

pytestmark = [
    pytest.mark.skipif(ocr.find_engine("auto") is None, reason="no OCR is installed"),
    pytest.mark.usefixtures("time_to_draw"),
]


def draw(path: Path, words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(packed(picture(words), "PNG"))


def hits(library: Library, text: str, viewer: Viewer = OWNER) -> list[Hit]:
    return [hit for hit in library.search(viewer, text, mode="lexical").hits if hit.relevant]


def places(library: Library, text: str, viewer: Viewer = OWNER) -> dict[str, str | None]:
    return {hit.document.path: hit.anchor for hit in hits(library, text, viewer)}


@pytest.mark.parametrize(
    ("where", "written"),
    [
        ("trips/gate.png", "![the gate](gate.png)"),
        ("trips/img/gate.png", "![](img/gate.png)"),
        ("img/gate.png", "![](../img/gate.png)"),
        ("attachments/gate.png", "![[gate.png]]"),
        ("attachments/gate.png", "![[gate.png|300]]"),
        ("trips/My gate.PNG", "![](My%20gate.PNG)"),
    ],
)
def test_its_text_is_found_in_the_note(library: Library, notes: Path, where: str, written: str) -> None:
    draw(notes / where, "BOARDING GATE SEVEN")
    (notes / "trips").mkdir(exist_ok=True)
    (notes / "trips" / "oslo.md").write_text(f"# Oslo\n\n## On the way\n\nWe fly.\n\n{written}\n", "utf-8")
    index(library, "s", notes, "**/*.md")
    [hit] = hits(library, "boarding gate")
    assert (hit.document.path, hit.anchor) == ("trips/oslo.md", f"picture {where}")
    assert hit.heading_path[-1] == "On the way"
    assert hits(library, "oslo boarding"), "the words of the note help to find it"
    shown = library.pictures.get(OWNER, "s", hit.document.path, hit.anchor or "")
    assert Image.open(io.BytesIO(shown)).size == (400, 89)


@pytest.mark.parametrize(
    "written",
    [
        "![](https://example.org/gate.png)", "![](../../outside/gate.png)", "![](/etc/gate.png)",
        "[a link](gate.png)", "`![](gate.png)`", "![[other.png]]", "![](.hidden/gate.png)",
    ],
)  # fmt: skip
def test_nothing_else_is_read(library: Library, notes: Path, written: str) -> None:
    for place in ("gate.png", ".hidden/gate.png", "../outside/gate.png"):
        draw(notes / place, "BOARDING GATE SEVEN")
    (notes / "oslo.md").write_text(f"# Oslo\n\n{written}\n", "utf-8")
    index(library, "s", notes, "**/*.md")
    assert hits(library, "boarding") == []


@pytest.mark.posix
def test_a_link_out_of_the_folder_is_not_followed(library: Library, notes: Path, tmp_path: Path) -> None:
    draw(tmp_path / "outside" / "gate.png", "BOARDING GATE SEVEN")
    (notes / "gate.png").symlink_to(tmp_path / "outside" / "gate.png")
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")
    index(library, "s", notes, "**/*.md")
    assert hits(library, "boarding") == []


def test_a_picture_that_is_indexed_itself_is_one_hit(library: Library, notes: Path) -> None:
    draw(notes / "gate.png", "BOARDING GATE SEVEN")
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")
    index(library, "s", notes)
    [hit] = hits(library, "boarding gate seven")
    assert {hit.document.path, *hit.copies} == {"oslo.md", "gate.png"}


def test_the_passage_follows_the_picture(library: Library, notes: Path) -> None:
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")
    index(library, "s", notes, "**/*.md")
    assert hits(library, "boarding") == []
    draw(notes / "gate.png", "BOARDING GATE SEVEN")
    index(library, "s")
    assert places(library, "boarding") == {"oslo.md": "picture gate.png"}
    draw(notes / "gate.png", "ARRIVAL HALL")
    index(library, "s")
    assert (places(library, "boarding"), places(library, "arrival")) == ({}, {"oslo.md": "picture gate.png"})
    (notes / "gate.png").unlink()
    index(library, "s")
    assert hits(library, "arrival") == []
    job = library.index(OWNER, "s")
    assert job
    assert job.counts["unchanged"] == 1


def test_a_picture_from_the_future_is_read_once(library: Library, notes: Path) -> None:
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")
    draw(notes / "gate.png", "BOARDING GATE SEVEN")
    later = time.time() + 1e6
    os.utime(notes / "gate.png", (later, later))
    index(library, "s", notes, "**/*.md")
    assert "reread" not in index(library, "s").counts
    assert places(library, "boarding") == {"oslo.md": "picture gate.png"}


def test_a_hidden_picture_is_not_in_a_note_that_guests_see(library: Library, notes: Path) -> None:
    draw(notes / "img" / "gate.png", "BOARDING GATE SEVEN")
    (notes / "oslo.md").write_text("# Oslo\n\n![](img/gate.png)\n", "utf-8")
    index(library, "s", notes)
    assert places(library, "boarding", GUEST)
    library.pictures.get(GUEST, "s", "oslo.md", "picture img/gate.png")
    library.privacy.set(OWNER, "s", ["img"])
    assert hits(library, "boarding", GUEST) == [], "at once"
    index(library, "s")
    assert hits(library, "boarding", GUEST) == [], "and after the next run"
    assert places(library, "oslo", GUEST)
    for place in ("picture img/gate.png", "picture ../gate.png", "page 1", ""):
        with pytest.raises(NotFound):
            library.pictures.get(GUEST, "s", "oslo.md", place)
    library.privacy.set(OWNER, "s", [])
    index(library, "s")
    assert "oslo.md" in str(hits(library, "boarding", GUEST)), "a rule that went lets it be seen"


def test_no_place_leads_to_another_file(library: Library, notes: Path) -> None:
    draw(notes / "gate.png", "BOARDING GATE SEVEN")
    draw(notes / "other.png", "ARRIVAL HALL")
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")
    index(library, "s", notes, "**/*.md")
    for viewer in (OWNER, GUEST):
        library.pictures.get(viewer, "s", "oslo.md", "picture gate.png")
        with pytest.raises(NotFound):
            library.pictures.get(viewer, "s", "oslo.md", "picture other.png")


def kept(library: Library) -> str:
    """All that is kept of pictures."""
    files = (library.settings.data_dir / "ocr").glob("??/*")
    return " ".join(file.read_text("utf-8").upper() for file in files)


def test_nothing_is_kept_of_a_picture_that_no_store_holds(library: Library, notes: Path) -> None:
    draw(notes / "gate.png", "BOARDING GATE SEVEN")
    draw(notes / "hall.png", "ARRIVAL HALL")
    index(library, "s", notes)
    assert "BOARDING" in kept(library)
    library.files.exclude(OWNER, "s", "gate.png")
    index(library, "s")
    assert ("BOARDING" in kept(library), "ARRIVAL" in kept(library)) == (False, True)
    index(library, "t", notes)
    library.stores.delete(OWNER, "s")
    assert "ARRIVAL" in kept(library), "the other store has it"
    library.stores.delete(OWNER, "t")
    assert kept(library) == ""


def test_what_was_read_in_a_picture_is_kept_as_long_as_a_note_shows_it(library: Library, notes: Path) -> None:
    draw(notes / "gate.png", "BOARDING GATE SEVEN")
    (notes / "oslo.md").write_text("# Oslo\n\n![[gate.png]]\n", "utf-8")
    (notes / "tea.md").write_text("# Tea\n", "utf-8")
    index(library, "s", notes, "**/*.md")
    (notes / "tea.md").unlink()
    index(library, "s")
    assert "BOARDING" in kept(library)
    (notes / "gate.png").unlink()
    index(library, "s")
    assert kept(library) == ""
