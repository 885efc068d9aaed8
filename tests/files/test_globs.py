"""Which files patterns and .gitignore choose, compared with the shell's rules and with git."""

from __future__ import annotations

import os
import shutil
import subprocess
import unicodedata
from pathlib import Path

import bracex
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from wcmatch import glob as reference

from rag_core.errors import InvalidInput
from rag_core.files import scan, validate_globs, why_skipped
from tests.support.trees import found, plant

pytestmark = pytest.mark.skipif(os.name == "nt", reason="links, pipes and modes as on POSIX")


# --- .gitignore --------------------------------------------------------------------------


def test_a_gitignore_leaves_out_what_it_names(tmp_path: Path) -> None:
    plant(tmp_path, "a.log", "a.md", "build/x.md", "sub/b.log", "sub/build/y.md", "sub/top.md", "top.md")
    plant(tmp_path, ".gitignore", text=b"# comment\r\n*.log\r\nbuild/\r\n/top.md\r\n")
    assert found(tmp_path) == ["a.md", "sub/top.md"]


def test_gitignores_above_the_root_count_up_to_the_repositorys_top(tmp_path: Path) -> None:
    plant(tmp_path, "repo/docs/in/a.md", "repo/docs/in/b.log", "repo/docs/in/c.txt", "repo/docs/in/d.tmp")
    plant(tmp_path, "repo/.git/HEAD")
    plant(tmp_path, ".gitignore", text=b"*.md\n")
    plant(tmp_path, "repo/.gitignore", text=b"*.log\n/docs/in/c.txt\n*.tmp\n")
    plant(tmp_path, "repo/docs/.gitignore", text=b"!*.tmp\n")
    assert found(tmp_path / "repo/docs/in") == ["a.md", "d.tmp"]


def test_without_a_repository_gitignores_above_the_root_do_not_count(tmp_path: Path) -> None:
    plant(tmp_path, "docs/a.log")
    plant(tmp_path, ".gitignore", text=b"*.log\n")
    assert found(tmp_path / "docs") == ["a.log"]


@pytest.mark.parametrize("line", ["/" + "**/a/" * 20 + "b", " " * 200_000 + "x"], ids=["stars", "spaces"])
def test_a_hostile_gitignore_takes_no_time(tmp_path: Path, line: str) -> None:
    deep = "a/" * 40
    plant(tmp_path, f"{deep}c.md", f"{deep}b")
    plant(tmp_path, ".gitignore", text=line.encode())
    assert f"{deep}c.md" in found(tmp_path)
    assert (f"{deep}b" in found(tmp_path)) == line.endswith("x")


GIT_LINES = st.sampled_from(
    r"""
    *.log !*.log a/ !a/ /a !/a * ** !*/ */ !*.md a/b !a/b **/b **/ a/** a/* !a/* b/c.md !c.md **/c.*
    [ab] [^a] ?.log /* / !/ ! a/**/c.md !b c.md/ \!x #x \#x a\*b a*b [[:alpha:]] [z-a] **/a/**/b/**
    a**d /**/x.log x\ //a a//
    """.split()
)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """An empty repository of git over a few files."""
    names = ("c.md", "x.log", "d", "#x", "!x", "a*b")
    plant(tmp_path, *(f"{d}{n}" for d in ("", "a/", "b/", "a/b/", "b/a/", "a/a/b/") for n in names))
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


@pytest.mark.skipif(shutil.which("git") is None, reason="there is no git to compare with")
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=st.lists(GIT_LINES, max_size=5), nested=st.lists(GIT_LINES, max_size=4))
def test_a_gitignore_means_what_it_means_to_git(repository: Path, top: list[str], nested: list[str]) -> None:
    plant(repository, ".gitignore", text="\n".join(top).encode())
    plant(repository, "a/.gitignore", text="\n".join(nested).encode())
    command = ["git", "ls-files", "-z", "--others", "--exclude-per-directory=.gitignore"]
    listed = subprocess.run(command, cwd=repository, check=True, capture_output=True, encoding="utf-8").stdout
    assert found(repository) == sorted(p for p in listed.split("\0") if p and not p.endswith(".gitignore"))


# --- globs -------------------------------------------------------------------------------

TREE = ("README.MD", "a.md", "b.txt", "notes/a.md", "notes/c.py", "notes/2024/d.md", "notes/2024/e.txt")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("**", set(TREE)),
        (".", set(TREE)),
        ("**/*.md", {"README.MD", "a.md", "notes/a.md", "notes/2024/d.md"}),
        ("*.md", {"README.MD", "a.md"}),
        ("./*.md", {"README.MD", "a.md"}),
        ("**/*.{p{y,l},txt}", {"b.txt", "notes/c.py", "notes/2024/e.txt"}),
        ("{notes/2024,nowhere}/*.md", {"notes/2024/d.md"}),
        ("notes", {p for p in TREE if p.startswith("notes/")}),
        ("NOTES/2024", {"notes/2024/d.md", "notes/2024/e.txt"}),
        ("not*/", {p for p in TREE if p.startswith("notes/")}),
        ("not*", set()),
        ("**/2024", {"notes/2024/d.md", "notes/2024/e.txt"}),
        ("notes/**/a.md", {"notes/a.md"}),
    ],
)
def test_a_pattern_chooses(tmp_path: Path, pattern: str, expected: set[str]) -> None:
    plant(tmp_path, *TREE)
    assert set(found(tmp_path, pattern)) == expected


