"""Making, listing, showing, renaming, deleting and moving stores."""

from __future__ import annotations

from pathlib import Path

import click

from rag_core.api import answers
from rag_core.api.encoding import plain
from rag_core.cli import placement
from rag_core.cli.groups import StoreGroup
from rag_core.cli.options import (
    OfStore,
    any_store_argument,
    asking,
    emit,
    json_option,
    library_of_owner,
    setting_option,
    store_argument,
    stores_option,
)
from rag_core.cli.screen import Line, line
from rag_core.cli.terminal import show_status, show_store
from rag_core.cli.upkeep import store_verify
from rag_core.errors import InvalidInput, StoreError
from rag_core.library import Library
from rag_core.library.portable import Exported
from rag_core.types import METRICS, OWNER, Metric, StoreInfo
from rag_core.wording import plural, size, some


@click.group(cls=StoreGroup, no_args_is_help=False)
def store() -> None:
    """Make, list, show, rename, delete, export and import stores."""


@store.command("create")
@click.argument("name")
@setting_option(
    "--embedder", setting="embedder", help="Who turns text into vectors; minilm is the built-in model."
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    default=METRICS[0],
    show_default=True,
    help="How vectors are compared. They have length 1, so all three give the same order. Amazon S3 Vectors"
    " has no dot product: an index there says cosine.",
)
@click.option(
    "--dimension",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="How many numbers a vector has, where the embedder leaves a choice.",
)
@setting_option(
    "--backend", setting="backend", metavar="KIND", help="Where its vectors are: local, s3vectors, …"
)
@click.option("--send-private", is_flag=True, help="Let private notes go to servers on other machines.")
@json_option
def store_create(
    name: str, embedder: str, metric: Metric, dimension: int | None, backend: str, send_private: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Make an empty store."""
    info = library_of_owner().stores.create(
        OWNER, name, embedder, metric=metric, dimension=dimension, backend=backend,
        sends_private=send_private,
    )  # fmt: skip
    emit(
        as_json,
        answers.Store.of(info),
        lambda: click.echo(
            f"Store {name!r} is ready. Next: commonplace index '**/*' --root FOLDER --store {name}"
        ),
    )


@store.command("list")
@json_option
def store_list(as_json: bool) -> None:
    """List every store."""
    infos, warnings = library_of_owner().stores.infos(OWNER)
    emit(as_json, answers.stores(infos, warnings, OWNER), lambda: show_status(infos, {}, warnings))


@store.command("info")
@any_store_argument
@json_option
def store_info(name: str, as_json: bool) -> None:
    """Show a store: what is in it, where from, and what is still to do."""
    info = library_of_owner().stores.info(OWNER, name)
    emit(as_json, answers.Store.of(info), lambda: show_store(info))


@store.command("rename")
@store_argument
@click.argument("new_name", metavar="NEW")
@json_option
def store_rename(name: str, new_name: str, as_json: bool) -> None:
    """Give a store another name; all that is in it stays."""
    library = library_of_owner()
    info = library.stores.rename(OWNER, name, new_name)
    said = f"Store {name!r} is called {new_name!r} now."
    emit(as_json, answers.Store.of(info), lambda: click.echo(_with_default(library, said)))


@store.command("export")
@store_argument
@click.argument("file", type=click.Path(path_type=Path), default=".", metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@json_option
def store_export(name: str, file: Path, force: bool, as_json: bool) -> None:
    """Write a store into one portable file, private notes too.

    FILE is the file or its folder; without it, NAME.commonplace here. The store can be searched and indexed
    meanwhile.
    """
    progress = Line()
    try:
        done = library_of_owner().stores.export(
            OWNER, name, file, lambda now: progress.say(now.said), force=force
        )
    finally:
        progress.clear()
    emit(
        as_json,
        answers.Exported.of(done),
        lambda: click.echo(
            f"Store {name!r} is in {line(str(done.path))} ({size(done.size_bytes)}): {_counted(done)}"
        ),
    )


@store.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--name", default="", metavar="NAME", help="What to call the store (default: as it was called)."
)
@json_option
def store_import(file: Path, name: str, as_json: bool) -> None:
    """Make a store of a portable file.

    Its folders that are not on this computer are paused.
    """
    progress = Line()
    try:
        info = library_of_owner().stores.take_in(OWNER, file, name, lambda now: progress.say(now.said))
    finally:
        progress.clear()
    emit(as_json, answers.ImportedStore.of(info), lambda: _show_imported(info))


def _show_imported(info: StoreInfo) -> None:
    click.echo(f"Store {info.name!r} is ready: {_counted(info)}")
    for notice in info.notices:
        click.echo(plain(notice))


@store.command("delete")
@store_argument
@click.option("--force", "--yes", "force", is_flag=True, help="Do not ask.")
@click.option("--leave-index", is_flag=True, help="Leave its vector index on a server as it is.")
@json_option
def store_delete(name: str, force: bool, leave_index: bool, as_json: bool) -> None:
    """Delete a store; the files it was read from stay."""
    library = library_of_owner()
    parted = _parted(library, name)
    if not force:
        with asking("--force"):
            lost = f"{_contents(library, name)}{parted}"
            typed = click.prompt(f"{lost} Type the name to delete the store", err=True)
        if typed != name:
            raise InvalidInput("That is not the store's name.", "Nothing was deleted.")
    library.stores.delete(OWNER, name, leave_index=leave_index)
    emit(
        as_json,
        {"deleted": name},
        lambda: click.echo(
            _with_default(library, line(f"Store {name!r} is deleted; its files are untouched.{parted}"))
        ),
    )


def _with_default(library: Library, said: str) -> str:
    """What is ``said``, and in a line of its own that the setting default_store names no store now."""
    return "\n".join(filter(None, (said, line(library.stores.lost_default(OWNER)))))


def _parted(library: Library, name: str) -> str:
    """Who loses a store with its owner; '' for nobody, or where nobody can say."""
    try:
        guests = library.sharing.guests(OWNER, name)
    except StoreError:
        return ""
    return f" {some(guests, 'guest')} can search it no more." if guests else ""


def _contents(library: Library, name: str) -> str:
    """What would be lost with a store."""
    try:
        info = library.stores.info(OWNER, name)
    except StoreError as error:  # a damaged store is there to be deleted, too
        return error.message
    return _counted(info)


def _counted(found: StoreInfo | Exported) -> str:
    return f"{plural(found.chunk_count, 'passage')} of {plural(found.file_count, 'file')}."


for command in (placement.switch, placement.attach, placement.take_over, placement.private, store_verify):
    store.add_command(command)


@click.command(cls=OfStore)
@stores_option
@json_option
def status(stores: tuple[str, ...], as_json: bool) -> None:
    """Show every store, what is running, and what was not finished."""
    found = library_of_owner().stores.status(OWNER, stores)
    running = {job.store: job for job in found.running}
    emit(as_json, answers.status(found, OWNER), lambda: show_status(found.stores, running, found.warnings))
