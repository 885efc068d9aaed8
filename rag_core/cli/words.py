"""What a search and a question are given alike: words, on the command line or from standard input, the
stores, and filters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import click

from rag_core.cli.options import check_configured, name_of_store, setting_option
from rag_core.errors import InvalidInput
from rag_core.query import FILTER_KEYS, filters_from
from rag_core.types import Filters

WORDS: dict[str, Any] = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
"""The context of such a command: a word with a minus is part of it, so what looks like a short option is left
alone."""


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


def stdin_option(what: str) -> Callable[[Any], Any]:
    """``--stdin``, from where ``what`` is read."""
    return click.option("--stdin", "from_stdin", is_flag=True, help=f"Read the {what} from standard input.")


filter_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    callback=lambda _context, _option, given: _filters(given),
    help=f"One of {', '.join(FILTER_KEYS)}.",
)
"""``--filter KEY=VALUE`` once or more, as `Filters`."""


def the_words(given: Sequence[str], argument: str, what: tuple[str, str], *, from_stdin: bool) -> str:
    """The words of the command line or of standard input; ``what`` they are, one and several.

    Raises InvalidInput for both or neither, NoSuchOption for a word that is meant as an option.
    """
    if unknown := next((word for word in given if word.startswith("--")), None):
        raise click.NoSuchOption(unknown)
    if from_stdin == bool(given):
        said = f"There are two {what[1]}." if given else f"There is no {what[0]}."
        raise InvalidInput(said, f"Give {argument} or --stdin.")
    if from_stdin:
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return " ".join(given)


def _filters(given: Sequence[str]) -> Filters:
    return filters_from(map(_pair, given))


def _pair(text: str) -> tuple[str, str]:
    """``KEY=VALUE`` taken apart. Raises InvalidInput without an equals sign."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"The filter {text!r} has no '='.", "Write it like type=python.")
    return key.strip(), value.strip()
