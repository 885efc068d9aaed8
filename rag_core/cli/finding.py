"""Searching."""

from __future__ import annotations

import sys
from typing import Any

import click

from rag_core import render
from rag_core.cli.options import emit, json_option, library_of_owner, setting_option
from rag_core.errors import InvalidInput
from rag_core.query import FILTER_KEYS, filters_from
from rag_core.terminal import show_answer, show_notices
from rag_core.types import OWNER


# A word with a minus is part of the query, so what looks like a short option is left alone.
@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": ["--help"]})
@click.argument("text", nargs=-1)
@setting_option(
    "--store", "stores", setting="default_stores", multiple=True, metavar="NAME",
    help="A store; repeat for several. Without it, every store is searched.",
)  # fmt: skip
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the query from standard input.")
@setting_option("--top-k", setting="top_k", type=int, help="How many passages.")
@setting_option(
    "--min-score", setting="min_score", type=float, help="Only passages of at least this score, 0 to 1."
)
@click.option(
    "--filter", "filters", multiple=True, metavar="KEY=VALUE", help=f"One of {', '.join(FILTER_KEYS)}."
)
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
    filters: tuple[str, ...], mode: Any, max_tokens: int | None, offset: int, as_csv: bool, as_json: bool,
) -> None:  # fmt: skip
    """Find passages by words and by meaning.

    TEXT may hold type:, tag:, path:, file:, after:, before:, store:, "exact words" and -without. Put it in
    single quotes when it has double quotes or parentheses.
    """
    if unknown := next((word for word in text if word.startswith("--")), None):
        raise click.NoSuchOption(unknown)
    if from_stdin == bool(text):
        raise InvalidInput(
            "There is no query." if not text else "There are two queries.", "Give TEXT or --stdin."
        )
    if as_csv and as_json:
        raise InvalidInput("There are two ways to print.", "Give --csv or --json.")
    words = standard_input() if from_stdin else " ".join(text)
    answer = library_of_owner().search(
        OWNER, words, stores, mode=mode, top_k=top_k, min_score=min_score,
        filters=filters_from(pair(f) for f in filters), max_tokens=max_tokens, offset=offset,
    )  # fmt: skip
    if as_csv:
        show_notices(answer)
        click.echo(render.hits_csv(answer, OWNER), nl=False)
        return
    emit(as_json, render.answer(answer), lambda: show_answer(answer))


def standard_input() -> str:
    """All of standard input as text."""
    return sys.stdin.buffer.read().decode("utf-8", "replace").strip()


def pair(text: str) -> tuple[str, str]:
    """``KEY=VALUE`` taken apart. Raises InvalidInput without an equals sign."""
    key, equals, value = text.partition("=")
    if not equals:
        raise InvalidInput(f"The filter {text!r} has no '='.", "Write it like type=python.")
    return key.strip(), value.strip()
