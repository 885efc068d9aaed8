"""A store's embedder, vector index and private notes."""

from __future__ import annotations

import click

from rag_core.api import answers, reports
from rag_core.cli.options import Answering, any_store_argument, emit, library_of_owner, store_argument
from rag_core.cli.runs import run_requests
from rag_core.cli.screen import ProgressLine, line
from rag_core.reports import Privacy
from rag_core.types import OWNER, StoreInfo
from rag_core.wording import plural, said_of_privacy


@click.command("switch", cls=Answering)
@any_store_argument
@click.option("--embedder", metavar="EMBEDDER", help="Who turns its text into vectors from now on.")
@click.option("--backend", metavar="KIND", help="Where its vectors are kept from now on.")
@click.option("--rechunk", is_flag=True, help="Cut the documents again, for an embedder that reads less.")
@click.option("--abandon", is_flag=True, help="Stay with the old ones, and forget what was prepared.")
@click.option("--later", is_flag=True, help="Leave the work to the next run.")
def switch(
    name: str, embedder: str | None, backend: str | None, rechunk: bool, abandon: bool, later: bool
) -> None:
    """Change the embedder or the vector index of a store.

    The new vectors are made beside the old ones, which searches use until all are there. A cancelled switch
    goes on with the next run.
    """
    library = library_of_owner()
    if abandon:
        info = library.placement.abandon_switch(OWNER, name)
        emit(answers.Store.of(info), f"Store {name!r} stays as it was.")
        return
    if not (embedder or backend or rechunk):
        raise click.UsageError("Say what to change: --embedder, --backend or --rechunk.")
    info = library.placement.switch(OWNER, name, embedder, backend, rechunk=rechunk)
    if later:
        said = line(f"Store {name!r} switches to {info.switching} with its next run.")
        emit(answers.Store.of(info), said)
        return
    run_requests(library, name)


@click.command("attach", cls=Answering)
@click.argument("address")
@click.argument("name", required=False, default="")
@click.option(
    "--take-over", "taken", is_flag=True, help="Fill it from here on; the other installation does no more."
)
def attach(address: str, name: str, taken: bool) -> None:
    """Make a store of an index that another installation fills.

    ADDRESS is like s3vectors://BUCKET/INDEX, as `commonplace store info` shows it there. The store is only
    read here; attach it again to bring it up to date, or take it over.
    """
    with ProgressLine() as progress:
        library = library_of_owner()
        info = library.placement.attach(OWNER, address, name, lambda count: progress.say(_read(count)))
        if taken:
            info = library.placement.take_over(OWNER, info.name, lambda count: progress.say(_read(count)))
    said = f"Store {info.name!r} is attached: {plural(info.chunk_count, 'passage')}."
    emit(answers.Store.of(info), _taken_over(info.name) if taken else said)


@click.command("take-over", cls=Answering)
@store_argument
def take_over(name: str) -> None:
    """Fill the index of an attached store from here on.

    It is brought up to date first. The other installation fills it no more.
    """
    with ProgressLine() as progress:
        info = library_of_owner().placement.take_over(OWNER, name, lambda count: progress.say(_read(count)))
    emit(answers.Store.of(info), _taken_over(name))


def _read(count: int) -> str:
    return f"{plural(count, 'passage')} read"


def _taken_over(name: str) -> str:
    return f"Store {name!r} is yours now. Next: commonplace index '**/*' --root FOLDER --store {name}"


@click.command("private", cls=Answering)
@any_store_argument
@click.option(
    "--send/--keep", "send", default=None, help="Whether private notes may go to servers on other machines."
)
@click.option(
    "--hide", multiple=True, metavar="GLOB", help="Keep these files from guests; repeat for several."
)
@click.option("--show", multiple=True, metavar="GLOB", help="Take such a rule away; repeat for several.")
def private(name: str, send: bool | None, hide: tuple[str, ...], show: tuple[str, ...]) -> None:
    """Show or set which notes are private and may leave.

    Guests never see a private note. A note is private if it says so (`private: true` in its front matter),
    or if its path fits a rule, such as 'journal/**'. A rule takes effect at once.
    """
    library = library_of_owner()
    if hide or show:
        found = library.privacy.change(OWNER, name, hide=hide, show=show)
    else:
        found = library.privacy.report(OWNER, name)
    if send is not None:
        library.placement.let_private_leave(OWNER, name, allowed=send)
    info = library.stores.info(OWNER, name)
    value = {**answers.Store.of(info).model_dump(), **reports.privacy(found)}
    emit(value, lambda: _show_privacy(found, info))


def _show_privacy(found: Privacy, info: StoreInfo) -> None:
    may = "may" if info.sends_private else "may not"
    click.echo(f"Private notes of store {info.name!r} {may} go to servers on other machines.")
    click.echo(said_of_privacy(found))
    for path, why in found.unsure.items():
        click.secho(line(f"  {path}: {why}"), fg="yellow")
    for rule, count in found.rules.items():
        click.echo(line(f"  {rule}: {plural(count, 'document') if count else 'hides nothing yet'}"))
    if found.due:
        click.echo(f"Other machines follow with the next run: commonplace index --store {info.name}")
