"""Why a file is not found, and whether the installation works."""

from __future__ import annotations

import sys

import click

from rag_core.api import reports
from rag_core.cli.options import begun_paths, emit, json_option, library_of_owner, name_of_store
from rag_core.cli.terminal import show_diagnoses, show_steps
from rag_core.errors import InvalidInput
from rag_core.types import OWNER


@click.command()
@click.option(
    "--file", "path", metavar="PATH", shell_complete=begun_paths, help="Say why this file is found or not."
)
@click.option("--query", metavar="TEXT", help="With --file: also its place for this query.")
@click.option(
    "--store",
    "stores",
    multiple=True,
    help="With --file: a store to look in; repeat for several (default: every store).",
    **name_of_store,
)
@json_option
def doctor(path: str | None, query: str | None, stores: tuple[str, ...], as_json: bool) -> None:
    """Check the installation, or say why a file is not found.

    Exit status 1 when something does not work, or the file cannot be found.
    """
    library = library_of_owner()
    if path is None:
        if query or stores:
            raise InvalidInput("--query and --store belong to --file.", "Add --file PATH.")
        steps = library.upkeep.doctor(OWNER)
        emit(
            as_json,
            {"steps": [{"state": s.state, "sentence": s.sentence} for s in steps]},
            lambda: show_steps(steps),
        )
        sys.exit(any(step.state == "no" for step in steps))
    found = library.upkeep.explain(OWNER, path, stores, query=query or "")
    emit(as_json, {"stores": [reports.Diagnosis.of(d) for d in found]}, lambda: show_diagnoses(found))
    sys.exit(not any(diagnosis.findable for diagnosis in found))
