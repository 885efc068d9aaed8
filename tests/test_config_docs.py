"""docs/configuration.md is what the table says, and answers for every setting of the other tools."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import click
import pytest

from rag_core.cli import app
from rag_core.config.keys import HOME
from rag_core.config.settings import BY_NAME, BY_VARIABLE, KEYS
from rag_core.config.tables import FOLDERS, SIZES, STORES

ROOT = Path(__file__).resolve().parents[1]
MAKER = runpy.run_path(str(ROOT / "docs" / "make_configuration.py"))
ROWS: list[Any] = MAKER["other_tools"]()


def test_the_page_about_configuration_is_made_from_the_table() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert page == MAKER["page"](), "run python docs/make_configuration.py"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_setting_is_documented_with_its_variable(key: Any) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    row = re.findall(rf"^\| `{key.name}` \|.*", page, re.MULTILINE)[0]
    assert key.about in row
    assert all(f"`{name}`" in row for name in key.variables[:1] + key.aliases)


def test_every_setting_of_the_other_tools_is_answered_once() -> None:
    """The list was taken from their documents by hand, apart from the table of answers."""
    lines = (ROOT / "tests" / "other_tools.txt").read_text("utf-8").splitlines()
    listed = [tuple(line.split("\t")) for line in lines if not line.startswith("#")]
    assert sorted((row.tool, row.kind, row.name) for row in ROWS) == sorted(listed)
    assert len(set(listed)) == len(listed) > 90


@pytest.mark.parametrize("row", [r for r in ROWS if r.verdict == "ours"], ids=lambda r: f"{r.tool} {r.name}")
def test_what_is_ours_exists(row: Any) -> None:
    match row.target.split():
        case ["commonplace", *words]:
            assert words_exist(words), row.target
        case [name]:
            assert name == HOME or name in BY_VARIABLE or in_yaml(name.split(".")), row.target


def words_exist(words: list[str]) -> bool:
    command: click.Command = app
    for word in words:
        if word.startswith("--"):
            return any(word in (*each.opts, *each.secondary_opts) for each in command.params)
        command = getattr(command, "commands", {})[word]
    return True


def in_yaml(parts: list[str]) -> bool:
    match parts:
        case [name]:
            return name in {key.name for key in KEYS}
        case ["chunking", "TYPE", name]:
            return name in SIZES.values()
        case ["stores", "NAME", name]:
            return name in STORES.values()
        case ["stores", "NAME", "folders", name]:
            return name in FOLDERS.values()
        case _:
            return False


@pytest.mark.parametrize("row", [r for r in ROWS if r.verdict != "ours"], ids=lambda r: f"{r.tool} {r.name}")
def test_an_option_that_is_not_ours_is_not_there(row: Any) -> None:
    words = row.name.split()
    assert row.kind != "option" or words[0] not in app.commands or not words_exist(words)


def test_what_was_dropped_has_a_reason() -> None:
    assert {row.verdict for row in ROWS} == {"ours", "dropped"}
    assert all(len(row.target) > 20 for row in ROWS if row.verdict == "dropped")


def test_a_name_that_is_said_to_be_accepted_is(tmp_path: Path) -> None:
    accepted = {*BY_NAME, *BY_VARIABLE, *FOLDERS, *STORES}
    names = [name for row in ROWS for name in re.findall("also accepted as `(.+?)`", row.note)]
    assert len(names) >= 5
    assert set(names) <= accepted
