"""Trying the app on sample notes, in a separate home that is removed afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import click

from rag_core.cli.opening import fetch_model, has_screen
from rag_core.cli.options import settings_of_owner
from rag_core.config import load
from rag_core.config.keys import HOME, VARIABLE_PREFIX
from rag_core.library import Library
from rag_core.models.embedder import DEFAULT_EMBEDDER
from rag_core.wording import plural

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "notes"
_STORE = "samples"


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port at which the app listens (default: any free one).",
)
def demo(port: int) -> None:
    """Try the app on a few sample notes. Ctrl-C stops the app and removes the notes.

    Your own stores and settings are not touched. docs/tour.md says what to try.
    """
    model_dir = settings_of_owner().model_dir
    fetch_model(DEFAULT_EMBEDDER, model_dir)
    with tempfile.TemporaryDirectory(prefix="commonplace-demo-", ignore_cleanup_errors=True) as temporary:
        home, notes = Path(temporary, "home"), Path(temporary, "notes")
        shutil.copytree(SAMPLES, notes)
        environment = _own_environment(home, model_dir)
        _index(environment, notes)
        click.echo(f"The notes are in {notes}. Ctrl-C stops the app and removes them.", err=True)
        _serve(environment, port)
    click.echo("The sample notes and their index are removed.", err=True)


def _own_environment(home: Path, model_dir: Path) -> dict[str, str]:
    """Return the environment variables without the owner's settings, which may send notes elsewhere."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(VARIABLE_PREFIX)}
    return {**kept, HOME: str(home), f"{VARIABLE_PREFIX}MODELS": str(model_dir)}


def _index(environment: Mapping[str, str], notes: Path) -> None:
    with closing(Library.open(load(environment))) as library:
        job = library.add(notes, _STORE)
        if job:
            click.echo(f"{plural(job.counts.get('added', 0), 'sample note')} indexed.", err=True)


def _serve(environment: Mapping[str, str], port: int) -> None:
    """Run the app in a separate process, and wait until it ends, because its files are open while it runs.
    The app ends when its standard input ends, even if this process is killed."""
    words = [sys.executable, "-m", "rag_core", "serve", "--with-input", "--port", str(port)]
    if has_screen():
        words.append("--open")
    process = subprocess.Popen(words, env=dict(environment), stdin=subprocess.PIPE)
    with _ended_by_signal():
        try:
            process.wait()
        except KeyboardInterrupt:
            pass  # the app got it, too
        finally:
            assert process.stdin is not None  # noqa: S101 - it is a pipe
            process.stdin.close()
            process.wait()


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """Context manager: SIGTERM ends the block like Ctrl-C, so that the code after the block runs."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
