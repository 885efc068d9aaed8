"""What is configured, and completion for the shell."""

from __future__ import annotations

import click

from rag_core.api import reports
from rag_core.cli.options import emit, json_option, settings_of_owner
from rag_core.cli.shells import SHELLS
from rag_core.cli.terminal import show_settings

_NAME = "commonplace"


@click.command()
@json_option
def config(as_json: bool) -> None:
    """Show every setting, and where its value is from."""
    settings = settings_of_owner()
    emit(as_json, reports.settings(settings), lambda: show_settings(settings))


@click.command()
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """Print a script by which your shell completes commands.

    \b
    bash:  eval "$(commonplace completion bash)" in ~/.bashrc
    zsh:   eval "$(commonplace completion zsh)" in ~/.zshrc
    fish:  commonplace completion fish > ~/.config/fish/completions/commonplace.fish
    """  # noqa: D301 - click takes the backspace for "do not wrap"
    program = click.get_current_context().find_root().command
    click.echo(SHELLS[shell](program, {}, _NAME, f"_{_NAME}_complete".upper()).source())
