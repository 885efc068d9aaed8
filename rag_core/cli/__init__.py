"""The command line: a thin interface to the library. Tables for people, ``--json`` for programs.

Answers go to standard output, progress and errors to standard error. Exit status: 0 ok,
1 failed or some files failed, 2 wrong usage, 3 no passage fits a question, 130 Ctrl-C, 141 broken pipe.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from rag_core import __version__
from rag_core.cli.commands import ByKey, LazyCommands
from rag_core.errors import InvalidInput, RagError

_BY_KEY, _NO_READER = 130, 141
"""Exit statuses of a program that SIGINT or SIGPIPE has ended."""

COMMANDS = {
    "init": "indexing.init",
    "index": "indexing.index",
    "query": "searching.query",
    "ask": "asking.ask",
    "saved": "saved.saved",
    "eval": "evaluating.evaluate",
    "list": "documents.list_documents",
    "show": "documents.show",
    "similar": "documents.similar",
    "exclude": "documents.exclude",
    "reindex": "documents.reindex",
    "store": "stores.store",
    "source": "sources.source",
    "jobs": "runs.jobs",
    "status": "stores.status",
    "token": "sharing.token",
    "share": "sharing.share",
    "serve": "serving.serve",
    "open": "opening.open_app",
    "demo": "demo.demo",
    "service": "autostart.service",
    "watch": "serving.watch",
    "mcp": "serving.mcp",
    "model": "serving.model",
    "connections": "connections.connections",
    "doctor": "upkeep.doctor",
    "verify": "upkeep.verify",
    "repair": "upkeep.repair",
    "config": "upkeep.config",
    "completion": "upkeep.completion",
}
"""The name of each command, its module in this package, and its function there. The module is imported when
the command is called."""


class _App(LazyCommands):
    homes = COMMANDS


@click.group(
    cls=_App,
    invoke_without_command=True,
    no_args_is_help=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="commonplace")
@click.pass_context
def app(ctx: click.Context) -> None:
    """Search your own notes, code and documents, by words and by meaning.

    Without a command, the app starts and opens in the browser. The first start downloads the built-in model.
    """
    if ctx.invoked_subcommand is None:
        from rag_core.cli.opening import start_app

        start_app()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit. ``arguments`` are those after the program's name; None takes them from
    ``sys.argv``. Errors are printed as two sentences, and set the exit status."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    for stream in (sys.stdout, sys.stderr):  # a code page of Windows lacks most characters
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    stdout = sys.stdout
    colour = False if os.environ.get("NO_COLOR") else None  # None: on a terminal
    try:
        status = app.main(words, prog_name="commonplace", standalone_mode=False, color=colour)
        sys.exit(status if isinstance(status, int) else 0)
    except SystemExit as ended:
        sys.exit(ended.code if sys.stdout is stdout else _NO_READER)  # click replaces a closed output
    except RagError as error:
        statuses = {InvalidInput: 2, ByKey: _BY_KEY}
        _fail(error, words, next((code for kind, code in statuses.items() if isinstance(error, kind)), 1))
    except click.exceptions.Abort as stopped:
        by_key = isinstance(stopped.__cause__, KeyboardInterrupt)
        outcome = "Finished work is kept." if by_key else "Nothing was changed."
        _fail(RagError("Stopped.", outcome), words, _BY_KEY if by_key else 1)
    except click.ClickException as error:
        message = " ".join(error.format_message().split())
        context = getattr(error, "ctx", None)
        command = context.command_path if context else "commonplace"
        _fail(RagError(message, f"See `{command} --help`."), words, error.exit_code)


def _fail(error: RagError, words: Sequence[str], status: int) -> NoReturn:
    from rag_core.api.encoding import json_bytes, plain

    if "--json" in words:
        click.echo(json_bytes(error.as_dict()), nl=False)
    else:
        click.echo(f"Error: {plain(error.message)}\n{plain(error.suggestion)}".rstrip(), err=True)
    sys.exit(status)
