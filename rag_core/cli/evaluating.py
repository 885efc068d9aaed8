"""Measuring searches with a golden set: eval, and eval mark."""

from __future__ import annotations

from pathlib import Path

import click

from rag_core.api import reports
from rag_core.cli import commands, options
from rag_core.cli.documents import path_argument
from rag_core.cli.terminal import show_evaluation
from rag_core.files import current_folder
from rag_core.types import OWNER, Mode

_file_type = click.Path(path_type=Path, dir_okay=False)


class _Evaluations(commands.Commands):
    """A group that runs `run` if no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Without arguments, parse `run`."""
        return super().parse_args(ctx, args or ["run"])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name."""
        return super().resolve_command(ctx, args if args[0] in self.commands else ["run", *args])


@click.group("eval", cls=_Evaluations, no_args_is_help=False)
def evaluate() -> None:
    """Measure how well searches find the documents that you marked as relevant.

    `eval` is short for `eval run`, and `eval FILE.yaml` for `eval run FILE.yaml`.
    """


@evaluate.command()
@click.argument("file", type=_file_type, required=False)
@options.stores_option
@click.option(
    "--mode",
    type=click.Choice(["hybrid", "vector", "lexical"]),
    help="How to search, instead of the setting.",
)
def run(file: Path | None, stores: tuple[str, ...], mode: Mode | None) -> None:
    """Search for each query of a golden set, and measure how well its documents are found.

    FILE is YAML: `queries:`, and for each query `- query: TEXT` with `relevant: [PATH]`. Without FILE, the
    set filled by `eval mark` is used. Changes since the previous evaluation are shown.
    """
    evaluated = options.library_of_owner().evaluating.evaluate(OWNER, file, stores, mode=mode)
    options.emit(reports.evaluation(evaluated), lambda: show_evaluation(evaluated))


@evaluate.command()
@click.argument("query")
@path_argument
@options.store_of_file_option
@click.option("--file", type=_file_type, help="The golden set (default: golden.yaml in the data folder).")
def mark(query: str, path: str, store: str | None, file: Path | None) -> None:
    """Mark a document as relevant for a query.

    PATH is a file here, an absolute path, a path from `list`, or a name that only one file has.
    """
    library = options.library_of_owner()
    path = library.files.path_of(OWNER, options.store_of_file(library, store, path), path, current_folder())
    library.evaluating.mark(OWNER, query, path, file)
    where = file or library.evaluating.usual_file
    options.emit({"query": query, "file_path": path, "file": str(where)}, f"Marked {path} in {where}.")
