"""The app as a service: started when you log in, and kept running."""

from __future__ import annotations

import click

from rag_core.cli.commands import Commands
from rag_core.cli.opening import where_it_runs
from rag_core.cli.options import emit, settings_of_owner
from rag_core.errors import RagError
from rag_core.running import autostart


@click.group(no_args_is_help=False, cls=Commands)
def service() -> None:
    """Start the app when you log in, and keep it running.

    The app runs as a service of the system: systemd on Linux, launchd on macOS, Task Scheduler on Windows.
    """


@service.command()
def install() -> None:
    """Start the app now and at each login.

    The service uses COMMONPLACE_HOME and COMMONPLACE_MODELS of this terminal. Put other variables into .env.
    """
    settings = settings_of_owner()
    made = autostart.service_here(settings.data_dir)
    running = where_it_runs(settings.data_dir)
    if running and autostart.state(made) != "running":
        raise RagError(
            f"The app runs already, on port {running}.",
            "Stop the app (Ctrl-C in its terminal), then run this command again.",
        )
    autostart.install(made)
    value = {"file": str(made.file), "state": autostart.state(made)}
    emit(value, f"The app starts now and when you log in.\nWritten: {made.file}")


@service.command()
def remove() -> None:
    """Stop the app, and do not start it any more."""
    made = autostart.service_here(settings_of_owner().data_dir)
    removed = autostart.remove(made)
    outcome = "The service is removed. Your stores stay." if removed else "There is no service."
    emit({"removed": removed}, outcome)


@service.command()
def status() -> None:
    """Show whether the service is installed and running."""
    made = autostart.service_here(settings_of_owner().data_dir)
    now = autostart.state(made)
    emit({"state": now, "file": str(made.file)}, f"{now.capitalize()}. {made.file}")
