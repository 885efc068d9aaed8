"""The app and its model."""

from __future__ import annotations

from pathlib import Path

import click

from rag_core.api.encoding import plain
from rag_core.cli.groups import Commands
from rag_core.cli.options import emit, json_option, library_of_owner, setting_option
from rag_core.types import OWNER


@click.command()
@setting_option("--port", setting="port", type=click.IntRange(0, 65535), help="0 takes any free one.")
@click.option("--open", "open_browser", is_flag=True, help="Open the browser, too.")
def serve(port: int, open_browser: bool) -> None:
    """Serve the app on this machine (127.0.0.1 only)."""
    from rag_core.cli.launch import serve_app

    library = library_of_owner()
    for said in library.stores.make_declared(OWNER):
        click.echo(plain(said), err=True)
    library.close()
    serve_app(port, open_browser)


@click.group(cls=Commands, no_args_is_help=False)
def model() -> None:
    """Install the built-in model."""


@model.command("install")
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path),
    help="Take the files from this folder, not the network.",
)
@json_option
def model_install(source: Path | None, as_json: bool) -> None:
    """Fetch the built-in model, verify it and make it ready.

    When it is there already, nothing is done.
    """
    from rag_core.models.minilm_install import install

    library = library_of_owner()
    folder = install(library.settings.model_dir, source, lambda message: click.echo(message, err=True))
    emit(as_json, {"installed": str(folder)}, lambda: click.echo(f"The built-in model is ready in {folder}."))
