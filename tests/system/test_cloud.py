"""Files only in a cloud are never opened, and what a system or a program keeps for itself is not read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rag_core import system
from rag_core.errors import OnlyInCloud
from rag_core.extract import ocr
from rag_core.files import IN_CLOUD, list_folders, read_bytes, scan, why_skipped
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.extract.test_ocr import packed, picture
from tests.support.command import Run
from tests.support.configured import configure
from tests.support.stored import found, outcomes, paths
from tests.support.trees import write
from tests.system.homes import FILES, HIDDEN, ONLINE_ONLY, generate

pytestmark = pytest.mark.posix  # inodes in listings stand for attributes, and modes of files change times

Mark = Callable[..., None]


@pytest.fixture
def evict(monkeypatch: pytest.MonkeyPatch) -> Mark:
    """Leave the content of files only in a cloud: a stand-in for the attribute."""
    inodes: set[int] = set()
    monkeypatch.setattr(system, "is_online_only", lambda status: status.st_ino in inodes)

    def evicted(*files: Path, back: bool = False, changes_time: bool = True) -> None:
        found = {file.stat().st_ino for file in files}
        inodes.difference_update(found) if back else inodes.update(found)
        for file in files if changes_time else ():  # the time of its last change of any kind
            file.chmod(file.stat().st_mode ^ 0o1)

    return evicted


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the files that were opened, in order."""
    names: list[str] = []
    open_ = os.open

    def recorded(path: Any, *more: Any, **options: Any) -> int:
        names.append(os.path.basename(os.fsdecode(path)))  # noqa: PTH119
        return open_(path, *more, **options)

    monkeypatch.setattr(os, "open", recorded)
    return names


