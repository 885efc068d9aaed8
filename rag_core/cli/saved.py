"""Saved searches."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import click

from rag_core.api import reports
from rag_core.cli import commands, options
from rag_core.cli.screen import table
from rag_core.cli.searching import filter_option, min_score_option, sort_option
from rag_core.errors import NotFound
from rag_core.system import quote
from rag_core.types import OWNER
from rag_core.wording import asked_by, moment, new_hits


@click.group(cls=commands.Commands, no_args_is_help=False)
def saved() -> None:
    """Save searches under a name.

    `commonplace query --saved NAME` runs a saved search.
    """


@saved.command("list")
def saved_list() -> None:
    """List the saved searches, each with its number of new hits since it was last opened."""
    searches = options.library_of_owner().saved.searches(OWNER)
    rows = [
        (search.name, new_hits(search), asked_by(search), moment(search.opened_at)) for search in searches
    ]
    header, empty = ("name", "new", "search", "opened"), "No search is saved yet."
    value = {"saved": [reports.saved_search(search) for search in searches]}
    options.emit(value, lambda: table(header, rows, empty=empty))


@saved.command("add")
@click.argument("name")
@click.argument("text", nargs=-1)
@click.option(
    "--store", "stores", multiple=True, help="Only this store; repeat for several.", **options.name_of_store
)
@filter_option
@sort_option
@min_score_option
def saved_add(name: str, text: Sequence[str], stores: Sequence[str], **search: Any) -> None:
    """Save a search. A saved search of the same name is replaced.

    TEXT is as in `query`. Put it in single quotes if one of its words begins with a minus.
    """
    library = options.library_of_owner()
    instead = ""
    with suppress(NotFound):
        instead = f" in place of {library.saved.get(OWNER, name).text!r}"
    made = library.saved.save(OWNER, name, " ".join(text), stores, **search)
    outcome = f"Saved{instead}. Open it with: commonplace query --saved {quote(made.name)}"
    options.emit(reports.saved_search(made), outcome)


@saved.command("rename")
@click.argument("name")
@click.argument("new_name")
def saved_rename(name: str, new_name: str) -> None:
    """Give a saved search another name."""
    options.library_of_owner().saved.rename(OWNER, name, new_name)
    outcome = f"The saved search {name!r} is called {new_name!r} now."
    options.emit({"renamed": name, "name": new_name}, outcome)


@saved.command("remove")
@click.argument("name")
def saved_remove(name: str) -> None:
    """Delete a saved search."""
    options.library_of_owner().saved.delete(OWNER, name)
    options.emit({"removed": name}, f"The saved search {name!r} is deleted.")
