"""Opening the app in the browser. The app is started first if it is not running, so this command suits a
system-wide keyboard shortcut."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO
from urllib.parse import urlencode

import click

from rag_core import system
from rag_core.cli.commands import Answering
from rag_core.cli.options import emit, settings_of_owner
from rag_core.cli.screen import warn
from rag_core.config.keys import PORT_FILE
from rag_core.errors import RagError

_ANSWER_S = 3.0
_START_S = 60.0
_LOOK_S = 0.2
_QUOTED = 300  # maximum characters of the output of an app that did not start


@click.command("open", cls=Answering)
@click.argument("query", nargs=-1)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    help="The port of the app (default: that of the running app, else the setting `port`).",
)
def open_app(query: Sequence[str], port: int | None) -> None:
    """Open the app in the browser, with QUERY in the search box.

    If the app is not running, it is started in the background and continues to run after this command.
    """
    settings = settings_of_owner()
    port = port or where_it_runs(settings.data_dir) or settings.port
    started = None if _answers(port) else _start(port)
    runs = f"The app runs in the background, as process {started}." if started else ""
    words = " ".join(query).strip()
    url = f"http://127.0.0.1:{port}/" + (f"?{urlencode({'q': words})}" if words else "")
    if not webbrowser.open(url):
        raise RagError("No browser could be started.", f"Open {url} yourself. {runs}".strip())
    emit({"url": url, "started": started}, "\n".join(filter(None, (f"Opened {url}", runs))))


def start_app() -> None:
    """Start the app in this process and open the browser. If the app is already running, only open the
    browser. A missing built-in model is downloaded first; without the model, notes are found only by
    words."""
    from rag_core.cli.serving import serve_owners_app

    settings = settings_of_owner()
    if running := where_it_runs(settings.data_dir):
        url = f"http://127.0.0.1:{running}/"
        click.echo(f"Commonplace runs already, at {url}")
        if has_screen():
            webbrowser.open(url)
        return
    fetch_model(settings.embedder, settings.model_dir)
    serve_owners_app(settings.port, open_browser=has_screen())


def fetch_model(embedder: str, model_dir: Path) -> None:
    """Install ``embedder`` in ``model_dir`` if it is a built-in model that is missing. If that fails, print a
    warning; searches then use words only."""
    from rag_core.models.built_in import BUILT_IN
    from rag_core.models.built_in_install import install, is_installed

    model = BUILT_IN.get(embedder)
    if model is None or is_installed(model, model_dir):
        return
    try:
        install(model, model_dir, report=lambda message: click.echo(message, err=True))
    except RagError as error:
        warn(f"{error} Until then, notes are found by words. The Index page tries it again.")


def has_screen() -> bool:
    """Whether a browser can show a page here. Over ssh there may be no browser, or only one in the
    terminal."""
    screens = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
    return not sys.platform.startswith("linux") or any(map(os.environ.get, screens))


def where_it_runs(data_dir: Path) -> int | None:
    """Return the port of the app that uses this data folder; None if it is not running."""
    with suppress(OSError, ValueError, RagError):
        port = int((data_dir / PORT_FILE).read_text("utf-8"))
        return port if _answers(port) else None
    return None


def _answers(port: int) -> bool:
    """Whether the app answers at a port. Raises RagError if another program answers."""
    import httpx

    try:
        with httpx.Client(trust_env=False, timeout=_ANSWER_S) as client:
            response = client.get(f"http://127.0.0.1:{port}/api/v1/openapi.json")
    except httpx.ConnectError:
        return False
    except httpx.HTTPError:
        response = None
    if response is None or "Commonplace" not in response.text:
        message = f"Port {port} is in use, and what answers there is not Commonplace."
        raise RagError(message, "Choose another port: set `port`, or use --port.")
    return True


def _start(port: int) -> int:
    """Start the app in the background, wait until it answers, and return its process id. Raises RagError."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "rag_core", "serve", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            creationflags=system.NO_WINDOW,
        )
        end = time.monotonic() + _START_S
        while time.monotonic() < end:
            if process.poll() is not None:
                raise RagError(
                    f"The app did not start. {_said(output)}",
                    "Run `commonplace serve` to see the whole error.",
                )
            if _answers(port):
                process.returncode = 0  # nothing waits for it any more
                return process.pid
            time.sleep(_LOOK_S)
        process.kill()
    raise RagError(
        f"The app did not answer within {_START_S:g} seconds.",
        "Run `commonplace serve` to see the whole error.",
    )


def _said(output: IO[bytes]) -> str:
    """Return the end of a program's output."""
    output.seek(0)
    return " ".join(output.read().decode("utf-8", "replace").split())[-_QUOTED:]
