"""Searching."""

from __future__ import annotations

from typing import Any

import click

from rag_core.api import answers
from rag_core.api.encoding import hits_csv
from rag_core.cli.options import emit, json_option, library_of_owner, setting_option
from rag_core.cli.terminal import show_answer, show_notices
from rag_core.cli.words import Worded, filter_option, say_where, stdin_option, store_option, the_words
from rag_core.errors import InvalidInput
from rag_core.types import OWNER, Filters


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
    text: tuple[str, ...], stores: tuple[str, ...], from_stdin: bool, top_k: int, min_score: float | None,
    filters: Filters, mode: Any, max_tokens: int | None, offset: int, as_csv: bool, as_json: bool,
) -> None:  # fmt: skip
    """Find passages by words and by meaning.

    TEXT may hold type:, tag:, path:, file:, after:, before:, store:, "exact words" and -without. Values of
    one key are alternatives: tag:a tag:b finds either. Put it in single quotes when it has double quotes or
    parentheses.
    """
    words = the_words(text, "TEXT", ("query", "queries"), from_stdin=from_stdin)
    if as_csv and as_json:
        raise InvalidInput("There are two ways to print.", "Give --csv or --json.")
    say_where(words, stores)
    answer = library_of_owner().searching.search(
        OWNER, words, stores, mode=mode, top_k=top_k, min_score=min_score,
        filters=filters, max_tokens=max_tokens, offset=offset,
    )  # fmt: skip
    if as_csv:
        show_notices(answer)
        click.echo(hits_csv(answer, OWNER, marked=False), nl=False)
        return
    emit(as_json, answers.Answer.of(answer), lambda: show_answer(answer))
