"""Staying inside a folder: containment, the folder picker, reading, and how names are shown."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_core.errors import ExtractError, InvalidInput, NotText
from rag_core.files import contained, display, list_folders, read_bytes
from tests.support.trees import plant

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes as on POSIX")


# --- containment, the picker, reading ------------------------------------------------------


@pytest.mark.posix
def test_a_path_is_contained_only_when_it_resolves_into_a_root(tmp_path: Path) -> None:
    plant(tmp_path, "home/notes/a.md", "outside/b.md")
    home = tmp_path / "home"
    (home / "link-out").symlink_to(tmp_path / "outside")
    (home / "link-in").symlink_to(home / "notes")
    assert contained(home / "link-in", [home]) == home / "notes"
    assert contained(home / "notes/../not-yet", [tmp_path / "x", home]) == home / "not-yet"
    for bad in ("link-out", "../outside", "..", "notes/../../outside", "/etc", "nul\0"):
        with pytest.raises(InvalidInput, match="cannot be chosen"):
            contained(home / bad, [home])


@pytest.mark.posix
def test_the_picker_lists_plain_folders_inside_the_roots(tmp_path: Path) -> None:
    plant(tmp_path, "home/b/x", "home/A/x", "home/.hidden/x", "home/file.md", "outside/x")
    home = tmp_path / "home"
    (home / "link-out").symlink_to(tmp_path / "outside")
    (home / "link-in").symlink_to(home / "b")
    (home / "link-gone").symlink_to(home / "nothing")
    assert [path.name for path in list_folders(home, [home])] == ["A", "b", "link-in"]
    for bad in (tmp_path, home / "link-out", home / "nothing", home / "file.md"):
        with pytest.raises(InvalidInput):
            list_folders(bad, [home])


def test_a_file_as_large_as_the_limit_is_read_and_a_larger_one_refused(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", text=b"x" * 1_500_000)
    assert len(read_bytes(tmp_path, b"a.md", 1_500_000)) == 1_500_000
    with pytest.raises(NotText, match=r"'a.md' is larger than 1.4 MB"):
        read_bytes(tmp_path, b"a.md", 1_400_000)


@pytest.mark.posix
@pytest.mark.parametrize("path", [b"../out.md", b"link.md", b"folder-link/out.md", b"/etc/passwd", b""])
def test_reading_never_leaves_the_root(tmp_path: Path, path: bytes) -> None:
    plant(tmp_path, "out.md", "root/a.md")
    (tmp_path / "root/link.md").symlink_to(tmp_path / "out.md")
    (tmp_path / "root/folder-link").symlink_to(tmp_path)
    with pytest.raises(NotText):
        read_bytes(tmp_path / "root", path, 100)


@pytest.mark.posix
def test_a_link_that_stays_inside_is_read_through(tmp_path: Path) -> None:
    plant(tmp_path, "deep/down/a.md", text=b"here")
    (tmp_path / "short").symlink_to("deep/down")
    (tmp_path / "b.md").symlink_to("short/a.md")
    assert read_bytes(tmp_path, b"b.md", 100) == b"here"


@pytest.mark.posix
def test_a_folder_swapped_for_a_link_after_the_check_is_not_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path, "root/sub/a.md", "out/a.md")
    sub = tmp_path / "root/sub"
    real_open = os.open

    def swap_then_open(path: bytes, flags: int, **options: int) -> int:
        if not sub.is_symlink():
            sub.rename(tmp_path / "root/moved")
            sub.symlink_to(tmp_path / "out")
        return real_open(path, flags, **options)

    monkeypatch.setattr("os.open", swap_then_open)
    with pytest.raises(ExtractError, match="cannot be read"):
        read_bytes(tmp_path / "root", b"sub/a.md", 100)


@pytest.mark.posix
@pytest.mark.parametrize(("path", "kind"), [(b"pipe", "It is a named pipe."), (b"dir", "It is a folder.")])
def test_only_regular_files_are_read(tmp_path: Path, path: bytes, kind: str) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dir").mkdir()
    with pytest.raises(NotText, match=kind):
        read_bytes(tmp_path, path, 100)


# --- display ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (b"plain/note.md", "plain/note.md"),
        (b"bad\xff.md", r"bad\xff.md"),
        (b"two\nlines\t.md", r"two\nlines\t.md"),
        ("evil\u202egpj.md".encode(), r"evil\u202egpj.md"),
        ("line\u2028.md".encode(), r"line\u2028.md"),
        (b"\x1b[31m.md", r"\x1b[31m.md"),
        (b"U\xcc\x88bung.md", "Übung.md"),
        ("日本語 👩‍💻.md".encode(), "日本語 👩‍💻.md"),
        (b"\xed\xb2\x80", r"\xed\xb2\x80"),
    ],
)
def test_a_path_is_shown_as(path: bytes, shown: str) -> None:
    assert display(path) == shown


@example(b"\xaa\xcc\x80")
@given(st.binary())
def test_any_path_can_be_shown_stored_and_printed_on_one_line(path: bytes) -> None:
    shown = display(path)
    assert shown.encode("utf-8") or not path
    assert len(shown.splitlines()) <= 1
    assert unicodedata.is_normalized("NFC", shown)
