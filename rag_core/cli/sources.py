"""The folders of a store: list, edit, pause, resume and remove."""

from __future__ import annotations

from dataclasses import asdict, replace

import click

from rag_core.api import reports
from rag_core.cli import commands, options
from rag_core.cli.runs import run_requests
from rag_core.cli.screen import warn
from rag_core.cli.terminal import print_sources, show_plans
from rag_core.errors import InvalidInput
from rag_core.types import OWNER
from rag_core.wording import plural

number_argument = click.argument("number", type=int)


@click.group(cls=commands.Commands, no_args_is_help=False)
def source() -> None:
    """List, change, pause and remove the folders of a store.

    `source list` shows the NUMBER of each folder.
    """


@source.command("list", cls=commands.Answering)
@options.store_option
def source_list(store: str) -> None:
    """List the folders of a store, with their patterns and files."""
    folders = options.library_of_owner().sources.all(OWNER, store)
    value = {"store": store, "sources": [reports.folder(folder) for folder in folders]}
    options.emit(value, lambda: print_sources(store, folders))


@source.command("edit")
@number_argument
@options.store_option
@options.include_option
@options.exclude_option
@click.option("--no-exclude", is_flag=True, help="Remove all exclude patterns.")
@click.option("--dry-run", is_flag=True, help="Show what the next run would do; change nothing.")
def source_edit(
    number: int,
    store: str,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    no_exclude: bool,
    dry_run: bool,
) -> None:
    """Replace the patterns of a folder.

    Patterns that you do not give stay as they are.
    """
    if exclude and no_exclude:
        raise InvalidInput("--exclude and --no-exclude contradict each other.", "Give one of them.")
    if not (include or exclude or no_exclude):
        raise InvalidInput("There is nothing to change.", "Give --include, --exclude or --no-exclude.")
    library = options.library_of_owner()
    known = library.sources.get(OWNER, store, number)
    patterns = include or known.include, () if no_exclude else exclude or known.exclude
    if dry_run:
        plan = library.sources.plan(OWNER, store, replace(known, include=patterns[0], exclude=patterns[1]))
        options.emit(reports.plan([plan]), lambda: show_plans([plan]))
        return
    changed = library.sources.change(OWNER, store, number, *patterns)
    warn(*library.sources.idle_excludes(OWNER, changed.root, exclude))
    options.emit(asdict(changed), f"Changed. To apply it: commonplace index --store {store}")


@source.command("pause")
@number_argument
@options.store_option
def source_pause(number: int, store: str) -> None:
    """Stop reading a folder. Its files can still be searched."""
    changed = options.library_of_owner().sources.pause(OWNER, store, number)
    resume = f"commonplace source resume {number} --store {store}"
    options.emit(asdict(changed), f"Paused. To resume: {resume}")


@source.command("resume")
@number_argument
@options.store_option
def source_resume(number: int, store: str) -> None:
    """Read a paused folder again."""
    changed = options.library_of_owner().sources.pause(OWNER, store, number, paused=False)
    options.emit(asdict(changed), f"Resumed. To bring it up to date: commonplace index --store {store}")


@source.command("remove")
@number_argument
@options.store_option
@click.option(
    "--dry-run", is_flag=True, help="Show which files would be removed from the index, and do nothing."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def source_remove(number: int, store: str, dry_run: bool, yes: bool) -> None:
    """Remove a folder from a store. Its files stay on the disk."""
    library = options.library_of_owner()
    known = library.sources.get(OWNER, store, number)
    plan = library.sources.plan(OWNER, store, replace(known, removed=True))
    if dry_run:
        options.emit(reports.plan([plan]), lambda: show_plans([plan]))
        return
    if not yes:
        files = plural(len(plan.deleted), "file")
        question = (
            f"This removes {files} of {known.root} from the index; they stay on disk. Remove the folder?"
        )
        with options.asking("--yes"):
            click.confirm(question, abort=True, err=True)
    library.sources.remove(OWNER, store, number)
    run_requests(library, store)