@pytest.mark.parametrize(
    ("pattern", "gone"),
    [
        ("notes", {"notes/a.md", "notes/c.py", "notes/2024/d.md", "notes/2024/e.txt"}),
        ("**/20*", {"notes/2024/d.md", "notes/2024/e.txt"}),
        ("notes/*", {"notes/a.md", "notes/c.py", "notes/2024/d.md", "notes/2024/e.txt"}),
        ("**/*.md", {"README.MD", "a.md", "notes/a.md", "notes/2024/d.md"}),
        ("notes/**/*.md", {"notes/a.md", "notes/2024/d.md"}),
    ],
)
def test_an_exclude_pattern_prunes_folders(tmp_path: Path, pattern: str, gone: set[str]) -> None:
    plant(tmp_path, *TREE)
    assert set(found(tmp_path, exclude=(pattern,))) == set(TREE) - gone


def test_a_pattern_matches_whatever_unicode_form_the_name_has(tmp_path: Path) -> None:
    decomposed = unicodedata.normalize("NFD", "Ärger/Köln.md")
    plant(tmp_path, decomposed)
    assert found(tmp_path, "ärger/kö*.md") == [decomposed]
    assert found(tmp_path, unicodedata.normalize("NFD", "ÄRGER/**")) == [decomposed]


def test_a_folder_no_pattern_can_reach_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(tmp_path, "a/b/c/x.md", "d/x.md", "a/e/x.md")
    listed: list[bytes] = []
    real = os.scandir
    monkeypatch.setattr("os.scandir", lambda path: (listed.append(path), real(path))[1])
    assert found(tmp_path, "a/*/*.md") == ["a/e/x.md"]
    assert [os.path.relpath(path, os.fsencode(tmp_path)) for path in listed] == [b".", b"a", b"a/b", b"a/e"]


@pytest.mark.parametrize(
    "pattern", ["", "  ", "/etc/**", "~/notes/*.md", "../x/*", "a/../b", "{a,/etc}/*", "{..,a}/*", "a\0"]
)
def test_a_pattern_that_cannot_be_used_is_refused_with_a_next_step(tmp_path: Path, pattern: str) -> None:
    for include, exclude in (([pattern], []), ([], [pattern])):
        with pytest.raises(InvalidInput) as error:
            scan(tmp_path, include, exclude)
        assert repr(pattern) in error.value.message
        assert error.value.suggestion


def test_a_pattern_of_a_million_alternatives_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="more than 1000"):
        validate_globs(["{a,b}" * 20])


PIECE = st.sampled_from(["*", "?", "a", "b", "A", ".", "[ab]", "[!a]", "{a,b}", "{a,{b,c}}"])
SEGMENT = st.lists(PIECE, min_size=1, max_size=3).map("".join).filter(lambda s: s not in (".", ".."))
PATTERN = (
    st.lists(st.just("**") | SEGMENT, min_size=1, max_size=4)
    .map("/".join)
    .filter(lambda pattern: pattern.count("{") <= 5)  # both matchers refuse thousands of alternatives
)


@pytest.fixture(scope="module")
def bush(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three levels of folders, with the same five files in each."""
    outer = [f"{x}/" for x in ("d", "A.b", ".b")]
    folders = ["", *outer, *(f"{x}{y}/" for x in outer for y in ("bb", ".d"))]
    names = ("a", "b.a", ".a", "ab", "c")
    return plant(tmp_path_factory.mktemp("bush"), *(folder + name for folder in folders for name in names))


def names_below(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]


def matches_by_the_reference(path: str, pattern: str) -> bool:
    """wcmatch, with our rule that a last segment without wildcards names a folder, too."""
    flags = reference.GLOBSTAR | reference.IGNORECASE | reference.FORCEUNIX
    for plain in bracex.expand(pattern):
        name = plain.rsplit("/", 1)[-1]
        patterns = [plain] if set("*?[") & set(name) else [plain, f"{plain}/**"]
        if reference.globmatch(path, patterns, flags=flags):
            return True
    return False


@settings(max_examples=200, deadline=None)
@given(pattern=PATTERN)
def test_patterns_choose_what_an_independent_matcher_chooses(bush: Path, pattern: str) -> None:
    expected = sorted(path for path in names_below(bush) if matches_by_the_reference(path, pattern))
    assert sorted(found(bush, pattern)) == expected


@settings(max_examples=100, deadline=None)
@given(include=st.lists(PATTERN, max_size=2), exclude=st.lists(PATTERN, max_size=2))
def test_why_skipped_agrees_with_the_scan(bush: Path, include: list[str], exclude: list[str]) -> None:
    taken = {file.path for file in scan(bush, include, exclude).files}
    for name in map(os.fsencode, names_below(bush)):
        assert (why_skipped(bush, name, include, exclude) is None) == (name in taken)
