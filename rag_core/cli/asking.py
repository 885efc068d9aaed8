"""Searching, and asking a question."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import click

from rag_core.api import answers
from rag_core.api.encoding import hits_csv, plain
from rag_core.ask.markdown import reference_place
from rag_core.cli import options
from rag_core.cli.screen import ProgressLine, line, warn
from rag_core.cli.terminal import show_answer
from rag_core.errors import InvalidInput
from rag_core.replies import DEFAULT_K, MAX_K, Draft, Reference, Reply, Statement, marked
from rag_core.search.query import FILTER_KEYS, filters_from
from rag_core.types import OWNER, SORTS, Filters, Group
from rag_core.wording import GET_A_MODEL, ONLY_TITLE, freshness

_NOTHING_FOUND = 3
"""The exit status when no passage fits the question."""
_LETTER = re.compile(r"-[^\W\d_]")
_SHORT = {"-k": "--top-k", "-h": "--help"}
_NUMBER = re.compile(r"-k=?([0-9]+)")


class _Worded(click.Command):
    """A command whose arguments are words to search. A word with a minus (``-kale``) excludes it, so only a
    single letter after a minus is an option."""

    def __init__(self, name: str | None, **kwargs: Any) -> None:
        settings = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
        super().__init__(name, context_settings=settings, **kwargs)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does, after replacing short options by long ones. Raises UsageError for an unknown
        one."""
        end = args.index("--") if "--" in args else len(args)
        given = [_NUMBER.sub(r"--top-k=\1", word) if _NUMBER.fullmatch(word) else word for word in args[:end]]
        given = [_SHORT.get(word, word) for word in given]
        if (odd := next(filter(_LETTER.fullmatch, given), None)) and not ctx.resilient_parsing:
            quoted = f"put all words into one pair of quotes: 'tea {odd}'."
            raise click.UsageError(f"There is no option {odd}. To leave that word out, {quoted}", ctx)
        return super().parse_args(ctx, [*given, *args[end:]])


def _stores_option(asked: str) -> Callable[[Any], Any]:
    """Return the option ``--store NAME``, which can be repeated. ``asked`` is the participle in its help:
    what is done with every store without it."""
    return options.setting_option(
        "--store",
        "stores",
        setting="default_stores",
        multiple=True,
        **options.name_of_store,
        help=f"A store; repeat for several. Without it the setting default_store, or every store is {asked}.",
    )


def _filters(_: click.Context, __: click.Parameter, given: Sequence[str]) -> Filters:
    """Convert the values ``KEY=VALUE`` of an option to `Filters`. Raises InvalidInput if an equals sign is
    missing."""
    if wrong := next((each for each in given if "=" not in each), None):
        raise InvalidInput(f"The filter {wrong!r} has no '='.", "Write it like type=python.")
    parts = (each.partition("=") for each in given)
    return filters_from((key.strip(), value.strip()) for key, _, value in parts)


_stdin_option = click.option("--stdin", "from_stdin", is_flag=True, help="Read it from standard input.")
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
            return self.fail(f"{value!r} is no score. Write one like 0.7 or 70%.", param, ctx)


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
    help="The order of the passages that fit; near misses follow.",
)


def _words(given: Sequence[str], *, from_stdin: bool) -> str:
    """Return the words from the command line or from standard input. Raises InvalidInput for both at once,
    NoSuchOption for an unknown option among them."""
    if unknown := next((word for word in given if word.startswith("--")), None):
        options = [name for each in click.get_current_context().command.params for name in each.opts]
        raise click.NoSuchOption(unknown, possibilities=options)
    if from_stdin and given:
        raise InvalidInput("There are words and --stdin.", "Give one of them.")
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip() if from_stdin else " ".join(given)


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Return those options that were given on the command line, with their values."""
    context = click.get_current_context()
    on_line = click.core.ParameterSource.COMMANDLINE
    return {name: each for name, each in values.items() if context.get_parameter_source(name) is on_line}


@click.command(cls=_Worded)
@click.argument("text", nargs=-1)
@_stores_option("searched")
@_stdin_option
@options.setting_option(
    "--top-k", "--k", "top_k", setting="top_k", type=int, help="How many passages; also -k."
)
@min_score_option
@filter_option
@options.setting_option("--mode", setting="mode", type=click.Choice(["hybrid", "vector", "lexical"]))
@options.setting_option(
    "--max-tokens",
    setting="max_tokens",
    type=int,
    help="Stop before the passages take more tokens than this.",
)
@click.option("--offset", type=int, default=0, show_default=True, help="Skip this many passages first.")
@click.option(
    "--group",
    type=click.Choice(["document", "none"]),
    help="List documents with their best passage (the default), or every passage (with --json and --csv).",
)
@sort_option
@click.option("--facets", is_flag=True, help="Count what matches by type, tag, folder, store and year.")
@click.option(
    "--saved", metavar="NAME", help="Search for a saved search; other options win over what it has."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets.")
@options.json_option
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

    TEXT may hold filters such as type: or tag: (see --filter), store:, "exact words" and -without. Values
    of one key are alternatives: tag:a tag:b finds either. Put TEXT in single quotes if it has double quotes
    or parentheses.
    """
    words = _words(text, from_stdin=from_stdin)
    if saved is not None and words:
        raise InvalidInput("There are words and --saved.", "Give one of them.")
    if as_csv and options.wants_json():
        raise InvalidInput("There are two ways to print.", "Give --csv or --json.")
    library = options.library_of_owner()
    group = group or ("none" if as_csv or options.wants_json() else "document")
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
    options.emit(answers.Answer.with_freshness(answer, now), lambda: show_answer(answer, now))


