"""Places in documents as small pictures: for those who may see them, and small whatever the file is."""

from __future__ import annotations

import io
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from rag_core.config import Settings
from rag_core.errors import InvalidInput, NotFound
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.extract.test_ocr import packed, picture, slides
from tests.support.documents_made import pdf
from tests.support.rest import Rest, serving_rest

pytestmark = pytest.mark.usefixtures("time_to_draw")

GUEST = Viewer("ann", stores=frozenset({"s"}))
STRANGER = Viewer("eve")
NOISE = Image.frombytes("RGB", (1500, 1200), random.Random(1).randbytes(1500 * 1200 * 3))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    folder = tmp_path_factory.mktemp("pictures")
    notes = folder / "notes"
    notes.mkdir()
    (notes / "tea.pdf").write_bytes(pdf("Green tea", "Mint tea"))
    (notes / "diary.pdf").write_bytes(pdf("My diary"))
    (notes / "talk.pptx").write_bytes(slides(packed(picture(), "PNG")))
    (notes / "noise.png").write_bytes(packed(NOISE, "PNG"))
    (notes / "note.md").write_text("# A note\n\nWith words.\n", "utf-8")
    opened = Library.open(Settings(folder / "data", folder / "models", (), ocr="tesseract"))
    index(opened, "s", notes)
    opened.privacy.set(OWNER, "s", ["diary.pdf"])
    yield opened
    opened.close()


def seen(
    library: Library, path: str, place: str = "", side: int = 400, viewer: Viewer = OWNER
) -> Image.Image:
    return Image.open(io.BytesIO(library.pictures.get(viewer, "s", path, place, side)), formats=["WEBP"])


def test_a_page_of_a_pdf_is_shown(library: Library) -> None:
    first, second = seen(library, "tea.pdf"), seen(library, "tea.pdf", "page 2")
    assert max(first.size) == 400
    assert first.size == second.size
    assert first.tobytes() != second.tobytes()
    assert max(seen(library, "tea.pdf", "page 2", 1200).size) == 1200


def test_the_picture_on_a_slide_is_shown(library: Library) -> None:
    shown = seen(library, "talk.pptx", "slide 1")
    assert shown.size == (400, 89)
    assert min(shown.convert("L").tobytes()) < 60, "its words are there"


def test_whatever_a_picture_holds_it_stays_small(library: Library) -> None:
    assert len(library.pictures.get(OWNER, "s", "noise.png")) <= 40_000


@pytest.mark.parametrize("place", ["page 3", "page 0", "page -1", "page x", "slide 1", "x", "page 2 3", "\0"])
def test_a_place_that_is_none_has_no_picture(library: Library, place: str) -> None:
    with pytest.raises(NotFound):
        library.pictures.get(OWNER, "s", "tea.pdf", place)


@pytest.mark.parametrize("path", ["note.md", "gone.pdf", "../notes/tea.pdf", "/etc/hostname"])
def test_what_is_no_picture_has_none(library: Library, path: str) -> None:
    with pytest.raises(NotFound):
        library.pictures.get(OWNER, "s", path)


@pytest.mark.parametrize("side", [0, 15, 2001, -1])
def test_a_side_is_bounded(library: Library, side: int) -> None:
    with pytest.raises(InvalidInput):
        library.pictures.get(OWNER, "s", "tea.pdf", "page 1", side)


def test_a_guest_sees_what_he_may_find(library: Library) -> None:
    assert max(seen(library, "tea.pdf", "page 2", viewer=GUEST).size) == 400
    seen(library, "diary.pdf")  # the owner does, and it is kept now
    for viewer, path in ((GUEST, "diary.pdf"), (STRANGER, "tea.pdf")):
        with pytest.raises(NotFound):
            library.pictures.get(viewer, "s", path)


def test_a_page_whose_passages_were_taken_out_is_the_owners_alone(tmp_path: Path, notes: Path) -> None:
    (notes / "two.pdf").write_bytes(pdf("Green tea", "Mint tea"))
    library = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    index(library, "s", notes)
    [hit] = library.search(OWNER, "mint", mode="lexical").hits
    library.documents.remove_passages(OWNER, "s", [hit.key])
    library.pictures.get(OWNER, "s", "two.pdf", "page 2")
    library.pictures.get(GUEST, "s", "two.pdf", "page 1")
    with pytest.raises(NotFound):
        library.pictures.get(GUEST, "s", "two.pdf", "page 2")
    library.close()


def test_a_file_that_changed_since_is_not_shown(tmp_path: Path, notes: Path) -> None:
    (notes / "a.pdf").write_bytes(pdf("Green tea"))
    library = Library.open(Settings(tmp_path / "data", tmp_path / "models", ()))
    index(library, "s", notes)
    (notes / "a.pdf").write_bytes(pdf("My diary"))
    with pytest.raises(NotFound, match="changed"):
        library.pictures.get(GUEST, "s", "a.pdf")
    library.close()


@pytest.fixture(scope="module")
def api(library: Library) -> Iterator[Rest]:
    with serving_rest(library, {"owner": OWNER, "guest": GUEST, "stranger": STRANGER}) as served:
        yield served


def test_the_picture_is_served_as_one_and_kept_by_no_cache(api: Rest) -> None:
    answer = api.get("/pictures/s/tea.pdf?place=page%202&side=100", who="guest")
    assert answer.status == 200
    assert answer.headers["content-type"] == "image/webp"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        ("guest", "s/diary.pdf", 404),
        ("stranger", "s/tea.pdf", 404),
        ("nobody", "s/tea.pdf", 403),
        ("owner", "s/tea.pdf?side=9", 400),
        ("owner", "s/tea.pdf?side=2e2", 400),
        ("owner", "s/tea.pdf?place=page%209", 404),
        ("owner", "other/tea.pdf", 404),
    ],
)
def test_what_is_not_to_be_seen_is_refused(api: Rest, who: str, path: str, status: int) -> None:
    assert api.get(f"/pictures/{path}", who=who).status == status
