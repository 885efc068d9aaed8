"""Asking a question: the answer as it comes, then its passages."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from rag_core.api import answers
from rag_core.api.encoding import plain
from rag_core.ask.markdown import where
from rag_core.cli.options import json_option, library_of_owner, print_json
from rag_core.cli.screen import Line, line
from rag_core.cli.words import Worded, filter_option, say_where, stdin_option, store_option, the_words
from rag_core.replies import DEFAULT_K, MAX_K, Draft, Reference, Reply, Statement, marked
from rag_core.types import OWNER, Filters
from rag_core.wording import ONLY_TITLE

NOTHING_FOUND = 3
"""The exit status where no passage fits the question."""


@click.command(cls=Worded)
@click.argument("question", nargs=-1)
@store_option("asked")
@stdin_option("question")
@click.option(
    "--top-k",
    "--k",
    "k",
    type=int,
    default=DEFAULT_K,
    show_default=True,
    help=f"How many passages to answer from, {MAX_K} at most; also -k.",
)
@filter_option
@click.option("--answer-only", is_flag=True, help="Print the answer without its passages.")
@json_option
def ask(
    question: tuple[str, ...], stores: tuple[str, ...], from_stdin: bool, k: int, filters: Filters,
    answer_only: bool, as_json: bool,
) -> int:  # fmt: skip
    """Answer a question from the notes.

    Its passages follow. Each quote is compared with its passage; what is marked "not in the passage" or
    "no source" is not in the notes, and of what is marked "no quote" only reading its passage tells.
    QUESTION may hold filters as in `query`. Exit status 3 when nothing fits, 1 when --answer-only has no
    answer to print.
    """
    words = the_words(question, "QUESTION", ("question", "questions"), from_stdin=from_stdin)
    say_where(words, stores)
    shown = _Shown(streams=not as_json and sys.stdout.isatty())
    try:
        reply = library_of_owner().asking.ask(OWNER, words, stores, k=k, filters=filters, on_text=shown.hear)
    finally:
        shown.end()
    if as_json:
        print_json(answers.Reply.of(reply))
    else:
        _show(reply, shown, answer_only=answer_only)
    if not reply.found:
        return NOTHING_FOUND
    return 1 if answer_only and not reply.statements else 0


class _Shown:
    """What of an answer is on the terminal already: each statement once it was checked."""

    def __init__(self, *, streams: bool) -> None:
        self.statements = 0
        self._streams = streams
        self._line = Line()

    def hear(self, draft: Draft) -> None:
        """Print the statements that are new."""
        if not self._streams:
            return
        if not draft.statements:
            waits = "Looking for passages …" if draft.looking else "The model reads the passages …"
            self._line.say(waits)
            return
        if not self.statements:
            self._line.clear()
        for each in draft.statements[self.statements :]:
            _say(each, first=not self.statements)
            self.statements += 1

    def end(self) -> None:
        """Leave no half line."""
        if self._streams and not self.statements:
            self._line.clear()


def _say(each: Statement, *, first: bool) -> None:
    doubtful = each.says and (each.support == "none" or any(not quote.holds for quote in each.quotes))
    lead = each.lead.lstrip() if first else each.lead
    click.echo(plain(lead) + click.style(plain(marked(each)), fg="yellow" if doubtful else None), nl=False)


def _show(reply: Reply, shown: _Shown, *, answer_only: bool) -> None:
    for each in reply.statements[shown.statements :]:
        _say(each, first=not shown.statements)
        shown.statements += 1
    if reply.statements:
        click.echo()
    if reply.message:
        said = reply.message.partition(";")[0].rstrip(".") + "." if answer_only else reply.message
        click.echo(plain(said), err=answer_only)
    for notice in reply.notices:
        click.secho(plain(notice.message), fg="yellow", err=True)
    if not answer_only:
        _show_references(reply.references, with_text=not reply.statements)


def _show_references(found: Sequence[Reference], *, with_text: bool) -> None:
    """The passages that were cited, or all; without an answer with their text."""
    for each in [each for each in found if each.cited] or found:
        click.echo()
        click.echo(click.style(f"[{each.number}] {line(where(each))}", bold=True))
        quoted = [each.content[start:end] for start, end in each.spans]
        for text in [each.content.strip() or ONLY_TITLE] if with_text else quoted:
            click.echo("    " + plain(text).strip().replace("\n", "\n    "))
