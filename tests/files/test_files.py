"""The files of a source, on real trees."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from rag_core.errors import InvalidInput, NotText
from rag_core.files import preview, read_bytes, scan, split_glob, why_skipped
from rag_core.files.rules import (
    ANOTHER_NAME,
    EXCLUDED,
    KEY_LIKE,
    KEY_OR_KEYNOTE,
    LEAVES,
    LEFTOVER,
    NEVER_READ,
    NOT_MATCHED,
)
from tests.support.trees import found, plant, skipped

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes as on POSIX")

REPOSITORY = Path(__file__).parents[2]


# --- walking ----------------------------------------------------------------------------


def test_a_scan_finds_every_file_below_the_root_sorted_by_path(tmp_path: Path) -> None:
    plant(tmp_path, "b.md", "a/z.txt", "a/b/c.md", "A.md")
    assert found(tmp_path) == ["A.md", "a/b/c.md", "a/z.txt", "b.md"]


@pytest.mark.parametrize(
    ("name", "inside", "advice"),
    [
        ("Report.pages", "Index.zip", "Save it as DOCX"),
        ("Report.PAGES", "Index/Document.iwa", "Save it as DOCX"),
        ("Talk.key", "index.apxl.gz", "Save it as PPTX or PDF"),
        ("Budget.numbers", "Index.zip", "Save it as XLSX or CSV"),
    ],
)
def test_a_document_that_is_a_folder_is_one_that_is_not_read(
    tmp_path: Path, name: str, inside: str, advice: str
) -> None:
    plant(tmp_path, f"a/{name}/{inside}", f"a/{name}/preview.jpg", "b.md")
    assert found(tmp_path) == ["b.md"]
    [(path, why)] = skipped(tmp_path).items()
    assert path == f"a/{name}"
    assert f"are not read yet. {advice}" in why
    refusal = why_skipped(tmp_path, f"a/{name}/preview.jpg".encode(), [])
    assert refusal == ("unread document", f"It is in 'a/{name}', which is left out. {why}")


def test_a_folder_that_is_only_called_like_a_document_is_read(tmp_path: Path) -> None:
    plant(tmp_path, "my.pages/home.md", "yellow.numbers/a.txt")
    assert found(tmp_path) == ["my.pages/home.md", "yellow.numbers/a.txt"]


@pytest.mark.parametrize("name", ["Report.pages", "Talk.key", "Budget.numbers"])
def test_the_copy_as_pdf_in_a_document_that_is_a_folder_is_read(tmp_path: Path, name: str) -> None:
    plant(tmp_path, f"{name}/index.xml.gz", f"{name}/QuickLook/Preview.pdf")
    assert f"{name}/QuickLook/Preview.pdf" in found(tmp_path)
    assert why_skipped(tmp_path, f"{name}/QuickLook/Preview.pdf".encode(), []) is None
    assert not skipped(tmp_path)


def test_a_file_is_described_by_what_its_stat_says(tmp_path: Path) -> None:
    plant(tmp_path, "a/note.md", text=b"12345")
    status = (tmp_path / "a/note.md").stat()
    (file,) = scan(tmp_path, []).files
    assert (file.path, file.size, file.inode) == (b"a/note.md", 5, status.st_ino)
    assert (file.mtime_ns, file.ctime_ns) == (status.st_mtime_ns, status.st_ctime_ns)


@pytest.mark.parametrize(
    "name", [b"two\nlines.md", b"bad\xff\xfe.md", "Übung.md".encode(), "U\u0308bung.md".encode(), b"-rf *.md"]
)
def test_an_odd_name_survives_as_the_bytes_it_has_on_disk(tmp_path: Path, name: bytes) -> None:
    plant(tmp_path, b"dir/" + name, text=b"here")
    assert [file.path for file in scan(tmp_path, ["**/*.md"]).files] == [b"dir/" + name]
    assert read_bytes(tmp_path, b"dir/" + name, 100) == b"here"


def test_a_missing_root_is_named_with_a_next_step(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as error:
        scan(tmp_path / "gone", [])
    assert repr(str(tmp_path / "gone")) in error.value.message
    assert error.value.suggestion


def test_a_folder_of_keys_is_no_root(tmp_path: Path) -> None:
    plant(tmp_path, ".ssh/known/hosts")
    with pytest.raises(InvalidInput, match="for keys and passwords"):
        scan(tmp_path / ".ssh" / "known", [])


@pytest.mark.parametrize("most", [5, 2**40, 2**63 - 1])
def test_the_limit_of_a_file_asks_for_no_memory_of_its_own(tmp_path: Path, most: int) -> None:
    """A store that somebody else made says how large its files were."""
    (tmp_path / "a.md").write_bytes(b"heron")
    assert read_bytes(tmp_path, b"a.md", most) == b"heron"


def test_a_file_that_grows_while_it_is_read_is_read_to_its_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.md"
    file.write_bytes(b"her")
    fstat = os.fstat

    def growing(number: int) -> os.stat_result:
        before = fstat(number)
        file.write_bytes(b"heron")
        return before

    monkeypatch.setattr(os, "fstat", growing)
    assert read_bytes(tmp_path, b"a.md", 5) == b"heron"
    file.write_bytes(b"her")
    with pytest.raises(NotText, match="larger than"):
        read_bytes(tmp_path, b"a.md", 4)


def test_a_root_below_a_hidden_folder_is_walked(tmp_path: Path) -> None:
    plant(tmp_path, ".hidden/notes/a.md")
    assert found(tmp_path / ".hidden/notes", "**/*.md") == ["a.md"]


@pytest.mark.posix
def test_a_root_that_has_become_a_link_is_refused_and_nothing_read_through_it(tmp_path: Path) -> None:
    plant(tmp_path, "elsewhere/a.md", "elsewhere/deep/a.md")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    for root in (tmp_path / "link", tmp_path / "link" / "deep"):
        with pytest.raises(InvalidInput, match=r"leads to .*elsewhere.* now: it, or a folder above"):
            scan(root, ["**/*.md"])
        with pytest.raises(NotText, match="lies outside its folder"):
            read_bytes(root, b"a.md", 100)


# --- links and special files ------------------------------------------------------------


@pytest.mark.posix
def test_a_link_to_its_own_ancestor_ends_and_reads_nothing_twice(tmp_path: Path) -> None:
    plant(tmp_path, "a/b/note.md")
    (tmp_path / "a/b/up").symlink_to(tmp_path)
    (tmp_path / "a/b/up2").symlink_to(tmp_path / "a")
    (tmp_path / "self").symlink_to("self")
    assert found(tmp_path) == ["a/b/note.md"]
    assert skipped(tmp_path)["a/b/up"] == ANOTHER_NAME
    assert skipped(tmp_path)["self"].startswith("It cannot be read: ")


@pytest.mark.posix
@pytest.mark.parametrize("target", ["secret", "secret/plain.md"])
def test_a_link_that_leaves_the_root_is_not_followed(tmp_path: Path, target: str) -> None:
    plant(tmp_path, "secret/plain.md", "root/a.md")
    (tmp_path / "root/out").symlink_to(tmp_path / target)
    assert found(tmp_path / "root") == ["a.md"]
    assert skipped(tmp_path / "root") == {"out": LEAVES}
    assert why_skipped(tmp_path / "root", b"out", []) == ("rule", LEAVES)


@pytest.mark.posix
def test_a_linked_file_is_found_under_its_targets_own_path(tmp_path: Path) -> None:
    plant(tmp_path, "z/real.md")
    (tmp_path / "a.md").symlink_to(tmp_path / "z/real.md")
    assert found(tmp_path) == ["z/real.md"]
    assert skipped(tmp_path) == {"a.md": ANOTHER_NAME}


@pytest.mark.posix
@pytest.mark.parametrize("target", ["id_rsa", ".env", ".git/config", "venv/x.md", ".hidden.md", "x.log"])
def test_a_link_is_no_way_around_what_is_left_out(tmp_path: Path, target: str) -> None:
    plant(tmp_path, target)
    plant(tmp_path, ".gitignore", text=b"*.log\n")
    (tmp_path / "note.md").symlink_to(target)
    assert found(tmp_path) == []
    assert skipped(tmp_path)["note.md"].startswith(
        f"It is a symbolic link to {target!r}, which is left out. "
    )


@pytest.mark.posix
def test_pipes_and_sockets_are_reported_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "pipe.md").symlink_to("pipe")
    monkeypatch.chdir(tmp_path)  # a socket's path may have 100 characters
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert skipped(tmp_path) == {
            "pipe": "It is a named pipe.",
            "pipe.md": "It is a symbolic link to 'pipe', which is left out. It is a named pipe.",
            "socket": "It is a socket.",
        }


@pytest.mark.posix
def test_a_gitignore_that_is_a_pipe_does_not_block_the_walk(tmp_path: Path) -> None:
    plant(tmp_path, "a.md")
    os.mkfifo(tmp_path / ".gitignore")
    assert found(tmp_path) == ["a.md"]


# --- what may not be read: in a child that is not root -----------------------------------

AS_NOBODY = """
import json, os, sys
from pathlib import Path
root = Path(sys.argv[1])
sys.path.insert(0, sys.argv[2])
from rag_core.files import list_folders, read_bytes, scan, why_skipped
from rag_core.errors import RagError
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
def tried(call):
    try:
        return repr(call())
    except RagError as error:
        return f"{type(error).__name__}: {error.message}"
