"""Groups of commands, and the common parts of commands that return an answer. Nothing slow is imported."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from rag_core.errors import RagError

_AS_JSON = "commonplace.as_json"


class ByKey(RagError):
    """The error when the owner stops the command with Ctrl-C."""


def wants_json() -> bool:
    """Whether the command that runs now was given --json."""
    return bool(click.get_current_context().meta[_AS_JSON])


json_option = click.option(
    "--json",
    "as_json",
    is_flag=True,
    expose_value=False,
    help="Print JSON for programs.",
    callback=lambda ctx, _, value: ctx.meta.update({_AS_JSON: value}),
)


class Answering(click.Command):
    """A command with the option --json."""

    def __init__(self, name: str | None, **attributes: Any) -> None:
        super().__init__(name, **attributes)
        json_option(self)


_SYNONYMS = {
    "add": "init",
    "check": "verify",
    "create": "store create",
    "delete": "store delete",
    "export": "store export",
    "files": "list",
    "find": "query",
    "folders": "source list",
    "import": "store import",
    "install": "model install",
    "ls": "list",
    "search": "query",
    "sources": "source list",
    "start": "serve",
    "stores": "store list",
}
"""A command that a new user may type → the existing command."""


class Commands(click.Group):
    """A group whose commands have the option --json."""

    command_class = Answering

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to call. Raises UsageError for an unknown command; for a synonym, such as
        *search*, the error suggests the command."""
        meant = _SYNONYMS.get(args[0]) if args and not (ctx.parent or ctx.resilient_parsing) else None
        if meant:
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {meant!r}?", ctx)
        return super().resolve_command(ctx, args)


class LazyCommands(Commands):
    """A group whose commands are imported when they are called. ``homes`` maps each name to the module in
    this package and the function in the module."""

    homes: Mapping[str, str] = {}

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command to call. Raises NoSuchCommand, which suggests similar commands. Click itself
        could suggest only imported ones."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(args[0], possibilities=self.homes, ctx=ctx) from error

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click calls it
        """Return the names of all commands, in order."""
        return sorted(self.homes)

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002 - click calls it
        cmd_name: str,
    ) -> click.Command | None:
        """Import and return a command; None if there is no such command."""
        if cmd_name not in self.homes:
            return None
        module, _, function = self.homes[cmd_name].partition(".")
        command: click.Command = getattr(import_module(f"rag_core.cli.{module}"), function)
        list_whole_sentences(command)
        return command


def list_whole_sentences(command: click.Command) -> None:
    """Show the whole first sentence of each command in the list of a group. Click would cut it."""
    command.short_help = command.short_help or (command.help or "").partition("\n\n")[0].replace("\n", " ")
    if isinstance(command, click.Group):
        for below in command.commands.values():
            list_whole_sentences(below)
