"""Checking stores and repairing them."""

from __future__ import annotations

import sys

import click

from rag_core.api import reports
from rag_core.cli.options import (
    OfStore,
    any_store_argument,
    emit,
    json_option,
    library_of_owner,
    store_option,
    stores_option,
)
from rag_core.cli.terminal import show_healths, show_repair
from rag_core.errors import StoreError
from rag_core.reports import Health
from rag_core.types import OWNER


@click.command(cls=OfStore)
@stores_option
@click.option("--files", is_flag=True, help="Also compare each document with its file.")
@json_option
def verify(stores: tuple[str, ...], files: bool, as_json: bool) -> None:
    """Check whether stores are sound, and say what is broken.

    Nothing is changed. Exit status 1 when something is broken: `repair` mends it.
    """
    library = library_of_owner()
    healths: list[Health] = []
    damaged: list[StoreError] = []
    for name in dict.fromkeys(stores or library.stores.names(OWNER)):
        try:
            healths.append(library.upkeep.verify(OWNER, name, files=files))
        except StoreError as error:
            damaged.append(error)
    value = {
        "sound": not damaged and all(health.sound for health in healths),
        "stores": [reports.Health.of(health) for health in healths],
        "damaged": [error.as_dict()["error"] for error in damaged],
    }
    emit(as_json, value, lambda: show_healths(healths, list(map(str, damaged))))
    sys.exit(not value["sound"])


@click.command("verify")
@any_store_argument
@click.option("--files", is_flag=True, help="Also compare each document with its file.")
@click.option("--heal", is_flag=True, help="Make the vector index outside the store's file right again.")
@json_option
def store_verify(name: str, files: bool, heal: bool, as_json: bool) -> None:
    """Check one store, its vector index on a server included."""
    library = library_of_owner()
    if heal:
        library.placement.heal(OWNER, name)
    health = library.upkeep.verify(OWNER, name, files=files)
    emit(as_json, reports.Health.of(health), lambda: show_healths([health], []))
    sys.exit(not health.sound)


@click.command(cls=OfStore)
@store_option
@json_option
def repair(store: str, as_json: bool) -> None:
    """Make a store anew in which `verify` found a fault.

    Reads its folders into a new file and takes over your decisions and the vectors that are whole. The
    damaged file is kept beside it.
    """
    repaired = library_of_owner().upkeep.repair(OWNER, store)
    emit(as_json, reports.Repair.of(repaired), lambda: show_repair(repaired))