walk = scan(root, [])
print(json.dumps({
    "files": [os.fsdecode(f.path) for f in walk.files],
    "skipped": [[os.fsdecode(p), r] for p, r in walk.skipped],
    "unreadable": [os.fsdecode(p) for p in walk.unreadable],
    "root": tried(lambda: scan(root / "locked", [])),
    "read": tried(lambda: read_bytes(root, b"mine.md", 100)),
    "why": why_skipped(root, b"locked/b.md", []).text,
    "folders": [p.name for p in list_folders(root, [root])],
}))
"""


@pytest.fixture
def open_tmp(tmp_path: Path) -> Path:
    """A folder that every user can enter; pytest's own are the user's alone."""
    own = Path(tempfile.gettempdir())
    for folder in (tmp_path, *(each for each in tmp_path.parents if own in each.parents)):
        folder.chmod(0o755)
    return tmp_path


@pytest.mark.posix
def test_a_folder_that_may_not_be_listed_is_reported_and_the_rest_is_read(open_tmp: Path) -> None:
    root = plant(open_tmp / "root", "a.md", "locked/b.md", "locked/in/c.md", "no-entry/d.md", "mine.md")
    (root / "mine.md").chmod(0o000)
    (root / "no-entry").chmod(0o444)
    (root / "locked").chmod(0o000)
    try:
        command = [sys.executable, "-c", AS_NOBODY, str(root), str(REPOSITORY)]
        run = subprocess.run(command, check=True, capture_output=True, encoding="utf-8")
    finally:
        for folder in ("locked", "no-entry"):
            (root / folder).chmod(0o755)
    seen = json.loads(run.stdout)
    assert seen["files"] == ["a.md", "mine.md"]
    assert seen["unreadable"] == ["locked", "no-entry"]
    assert ["locked", "It cannot be read: permission denied."] in seen["skipped"]
    assert seen["root"].startswith("InvalidInput: The folder ")
    assert seen["read"] == "ExtractError: The file 'mine.md' cannot be read: permission denied."
    assert seen["why"] == "It cannot be read: permission denied."
    assert seen["folders"] == []


# --- what is left out without asking -----------------------------------------------------


@pytest.mark.parametrize(
    "folder", [".git", ".obsidian", ".trash", "node_modules", ".venv", "venv", "__pycache__", ".any"]
)
def test_hidden_folders_are_walked_only_if_a_pattern_names_them(tmp_path: Path, folder: str) -> None:
    plant(tmp_path, f"sub/{folder}/x.md", "a.md")
    assert found(tmp_path, "**/*.md") == ["a.md"]
    assert skipped(tmp_path, "**/*.md") == {}
    assert found(tmp_path, f"sub/{folder}/**") == [f"sub/{folder}/x.md"]
    assert why_skipped(tmp_path, f"sub/{folder}/x.md".encode(), []) is not None


@pytest.mark.parametrize(
    ("folder", "is_read"),
    [
        ("Mail/.Archive/cur", True),
        ("Mail/.Archive.2024/new", False),
        ("Mail/.thumbnails", False),
        (".Mail/cur", False),
    ],
)
def test_the_folders_of_a_maildir_are_not_hidden(tmp_path: Path, folder: str, is_read: bool) -> None:
    plant(tmp_path, "Mail/cur/1.host:2,S", f"{folder}/2.host:2,S")
    assert (f"{folder}/2.host:2,S" in found(tmp_path)) is is_read


def test_hidden_files_are_left_out_unless_a_pattern_names_them(tmp_path: Path) -> None:
    plant(tmp_path, ".draft.md", "a/.b.md")
    assert found(tmp_path) == []
    assert found(tmp_path, ".draft.md", "**/.b.*") == [".draft.md", "a/.b.md"]


KEYS = (
    "server.pem a.KEY x.p12 x.pfx pass.kdbx id_rsa id_ed25519.pub prod.env "
    ".env.local .netrc .npmrc credentials Credentials.json secrets.yml secrets.yaml client_secret_1.json"
)


@pytest.mark.parametrize("name", KEYS.split())
def test_key_like_files_are_left_out_whatever_the_patterns_say(tmp_path: Path, name: str) -> None:
    plant(tmp_path, f"a/{name}", "a/notes-on-keys.md")
    assert found(tmp_path, "**/*", f"a/{name}", "a/.*") == ["a/notes-on-keys.md"]
    why = KEY_OR_KEYNOTE if name == "a.KEY" else KEY_LIKE
    assert skipped(tmp_path, "**/*", f"a/{name}") == {f"a/{name}": why}
    assert why_skipped(tmp_path, f"a/{name}".encode(), []) == ("rule", why)


@pytest.mark.parametrize("folder", [".ssh", ".gnupg", ".aws"])
def test_folders_of_keys_are_left_out_whatever_the_patterns_say(tmp_path: Path, folder: str) -> None:
    plant(tmp_path, f"{folder}/config")
    assert found(tmp_path, f"{folder}/**", f"{folder}/config") == []


# --- why, preview, split -------------------------------------------------------------------


def test_why_skipped_names_the_rule(tmp_path: Path) -> None:
    plant(tmp_path, "a.md", "a.log", "b.txt", ".x.md", "node_modules/y.md", "drafts/sub/z.md", "sub/n.tmp")
    plant(tmp_path, ".gitignore", text=b"*.log\n")
    plant(tmp_path, "sub/.gitignore", text=b"/n.*\n")

    def why(path: bytes) -> str | None:
        refusal = why_skipped(tmp_path, path, ["**/*.{md,log,tmp}"], ["x", "drafts"])
        return refusal and refusal.text

    assert why(b"a.md") is None
    assert why(b"a.log") == f"The line '*.log' of {str(tmp_path / '.gitignore')!r} ignores it."
    assert why(b"sub/n.tmp") == f"The line '/n.*' of {str(tmp_path / 'sub/.gitignore')!r} ignores it."
    assert why(b"b.txt") == NOT_MATCHED
    assert "hidden" in str(why(b".x.md"))
    assert why(b"node_modules/y.md") == f"It is in 'node_modules', which is left out. {NEVER_READ}"
    assert why(b"drafts/sub/z.md") == f"It is in 'drafts', which is left out. {EXCLUDED[:-1]}: 'drafts'."
    assert why(b"gone.md") == "It cannot be read: no such file or directory."
    assert why(b"sub/") is None


def test_a_preview_counts_what_a_scan_would_find(tmp_path: Path) -> None:
    plant(tmp_path, *(f"n{n}.md" for n in range(7)), "a.TXT", "b.txt", "Makefile", text=b"12")
    seen = preview(tmp_path, [], ["n0.*"])
    assert (seen.count, seen.total_bytes, seen.truncated) == (9, 18, False)
    assert seen.samples[:4] == ("Makefile", "a.TXT", "b.txt", "n1.md")
    assert len(seen.samples) == 9
    assert list(seen.by_suffix.items()) == [(".md", 6), (".txt", 2), ("", 1)]


def test_a_preview_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    plant(tmp_path, *(f"{n % 4}/{n}.md" for n in range(40)))
    seen = preview(tmp_path, ["**/*.md"], max_files=20)
    assert seen.truncated
    assert 0 < seen.count <= 20
    assert not preview(tmp_path, ["**/*.md"], max_files=44).truncated


def test_split_glob_finds_the_folder_in_what_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = plant(tmp_path / "home", "notes/a.md", "notes/odd [1]/b{2}*.md")
    monkeypatch.setenv("HOME", str(home))
    base = home / "notes"
    monkeypatch.chdir(home)
    assert split_glob("notes/*/x.md") == (base, "*/x.md")
    assert split_glob("{notes,other/x}/*.md") == (home, "{notes,other/x}/*.md")
    monkeypatch.chdir(base)
    assert split_glob("~/notes/**/*.md") == (base, "**/*.md")
    assert split_glob(f"{home}/*.py") == (home, "*.py")
    assert split_glob("*.md") == (base, "*.md")
    assert split_glob("../notes/") == (base, "**/*")
    assert split_glob(".") == (base, "**/*")
    assert split_glob("odd [1]/*.md") == (base / "odd [1]", "*.md")


@pytest.mark.parametrize("typed", ["missing", "missing/**/*.md", "", "~nobody-by-this-name/x", "*/../x"])
def test_split_glob_refuses_what_leads_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput) as error:
        split_glob(typed)
    assert error.value.suggestion


@pytest.mark.parametrize(
    "name", ["~$budget.docx", ".~lock.plan.odt#", "desktop.ini", "Thumbs.db", ".DS_Store", "._photo.jpg"]
)
def test_what_programs_leave_behind_is_no_file_of_the_owner(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\0\1")
    (tmp_path / "note.md").write_text("A note.", "utf-8")
    patterns = ["**/*", f"**/{name}"]
    assert [file.path for file in scan(tmp_path, patterns).files] == [b"note.md"]
    refusal = why_skipped(tmp_path, name.encode(), patterns)
    assert refusal is not None
    assert refusal.text == LEFTOVER
