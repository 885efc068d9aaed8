"""Groups of commands, and suggestions for words that newcomers may type."""

from __future__ import annotations

import click

from rag_core.cli.options import Answering

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
"""What a newcomer may type → the command."""


class Commands(click.Group):
    """A group of commands with --json."""

    command_class = Answering

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. Raises UsageError, with a suggestion for a synonym."""
        meant = _SYNONYMS.get(args[0]) if args and not (ctx.parent or ctx.resilient_parsing) else None
        if meant:
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {meant!r}?", ctx)
        return super().resolve_command(ctx, args)
