"""Changing who embeds a store and where its vectors are; attaching the index of another installation."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

from rag_core.api import answers, reports
from rag_core.cli.options import any_store_argument, emit, json_option, library_of_owner, store_argument
from rag_core.cli.runs import work_off
from rag_core.cli.screen import Line, line
from rag_core.reports import Privacy
from rag_core.types import OWNER, StoreInfo
from rag_core.wording import plural, said_of_privacy, said_of_unsure


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
        info = library.placement.abandon_switch(OWNER, name)
        emit(as_json, answers.Store.of(info), lambda: click.echo(f"Store {name!r} stays as it was."))
        return
    if not (embedder or backend or rechunk):
        raise click.UsageError("Say what to change: --embedder, --backend or --rechunk.")
    info = library.placement.switch(OWNER, name, embedder, backend, rechunk=rechunk)
    if later:
        said = f"Store {name!r} switches to {info.switching} with its next run."
        emit(as_json, answers.Store.of(info), lambda: click.echo(line(said)))
        return
    work_off(library, name, as_json=as_json)


@click.command("attach")
@click.argument("address")
@click.argument("name", required=False, default="")
@click.option(
    "--take-over", "taken", is_flag=True, help="Fill it from here on; the other installation does no more."
)
@json_option
def attach(address: str, name: str, taken: bool, as_json: bool) -> None:
    """Make a store of an index that another installation fills.

    ADDRESS is like s3vectors://BUCKET/INDEX, as `commonplace store info` shows it there. The store is only
    read here; attach it again to bring it up to date, or take it over.
    """
    with _reading() as progress:
        info = library_of_owner().placement.attach(OWNER, address, name, progress, take_over=taken)
    said = f"Store {info.name!r} is attached: {plural(info.chunk_count, 'passage')}."
    emit(as_json, answers.Store.of(info), lambda: click.echo(_taken(info.name) if taken else said))


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
        info = library_of_owner().placement.take_over(OWNER, name, progress)
    emit(as_json, answers.Store.of(info), lambda: click.echo(_taken(name)))


def _taken(name: str) -> str:
    return f"Store {name!r} is yours now. Next: commonplace index '**/*' --root FOLDER --store {name}"


@click.command("private")
@any_store_argument
@click.option(
    "--send/--keep",
    "send",
    default=None,
    help="Whether private notes may go to servers on other machines.",
)
@click.option(
    "--hide", multiple=True, metavar="GLOB", help="Keep these files from guests; repeat for several."
)
@click.option("--show", multiple=True, metavar="GLOB", help="Take such a rule away; repeat for several.")
@json_option
def private(
    name: str, send: bool | None, hide: tuple[str, ...], show: tuple[str, ...], as_json: bool
) -> None:  # fmt: skip
    """Say which notes are private, and whether they may leave.

    Guests meet nothing of a private note. A note is private that says so (`private: true` in its front
    matter), or whose path fits a rule, such as 'journal/**'. A rule holds at once.
    """
    library = library_of_owner()
    if hide or show:
        found = library.privacy.change(OWNER, name, hide=hide, show=show)
    else:
        found = library.privacy.report(OWNER, name)
    if send is not None:
        library.placement.let_private_leave(OWNER, name, allowed=send)
    info = library.stores.info(OWNER, name)
    value = {**answers.Store.of(info).model_dump(), **reports.Privacy.of(found).model_dump()}
    emit(as_json, value, lambda: _show_privacy(found, info))


def _show_privacy(found: Privacy, info: StoreInfo) -> None:
    may = "may" if info.sends_private else "may not"
    click.echo(f"Private notes of store {info.name!r} {may} go to servers on other machines.")
    click.echo(said_of_privacy(found))
    for unsure in said_of_unsure(found):
        click.secho(line(f"  {unsure}"), fg="yellow")
    for rule, count in found.rules.items():
        click.echo(line(f"  {rule}: {plural(count, 'document') if count else 'hides nothing yet'}"))
    if found.due:
        click.echo(f"Other machines follow with the next run: commonplace index --store {info.name}")
