"""What commands share: options, the owner's library, and printing an answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click

from rag_core.library import Library
from rag_core.terminal import plain_json

json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
stores_option = click.option(
    "--store", "stores", multiple=True, metavar="NAME", help="A store; repeat for several."
)
store_option = click.option("--store", "store", required=True, metavar="NAME", help="The store.")


def library_of_owner() -> Library:
    """The owner's library, closed when the command ends."""
    library = Library.open()
    click.get_current_context().call_on_close(library.close)
    return library


def emit(as_json: bool, value: dict[str, Any], show: Callable[[], None]) -> None:
    """Print ``value`` as JSON, or what ``show`` prints for people."""
    if as_json:
        print_json(value)
    else:
        show()


def print_json(value: dict[str, Any]) -> None:
    """Print JSON in which nothing steers a terminal, whatever a file name holds."""
    text = plain_json(json.dumps(value, ensure_ascii=False, indent=2))
    click.echo(text.encode("utf-8", "backslashreplace"))
