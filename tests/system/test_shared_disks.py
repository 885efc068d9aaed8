"""Stores are kept on a disk of this computer alone, and a copy of one that a cloud made is found."""

from __future__ import annotations

import ctypes
import shutil
from contextlib import closing
from pathlib import Path, PureWindowsPath
from types import SimpleNamespace

import pytest

from rag_core.cli import serving
from rag_core.config import Settings, load
from rag_core.errors import InvalidInput
from rag_core.files import shared_by, shared_disks
from rag_core.library import Library
from rag_core.types import OWNER
from tests.conftest import index
from tests.support.command import Run
from tests.support.configured import configure
from tests.support.stored import file_of


@pytest.mark.parametrize(
    ("folder", "service"),
    [
        ("OneDrive/data", "OneDrive"),
        ("OneDrive - Example Ltd/data", "OneDrive"),
        ("Library/Mobile Documents/com~apple~CloudDocs/data", "iCloud Drive"),
        ("Library/CloudStorage/Dropbox/data", "Dropbox"),
        ("Dropbox (Personal)/data", "Dropbox"),
        ("Google Drive/data", "Google Drive"),
        ("data", ""),
        ("dropboxes/onedriver", ""),
    ],
)
def test_the_folder_of_a_cloud_is_known_by_its_name(tmp_path: Path, folder: str, service: str) -> None:
    assert shared_by(tmp_path / folder) == service


def test_a_folder_that_syncthing_synchronizes_is_known_by_its_mark(tmp_path: Path) -> None:
    (tmp_path / "synced" / ".stfolder").mkdir(parents=True)
    assert shared_by(tmp_path / "synced" / "below" / "data") == "Syncthing"
    assert shared_by(tmp_path / "beside") == ""


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["nfs4", "cifs", "smbfs", "fuse.sshfs", "ext4"])
def test_a_network_disk_is_known_by_its_file_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nnas:/home {tmp_path}/my\\040disk {kind} rw 0 0\n", "utf-8")
    monkeypatch.setattr(shared_disks, "_MOUNTS", mounts)
    assert shared_by(tmp_path / "my disk" / "data") == ("" if kind == "ext4" else "a network disk")
    assert shared_by(tmp_path / "data") == ""


@pytest.mark.posix
@pytest.mark.parametrize("kind", ["smbfs", "nfs", "afpfs", "webdav", "apfs"])
def test_a_network_disk_of_macos_is_known_by_what_mount_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    program = tmp_path / "mount"
    program.write_text(
        "#!/bin/sh\ncat <<'EOF'\n"
        "/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)\n"
        "map auto_home on /System/Volumes/Data/home (autofs, automounted, nobrowse)\n"
        f"//ada@nas.local/home%20disk on {tmp_path}/my disk (1) ({kind}, nodev, nosuid, mounted by ada)\n"
        "EOF\n",
        "utf-8",
    )
    program.chmod(0o755)
    monkeypatch.setattr(shared_disks, "_MOUNTS", tmp_path / "no such list")
    monkeypatch.setattr(shared_disks, "_MOUNT", str(program))
    assert shared_by(tmp_path / "my disk (1)" / "data") == ("" if kind == "apfs" else "a network disk")
    assert shared_by(tmp_path / "data") == ""


@pytest.mark.parametrize(
    ("folder", "is_on_network"),
    [(r"\\nas\home\data", True), (r"Z:\data", True), (r"C:\Users\ada\data", False)],
)
def test_a_network_disk_of_windows_is_known_by_its_drive(
    monkeypatch: pytest.MonkeyPatch, folder: str, is_on_network: bool
) -> None:
    kinds = {"Z:\\": 4, "C:\\": 3}  # DRIVE_REMOTE, DRIVE_FIXED
    kernel = SimpleNamespace(GetDriveTypeW=kinds.__getitem__)
    monkeypatch.setattr(ctypes, "windll", SimpleNamespace(kernel32=kernel), raising=False)
    monkeypatch.setattr(shared_disks.sys, "platform", "win32")
    assert shared_disks._is_on_network(PureWindowsPath(folder)) is is_on_network


COMMANDS = [("init", "NOTES"), ("store", "create", "s"), ("serve", "--port", "1")]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_first_store_on_a_shared_disk_is_refused_with_the_reason(
    run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "OneDrive" / "knowledge"))
    refused = run(*(str(notes) if word == "NOTES" else word for word in command))
    assert refused.status == 2
    assert "is on OneDrive, which other computers may write, too." in refused.err
    assert "`commonplace config set shared_disk true`, or --yes where a command has it." in refused.err
    assert not list((tmp_path / "OneDrive").rglob("*.db"))


def test_the_setting_that_the_refusal_names_allows_it(
    run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "OneDrive" / "knowledge"))
    monkeypatch.setenv("COMMONPLACE_EMBEDDER", "hashing")
    assert run("init", notes).status == 2
    assert run("config", "set", "shared_disk", "true").status == 0
    assert run("init", notes).status == 0


def test_yes_is_written_down_and_doctor_names_the_disk(
    run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "OneDrive" / "knowledge"))
    configure(tmp_path / "OneDrive" / "knowledge", "embedder: hashing\n")
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    assert run("init", notes, "--yes").status == 0
    assert run("store", "create", "other").status == 0
    assert "shared_disk: true" in (tmp_path / "OneDrive" / "knowledge" / "config.yaml").read_text("utf-8")
    assert "is on OneDrive" in run("doctor").out


