"""The documentation says what the program does."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import click
import pytest

from rag_core.cli import app

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_about_the_command_line_is_what_help_says() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"]()
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == made, "run python docs/make_cli.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_exists(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_command_in_the_readme_exists_with_its_options() -> None:
    lines = re.findall(
        r"^commonplace (.+?)(?:\s+#.*)?$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(lines) >= 6
    for line in lines:
        words = re.findall(r"'[^']*'|\"[^\"]*\"|\S+", line)
        command = app.commands[words[0]]
        context = click.Context(command)
        known = {option for parameter in command.get_params(context) for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


def test_every_decision_is_numbered_once_and_in_order() -> None:
    names = sorted(page.name for page in (ROOT / "docs" / "decisions").glob("0*.md"))
    assert [int(name[:4]) for name in names] == list(range(1, len(names) + 1))
