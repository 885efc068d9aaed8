"""Searching, and asking a question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from rag_core.api import answers
from rag_core.api.encoding import hits_csv, plain
from rag_core.ask.markdown import where
from rag_core.cli.options import emit, json_option, library_of_owner, print_json, setting_option, wants_json
from rag_core.cli.screen import ProgressLine, line, warn
from rag_core.cli.terminal import show_answer, show_notices
from rag_core.cli.words import Worded, filter_option, say_where, stdin_option, store_option, the_words
from rag_core.errors import InvalidInput
from rag_core.replies import DEFAULT_K, MAX_K, Draft, Reference, Reply, Statement, marked
from rag_core.types import OWNER, Filters
from rag_core.wording import ONLY_TITLE

_NOTHING_FOUND = 3
"""The exit status when no passage fits the question."""


@click.command(cls=Worded)
@click.argument("text", nargs=-1)
@store_option("searched")
@stdin_option("query")
@setting_option("--top-k", "--k", "top_k", setting="top_k", type=int, help="How many passages; also -k.")
@setting_option(
    "--min-score", setting="min_score", type=float, help="Only passages of at least this score, 0 to 1."
)
@filter_option
@setting_option("--mode", setting="mode", type=click.Choice(["hybrid", "vector", "lexical"]))
@setting_option(
    "--max-tokens",
    setting="max_tokens",
    type=int,
    help="Stop before the passages take more tokens than this.",
)
@click.option("--offset", type=int, default=0, show_default=True, help="Pass over so many passages first.")
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV for spreadsheets.")
@json_option
def query(
    text: tuple[str, ...], stores: tuple[str, ...], from_stdin: bool, as_csv: bool, **options: Any
) -> None:
    """Find passages by words and by meaning.

    TEXT may hold filters such as type: or tag: (see --filter), store:, "exact words" and -without. Values
    of one key are alternatives: tag:a tag:b finds either. Put it in single quotes when it has double quotes
    or parentheses.
    """
    words = the_words(text, "TEXT", ("query", "queries"), from_stdin=from_stdin)
    if as_csv and wants_json():
        raise InvalidInput("There are two ways to print.", "Give --csv or --json.")
    say_where(words, stores)
    answer = library_of_owner().searching.search(OWNER, words, stores, **options)
    if as_csv:
        show_notices(answer)
        click.echo(hits_csv(answer, OWNER, marked=False), nl=False)
        return
    emit(answers.Answer.of(answer), lambda: show_answer(answer))


@click.command(cls=Worded)
@click.argument("question", nargs=-1)
@store_option("asked")
@stdin_option("question")
@click.option(
    "--top-k", "--k", "k", type=int, default=DEFAULT_K, show_default=True,
    help=f"How many passages to answer from, {MAX_K} at most; also -k.",
)  # fmt: skip
@filter_option
@click.option("--answer-only", is_flag=True, help="Print the answer without its passages.")
@json_option
def ask(
    question: tuple[str, ...], stores: tuple[str, ...], from_stdin: bool, k: int, filters: Filters,
    answer_only: bool,
) -> int:  # fmt: skip
    """Answer a question from the notes.

    Its passages follow. Each quote is compared with its passage. What is marked "not in the passage" or
    "no source" is not in the notes. What is marked "no quote" was not compared: read its passage.
    QUESTION may hold filters as in `query`. Exit status 3 when nothing fits, 1 when --answer-only has no
    answer to print.
    """
    words = the_words(question, "QUESTION", ("question", "questions"), from_stdin=from_stdin)
    say_where(words, stores)
    printed = _PrintedAnswer(streams=not wants_json() and sys.stdout.isatty())
    with printed.progress:
        reply = library_of_owner().asking.ask(
            OWNER, words, stores, k=k, filters=filters, on_text=printed.update
        )
    if wants_json():
        print_json(answers.Reply.of(reply))
    else:
        _show(reply, printed, answer_only=answer_only)
    if not reply.found:
        return _NOTHING_FOUND
    return 1 if answer_only and not reply.statements else 0


class _PrintedAnswer:
    """The statements of an answer that are on the terminal already."""

    def __init__(self, *, streams: bool) -> None:
        self.progress = ProgressLine()
        self._streams = streams
        self._count = 0

    def update(self, draft: Draft) -> None:
        """Print the checked statements of a draft, or say what is awaited."""
        if self._streams and draft.statements:
            self.print(draft.statements)
        elif self._streams:
            self.progress.say("Looking for passages …" if draft.looking else "The model reads the passages …")

    def print(self, statements: Sequence[Statement]) -> None:
        """Print those that are new."""
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
    for notice in reply.notices:
        warn(notice.message)
    if not answer_only:
        _show_references(reply.references, with_text=not reply.statements)


def _show_references(found: Sequence[Reference], *, with_text: bool) -> None:
    """The cited passages, or all; without an answer with their text."""
    for each in [each for each in found if each.cited] or found:
        click.secho(f"\n[{each.number}] {line(where(each))}", bold=True)
        quoted = [each.content[start:end] for start, end in each.spans]
        for text in [each.content.strip() or ONLY_TITLE] if with_text else quoted:
            click.echo("    " + plain(text).strip().replace("\n", "\n    "))