@pytest.mark.parametrize("name", ["windows", "macos", "linux"])
def test_of_a_home_documents_are_read_and_nothing_else_is_opened(
    name: str,
    library: Library,
    tmp_path: Path,
    evict: Mark,
    opened: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    home = generate(tmp_path, name)
    assert len(home.documents | home.online_only | home.profiles) > FILES - 20
    evict(*(home.folder / path for path in home.online_only))
    hidden = home.inodes(*(path for path in (HIDDEN,) if (home.folder / path).exists()))
    monkeypatch.setattr(system, "is_hidden", lambda status: status.st_ino in hidden)
    opened.clear()
    job = index(library, "s", home.folder)
    assert [each for each in opened if each.startswith("cloud")] == []
    assert [each for each in opened if each.startswith("secret")] == []
    assert set(paths(library)) == home.documents | home.online_only
    results = outcomes(job)
    assert {results[path] for path in home.online_only} == {"skipped"}
    assert (len(home.online_only), job.failed) == (ONLINE_ONLY, 0)
    opened.clear()
    index(library, "s")
    assert [each for each in opened if each.startswith(("cloud", "secret"))] == []


def test_attributes_of_windows_and_flags_of_macos_tell_what_is_only_in_a_cloud() -> None:
    windows = {0x400000: True, 0x40000: True, 0x1000: True, 0x20: False}
    macos = {0x40000000: True, 0x8000: False}
    for attributes, is_online_only in windows.items():
        status: Any = SimpleNamespace(st_file_attributes=attributes)
        assert system.is_online_only(status) is is_online_only
    for flags, is_online_only in macos.items():
        status = SimpleNamespace(st_flags=flags)
        assert system.is_online_only(status) is is_online_only
    assert not system.is_online_only(os.stat_result(range(10)))


@pytest.mark.parametrize(
    ("marks", "mode", "is_hidden"),
    [
        ({"st_file_attributes": 0x2}, 0o100644, True),
        ({"st_file_attributes": 0x4}, 0o100644, True),
        ({"st_file_attributes": 0x4}, 0o040755, False),
        ({"st_file_attributes": 0x6}, 0o040755, True),
        ({"st_flags": 0x8000}, 0o040755, True),
        ({}, 0o100644, False),
    ],
)
def test_attributes_and_flags_tell_what_a_system_hides(
    marks: dict[str, int], mode: int, is_hidden: bool
) -> None:
    status: Any = SimpleNamespace(st_mode=mode, **marks)
    assert system.is_hidden(status) is is_hidden


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Mark:
    """Have the system hide files and folders: a stand-in for the attribute."""
    inodes: set[int] = set()
    monkeypatch.setattr(system, "is_hidden", lambda status: status.st_ino in inodes)
    return lambda *files: inodes.update(file.stat().st_ino for file in files)


def test_of_a_hidden_library_the_documents_of_clouds_are_read(tmp_path: Path, hide: Mark) -> None:
    home = generate(tmp_path, "macos")
    library = home.folder / "Library"
    hide(
        library,
        library / "Mobile Documents",
        library / "CloudStorage",
        library / "Mail",
        home.folder / HIDDEN,
    )
    walked = {os.fsdecode(file.path) for file in scan(home.folder, ()).files}
    assert walked == home.documents | home.online_only


def test_a_hidden_file_is_read_where_a_pattern_names_it_and_a_picker_shows_no_hidden_folder(
    tmp_path: Path, hide: Mark
) -> None:
    write(tmp_path, {"a/tea.md": "About green tea.\n", "b/oak.md": "About an oak.\n", "own.md": "Mine.\n"})
    hide(tmp_path / "a", tmp_path / "own.md")
    assert [file.path for file in scan(tmp_path, ()).files] == [b"b/oak.md"]
    assert [file.path for file in scan(tmp_path, ("own.md", "a/**")).files] == [b"a/tea.md", b"own.md"]
    reason = why_skipped(tmp_path, b"own.md", ())
    assert reason is not None
    assert reason.text == "The system hides it, and no include pattern names it."
    assert list_folders(tmp_path, [tmp_path]) == [tmp_path / "b"]


@pytest.fixture
def note(library: Library, notes: Path) -> Path:
    """A note of store ``s`` that was read."""
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    os.utime(notes / "tea.md", (10**9, 10**9))
    index(library, "s", notes)
    return notes / "tea.md"


def test_a_note_that_goes_to_the_cloud_keeps_its_text(
    note: Path, library: Library, evict: Mark, opened: list[str]
) -> None:
    evict(note)
    opened.clear()
    job = index(library, "s", force=True)
    assert outcomes(job) == {}
    assert job.counts["unchanged"] == 1
    assert "tea.md" not in opened
    assert found(library, "green tea") == ["tea.md"]
    assert set(library.files.states(OWNER, "s").values()) == {"fresh"}
    assert library.upkeep.verify(OWNER, "s", files=True).findings == ()


def test_a_note_that_changes_in_the_cloud_keeps_its_text_and_says_so(
    note: Path, library: Library, evict: Mark, opened: list[str]
) -> None:
    note.write_text("About black tea, on another computer.\n", "utf-8")
    evict(note)
    opened.clear()
    assert outcomes(index(library, "s")) == {}
    assert "tea.md" not in opened
    assert found(library, "green tea") == ["tea.md"]
    assert library.files.get(OWNER, "s", "tea.md").state == "changed"
    assert "tea.md" not in opened


def test_a_note_that_comes_back_is_not_read_again_and_a_new_one_is_read(
    note: Path, library: Library, evict: Mark, opened: list[str]
) -> None:
    (note.parent / "oak.md").write_text("About an oak.\n", "utf-8")
    evict(note, note.parent / "oak.md")
    index(library, "s")
    evict(note, note.parent / "oak.md", back=True)
    opened.clear()
    assert outcomes(index(library, "s")) == {"oak.md": "changed"}
    assert "tea.md" not in opened
    assert found(library, "an oak") == ["oak.md"]


def test_a_note_that_is_renamed_in_the_cloud_keeps_its_text(
    note: Path, library: Library, evict: Mark
) -> None:
    evict(note)
    index(library, "s")
    note.rename(note.with_name("green.md"))
    assert outcomes(index(library, "s")) == {"green.md": "moved"}
    assert found(library, "green tea") == ["green.md"]


def in_notes(library: Library, words: str) -> list[str]:
    """The notes that hold ``words`` word for word."""
    answer = library.search(OWNER, f'"{words}" type:markdown', ["s"], mode="lexical")
    return [hit.document.path for hit in answer.hits]


@pytest.mark.skipif(ocr.find_engine("auto") is None, reason="no OCR is installed")
def test_a_note_keeps_the_text_of_a_picture_in_the_cloud_and_gets_that_of_one_that_comes_back(
    library: Library, notes: Path, evict: Mark, opened: list[str]
) -> None:
    gate, wall = notes / "gate.png", notes / "wall.png"
    gate.write_bytes(packed(picture("BOARDING GATE SEVEN"), "PNG"))
    wall.write_bytes(packed(picture("YELLOW WALLPAPER"), "PNG"))
    (notes / "trip.md").write_text("The way: ![](gate.png)\n", "utf-8")
    for file in (gate, wall, notes / "trip.md"):
        os.utime(file, (10**9, 10**9))
    evict(wall)
    index(library, "s", notes)
    assert in_notes(library, "boarding gate") == ["trip.md"]
    evict(gate)
    (notes / "trip.md").write_text("The other way: ![](gate.png), ![](wall.png)\n", "utf-8")
    opened.clear()
    index(library, "s")
    assert not {"gate.png", "wall.png"} & {*opened}
    assert in_notes(library, "boarding gate") == ["trip.md"]
    assert in_notes(library, "yellow wallpaper") == []
    evict(gate, wall, back=True, changes_time=False)
    index(library, "s")
    assert in_notes(library, "yellow wallpaper") == ["trip.md"]
    assert in_notes(library, "boarding gate") == ["trip.md"]


def test_a_stub_of_icloud_stands_for_its_file(note: Path, library: Library, opened: list[str]) -> None:
    note.unlink()
    (note.parent / ".tea.md.icloud").write_bytes(b"bplist00")
    (note.parent / ".new.md.icloud").write_bytes(b"bplist00")
    opened.clear()
    assert outcomes(index(library, "s")) == {"new.md": "skipped"}
    assert found(library, "green tea") == ["tea.md"]
    assert "missing" not in library.files.states(OWNER, "s").values()
    assert not [name for name in opened if name.endswith(".icloud")]


def test_a_new_note_in_the_cloud_is_listed_with_the_reason(
    run: Run, home: Path, notes: Path, evict: Mark
) -> None:
    configure(home, "embedder: hashing\n")
    write(notes, {"tea.md": "About green tea.\n", "here.md": "About an oak.\n"})
    evict(notes / "tea.md")
    assert run("init", notes, "--store", "s").status == 0
    [listed] = [each for each in run("list", "--json").json["files"] if "tea.md" in each.values()]
    assert (listed["state"], listed["reason"]) == ("skipped", IN_CLOUD)
    assert "cloud_files" in run("doctor", "--file", notes / "tea.md").out
    said = run("reindex", "tea.md")
    assert f"Left out: tea.md. {IN_CLOUD}" in said.out + said.err


def test_a_setting_has_them_downloaded(run: Run, home: Path, notes: Path, evict: Mark) -> None:
    configure(home, "embedder: hashing\ncloud_files: read\n")
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    evict(notes / "tea.md")
    run("init", notes, "--store", "s")
    assert "green tea" in run("query", "green tea").out


def test_a_file_that_goes_to_the_cloud_after_the_scan_is_not_opened(
    tmp_path: Path, evict: Mark, opened: list[str]
) -> None:
    (tmp_path / "tea.md").write_text("About green tea.\n", "utf-8")
    evict(tmp_path / "tea.md")
    with pytest.raises(OnlyInCloud):
        read_bytes(tmp_path, b"tea.md", 100)
    assert opened == []
    assert read_bytes(tmp_path, b"tea.md", 100, from_cloud=True) == b"About green tea.\n"


def test_a_new_time_of_change_alone_reads_no_file_and_verify_compares_all(
    note: Path, library: Library, opened: list[str]
) -> None:
    note.chmod(0o600)
    opened.clear()
    assert outcomes(index(library, "s")) == {}
    assert "tea.md" not in opened
    with note.open(
        "r+", encoding="utf-8"
    ) as file:  # what is given up: an edit that keeps the size and both times
        file.write("About black")
    os.utime(note, (10**9, 10**9))
    assert outcomes(index(library, "s")) == {}
    findings = library.upkeep.verify(OWNER, "s", files=True).findings
    assert [each.examples for each in findings] == [("tea.md: changed",)]
    index(library, "s", force=True)
    assert found(library, "black") == ["tea.md"]


def test_a_gitignore_in_the_cloud_is_not_opened(tmp_path: Path, evict: Mark, opened: list[str]) -> None:
    write(tmp_path, {".gitignore": "*.md\n", "tea.md": "About green tea.\n"})
    evict(tmp_path / ".gitignore")
    walk = scan(tmp_path, ())
    assert opened == []
    assert walk.skipped == [(b".gitignore", "It cannot be read: it is in the cloud, not on this computer.")]


def test_a_folder_of_a_program_is_read_where_a_pattern_names_it(tmp_path: Path) -> None:
    home = generate(tmp_path, "windows").folder
    assert why_skipped(home, b"AppData/Local/Google/Chrome/User Data/Default/secret 1.md", ()) is not None
    assert scan(home, ("appdata/**",)).files
    assert scan(home / "AppData" / "Local", ()).files


PROFILES = [
    ("prefs.js", "places.sqlite"),
    ("cookies.sqlite", "formhistory.sqlite"),
    ("prefs.js", "abook.sqlite", "ImapMail/"),
    ("Local State", "Default/"),
    ("Local State", "Last Version"),
    ("Preferences", "History", "Cookies", "Login Data"),
    ("Secure Preferences", "Web Data", "Top Sites"),
    ("Preferences", "Cookies", "Local Storage/", "GPUCache/"),
]
NO_PROFILES = [
    ("prefs.js",),
    ("places.sqlite",),
    ("Local State",),
    ("Default/", "First Run"),
    ("History/", "Bookmarks/", "Cookies/", "Preferences"),
    ("History", "Login Data"),
    ("history", "cookies", "login data", "web data"),
]


@pytest.mark.parametrize(
    ("names", "is_profile"),
    [*((names, True) for names in PROFILES), *((names, False) for names in NO_PROFILES)],
)
def test_a_profile_is_known_by_several_of_its_names(
    tmp_path: Path, names: tuple[str, ...], *, is_profile: bool
) -> None:
    write(tmp_path, {"disk/copy/note.md": "A note.\n", "disk/tea.md": "About tea.\n"})
    for name in names:
        place = tmp_path / "disk" / "copy" / name
        place.mkdir() if name.endswith("/") else place.write_text("kept\n", "utf-8")
    expected = {b"disk/tea.md"} if is_profile else {b"disk/tea.md", b"disk/copy/note.md"}
    assert {file.path for file in scan(tmp_path, ("**/*.md",)).files} == expected
    assert (why_skipped(tmp_path, b"disk/copy/note.md", ()) is not None) is is_profile


def test_the_reason_why_a_file_of_a_profile_is_not_read_is_told(tmp_path: Path) -> None:
    home = generate(tmp_path, "macos")
    shown = {path for path in home.profiles if HIDDEN not in path}  # which nothing marks here
    assert all(why_skipped(home.folder, os.fsencode(path), ()) for path in shown)
    assert why_skipped(home.folder, os.fsencode(min(home.documents)), ()) is None
