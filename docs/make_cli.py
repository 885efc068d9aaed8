"""Write docs/cli.md from the commands' own help: ``python docs/make_cli.py``. A test compares them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import click

from rag_core.cli import COMMANDS, app
from rag_core.config import Settings

PAGE = Path(__file__).resolve().parent / "cli.md"


def page() -> str:
    """The whole page."""
    parts = ["# The command line\n\nMade from `--help` by `docs/make_cli.py`.\n"]
    parts += [
        f"\n## `{name}`\n\n```text\n{text.rstrip()}\n```\n" for name, text in _commands(app, "commonplace")
    ]
    return "".join(parts)


def _commands(command: click.Command, name: str) -> Iterator[tuple[str, str]]:
    settings = {**app.context_settings, **command.context_settings}  # as when the command is run
    defaults = Settings(Path(), Path(), ())  # not what is configured on this machine
    context = click.Context(
        command, info_name=name, obj=defaults, terminal_width=100, max_content_width=100, **settings
    )
    yield name, command.get_help(context)
    if isinstance(command, click.Group):
        for word in COMMANDS if command is app else command.commands:
            below = command.get_command(context, word)
            assert below is not None  # noqa: S101 - the group names it
            yield from _commands(below, f"{name} {word}")


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