def test_the_pages_of_an_app_that_was_allowed_a_shared_disk_make_stores_there(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "OneDrive" / "knowledge"))
    allowed = []
    monkeypatch.setattr(serving, "serve_app", lambda *_: allowed.append(load().shared_disk))
    assert run("serve", "--port", "1", "--yes").status == 0
    assert allowed == [True]


CHANGES = [
    ("index", "--store", "s"),
    ("index", "NOTES", "--store", "s"),
    ("reindex", "tea.md"),
    ("exclude", "tea.md"),
    ("repair", "--store", "s"),
    ("source", "pause", "1", "--store", "s"),
    ("store", "create", "other"),
    ("store", "rename", "s", "other"),
    ("store", "switch", "s", "--embedder", "hashing:64"),
    ("serve", "--port", "1"),
]


@pytest.mark.parametrize("command", CHANGES, ids=" ".join)
def test_stores_that_came_onto_a_shared_disk_are_searched_and_not_changed(
    run: Run, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
) -> None:
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    home = tmp_path / "own"
    monkeypatch.setenv("COMMONPLACE_HOME", str(home))
    configure(home, "embedder: hashing\n")
    assert run("init", notes, "--store", "s").status == 0
    (tmp_path / "OneDrive").mkdir()
    shared = home.rename(tmp_path / "OneDrive" / "knowledge")
    monkeypatch.setenv("COMMONPLACE_HOME", str(shared))
    before = sorted(path.name for path in shared.rglob("*.db"))
    refused = run(*(str(notes) if word == "NOTES" else word for word in command))
    assert (refused.status, "is on OneDrive" in refused.err) == (2, True)
    assert sorted(path.name for path in shared.rglob("*.db")) == before
    assert "tea.md" in run("query", "green tea").out
    assert run("store", "export", "s", tmp_path / "s.commonplace").status == 0


def test_a_copy_that_a_cloud_made_of_a_store_gives_no_hit_twice(library: Library, notes: Path) -> None:
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    index(library, "s", notes)
    library.close()
    shutil.copy(file_of(library), file_of(library).with_name("s-DESKTOP-AB12.db"))
    assert library.stores.names(OWNER) == ["s", "s-DESKTOP-AB12"]
    assert [(hit.store, hit.document.path) for hit in library.search(OWNER, "green tea").hits] == [
        ("s", "tea.md")
    ]
    [said] = [step for step in library.upkeep.doctor(OWNER) if "is a copy of" in step.sentence]
    assert said.state == "no"
    assert "'s-DESKTOP-AB12' is a copy of the file of store 's'" in said.sentence
    named = library.search(OWNER, "green tea", stores=["s-DESKTOP-AB12"])
    assert [hit.store for hit in named.hits] == ["s-DESKTOP-AB12"]


def test_a_python_program_makes_no_first_store_on_a_shared_disk(notes: Path, tmp_path: Path) -> None:
    data = tmp_path / "OneDrive" / "data"
    with closing(Library(Settings(data, data / "models", ()))) as library:
        with pytest.raises(InvalidInput, match="is on OneDrive") as refused:
            library.add(notes, "s")
        assert "shared_disk true" in refused.value.suggestion
        assert library.stores.names(OWNER) == []
    with closing(Library(Settings(data, data / "models", (), shared_disk=True))) as library:
        library.create_store(OWNER, "s", "hashing")
        assert library.stores.names(OWNER) == ["s"]


def test_an_import_makes_no_first_store_on_a_shared_disk(
    run: Run, library: Library, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    index(library, "s", notes)
    library.stores.export(OWNER, "s", tmp_path / "s.commonplace")
    monkeypatch.setenv("COMMONPLACE_HOME", str(tmp_path / "OneDrive" / "knowledge"))
    refused = run("store", "import", tmp_path / "s.commonplace")
    assert (refused.status, "is on OneDrive" in refused.err) == (2, True)
    assert run("store", "import", tmp_path / "s.commonplace", "--yes").status == 0


CONFLICT_COPIES = [
    "s 2.db",
    "s (1).db",
    "s (Ada's conflicted copy 2026-11-28).db",
    "s.sync-conflict-20261128-101010-ABCDEFG.db",
    "s_conflict-20261128-101010.x.db",
]


@pytest.mark.parametrize("name", CONFLICT_COPIES)
def test_doctor_names_a_copy_whose_name_is_none_of_a_store(library: Library, notes: Path, name: str) -> None:
    (notes / "tea.md").write_text("About green tea.\n", "utf-8")
    index(library, "s", notes)
    library.close()
    shutil.copy(file_of(library), file_of(library).with_name(name))
    assert library.stores.names(OWNER) == ["s"]
    assert len(library.search("green tea").hits) == 1
    [step] = [step for step in library.upkeep.doctor(OWNER) if repr(name) in step.sentence]
    assert step.state == "no"
    assert "is a copy of the file of store 's'" in step.sentence


def test_doctor_names_a_store_that_only_its_name_keeps_from_use(library: Library, notes: Path) -> None:
    index(library, "s", notes)
    library.close()
    folder = file_of(library).parent
    file_of(library).rename(folder / "s 2.db")
    (folder / "no store.db").write_text("a list of errands", "utf-8")
    said = [step.sentence for step in library.upkeep.doctor(OWNER) if "no store can have" in step.sentence]
    assert len(said) == 1
    assert "'s 2.db'" in said[0]
