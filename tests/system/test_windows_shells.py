"""Commands in messages can be pasted into cmd.exe and PowerShell, read by `tests.support.windows_shells`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_core import system
from tests.support.windows_shells import cmd, powershell

VARIABLES = {"PATH": "elsewhere", "USERPROFILE": "elsewhere"}

BOTH = [
    ("tea.md", "tea.md"),
    (r"C:\Users\Zoë\茶.md", r"C:\Users\Zoë\茶.md"),
    ("green tea.md", '"green tea.md"'),
    (r"C:\notes\it's", '"C:\\notes\\it\'s"'),
    ("Ada’s.md", '"Ada’s.md"'),
    ('say "tea"', '"say ""tea"""'),
    ("C:\\my notes\\", '"C:\\my notes\\\\"'),
    ("D:\\", "D:\\"),
    ("100% tea.md", '"100% tea.md"'),
    ("5 $ a cup", '"5 $ a cup"'),
    ("a^b&c", '"a^b&c"'),
    ("@work", '"@work"'),
    ("ada@example.org", "ada@example.org"),
    ("**/*.md", '"**/*.md"'),
    ("-1.md", '"-1.md"'),
    ("(1);{2},[3]!#~|<>", '"(1);{2},[3]!#~|<>"'),
    ("", '""'),
]
POWERSHELL = [
    (r"C:\$HOME\tea.md", r"'C:\$HOME\tea.md'"),
    ("%PATH%", "'%PATH%'"),
    ("back`tick", "'back`tick'"),
    ("the “tea”", "'the “tea”'"),
    ("Ada’s $5 it's", "'Ada’’s $5 it''s'"),
]


@pytest.fixture(autouse=True)
def _windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "rules", system.WINDOWS)


def same(read: list[str], words: list[str]) -> bool:
    """Whether words arrived; of a path two backslashes at its end are one."""
    return [word.rstrip("\\") for word in read] == [word.rstrip("\\") for word in words]


def check(word: str) -> None:
    """Whether a word arrives in the shells that it is written for."""
    line = system.join_command(["commonplace", "show", word])
    assert same(powershell(line, escapes=True), ["commonplace", "show", word])
    if line.endswith("'"):
        return
    assert same(cmd(line, VARIABLES), ["commonplace", "show", word])
    if word and '"' not in word:
        assert same(powershell(line, escapes=False), ["commonplace", "show", word])


@pytest.mark.parametrize(("word", "quoted"), BOTH + POWERSHELL)
def test_a_word_arrives_as_it_is(word: str, quoted: str) -> None:
    assert system.quote(word) == quoted
    check(word)


@given(st.text("ab é’“\"'`$%^&@\\/.-:;(){}|<>,#!~*?[]=+HOMEPATH", max_size=12))
def test_whatever_the_word_is_it_arrives(word: str) -> None:
    check(word)


PROGRAMS = [
    (r"C:\Python\python.exe", r"C:\Python\python.exe -m pip"),
    (r"C:\Users\Ada King\python.exe", r'C:\"Users\Ada King\python.exe" -m pip'),
    (r"\\nas\my tools\python.exe", r'\\n"as\my tools\python.exe" -m pip'),
]


@pytest.mark.parametrize(("program", "line"), PROGRAMS)
def test_a_program_with_spaces_is_started_by_both_shells(program: str, line: str) -> None:
    assert system.join_command([program, "-m", "pip"]) == line
    assert cmd(line, VARIABLES) == powershell(line, escapes=True) == [program, "-m", "pip"]


def test_a_program_that_only_powershell_can_name_is_called_by_it() -> None:
    line = system.join_command([r"C:\a$b c\python.exe", "-m", "pip"])
    assert line == r"& 'C:\a$b c\python.exe' -m pip"
    assert powershell(line, escapes=True) == [r"C:\a$b c\python.exe", "-m", "pip"]
