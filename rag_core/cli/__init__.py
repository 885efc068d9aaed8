"""The command line: a thin face of the library. Tables for people, ``--json`` for programs.

Answers go to standard output, progress and errors to standard error. Exit status: 0 ok,
1 failed or some files failed, 2 wrong usage.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from rag_core import __version__
from rag_core.cli import (
    doctor,
    documents,
    finding,
    indexing,
    runs,
    serving,
    settings,
    sources,
    stores,
    upkeep,
)
from rag_core.cli.options import print_json
from rag_core.errors import InvalidInput, RagError
from rag_core.terminal import plain


@click.group(no_args_is_help=False, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="commonplace")
def app() -> None:
    """Find your own passages, by words and by meaning."""


for command in (
    indexing.init,
    indexing.index,
    finding.query,
    documents.list_documents,
    documents.show,
    documents.exclude,
    documents.reindex,
    stores.store,
    sources.source,
    runs.jobs,
    stores.status,
    serving.serve,
    serving.model,
    doctor.doctor,
    upkeep.verify,
    upkeep.repair,
    settings.config,
    settings.completion,
):
    app.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; every error becomes two sentences and an exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = app.main(words or ["--help"], prog_name="commonplace", standalone_mode=False)
        sys.exit(status if isinstance(status, int) else 0)
    except RagError as error:
        _fail(error, words, 2 if isinstance(error, InvalidInput) else 1)
    except click.exceptions.Abort:
        _fail(RagError("Stopped.", "Nothing was changed."), words, 1)
    except click.ClickException as error:
        _fail(RagError(error.format_message(), f"See `{_command(error)} --help`."), words, error.exit_code)


def _command(error: click.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return context.command_path if context else "commonplace"


def _fail(error: RagError, words: Sequence[str], status: int) -> None:
    if "--json" in words:
        print_json(error.as_dict())
    else:
        click.echo(f"Error: {plain(error.message)}\n{plain(error.suggestion)}".rstrip(), err=True)
    sys.exit(status)
