"""Asking a question."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from rag_core.api import answers
from rag_core.api.encoding import plain
from rag_core.ask.markdown import reference_place
from rag_core.cli import commands, options
from rag_core.cli.screen import ProgressLine, line, warn
from rag_core.cli.searching import (
    Worded,
    filter_option,
    min_score_option,
    searched_stores_option,
    stdin_option,
    words_of,
)
from rag_core.replies import DEFAULT_K, MAX_K, Draft, Reference, Reply, Statement, marked
from rag_core.types import OWNER, Filters
from rag_core.wording import GET_A_MODEL, ONLY_TITLE, freshness

_NOTHING_FOUND = 3
"""The exit status when no passage fits the question."""


@click.command(cls=Worded)
@click.argument("question", nargs=-1)
@searched_stores_option("asked")
@stdin_option
@click.option(
    "--top-k",
    "--k",
    "k",
    type=int,
    help=f"Number of passages to answer from, at most {MAX_K}; also -k. The default is the setting top_k, or"
    f" {DEFAULT_K} if it is not set.",
)
@min_score_option
@filter_option
@click.option("--answer-only", is_flag=True, help="Print the answer without its passages.")
@commands.json_option
def ask(
    question: tuple[str, ...],
    stores: tuple[str, ...],
    from_stdin: bool,
    k: int | None,
    min_score: float | None,
    filters: Filters,
    answer_only: bool,
) -> int:
    """Answer a question from your notes, and print the passages that support the answer.

    Each quote is compared with its passage. A part marked "not in the passage" or "no source" is not in the
    notes. A part marked "no quote" could not be compared, so read its passage. QUESTION may contain filters
    as in `query`. Exit status 3 if nothing fits, 1 if --answer-only has no answer to print.
    """
    words = words_of(question, from_stdin=from_stdin)
    printed = _PrintedAnswer(streams=not commands.wants_json() and sys.stdout.isatty())
    with printed.progress:
        reply = options.library_of_owner().asking.ask(
            OWNER, words, stores, k=k, min_score=min_score, filters=filters, on_text=printed.update
        )
    if commands.wants_json():
        options.print_json(answers.Reply.of(reply))
    else:
        _show(reply, printed, answer_only=answer_only)
    if not reply.found:
        return _NOTHING_FOUND
    return 1 if answer_only and not reply.statements else 0


class _PrintedAnswer:
    """Prints an answer while it is written. It remembers which statements are already on the terminal."""

    def __init__(self, *, streams: bool) -> None:
        self.progress = ProgressLine()
        self._streams = streams
        self._count = 0

    def update(self, draft: Draft) -> None:
        """Print the checked statements of a draft. If there are none yet, print what the answer is waiting
        for. Without streaming (``streams``), print nothing yet."""
        if self._streams and draft.statements:
            self.print(draft.statements)
        elif self._streams:
            self.progress.say("Looking for passages …" if draft.looking else "The model reads the passages …")

    def print(self, statements: Sequence[Statement]) -> None:
        """Print the statements that are not on the terminal yet."""
        self.progress.clear()
        for statement in statements[self._count :]:
            doubtful = statement.says and (
                statement.support == "none" or any(not quote.holds for quote in statement.quotes)
            )
            lead = statement.lead if self._count else statement.lead.lstrip()
            text = click.style(plain(marked(statement)), fg="yellow" if doubtful else None)
            click.echo(plain(lead) + text, nl=False)
            self._count += 1


def _show(reply: Reply, printed: _PrintedAnswer, *, answer_only: bool) -> None:
    if reply.statements:
        printed.print(reply.statements)
        click.echo()
    if reply.message:
        message = reply.message.partition(";")[0].rstrip(".") + "." if answer_only else reply.message
        click.echo(plain(message), err=answer_only)
    warn(*(notice.message for notice in reply.notices))
    if reply.ending == "quotes" and not answer_only:
        click.secho(f"These sentences are from your notes. To have a model answer: {GET_A_MODEL}", dim=True)
    if not answer_only:
        _show_references(reply.references, with_text=not reply.statements)
        if reply.freshness:
            click.secho(f"{freshness(reply.freshness).capitalize()}.", dim=True)


def _show_references(references: Sequence[Reference], *, with_text: bool) -> None:
    """Print the cited passages, or all passages if none is cited. With ``with_text`` their whole text is
    printed, else their quoted parts."""
    for reference in [reference for reference in references if reference.cited] or references:
        click.secho(f"\n[{reference.number}] {line(reference_place(reference))}", bold=True)
        quoted = [reference.content[start:end] for start, end in reference.spans]
        for text in [reference.content.strip() or ONLY_TITLE] if with_text else quoted:
            click.echo("    " + plain(text).strip().replace("\n", "\n    "))
