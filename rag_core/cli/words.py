"""What a search and a question are given alike: words, on the command line or from standard input, the
stores, and filters."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from rag_core.api.encoding import plain
from rag_core.cli.options import check_configured, name_of_store, setting_option, store_names
from rag_core.errors import InvalidInput
from rag_core.search.query import FILTER_KEYS, filters_from, parse

_LETTER = re.compile(r"-[^\W\d_]")
_SHORT = {"-k": "--top-k", "-h": "--help"}
_NUMBER = re.compile(r"-k=?([0-9]+)")


class Worded(click.Command):
    """A command that is given words. One with a minus (``-kale``) is left out of what is found, so only a
    single letter behind a minus is an option."""

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        settings = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
        super().__init__(name, context_settings=settings, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it, with the short options written out. Raises UsageError for one that is none."""
        end = args.index("--") if "--" in args else len(args)
        given = [_NUMBER.sub(r"--top-k=\1", word) if _NUMBER.fullmatch(word) else word for word in args[:end]]
        given = [_SHORT.get(word, word) for word in given]
        if (odd := next(filter(_LETTER.fullmatch, given), None)) and not ctx.resilient_parsing:
            quoted = f"put all words into one pair of quotes: 'tea {odd}'."
            raise click.UsageError(f"There is no option {odd}. To leave that word out, {quoted}", ctx)
        return super().parse_args(ctx, [*given, *args[end:]])


def store_option(asked: str) -> Callable[[Any], Any]:
    """``--store NAME`` once or more; ``asked`` is what happens to every store without it."""
    return setting_option(
        "--store", "stores", setting="default_stores", multiple=True, callback=_configured, **name_of_store,
        help=f"A store; repeat for several. Without it the setting default_store, or every store is {asked}.",
    )  # fmt: skip


def _configured(ctx: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names if not ctx.resilient_parsing else ():
        check_configured(ctx, parameter, name)
    return names


def say_where(words: str, stores: Sequence[str]) -> None:
    """Say which stores are asked where that is by a setting, and there are others."""
    ctx = click.get_current_context()
    source = ctx.get_parameter_source("stores")
    if not stores or source is not ParameterSource.DEFAULT or parse(words).stores:
        return
    if others := len(set(store_names(ctx)) - set(stores)):
        said = f"Only in {', '.join(map(repr, stores))}, as the setting default_store has it"
        click.secho(plain(f"{said}; --store names others ({others} more)."), dim=True, err=True)


def stdin_option(what: str) -> Callable[[Any], Any]:
    """``--stdin``, from where ``what`` is read."""
    return click.option("--stdin", "from_stdin", is_flag=True, help=f"Read the {what} from standard input.")


filter_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda _context, _option, given: filters_from(map(_pair, given)),
    help=f"One of {', '.join(FILTER_KEYS)}.",
)
"""``--filter KEY=VALUE`` once or more, as `Filters`."""


def the_words(given: Sequence[str], argument: str, what: tuple[str, str], *, from_stdin: bool) -> str:
    """The words of the command line or of standard input; ``what`` they are, one and several.

    Raises InvalidInput for both or neither, NoSuchOption for a word that is meant as an option.
    """
    if unknown := next((word for word in given if word.startswith("--")), None):
        options = [name for each in click.get_current_context().command.params for name in each.opts]
        known = [name for name in options if name.startswith("--")]
        raise click.NoSuchOption(unknown, possibilities=difflib.get_close_matches(unknown, known, n=1))
    if from_stdin == bool(given):
        said = f"There are two {what[1]}." if given else f"There is no {what[0]}."
        raise InvalidInput(said, f"Give {argument} or --stdin.")
    if from_stdin:
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return " ".join(given)


def _pair(text: str) -> tuple[str, str]:
    """``KEY=VALUE`` taken apart. Raises InvalidInput without an equals sign."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"The filter {text!r} has no '='.", "Write it like type=python.")
    return key.strip(), value.strip()
