"""Searching, and the common options of all searches."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from rag_core.api.encoding import hits_csv
from rag_core.cli import commands, options
from rag_core.cli.screen import warn
from rag_core.cli.terminal import show_answer
from rag_core.errors import InvalidInput
from rag_core.search.query import FILTER_KEYS, filters_from
from rag_core.types import OWNER, SORTS, Filters, Group

_LETTER = re.compile(r"-[^\W\d_]")
_SHORT = {"-k": "--top-k", "-h": "--help"}
_NUMBER = re.compile(r"-k=?([0-9]+)")


class Worded(click.Command):
    """A command whose arguments are words to search. A minus before a word excludes it (``-kale``), so
    options with one minus have a single letter."""

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        settings = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
        super().__init__(name, context_settings=settings, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, after replacing short options by long ones. Raises UsageError for a minus with
        a single letter (``-x``) that is no option."""
        end = args.index("--") if "--" in args else len(args)
        given = [_NUMBER.sub(r"--top-k=\1", word) if _NUMBER.fullmatch(word) else word for word in args[:end]]
        given = [_SHORT.get(word, word) for word in given]
        if (odd := next(filter(_LETTER.fullmatch, given), None)) and not ctx.resilient_parsing:
            quoted = f"put all words into one pair of quotes: 'tea {odd}'."
            raise click.UsageError(f"There is no option {odd}. To leave that word out, {quoted}", ctx)
        return super().parse_args(ctx, [*given, *args[end:]])


def searched_stores_option(asked: str) -> Callable[[Any], Any]:
    """Return the option ``--store NAME``, which can be repeated. Its help says that every store is ``asked``
    if the option is not given; ``asked`` is a word such as *searched*."""
    return options.setting_option(
        "--store",
        "stores",
        setting="default_stores",
        multiple=True,
        **options.name_of_store,
        help=f"A store; repeat for several. By default, the store of the setting default_store is {asked}, or"
        " every store if it is not set.",
    )


def _filters(_: click.Context, __: click.Parameter, given: Sequence[str]) -> Filters:
    """Convert the values ``KEY=VALUE`` of an option to `Filters`. Raises InvalidInput if an equals sign is
    missing."""
    if wrong := next((pair for pair in given if "=" not in pair), None):
        raise InvalidInput(f"The filter {wrong!r} has no '='.", "Write it like type=python.")
    parts = (pair.partition("=") for pair in given)
    return filters_from((key.strip(), value.strip()) for key, _, value in parts)


stdin_option = click.option("--stdin", "from_stdin", is_flag=True, help="Read the words from standard input.")
filter_option = click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="KEY=VALUE",
    callback=_filters,
    help=f"One of {', '.join(FILTER_KEYS)}.",
)


class _Score(click.ParamType[float]):
    """The type of an option for scores: a number, or percent as on the pages."""

    name = "score"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        if isinstance(value, float):  # the setting
            return value
        try:
            return float(value.removesuffix("%")) / (100 if value.endswith("%") else 1)
        except ValueError:
            return self.fail(f"{value!r} is not a score. Write one like 0.7 or 70%.", param, ctx)


min_score_option = options.setting_option(
    "--min-score",
    setting="min_score",
    type=_Score(),
    metavar="SCORE",
    help="Only passages of at least this score, such as 0.7 or 70%.",
)


sort_option = click.option(
    "--sort",
    type=click.Choice(SORTS),
    default="best",
    show_default=True,
    help="The order of passages that fit; near misses follow.",
)


def words_of(given: Sequence[str], *, from_stdin: bool) -> str:
    """Return the words from the command line or from standard input. Raises InvalidInput if both are given,
    and NoSuchOption if an unknown option is among them."""
    if unknown := next((word for word in given if word.startswith("--")), None):
        options = [
            name for parameter in click.get_current_context().command.params for name in parameter.opts
        ]
        raise click.NoSuchOption(unknown, possibilities=options)
    if from_stdin and given:
        raise InvalidInput("Words and --stdin cannot be used together.", "Give only one of them.")
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip() if from_stdin else " ".join(given)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Return the options given on the command line, with their values."""
    context = click.get_current_context()
    on_line = click.core.ParameterSource.COMMANDLINE
    return {name: value for name, value in values.items() if context.get_parameter_source(name) is on_line}


@click.command(cls=Worded)
@click.argument("text", nargs=-1)
@searched_stores_option("searched")
@stdin_option
@options.setting_option(
    "--top-k", "--k", "top_k", setting="top_k", type=int, help="Number of passages; also -k."
)
@min_score_option
@filter_option
@options.setting_option("--mode", setting="mode", type=click.Choice(["hybrid", "vector", "lexical"]))
@options.setting_option(
    "--max-tokens",
    setting="max_tokens",
    type=int,
    help="Maximum number of tokens of all passages together.",
)
@click.option("--offset", type=int, default=0, show_default=True, help="Skip this many passages first.")
@click.option(
    "--group",
    type=click.Choice(["document", "none"]),
    help="List documents with their best passage (the default), or every passage (with --json and --csv).",
)
@sort_option
@click.option("--facets", is_flag=True, help="Count what matches by type, tag, folder, store and year.")
@click.option("--saved", metavar="NAME", help="Run this saved search; other options override its values.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets.")
@commands.json_option
def query(
    text: tuple[str, ...],
    stores: tuple[str, ...],
    from_stdin: bool,
    as_csv: bool,
    group: Group | None,
    saved: str | None,
    **asked: Any,
) -> None:
    """Search by words and by meaning.

    TEXT may contain filters such as type: or tag: (see --filter), store:, "exact words" and -without. Values
    of one key are alternatives: tag:a tag:b finds either. Put TEXT in single quotes if it has double quotes
    or parentheses.
    """
    words = words_of(text, from_stdin=from_stdin)
    if saved is not None and words:
        raise InvalidInput("Words and --saved cannot be used together.", "Give only one of them.")
    if as_csv and commands.wants_json():
        raise InvalidInput("--csv and --json cannot be used together.", "Give only one of them.")
    library = options.library_of_owner()
    group = group or ("none" if as_csv or commands.wants_json() else "document")
    if saved is None:
        answer = library.searching.search(OWNER, words, stores, group=group, **asked)
    else:
        answer = library.saved.open(OWNER, saved, group=group, **_given({"stores": stores, **asked}))
    failed = library.searching.failed_files(OWNER, answer)
    answer = replace(answer, notices=(*answer.notices, *failed))
    if as_csv:
        warn(*answer.warnings)
        click.echo(hits_csv(answer, OWNER, marked=False), nl=False)
        return
    now = library.jobs.freshness(OWNER, answer.stores)
    if commands.wants_json():
        from rag_core.api import answers  # only now: it is slow to import

        options.print_json(answers.Answer.with_freshness(answer, now))
    else:
        show_answer(answer, now)
