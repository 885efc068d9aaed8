"""Checks and repairs: doctor, verify, repair, config and shell completion."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click
from click.shell_completion import get_completion_class

from rag_core.api import reports
from rag_core.cli import commands, options
from rag_core.cli.screen import line
from rag_core.cli.terminal import show_diagnoses, show_healths, show_repair, show_settings, show_steps
from rag_core.errors import InvalidInput, StoreError
from rag_core.reports import Health
from rag_core.types import OWNER


@click.command(cls=commands.Answering)
@click.option(
    "--file",
    "path",
    metavar="PATH",
    shell_complete=options.complete_files,
    help="Explain why this file is found or not.",
)
@click.option("--query", metavar="TEXT", help="With --file: also show the file's rank for this query.")
@click.option(
    "--store",
    "stores",
    multiple=True,
    **options.name_of_store,
    help="With --file: a store to look in; repeat for several (default: every store).",
)
def doctor(path: str | None, query: str | None, stores: tuple[str, ...]) -> None:
    """Check the installation, or explain why a file is not found.

    Exit status 1 if something does not work, or the file cannot be found.
    """
    library = options.library_of_owner()
    if path is None:
        if query or stores:
            raise InvalidInput("--query and --store belong to --file.", "Add --file PATH.")
        steps = library.upkeep.doctor(OWNER)
        options.emit({"steps": reports.steps(steps)}, lambda: show_steps(steps))
        sys.exit(any(step.state == "no" for step in steps))
    diagnoses = library.upkeep.explain(OWNER, path, stores, query=query or "")
    options.emit({"stores": [reports.diagnosis(d) for d in diagnoses]}, lambda: show_diagnoses(diagnoses))
    sys.exit(not any(diagnosis.findable for diagnosis in diagnoses))


@click.command(cls=commands.Answering)
@options.stores_option
@click.option("--files", is_flag=True, help="Also compare each document with its file.")
@click.option("--heal", is_flag=True, help="Repair the stores' vector indexes on servers first.")
def verify(stores: tuple[str, ...], files: bool, heal: bool) -> None:
    """Check stores for damage, and their vector indexes on servers.

    Without --heal nothing is changed. Exit status 1 if a store is damaged; `repair` rebuilds it.
    """
    library = options.library_of_owner()
    healths: list[Health] = []
    damaged: list[StoreError] = []
    for name in dict.fromkeys(stores or library.stores.names(OWNER)):
        try:
            if heal:
                library.placement.heal(OWNER, name)
            healths.append(library.upkeep.verify(OWNER, name, files=files))
        except StoreError as error:
            damaged.append(error)
    sound = not damaged and all(health.sound for health in healths)
    value = {
        "sound": sound,
        "stores": [reports.health(health) for health in healths],
        "damaged": [error.as_dict()["error"] for error in damaged],
    }
    options.emit(value, lambda: show_healths(healths, list(map(str, damaged))))
    sys.exit(not sound)


@click.command(cls=commands.Answering)
@options.store_option
def repair(store: str) -> None:
    """Rebuild a store that `verify` found damaged.

    The store's folders are read into a new file. Your decisions and the intact vectors are copied into it.
    The damaged file stays next to it.
    """
    repaired = options.library_of_owner().upkeep.repair(OWNER, store)
    options.emit(asdict(repaired), lambda: show_repair(repaired))


@click.group(cls=commands.Commands, invoke_without_command=True)
@commands.json_option
@click.pass_context
def config(context: click.Context) -> None:
    """Show every setting with its origin, or change one."""
    if context.invoked_subcommand is None:
        settings = options.settings_of_owner()
        options.emit(reports.configuration(settings), lambda: show_settings(settings))


@config.command("set")
@click.argument("name")
@click.argument("value")
def set_(name: str, value: str) -> None:
    """Write a setting into config.yaml. The rest of the file stays as it is."""
    _change(name, value)


@config.command()
@click.argument("name")
def unset(name: str) -> None:
    """Remove a setting from config.yaml, so that its default applies."""
    _change(name, None)


def _change(name: str, value: str | None) -> None:
    settings = options.library_of_owner().upkeep.change_setting(OWNER, name, value)
    row = next(row for row in settings.rows() if name == row.key.name)
    options.emit(
        {"setting": row.key.name, "value": row.value, "from": str(row.origin)},
        lambda: click.echo(f"{row.key.name}: {line(row.said)}  (from {line(str(row.origin))})"),
    )


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that lets your shell complete commands.

    \b
    bash:  eval "$(commonplace completion bash)" in ~/.bashrc
    zsh:   eval "$(commonplace completion zsh)" in ~/.zshrc
    fish:  commonplace completion fish > ~/.config/fish/completions/commonplace.fish
    """  # noqa: D301 - click takes the backspace for "do not wrap"
    if kind := get_completion_class(shell):
        root, name = context.find_root().command, "commonplace"
        click.echo(kind(root, {}, name, f"_{name}_complete".upper()).source())
