"""The documentation says what the program does."""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import click
import pytest

from rag_core.cli import app
from tests.docs.doc_pages import GUIDES, README, ROOT, named_commands

VARIABLE = "COMMONPLACE_[A-Z][A-Z0-9_]*[A-Z0-9]"
FIRST_PAGES = [README, *(ROOT / "docs" / f"{name}.md" for name in ("tour", "installing", "container"))]
"""What newcomers follow, line by line."""
PAGES = [README, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def test_the_page_about_the_command_line_is_what_help_says() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "make_cli.py"))["page"]()
    assert (ROOT / "docs" / "cli.md").read_text("utf-8") == made, "run python docs/make_cli.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_and_picture_of_a_page_exists(page: Path) -> None:
    assert [target for target in links(page) if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "docs/architecture.md", "docs/example.md"])
def test_every_module_that_a_developer_is_sent_to_exists(page: str) -> None:
    named = re.findall(r"(?<![\w/])((?:\w+/)+\w+\.py)", (ROOT / page).read_text("utf-8"))
    missing = [path for path in named if not any((top / path).exists() for top in (ROOT, ROOT / "rag_core"))]
    assert missing == []


def links(page: Path) -> list[str]:
    """The files that a page links to."""
    return re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text("utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    for named in named_commands(page):
        program, *words = shlex.split(re.sub(r"[\[\]…]", " ", named), comments=True)
        if program == "make":
            assert set(words) & targets() or words == [], named
        else:
            assert {word.partition("=")[0] for word in words if word.startswith("-")} <= options(words), named


def targets() -> set[str]:
    """What can be asked of make."""
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))


def options(words: list[str]) -> set[str]:
    """The options of the command that ``words`` begin with."""
    command: click.Command = app
    for word in words:
        if not isinstance(command, click.Group) or word.startswith("-"):
            break
        below = command.get_command(click.Context(command), word)
        assert below is not None, word
        command = below
    context = click.Context(command, help_option_names=["-h", "--help"])
    parameters = command.get_params(context)
    return {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [README]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        linked = {(page.parent / target).resolve() for target in links(page) if target.endswith(".md")}
        waiting += linked - seen
    assert [page.name for page in GUIDES if page not in seen] == []


def test_every_environment_variable_is_documented() -> None:
    pages = "".join(page.read_text("utf-8") for page in GUIDES)
    documented = set(re.findall(f"`({VARIABLE})[`=]", pages))
    ours = [ROOT / "app.py", ROOT / "Makefile", ROOT / ".ci" / "run"]
    ours += [
        p for name in ("rag_core", "ui", "pages", "docs", "benchmarks") for p in (ROOT / name).rglob("*.py")
    ]
    read = {name for p in ours if p.exists() for name in re.findall(VARIABLE, p.read_text("utf-8"))}
    tests = "".join(path.read_text("utf-8") for path in (ROOT / "tests").rglob("*.py"))
    assert read | set(re.findall("COMMONPLACE_TEST_[A-Z0-9]+", tests)) <= documented


@pytest.mark.parametrize("page", FIRST_PAGES, ids=[page.stem for page in FIRST_PAGES])
def test_a_line_that_newcomers_paste_has_no_remark(page: Path) -> None:
    """zsh, the shell of macOS, and cmd.exe take ``# …`` as words for the command."""
    blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", page.read_text("utf-8"))
    assert blocks
    assert [line for block in blocks for line in block.splitlines() if "#" in line] == []
