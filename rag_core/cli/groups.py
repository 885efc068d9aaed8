"""Groups of commands: what is meant by other words for them, and by options that there are not."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

import click

_ANYWHERE = {
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
"""What somebody may type first who does not know the commands yet → the command."""

_VERBS: Mapping[str, tuple[str, ...]] = {
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
"""The same behind the name of a group → commands, of which the first that the group has is meant."""


class Commands(click.Group):
    """A group that knows what is meant by other words for its commands."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, but for the error."""
        word, others = args[0] if args else "", self._other_words(ctx)
        near = difflib.get_close_matches(word, [*self.commands, *others], n=1)
        meant = others.get(word if word in others else "".join(near))
        if meant and word not in self.commands and not ctx.resilient_parsing:
            raise click.UsageError(f"No such command {word!r}. Did you mean {meant!r}?", ctx)
        return super().resolve_command(ctx, args)

    def _other_words(self, ctx: click.Context) -> Mapping[str, str]:
        if ctx.parent is None:
            return _ANYWHERE
        own = ((word, next(filter(self.commands.__contains__, meant), "")) for word, meant in _VERBS.items())
        return {word: meant for word, meant in own if meant and word not in self.commands}


class StoreGroup(Commands):
    """Commands that are given the name of a store first: --store NAME is the same to them."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, with the name put first."""
        word, command, rest = super().resolve_command(ctx, args)
        taken = [each.name for each in command.params if isinstance(each, click.Argument)] if command else []
        return word, command, _name_first(rest) if taken[:1] == ["name"] else rest


def _name_first(words: list[str]) -> list[str]:
    for at, word in enumerate(words):
        option, equals, name = word.partition("=")
        rest = words[at + 1 :]
        if option == "--store" and (equals or rest):
            named = [name] if equals else rest[:1]
            return [*named, *words[:at], *(rest if equals else rest[1:])]
    return words


def near_enough(error: click.ClickException) -> None:
    """Leave out what an option is no slip for: that all of them begin with dashes makes none alike."""
    if isinstance(error, click.NoSuchOption) and error.possibilities:
        known = {name.lstrip("-"): name for name in error.possibilities}
        near = difflib.get_close_matches(error.option_name.lstrip("-"), known)
        error.possibilities[:] = [known[name] for name in near]
