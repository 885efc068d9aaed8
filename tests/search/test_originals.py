"""Texts and pictures from the files themselves: only what the index and the viewer's rights vouch for."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from rag_core.errors import Forbidden, InvalidInput, NotFound
from rag_core.library import Library
from rag_core.library.originals import raster_type
from rag_core.types import OWNER, Viewer
from tests.conftest import index
from tests.support.stored import long_note
from tests.support.trees import write

GUEST = Viewer("ann@example.org", stores=frozenset({"notes"}))
STRANGER = Viewer("bob@example.org")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
SHOWN = (
    "shelf.png beside.png deep.png link.png ../up.png /etc/x.png secret/key.png hidden.png .dot.png odd.svg"
    " fake.png gone.png out.png"
).split()
NOTE = "# Tea\n\n" + "\n".join(f"![]({name})" for name in SHOWN) + "\n"


@pytest.fixture
def shelf(library: Library, notes: Path) -> Library:
    """A note that shows many pictures, some of which nobody may have."""
    write(notes, {"kitchen/tea.md": NOTE, "kitchen/private.md": "---\nprivate: true\n---\n![](shelf.png)\n"})
    write(notes, {"kitchen/repeats.md": "# One\n\nTwice.\n" * 40, "kitchen/plain.md": "No picture.\n"})
    write(notes, {"kitchen/long.md": long_note(9)})
    for name in "kitchen/shelf.png beside.png a/deep.png secret/key.png hidden.png kitchen/.dot.png".split():
        (notes / name).parent.mkdir(exist_ok=True)
        (notes / name).write_bytes(PNG + name.encode())
    (notes.parent / "up.png").write_bytes(PNG)
    (notes / "kitchen" / "fake.png").write_text("<svg onload=alert(1)>", "utf-8")
    (notes / "kitchen" / "odd.svg").write_text("<svg/>", "utf-8")
    (notes / "out.png").symlink_to(notes.parent / "up.png")
    (notes / "link.png").symlink_to(notes / "secret" / "key.png")
    index(library, "notes", notes, "**/*.md", "**/*.png")
    library.privacy.set(OWNER, "notes", ["secret/**"])
    library.files.exclude(OWNER, "notes", "hidden.png")
    return library


def seen(library: Library, viewer: Viewer, note: str = "kitchen/tea.md") -> list[str]:
    """The pictures that a viewer gets of those that a note shows."""
    found = []
    for name in SHOWN:
        with suppress(NotFound):
            library.originals.picture(viewer, "notes", note, name)
            found.append(name)
    return found


@pytest.mark.posix
def test_a_viewer_gets_the_pictures_that_a_note_shows_and_that_are_theirs(shelf: Library) -> None:
    assert seen(shelf, OWNER) == ["shelf.png", "beside.png", "deep.png", "link.png", "secret/key.png"]
    assert seen(shelf, GUEST) == ["shelf.png", "beside.png", "deep.png"]
    assert seen(shelf, STRANGER) == []


@pytest.mark.posix
def test_a_note_that_does_not_show_a_picture_or_is_private_gives_none(shelf: Library) -> None:
    assert seen(shelf, OWNER, "kitchen/plain.md") == []
    assert seen(shelf, OWNER, "kitchen/private.md") == ["shelf.png"]
    assert seen(shelf, GUEST, "kitchen/private.md") == []
    assert seen(shelf, GUEST, "gone.md") == []


@pytest.mark.posix
def test_a_picture_says_what_its_bytes_are_whatever_its_name() -> None:
    kinds = [PNG, b"\xff\xd8\xff\xe0", b"GIF89a", b"RIFF0000WEBPVP8 ", b"<svg>", b"\0\0\0\x20ftypavif", b""]
    png, jpeg, gif, webp = "image/png", "image/jpeg", "image/gif", "image/webp"
    assert [raster_type(each) for each in kinds] == [png, jpeg, gif, webp, None, None, None]


@pytest.mark.posix
def test_a_text_is_whole_also_where_passages_repeat(shelf: Library, notes: Path) -> None:
    whole = (notes / "kitchen" / "repeats.md").read_text("utf-8")
    assert shelf.originals.text(GUEST, "notes", "kitchen/repeats.md") == whole


@pytest.mark.posix
def test_a_file_that_has_changed_since_is_shown_as_it_was_indexed(shelf: Library, notes: Path) -> None:
    (notes / "kitchen" / "tea.md").write_text("---\nprivate: true\n---\nThe spare key.\n", "utf-8")
    for viewer in (OWNER, GUEST):
        assert shelf.originals.text(viewer, "notes", "kitchen/tea.md").strip() == NOTE.strip()
    for path in ("kitchen/private.md", "gone.md"):
        with pytest.raises(NotFound):
            shelf.originals.text(GUEST, "notes", path)


@pytest.mark.posix
def test_passages_that_were_taken_out_are_not_in_the_text(shelf: Library) -> None:
    found = shelf.documents.get(OWNER, "notes", "kitchen/long.md")
    shelf.documents.remove_passages(OWNER, "notes", [found.chunks[0].key])
    assert found.chunks[0].content not in shelf.originals.text(GUEST, "notes", "kitchen/long.md")


@pytest.mark.posix
def test_a_document_opens_in_its_own_program_and_nothing_that_could_run(
    shelf: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("kitchen/plan.pdf", "kitchen/run.sh"):
        (notes / name).write_bytes(b"%PDF-1.4" if name.endswith("pdf") else b"#!/bin/sh\nrm -rf /\n")
    index(shelf, "all", notes)
    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.Popen", lambda command, **_: started.append(command))
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("sys.platform", "linux")
    shelf.originals.open_file(OWNER, "all", "kitchen/plan.pdf")
    assert started == [["/bin/xdg-open", str(notes / "kitchen" / "plan.pdf")]]
    for path in ("kitchen/run.sh", "kitchen/tea.md"):
        with pytest.raises(InvalidInput):
            shelf.originals.open_file(OWNER, "all", path)
    for viewer in (GUEST, Viewer("me@example.org", is_owner=True)):
        with pytest.raises(Forbidden):
            shelf.originals.open_file(viewer, "all", "kitchen/plan.pdf")
    assert len(started) == 1


@pytest.mark.posix
def test_only_who_sits_at_this_computer_opens_a_folder(
    shelf: Library, notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("subprocess.Popen", lambda command, **_: started.append(command))
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")
    monkeypatch.setattr("sys.platform", "linux")
    shelf.originals.open_folder(OWNER, "notes", "kitchen/tea.md")
    assert started == [["/bin/xdg-open", str(notes / "kitchen")]]
    for viewer in (GUEST, Viewer("me@example.org", is_owner=True)):
        with pytest.raises(Forbidden):
            shelf.originals.open_folder(viewer, "notes", "kitchen/tea.md")
    with pytest.raises(NotFound):
        shelf.originals.open_folder(OWNER, "notes", "../up.png")
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(NotFound, match="xdg-open"):
        shelf.originals.open_folder(OWNER, "notes", "kitchen/tea.md")
    assert len(started) == 1