@click.command(cls=_Worded)
@click.argument("question", nargs=-1)
@_stores_option("asked")
@_stdin_option
@click.option(
    "--top-k",
    "--k",
    "k",
    type=int,
    help=f"How many passages to answer from, {MAX_K} at most; also -k. By default the setting top_k, or"
    f" {DEFAULT_K} if it is not set.",
)
@min_score_option
@filter_option
@click.option("--answer-only", is_flag=True, help="Print the answer without its passages.")
@options.json_option
def ask(
    question: tuple[str, ...],
    stores: tuple[str, ...],
    from_stdin: bool,
    k: int | None,
    min_score: float | None,
    filters: Filters,
    answer_only: bool,
) -> int:
    """Answer a question from your notes, and print the passages that it rests on.

    Each quote is compared with its passage. A part marked "not in the passage" or "no source" is not in the
    notes. A part marked "no quote" could not be compared: read its passage. QUESTION may hold filters as in
    `query`. Exit status 3 if nothing fits, 1 if --answer-only has no answer to print.
    """
    words = _words(question, from_stdin=from_stdin)
    printed = _PrintedAnswer(streams=not options.wants_json() and sys.stdout.isatty())
    with printed.progress:
        reply = options.library_of_owner().asking.ask(
            OWNER, words, stores, k=k, min_score=min_score, filters=filters, on_text=printed.update
        )
    if options.wants_json():
        options.print_json(answers.Reply.of(reply))
    else:
        _show(reply, printed, answer_only=answer_only)
    if not reply.found:
        return _NOTHING_FOUND
    return 1 if answer_only and not reply.statements else 0


class _PrintedAnswer:
    """Prints an answer while it is made. It remembers which statements are on the terminal already."""

    def __init__(self, *, streams: bool) -> None:
        self.progress = ProgressLine()
        self._streams = streams
        self._count = 0

    def update(self, draft: Draft) -> None:
        """Print the checked statements of a draft; if there are none yet, show what it is waiting for."""
        if self._streams and draft.statements:
            self.print(draft.statements)
        elif self._streams:
            self.progress.say("Looking for passages …" if draft.looking else "The model reads the passages …")

    def print(self, statements: Sequence[Statement]) -> None:
        """Print the statements that are not on the terminal yet."""
        self.progress.clear()
        for each in statements[self._count :]:
            doubtful = each.says and (each.support == "none" or any(not quote.holds for quote in each.quotes))
            lead = each.lead if self._count else each.lead.lstrip()
            text = click.style(plain(marked(each)), fg="yellow" if doubtful else None)
            click.echo(plain(lead) + text, nl=False)
            self._count += 1


def _show(reply: Reply, printed: _PrintedAnswer, *, answer_only: bool) -> None:
    if reply.statements:
        printed.print(reply.statements)
        click.echo()
    if reply.message:
        said = reply.message.partition(";")[0].rstrip(".") + "." if answer_only else reply.message
        click.echo(plain(said), err=answer_only)
    warn(*(notice.message for notice in reply.notices))
    if reply.ending == "quotes" and not answer_only:
        click.secho(f"These sentences are from your notes. To have a model answer: {GET_A_MODEL}.", dim=True)
    if not answer_only:
        _show_references(reply.references, with_text=not reply.statements)
        if reply.freshness:
            click.secho(f"{freshness(reply.freshness).capitalize()}.", dim=True)


def _show_references(found: Sequence[Reference], *, with_text: bool) -> None:
    """Print the cited passages, or all if none is cited: their whole text if ``with_text``, else their
    quoted parts."""
    for each in [each for each in found if each.cited] or found:
        click.secho(f"\n[{each.number}] {line(reference_place(each))}", bold=True)
        quoted = [each.content[start:end] for start, end in each.spans]
        for text in [each.content.strip() or ONLY_TITLE] if with_text else quoted:
            click.echo("    " + plain(text).strip().replace("\n", "\n    "))
