"""Serving the app and MCP, and installing models."""

from __future__ import annotations

import importlib
import os
import signal
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import click

from rag_core.cli.commands import Commands
from rag_core.cli.options import (
    emit,
    library_of_owner,
    setting_option,
    shared_disk_option,
)
from rag_core.cli.screen import warn
from rag_core.errors import NotFound, RagError
from rag_core.running import background, watching
from rag_core.types import OWNER
from rag_core.wording import moment, plural


def app_dir() -> Path:
    """Return the folder with app.py, ui and pages: ``rag_core/_app`` in a wheel, or the checkout.

    The package never imports the app, so the app is found by its path. Raises RagError if it is missing.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_app", package.parent):
        if (folder / "app.py").is_file() and (folder / "ui").is_dir():
            return folder
    raise RagError(
        "The files of the app are missing from this installation.",
        "Install it again from its wheel: `pipx install --force FILE.whl`.",
    )


def serve_app(port: int, open_browser: bool) -> None:
    """Serve the app on 127.0.0.1 until Ctrl-C or SIGTERM. Raises RagError if the port cannot be used."""
    sys.path.insert(0, str(app_dir()))
    importlib.import_module("ui.frame.serve").serve("127.0.0.1", port, open_browser)


def serve_owners_app(port: int, open_browser: bool, *, shared_disk: bool = False) -> None:
    """Create the stores declared in config.yaml, then serve the app. Raises InvalidInput if other computers
    may write to the disk of the stores, unless ``shared_disk`` or the setting of that name allows it."""
    library = library_of_owner(shared_disk=shared_disk)
    library.stores.require_own_disk(OWNER)
    warn(*library.stores.make_declared(OWNER))
    library.close()
    serve_app(port, open_browser)


@click.command()
@setting_option("--port", setting="port", type=click.IntRange(0, 65535), help="0 uses any free port.")
@click.option("--open", "open_browser", is_flag=True, help="Open the browser, too.")
@shared_disk_option
@click.option("--with-input", is_flag=True, hidden=True, help="Stop at the end of standard input.")
def serve(port: int, open_browser: bool, shared_disk: bool, with_input: bool) -> None:
    """Start the app on this computer (127.0.0.1 only)."""
    if with_input:
        threading.Thread(target=_end_with_input, daemon=True).start()
    serve_owners_app(port, open_browser, shared_disk=shared_disk)


def _end_with_input() -> None:
    """Stop this process when its standard input ends, which happens when the process that started it has
    ended."""
    with suppress(OSError):
        while os.read(0, 1):  # not sys.stdin, whose lock would be held when Python ends
            pass
    signal.raise_signal(signal.SIGTERM)


@click.command()
def watch() -> None:
    """Index files as soon as they change, until Ctrl-C.

    `serve` does the same. Paused folders are not watched.
    """
    library = library_of_owner()
    warn(*library.stores.make_declared(OWNER))
    folders = sum(len(library.sources.kept(OWNER, store)) for store in library.stores.names(OWNER))
    if not folders:
        raise NotFound("There is no folder to watch.", "Index one first with `commonplace init FOLDER`.")
    warn(f"Watching {plural(folders, 'folder')}. Ctrl-C stops it.")
    stop = threading.Event()

    def begin(store: str) -> None:
        warn(f"{moment(datetime.now(UTC).isoformat())}  {store} has changed.")
        background.go_on(library, OWNER, store)

    try:
        watching.watch(library, OWNER, stop, begin, scan_first=library.settings.scan_on_start)
    except KeyboardInterrupt:
        stop.set()
        background.stop_all()


@click.command()
@setting_option(
    "--allow-writes",
    setting="mcp_allow_writes",
    is_flag=True,
    help="Allow the assistant to index files and to remove them from the index.",
)
def mcp(allow_writes: bool) -> None:
    """Connect an assistant over MCP, on standard input and output.

    The assistant starts this command, which ends when its input ends. While the app runs, assistants can also
    connect to /mcp at the app's address.
    """
    from rag_core.api.mcp.server import serve_stdio

    serve_stdio(library_of_owner(), allow_writes=allow_writes)


@click.group(cls=Commands, no_args_is_help=False)
def model() -> None:
    """Install models for embedding or reranking."""


@model.command("install")
@click.argument("name", required=False)
@click.option(
    "--from",
    "source",
    type=click.Path(exists=True, path_type=Path),
    help="Use a built-in model's files in this folder, not the network.",
)
def model_install(name: str | None, source: Path | None) -> None:
    """Download and verify a model.

    NAME is a built-in model: `minilm` (for English, 84 MB) or `multilingual` (for every language, 66 MB). It
    becomes the embedder of new stores. Without NAME, the present embedder of new stores is installed.

    NAME may also be hf:ORG/NAME or hf:ORG/NAME@REVISION, a model on the Hugging Face hub in ONNX format. A
    store or the setting `reranker` uses it as `onnx:ORG/NAME`. A model that is already installed is not
    downloaded again.
    """
    from rag_core.models.built_in import BUILT_IN, MINILM
    from rag_core.models.built_in_install import install

    library = library_of_owner()
    model_dir, chosen = library.settings.model_dir, library.settings.embedder
    if name is None or name in BUILT_IN:
        model = BUILT_IN.get(name or chosen, MINILM)
        folder = install(model, model_dir, source, _on_screen)
        if name is not None and name != chosen:
            library.upkeep.change_setting(OWNER, "embedder", name)
        emit({"installed": str(folder)}, f"The {model.label} is ready in {folder}.")
        return
    if source is not None:
        raise click.UsageError("--from is for built-in models; a folder needs no installing: onnx:FOLDER.")
    from rag_core.models.card import reranks
    from rag_core.models.hub import fetch

    repo = fetch(name, model_dir, _on_screen)
    use = f"Use it as the embedder of a store: onnx:{repo}"
    if reranks(model_dir / repo):
        use = f"Let it order the best hits: commonplace config set reranker onnx:{repo}"
    emit({"installed": str(model_dir / repo)}, f"Ready. {use}")


def _on_screen(message: str) -> None:
    click.echo(message, err=True)
