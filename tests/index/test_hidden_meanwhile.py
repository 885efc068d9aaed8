"""Rules and exclusions that are set while a file is read: what is written afterwards obeys them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import get_args

import pytest

from rag_core.errors import NotFound
from rag_core.extensions import Extension
from rag_core.extract import Worker, ocr
from rag_core.library import Library
from rag_core.library.service import Shared
from rag_core.store import Store, privacy
from rag_core.types import OWNER, Extracted, Mode, Segment, Viewer
from tests.conftest import index
from tests.extract.test_ocr import packed, picture
from tests.support.documents_made import mail

pytestmark = pytest.mark.usefixtures("time_to_draw")

GUEST = Viewer("ann", stores=frozenset({"s"}))
WORDS = "BOARDING GATE SEVEN"
Act = Callable[[Library], object]


def index_while(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch, act: Act, *globs: str
) -> None:
    """Index ``notes`` as store *s*. What stands in for a process that reads finds the same words in each
    file; the owner acts while it reads the first one."""
    acts, lock = [act], threading.Lock()

    def read(
        _: Worker, __: Extension, ___: bytes, path: PurePosixPath, *____: ocr.RemoteReader | int | None
    ) -> Extracted:
        with lock:
            for each in acts[:1]:
                acts.clear()
                each(library)
        return Extracted(WORDS, "picture", "", path.name, "file name", (Segment(0, len(WORDS)),))

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "read", read)
        index(library, "s", None if "s" in library.stores.names(OWNER) else notes, *globs)
    assert not acts, "the owner acted"


def found(library: Library, viewer: Viewer, words: str = "boarding") -> list[str]:
    hits = library.search(viewer, words, ["s"], mode="lexical").hits
    return sorted(hit.document.path for hit in hits if hit.relevant)


def hide(*globs: str) -> Act:
    return lambda library: library.privacy.set(OWNER, "s", globs)


def leave_out(*globs: str) -> Act:
    def change(library: Library) -> None:
        [each] = library.sources.kept(OWNER, "s")
        library.sources.change(OWNER, "s", each.id, each.include, globs)

    return change


def exclude(path: str) -> Act:
    return lambda library: library.files.exclude(OWNER, "s", path)


@pytest.mark.parametrize(
    "act", [hide("img"), hide("**/*.png"), leave_out("img/*")], ids=["its folder", "its name", "left out"]
)
def test_a_picture_that_is_hidden_meanwhile_is_in_no_note(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch, act: Act
) -> None:
    (notes / "img").mkdir()
    (notes / "img" / "gate.png").write_bytes(packed(picture(), "PNG"))
    (notes / "oslo.md").write_text("# Oslo\n\nWe fly.\n\n![](img/gate.png)\n", "utf-8")
    index_while(library, notes, monkeypatch, act, "**/*.md")
    for _ in range(2):
        assert found(library, GUEST) + found(library, OWNER) == []
        assert found(library, GUEST, "oslo") == ["oslo.md"]
        for viewer in (GUEST, OWNER):
            with pytest.raises(NotFound):
                library.pictures.get(viewer, "s", "oslo.md", "picture img/gate.png")
        monkeypatch.setattr(Worker, "read", lambda *_: pytest.fail("it is read again"))
        library.index(OWNER, "s")


def test_the_route_of_pictures_asks_the_rules(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "gate.png").write_bytes(packed(picture(), "PNG"))
    (notes / "oslo.md").write_text("# Oslo\n\n![](gate.png)\n", "utf-8")
    index_while(library, notes, monkeypatch, lambda _: None, "**/*.md")
    library.pictures.get(GUEST, "s", "oslo.md", "picture gate.png")
    with Store(library.settings.store_dir / "s.db").write() as db:  # its text is still in the note
        privacy.put_rules(db, ["gate.png"])
    assert found(library, GUEST) == ["oslo.md"]
    with pytest.raises(NotFound):
        library.pictures.get(GUEST, "s", "oslo.md", "picture gate.png")


def test_a_picture_that_is_excluded_meanwhile_is_in_no_note(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "gate.png").write_bytes(packed(picture(), "PNG"))
    (notes / "oslo.md").write_text("# Oslo\n\nWe fly.\n\n![](gate.png)\n", "utf-8")
    index_while(library, notes, monkeypatch, lambda _: None)
    assert found(library, GUEST) == ["gate.png"]
    (notes / "oslo.md").write_text("# Oslo\n\nWe fly tomorrow.\n\n![](gate.png)\n", "utf-8")
    index_while(library, notes, monkeypatch, exclude("gate.png"))
    assert found(library, GUEST) + found(library, OWNER) == []
    assert found(library, GUEST, "tomorrow") == ["oslo.md"]


@pytest.mark.parametrize("name", ["gate.png", "talk.pptx", "letter.eml"])
@pytest.mark.parametrize(
    ("act", "remains"),
    [(hide, True), (exclude, False), (leave_out, False)],
    ids=["hidden", "excluded", "left out"],
)
def test_a_file_that_is_hidden_meanwhile_reaches_no_guest(
    library: Library,
    notes: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    act: Callable[[str], Act],
    remains: bool,
) -> None:
    (notes / "tea.md").write_text("# Tea\n", "utf-8")
    (notes / name).write_bytes(b"old")
    library.create_store(OWNER, "s", "hashing")
    library.add_source(OWNER, "s", notes, ["**/*"])
    index(library, "s")
    (notes / name).write_bytes(b"new")
    index_while(library, notes, monkeypatch, act(name))
    assert found(library, GUEST) == []
    assert found(library, OWNER) == [name] * remains


def remove_folder(library: Library) -> None:
    [each] = library.sources.kept(OWNER, "s")
    library.sources.remove(OWNER, "s", each.id)


@pytest.mark.parametrize(
    ("act", "remains"),
    [
        (exclude("plan.md"), ["tea.md"]),
        (leave_out("plan.*"), ["tea.md"]),
        (remove_folder, []),
    ],
    ids=["excluded", "left out", "folder removed"],
)
@pytest.mark.parametrize("mode", get_args(Mode))
def test_what_the_owner_leaves_out_is_not_found_from_that_moment(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch, act: Act, remains: list[str], mode: Mode
) -> None:
    for name in ("plan", "tea"):
        (notes / f"{name}.md").write_text(f"# {name}\n\nThe harbour opens again, said the {name}.\n", "utf-8")
    (notes / "gate.png").write_bytes(b"old")
    index(library, "s", notes)
    (notes / "gate.png").write_bytes(b"new")
    said: list[list[str]] = []

    def look(query: str) -> None:
        hits = library.search(OWNER, query, ["s"], mode=mode).hits
        said.append(sorted(hit.document.path for hit in hits if hit.document.path != "gate.png"))

    def act_and_look(library: Library) -> None:
        look("harbour opens")
        act(library)
        look("harbour opens")
        look("type:markdown")
        look("plan")

    index_while(library, notes, monkeypatch, act_and_look)
    before, by_words, by_filter, by_name = said
    assert before == ["plan.md", "tea.md"]
    assert (by_words, by_filter) == (remains, remains)
    assert "plan.md" not in by_name
    assert not library.searching.suggest(OWNER, "pla", ["s"]).documents


def test_words_of_a_picture_leave_its_notes_when_it_is_excluded(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "gate.png").write_bytes(packed(picture(), "PNG"))
    (notes / "oslo.md").write_text("# Oslo\n\nWe fly.\n\n![](gate.png)\n", "utf-8")
    index_while(library, notes, monkeypatch, lambda _: None)
    assert found(library, OWNER, "boarding path:oslo.md") == ["oslo.md"]
    library.files.exclude(OWNER, "s", "gate.png")
    assert found(library, OWNER, "boarding path:oslo.md") == []
    index(library, "s")
    assert found(library, OWNER, "boarding path:oslo.md") == []
    assert found(library, OWNER, "oslo") == ["oslo.md"]


def test_a_file_that_is_taken_back_before_a_run_is_found_again(library: Library, notes: Path) -> None:
    (notes / "tea.md").write_text("# Tea\n\nThe harbour opens.\n", "utf-8")
    index(library, "s", notes)
    library.files.exclude(OWNER, "s", "tea.md")
    assert found(library, OWNER, "harbour") == []
    library.files.include(OWNER, "s", "tea.md")
    assert found(library, OWNER, "harbour") == ["tea.md"]


class Eyes:
    """A server elsewhere that reads pictures; the owner acts when it gets the first one."""

    name, leaves = "gemini:eyes", True

    def __init__(self, act: Callable[[], object]) -> None:
        self._act = act
        self.seen = 0

    def read(self, _: bytes, __: Callable[[], bool]) -> str:
        self.seen += 1
        self._act()
        return WORDS


def two_slides() -> bytes:
    import io

    from pptx import Presentation

    presentation, made = Presentation(), io.BytesIO()
    for words in ("GREEN TEA", "MINT TEA"):
        slide = presentation.slides.add_slide(presentation.slide_layouts[6])
        slide.shapes.add_picture(io.BytesIO(packed(picture(words), "PNG")), 0, 0)
    presentation.save(made)
    return made.getvalue()


def two_attachments() -> bytes:
    attached = {f"{words}.png": packed(picture(words), "PNG") for words in ("green", "mint")}
    return mail("Pictures", "Look.", attached=attached)


@pytest.mark.parametrize(
    ("name", "make"), [("talk.pptx", two_slides), ("letter.eml", two_attachments)], ids=["slides", "mail"]
)
def test_no_further_picture_of_a_hidden_file_leaves(
    library: Library, notes: Path, monkeypatch: pytest.MonkeyPatch, name: str, make: Callable[[], bytes]
) -> None:
    (notes / name).write_bytes(make())
    eyes = Eyes(lambda: library.privacy.set(OWNER, "s", [name]))
    limits = Shared.limits
    monkeypatch.setattr(Shared, "limits", lambda *given: replace(limits(*given), remote_ocr=eyes))
    index(library, "s", notes)
    index(library, "s", force=True)
    assert eyes.seen == 1
    assert found(library, GUEST) == []
