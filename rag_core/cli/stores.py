"""Stores: create, list, show, rename, delete, export, import, switch, attach, and their status."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from rag_core.api import answers, reports
from rag_core.cli import commands, options
from rag_core.cli.runs import run_requests
from rag_core.cli.screen import ProgressLine, line
from rag_core.cli.terminal import print_store, show_status
from rag_core.errors import InvalidInput, StoreError
from rag_core.index.portable import Exported
from rag_core.library import Library
from rag_core.reports import Privacy
from rag_core.types import METRICS, OWNER, Metric, StoreInfo
from rag_core.wording import contents, plural, privacy, size, some


@click.group(cls=commands.Commands, no_args_is_help=False)
def store() -> None:
    """Create, list, show, rename, delete, export and import stores."""


@store.command("create")
@click.argument("name")
@options.setting_option(
    "--embedder",
    setting="embedder",
    help="The model that turns text into vectors; minilm and multilingual are built in.",
)
@click.option(
    "--metric",
    type=click.Choice(METRICS),
    default=METRICS[0],
    show_default=True,
    help="How vectors are compared. They have length 1, so all three give the same order. Amazon S3 Vectors"
    " has no dot product, so an index there shows cosine.",
)
@click.option(
    "--dimension",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Length of a vector, if the embedder supports several.",
)
@options.setting_option(
    "--backend", setting="backend", metavar="KIND", help="The vector index: local, s3vectors, …"
)
@click.option("--send-private", is_flag=True, help="Allow sending private notes to other machines.")
@options.shared_disk_option
def store_create(
    name: str,
    embedder: str,
    metric: Metric,
    dimension: int | None,
    backend: str,
    send_private: bool,
    shared_disk: bool,
) -> None:
    """Create an empty store."""
    library = options.library_of_owner(shared_disk=shared_disk)
    info = library.stores.create(
        OWNER, name, embedder, metric=metric, dimension=dimension, backend=backend, sends_private=send_private
    )
    next_step = f"commonplace index FOLDER --store {name}"
    options.emit(answers.Store.of(info), f"Store {name!r} is ready. Next: {next_step}")


@store.command("list")
def store_list() -> None:
    """List every store."""
    infos, warnings = options.library_of_owner().stores.infos(OWNER)
    options.emit(answers.stores(infos, warnings, OWNER), lambda: show_status(infos, {}, warnings))


@store.command("info")
@options.any_store_argument
def store_info(name: str) -> None:
    """Show all facts about a store."""
    info = options.library_of_owner().stores.info(OWNER, name)
    options.emit(answers.Store.of(info), lambda: print_store(info))


@store.command("rename")
@options.store_argument
@click.argument("new_name", metavar="NEW")
def store_rename(name: str, new_name: str) -> None:
    """Rename a store."""
    library = options.library_of_owner()
    info = library.stores.rename(OWNER, name, new_name)
    options.emit(
        answers.Store.of(info), _with_default(library, f"Store {name!r} is called {new_name!r} now.")
    )


@store.command("export")
@options.store_argument
@click.argument("file", type=click.Path(path_type=Path), default=".", metavar="[FILE]")
@click.option("--force", is_flag=True, help="Replace an existing file.")
def store_export(name: str, file: Path, force: bool) -> None:
    """Write a store with its private notes into one portable file.

    FILE is the file or its folder; by default it is NAME.commonplace in this folder. Meanwhile the store can
    be searched and indexed.
    """
    with ProgressLine() as progress:
        done = options.library_of_owner().stores.export(
            OWNER, name, file, lambda now: progress.say(now.said), force=force
        )
    where = f"{line(str(done.path))} ({size(done.size_bytes)})"
    options.emit({**asdict(done), "path": str(done.path)}, f"Store {name!r} is in {where}: {_counted(done)}")


@store.command("import")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--name", default="", metavar="NAME", help="The name of the new store (default: its old name).")
@options.shared_disk_option
def store_import(file: Path, name: str, shared_disk: bool) -> None:
    """Create a store from an exported file.

    Folders of the store that are not on this computer are paused.
    """
    library = options.library_of_owner(shared_disk=shared_disk)
    with ProgressLine() as progress:
        info = library.stores.import_file(OWNER, file, name, lambda now: progress.say(now.said))
    lines = [f"Store {info.name!r} is ready: {_counted(info)}", *info.notices]
    options.emit({**answers.Store.of(info).model_dump(), "notices": info.notices}, "\n".join(lines))


@store.command("delete")
@options.store_argument
@click.option("--force", "--yes", "force", is_flag=True, help="Do not ask.")
@click.option("--leave-index", is_flag=True, help="Do not delete its vector index on a server.")
def store_delete(name: str, force: bool, leave_index: bool) -> None:
    """Delete a store. Your files stay."""
    library = options.library_of_owner()
    guests = ""
    try:
        lost = _counted(library.stores.info(OWNER, name))
        if names := library.sharing.guests(OWNER, name):
            guests = f" {some(names, 'guest')} can no longer search it."
    except StoreError as error:  # a damaged store can be deleted, too
        lost = error.message
    if not force:
        with options.asking("--force"):
            typed = click.prompt(f"{lost}{guests} Type the name to delete the store", err=True)
        if typed != name:
            raise InvalidInput("That is not the store's name.", "Nothing was deleted.")
    library.stores.delete(OWNER, name, leave_index=leave_index)
    outcome = line(f"Store {name!r} is deleted; its files are untouched.{guests}")
    options.emit({"deleted": name}, _with_default(library, outcome))


def _with_default(library: Library, outcome: str) -> str:
    """Return ``outcome``. If ``default_store`` names a store that is gone, add a line that says so."""
    return "\n".join(filter(None, (outcome, line(library.stores.lost_default(OWNER)))))


def _counted(counted: StoreInfo | Exported) -> str:
    return f"{contents(counted.chunk_count, counted.file_count)}."


@store.command("switch")
@options.any_store_argument
@click.option("--embedder", metavar="EMBEDDER", help="The new embedder.")
@click.option("--backend", metavar="KIND", help="The new vector index.")
@click.option(
    "--rechunk", is_flag=True, help="Make new passages, for an embedder that reads less text at once."
)
@click.option("--abandon", is_flag=True, help="Cancel a switch that is not finished.")
@click.option("--later", is_flag=True, help="Embed nothing now: the next run of the store does it.")
def switch(
    name: str, embedder: str | None, backend: str | None, rechunk: bool, abandon: bool, later: bool
) -> None:
    """Change the embedder or the vector index of a store.

    Searches use the old vectors until all new ones exist. If you stop a switch with Ctrl-C, the next run
    continues it.
    """
    library = options.library_of_owner()
    if abandon:
        info = library.placement.abandon_switch(OWNER, name)
        options.emit(answers.Store.of(info), f"Store {name!r} stays as it was.")
        return
    if embedder is None and not (backend or rechunk):
        raise click.UsageError("Say what to change: --embedder, --backend or --rechunk.")
    info = library.placement.switch(OWNER, name, embedder, backend, rechunk=rechunk)
    if later:
        outcome = line(f"Store {name!r} switches to {info.switching} with its next run.")
        options.emit(answers.Store.of(info), outcome)
        return
    run_requests(library, name)


@store.command("attach")
@click.argument("address")
@click.argument("name", required=False, default="")
@options.shared_disk_option
@click.option(
    "--take-over",
    "taken",
    is_flag=True,
    help="Write to the index from here; the other installation stops writing.",
)
def attach(address: str, name: str, taken: bool, shared_disk: bool) -> None:
    """Create a read-only store from an index that another installation fills.

    ADDRESS is like s3vectors://BUCKET/INDEX; on the other computer, `commonplace store info` shows it. This
    computer only reads the index. Attach it again to update the store, or take it over.
    """
    with ProgressLine() as progress:
        library = options.library_of_owner(shared_disk=shared_disk)
        info = library.placement.attach(OWNER, address, name, lambda count: progress.say(_read(count)))
        if taken:
            info = library.placement.take_over(OWNER, info.name, lambda count: progress.say(_read(count)))
    outcome = f"Store {info.name!r} is attached: {plural(info.chunk_count, 'passage')}."
    options.emit(answers.Store.of(info), _taken_over(info.name) if taken else outcome)


@store.command("take-over")
@options.store_argument
def take_over(name: str) -> None:
    """Write to the index of an attached store from here.

    The store is updated first. The other installation no longer fills the index.
    """
    with ProgressLine() as progress:
        info = options.library_of_owner().placement.take_over(
            OWNER, name, lambda count: progress.say(_read(count))
        )
    options.emit(answers.Store.of(info), _taken_over(name))


def _read(count: int) -> str:
    return f"{plural(count, 'passage')} read"


def _taken_over(name: str) -> str:
    return f"Store {name!r} is yours now. Next: commonplace index FOLDER --store {name}"


@store.command("private")
@options.any_store_argument
@click.option(
    "--send/--keep", "send", default=None, help="Whether private notes may be sent to other machines."
)
@click.option(
    "--hide",
    multiple=True,
    metavar="GLOB",
    help="Add a rule: hide files that match, such as 'journal/**', from guests. Repeat for several.",
)
@click.option("--show", multiple=True, metavar="GLOB", help="Remove this rule; repeat for several.")
def private(name: str, send: bool | None, hide: tuple[str, ...], show: tuple[str, ...]) -> None:
    """Show or change which notes are private, and whether they may be sent to servers.

    Guests never see a private note. A note is private if its front matter has `private: true`, or if its path
    matches a rule, such as 'journal/**'. A rule takes effect at once.
    """
    library = options.library_of_owner()
    if hide or show:
        report = library.privacy.change(OWNER, name, hide=hide, show=show)
    else:
        report = library.privacy.report(OWNER, name)
    if send is not None:
        library.placement.let_private_leave(OWNER, name, allowed=send)
    info = library.stores.info(OWNER, name)
    value = {**answers.Store.of(info).model_dump(), **reports.privacy_report(report)}
    options.emit(value, lambda: _show_privacy(report, info))


def _show_privacy(report: Privacy, info: StoreInfo) -> None:
    if info.sends_private:
        click.echo(f"Private notes of store {info.name!r} may go to servers on other machines.")
    else:
        click.echo(f"Private notes of store {info.name!r} may not go to servers on other machines.")
    click.echo(privacy(report))
    for path, why in report.unsure.items():
        click.secho(line(f"  {path}: {why}"), fg="yellow")
    for rule, count in report.rules.items():
        click.echo(line(f"  {rule}: {plural(count, 'document') if count else 'hides nothing yet'}"))
    if report.due:
        click.echo(
            "The next run also applies this to copies outside the store and to scores:"
            f" commonplace index --store {info.name}"
        )


@click.command(cls=commands.Answering)
@options.stores_option
def status(stores: tuple[str, ...]) -> None:
    """Show every store, running jobs and unfinished work."""
    known = options.library_of_owner().stores.status(OWNER, stores)
    running = {job.store: job for job in known.running}
    options.emit(answers.status(known, OWNER), lambda: show_status(known.stores, running, known.warnings))
