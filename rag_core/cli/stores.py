"""Making, listing, showing and deleting stores."""

from __future__ import annotations

import click

from rag_core import render
from rag_core.cli.options import emit, json_option, library_of_owner
from rag_core.embedders import DEFAULT_EMBEDDER
from rag_core.errors import InvalidInput, StoreError
from rag_core.library import Library
from rag_core.terminal import show_status, show_store
from rag_core.types import OWNER, StoreInfo
from rag_core.wording import plural


@click.group(no_args_is_help=False)
def store() -> None:
    """Make, list, show and delete stores."""


@store.command("create")
@click.argument("name")
@click.option("--embedder", default=DEFAULT_EMBEDDER, show_default=True, help="Who turns text into vectors.")
@json_option
def store_create(name: str, embedder: str, as_json: bool) -> None:
    """Make an empty store."""
    info = library_of_owner().create_store(OWNER, name, embedder)
    emit(
        as_json,
        render.store(info),
        lambda: click.echo(f"Store {name!r} is ready. Next: commonplace index '**/*.md' --store {name}"),
    )


@store.command("list")
@json_option
def store_list(as_json: bool) -> None:
    """List every store."""
    infos, warnings = _all_stores(library_of_owner())
    value = {"stores": [render.store(i) for i in infos], "warnings": warnings}
    emit(as_json, value, lambda: show_status(infos, {}, warnings))


def _all_stores(library: Library) -> tuple[list[StoreInfo], list[str]]:
    """Every store that can be read, and a sentence about each that cannot."""
    infos: list[StoreInfo] = []
    warnings: list[str] = []
    for name in library.store_names(OWNER):
        try:
            infos.append(library.store_info(OWNER, name))
        except StoreError as error:
            warnings.append(str(error))
    return infos, warnings


@store.command("info")
@click.argument("name")
@json_option
def store_info(name: str, as_json: bool) -> None:
    """Show a store: what is in it, where from, and what is still to do."""
    info = library_of_owner().store_info(OWNER, name)
    emit(as_json, render.store(info), lambda: show_store(info))


@store.command("delete")
@click.argument("name")
@click.option("--force", is_flag=True, help="Do not ask.")
@json_option
def store_delete(name: str, force: bool, as_json: bool) -> None:
    """Delete a store; the files it was read from stay."""
    library = library_of_owner()
    if not force:
        typed = click.prompt(f"{_contents(library, name)} Type the name to delete the store", err=True)
        if typed != name:
            raise InvalidInput("That is not the store's name.", "Nothing was deleted.")
    library.delete_store(OWNER, name)
    emit(
        as_json, {"deleted": name}, lambda: click.echo(f"Store {name!r} is deleted; its files are untouched.")
    )


def _contents(library: Library, name: str) -> str:
    """What would be lost with a store."""
    try:
        info = library.store_info(OWNER, name)
    except StoreError as error:  # a damaged store is there to be deleted, too
        return error.message
    return f"{plural(info.chunk_count, 'passage')} of {plural(info.file_count, 'file')}."


@click.command()
@json_option
def status(as_json: bool) -> None:
    """Show every store, what is running, and what was not finished."""
    library = library_of_owner()
    infos, warnings = _all_stores(library)
    latest = {i.name: j for i in infos for j in library.jobs(OWNER, i.name, 1)}
    running = {name: job for name, job in latest.items() if job.state == "running"}
    warnings += [
        f"The last run of {name!r} was {job.state}; `commonplace index --store {name}` goes on. {job.message}"
        for name, job in latest.items()
        if job.state in ("cancelled", "failed", "interrupted")
    ]
    value = {
        "stores": [render.store(i) for i in infos],
        "running": [render.job(job) for job in running.values()],
        "data_dir": str(library.settings.data_dir),
        "warnings": warnings,
    }
    emit(as_json, value, lambda: show_status(infos, running, warnings))
