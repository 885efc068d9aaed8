"""Changing who embeds a store and where its vectors are; attaching the index of another installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from rag_core import render
from rag_core.cli.options import any_store_argument, emit, json_option, library_of_owner, store_argument
from rag_core.cli.runs import work_off
from rag_core.screen import Line, line
from rag_core.types import OWNER
from rag_core.wording import plural


@click.command("switch")
@any_store_argument
@click.option("--embedder", metavar="EMBEDDER", help="Who turns its text into vectors from now on.")
@click.option("--backend", metavar="KIND", help="Where its vectors are kept from now on.")
@click.option("--rechunk", is_flag=True, help="Cut the documents again, for an embedder that reads less.")
@click.option("--abandon", is_flag=True, help="Stay with the old ones, and forget what was prepared.")
@click.option("--later", is_flag=True, help="Leave the work to the next run.")
@json_option
def switch(
    name: str, embedder: str | None, backend: str | None, rechunk: bool, abandon: bool, later: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Change the embedder or the vector index of a store.

    The new vectors are made beside the old ones, which searches use until all are there. What was cancelled
    goes on with the next run.
    """
    library = library_of_owner()
    if abandon:
        info = library.abandon_switch(OWNER, name)
        emit(as_json, render.store(info), lambda: click.echo(f"Store {name!r} stays as it was."))
        return
    if not (embedder or backend or rechunk):
        raise click.UsageError("Say what to change: --embedder, --backend or --rechunk.")
    info = library.switch_store(OWNER, name, embedder, backend, rechunk=rechunk)
    if later:
        said = f"Store {name!r} switches to {info.switching} with its next run."
        emit(as_json, render.store(info), lambda: click.echo(line(said)))
        return
    work_off(library, name, as_json=as_json)


@click.command("attach")
@click.argument("address")
@click.argument("name", required=False, default="")
@json_option
def attach(address: str, name: str, as_json: bool) -> None:
    """Make a store of an index that another installation fills.

    ADDRESS is like s3vectors://BUCKET/INDEX, as `commonplace store info` shows it there. The store is only
    read here; attach it again to bring it up to date, or take it over.
    """
    with _reading() as progress:
        info = library_of_owner().attach_store(OWNER, address, name, progress)
    emit(
        as_json,
        render.store(info),
        lambda: click.echo(f"Store {info.name!r} is attached: {plural(info.chunk_count, 'passage')}."),
    )


@contextmanager
def _reading() -> Iterator[Callable[[int], None]]:
    """Shows how many passages came, while they do."""
    shown = Line()
    try:
        yield lambda count: shown.say(f"{plural(count, 'passage')} read")
    finally:
        shown.clear()


@click.command("take-over")
@store_argument
@json_option
def take_over(name: str, as_json: bool) -> None:
    """Fill the index of an attached store from here on.

    It is brought up to date first. The other installation fills it no more.
    """
    with _reading() as progress:
        info = library_of_owner().take_over_store(OWNER, name, progress)
    next_step = f"Next: commonplace index '**/*' --root FOLDER --store {name}"
    emit(as_json, render.store(info), lambda: click.echo(f"Store {name!r} is yours now. {next_step}"))


@click.command("private")
@any_store_argument
@click.option(
    "--send/--keep",
    "send",
    default=None,
    help="Whether private notes may go to servers on other machines.",
)
@json_option
def private(name: str, send: bool | None, as_json: bool) -> None:
    """Say whether private notes of a store may leave this machine."""
    library = library_of_owner()
    if send is not None:
        library.let_private_leave(OWNER, name, allowed=send)
    info = library.store_info(OWNER, name)
    may = "may" if info.sends_private else "may not"
    said = f"Private notes of store {name!r} {may} go to servers on other machines."
    emit(as_json, render.store(info), lambda: click.echo(said))
