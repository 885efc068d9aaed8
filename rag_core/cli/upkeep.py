"""Checking stores and mending them."""

from __future__ import annotations

import sys

import click

from rag_core import render
from rag_core.cli.options import emit, json_option, library_of_owner, store_option
from rag_core.errors import StoreError
from rag_core.terminal import show_healths, show_repair
from rag_core.types import OWNER, Health


@click.command()
@click.option(
    "--store", "stores", multiple=True, metavar="NAME", help="A store; repeat for several. None: every store."
)
@click.option("--files", is_flag=True, help="Also compare each document with its file.")
@json_option
def verify(stores: tuple[str, ...], files: bool, as_json: bool) -> None:
    """Check every promise of the stores. Exit status 1 when one is broken."""
    library = library_of_owner()
    healths: list[Health] = []
    damaged: list[StoreError] = []
    for name in dict.fromkeys(stores or library.store_names(OWNER)):
        try:
            healths.append(library.verify(OWNER, name, files=files))
        except StoreError as error:
            damaged.append(error)
    value = {
        "sound": not damaged and all(health.sound for health in healths),
        "stores": [render.health(health) for health in healths],
        "damaged": [error.as_dict()["error"] for error in damaged],
    }
    emit(as_json, value, lambda: show_healths(healths, list(map(str, damaged))))
    sys.exit(not value["sound"])


@click.command()
@store_option
@json_option
def repair(store: str, as_json: bool) -> None:
    """Make anew what is derived in a store, and mark what the next run must read again."""
    repaired = library_of_owner().repair(OWNER, store)
    emit(as_json, render.repair(repaired), lambda: show_repair(repaired))
