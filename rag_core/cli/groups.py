"""Groups of commands, and suggestions for commands and options that do not exist."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import click

from rag_core.cli.options import Answering

_SYNONYMS = {
    "add": "init",
    "answer": "ask",
    "check": "verify",
    "create": "store create",
    "delete": "store delete",
    "export": "store export",
    "files": "list",
    "find": "query",
    "folders": "source list",
    "import": "store import",
    "info": "store info",
    "install": "model install",
    "ls": "list",
    "make": "store create",
    "pause": "source pause",
    "remove": "source remove",
    "rename": "store rename",
    "resume": "source resume",
    "runs": "jobs",
    "search": "query",
    "sources": "source list",
    "start": "serve",
    "stores": "store list",
}
"""What a newcomer may type → the command."""

_SYNONYMS_IN_GROUPS = {
    "add": ("create",),
    "delete": ("remove", "revoke"),
    "drop": ("delete", "remove", "revoke"),
    "ls": ("list",),
    "make": ("create", "add"),
    "move": ("rename",),
    "new": ("create", "add"),
    "remove": ("delete", "revoke"),
    "revoke": ("remove",),
    "rm": ("delete", "remove", "revoke"),
    "show": ("info", "list"),
}
"""What a newcomer may type after a group's name → commands; the first that the group has is meant."""


class Commands(click.Group):
    """A group of commands with --json. It suggests a command for a synonym or a typing error."""

    command_class = Answering

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called. Raises UsageError with a suggestion."""
        word, synonyms = args[0] if args else "", self._synonyms(ctx)
        near = difflib.get_close_matches(word, [*self.commands, *synonyms], n=1)
        meant = synonyms.get(word if word in synonyms else "".join(near))
        if meant and word not in self.commands and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {word!r}. Did you mean {meant!r}?", ctx)
        return super().resolve_command(ctx, args)

    def _synonyms(self, ctx: click.Context) -> Mapping[str, str]:
        if ctx.parent is None:
            return _SYNONYMS
        return {
            word: next(each for each in meant if each in self.commands)
            for word, meant in _SYNONYMS_IN_GROUPS.items()
            if word not in self.commands and not self.commands.keys().isdisjoint(meant)
        }


class StoreGroup(Commands):
    """A group of commands whose first argument is a store; --store NAME works, too."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is called, with the value of --store as its first argument."""
        word, command, rest = super().resolve_command(ctx, args)
        taken = [each.name for each in command.params if isinstance(each, click.Argument)] if command else []
        return word, command, _store_first(rest) if taken[:1] == ["name"] else rest


def _store_first(words: list[str]) -> list[str]:
    for at, word in enumerate(words):
        if word.startswith("--store="):
            return [word.removeprefix("--store="), *words[:at], *words[at + 1 :]]
        if word == "--store" and words[at + 1 :]:
            return [words[at + 1], *words[:at], *words[at + 2 :]]
    return words


def keep_similar_options(error: click.ClickException) -> None:
    """Removes suggestions that share only their dashes with the option that does not exist."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        known = {name.lstrip("-"): name for name in error.possibilities}
        near = difflib.get_close_matches(error.option_name.lstrip("-"), known)
        error.possibilities[:] = [known[name] for name in near]
