"""Stores: make, list, show, rename, delete, export, import, and their status."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from rag_core.api import answers
from rag_core.cli import options, placement
from rag_core.cli.groups import Commands
from rag_core.cli.screen import ProgressLine, line
from rag_core.cli.terminal import show_status, show_store
from rag_core.cli.upkeep import store_verify
from rag_core.errors import InvalidInput, StoreError
from rag_core.library import Library
from rag_core.library.portable import Exported
from rag_core.types import METRICS, OWNER, Metric, StoreInfo
from rag_core.wording import plural, size, some


@click.group(cls=Commands, no_args_is_help=False)
def store() -> None:
    """Make, list, show, rename, delete, export and import stores."""


@store.command("create")
@click.argument("name")
@options.setting_option(
    "--embedder", setting="embedder", help="Who turns text into vectors; minilm is the built-in model."
)
@click.option(
    "--metric", type=click.Choice(METRICS), default=METRICS[0], show_default=True,
    help="How vectors are compared. They have length 1, so all three give the same order. Amazon S3 Vectors"
    " has no dot product: an index there says cosine.",
)  # fmt: skip
@click.option(
    "--dimension", type=click.IntRange(1), metavar="NUMBER",
    help="How many numbers a vector has, where the embedder leaves a choice.",
)  # fmt: skip
@options.setting_option(
    "--backend", setting="backend", metavar="KIND", help="Where its vectors are: local, s3vectors, …"
)
@click.option("--send-private", is_flag=True, help="Let private notes go to servers on other machines.")
def store_create(
    name: str, embedder: str, metric: Metric, dimension: int | None, backend: str, send_private: bool
) -> None:
    """Make an empty store."""
    info = options.library_of_owner().stores.create(
        OWNER, name, embedder, metric=metric, dimension=dimension, backend=backend,
        sends_private=send_private,
    )  # fmt: skip
    next_step = f"commonplace index '**/*' --root FOLDER --store {name}"
    options.emit(answers.Store.of(info), f"Store {name!r} is ready. Next: {next_step}")


@store.command("list")
def store_list() -> None:
    """List every store."""
    infos, warnings = options.library_of_owner().stores.infos(OWNER)
    options.emit(answers.stores(infos, warnings, OWNER), lambda: show_status(infos, {}, warnings))


@store.command("info")
@options.any_store_argument
def store_info(name: str) -> None:
    """Show a store: what is in it, where from, and what is still to do."""
    info = options.library_of_owner().stores.info(OWNER, name)
    options.emit(answers.Store.of(info), lambda: show_store(info))


@store.command("rename")
@options.store_argument
@click.argument("new_name", metavar="NEW")
def store_rename(name: str, new_name: str) -> None:
    """Give a store another name; all that is in it stays."""
    library = options.library_of_owner()
    info = library.stores.rename(OWNER, name, new_name)
    options.emit(
        answers.Store.of(info), _with_default(library, f"Store {name!r} is called {new_name!r} now.")
    )


@store.command("export")
@options.store_argument
@click.argument("file", type=click.Path(path_type=Path), default=".", metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace a file that is there.")
def store_export(name: str, file: Path, force: bool) -> None:
    """Write a store into one portable file, private notes too.

    FILE is the file or its folder; without it, NAME.commonplace here. The store can be searched and indexed
    meanwhile.
    """
    with ProgressLine() as progress:
        done = options.library_of_owner().stores.export(
            OWNER, name, file, lambda now: progress.say(now.said), force=force
        )
    where = f"{line(str(done.path))} ({size(done.size_bytes)})"
    options.emit({**asdict(done), "path": str(done.path)}, f"Store {name!r} is in {where}: {_counted(done)}")


@store.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--name", default="", metavar="NAME", help="What to call the store (default: as it was called)."
)
def store_import(file: Path, name: str) -> None:
    """Make a store of a portable file.

    Its folders that are not on this computer are paused.
    """
    with ProgressLine() as progress:
        info = options.library_of_owner().stores.import_file(
            OWNER, file, name, lambda now: progress.say(now.said)
        )
    said = [f"Store {info.name!r} is ready: {_counted(info)}", *info.notices]
    options.emit({**answers.Store.of(info).model_dump(), "notices": info.notices}, "\n".join(said))


@store.command("delete")
@options.store_argument
@click.option("--force", "--yes", "force", is_flag=True, help="Do not ask.")
@click.option("--leave-index", is_flag=True, help="Leave its vector index on a server as it is.")
def store_delete(name: str, force: bool, leave_index: bool) -> None:
    """Delete a store; the files it was read from stay."""
    library = options.library_of_owner()
    guests = ""
    try:
        lost = _counted(library.stores.info(OWNER, name))
        if names := library.sharing.guests(OWNER, name):
            guests = f" {some(names, 'guest')} can search it no more."
    except StoreError as error:  # a damaged store can be deleted, too
        lost = error.message
    if not force:
        with options.asking("--force"):
            typed = click.prompt(f"{lost}{guests} Type the name to delete the store", err=True)
        if typed != name:
            raise InvalidInput("That is not the store's name.", "Nothing was deleted.")
    library.stores.delete(OWNER, name, leave_index=leave_index)
    said = line(f"Store {name!r} is deleted; its files are untouched.{guests}")
    options.emit({"deleted": name}, _with_default(library, said))


def _with_default(library: Library, said: str) -> str:
    """``said``, and on another line that ``default_store`` names no store any more, if so."""
    return "\n".join(filter(None, (said, line(library.stores.lost_default(OWNER)))))


def _counted(found: StoreInfo | Exported) -> str:
    return f"{plural(found.chunk_count, 'passage')} of {plural(found.file_count, 'file')}."


for command in (placement.switch, placement.attach, placement.take_over, placement.private, store_verify):
    store.add_command(command)


@click.command(cls=options.Answering)
@options.stores_option
def status(stores: tuple[str, ...]) -> None:
    """Show every store, what is running, and what was not finished."""
    found = options.library_of_owner().stores.status(OWNER, stores)
    running = {job.store: job for job in found.running}
    options.emit(answers.status(found, OWNER), lambda: show_status(found.stores, running, found.warnings))
