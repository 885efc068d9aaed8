"""Models, servers and services: check them, fetch a model, try an embedder."""

from __future__ import annotations

import sys
from dataclasses import asdict

import click

from rag_core.api import reports
from rag_core.cli.commands import ByKey, Commands, json_option
from rag_core.cli.options import emit, library_of_owner, setting_option
from rag_core.cli.screen import ProgressLine, line, table
from rag_core.reports import Connection
from rag_core.types import OWNER
from rag_core.wording import size

_MARKS = {"ready": "ok  ", "not set up": "note", "unreachable": "NO  ", "refused": "NO  "}


@click.group(cls=Commands, invoke_without_command=True, no_args_is_help=False)
@click.option("--all", "ask_all", is_flag=True, help="Contact Amazon even if no setting or store uses it.")
@json_option
@click.pass_context
def connections(context: click.Context, ask_all: bool) -> None:
    """Show which models, servers and services can be used.

    Each of them is contacted. The model that answers questions is asked for one word. Exit status 1 if
    something that a store or a setting needs is not ready.
    """
    if context.invoked_subcommand:
        return
    checked = library_of_owner().models.connections(OWNER, ask_all=ask_all)
    ready = not any(connection.is_missed for connection in checked)
    value = {"ready": ready, "connections": [reports.connection(connection) for connection in checked]}
    emit(value, lambda: _show(checked))
    sys.exit(not ready)


def _show(connections: list[Connection]) -> None:
    for connection in connections:
        mark = "NO  " if connection.is_missed else _MARKS[connection.state]
        name = click.style(connection.name, bold=True)
        click.echo(f"{mark}  {name}: {connection.state}. {line(connection.sentence)}")
        stores = f"; used by {', '.join(connection.used_by)}" if connection.used_by else ""
        if connection.state != "not set up" or connection.is_missed:
            click.secho(f"      Text {line(connection.goes)}{stores}.", dim=True)
        if connection.models:
            click.secho(f"      Can answer: {line(', '.join(connection.models))}.", dim=True)
        if connection.next_step:
            click.echo(f"      Next: {line(str(connection.next_step))}")


@connections.command("models")
def connections_models() -> None:
    """List the models on the Ollama server."""
    models = library_of_owner().models.list_ollama(OWNER)
    value = {"models": [reports.ollama_model(model) for model in models]}
    rows = [
        (
            model.name, f"{model.dimension:,} numbers" if model.embeds else "no",
            "yes" if model.chats else "no", f"{model.context:,} tokens",
            size(model.size_bytes), "yes" if model.loaded else "no",
        )
        for model in models
    ]  # fmt: skip
    header = ("model", "embeds", "answers", "reads", "size", "in memory")
    empty = "Ollama has no model yet. Fetch one: commonplace connections pull embeddinggemma"
    emit(value, lambda: table(header, rows, empty=empty))


@connections.command("pull")
@click.argument("model")
def connections_pull(model: str) -> None:
    """Download MODEL into Ollama, such as embeddinggemma."""
    with ProgressLine() as progress:
        try:
            pulled = library_of_owner().models.pull(
                OWNER, model, lambda now: progress.say(f"{model} · {now.said}")
            )
        except KeyboardInterrupt:
            kept = "Ollama keeps what it has downloaded; run the same command to continue."
            raise ByKey("Stopped.", kept) from None
    use = "It can neither embed texts nor answer questions."
    if pulled.chats:
        use = f"To let it answer questions: commonplace config set llm ollama:{pulled.called}"
    use = f"Use it as: --embedder {pulled.embedder}" if pulled.embeds else use
    emit(reports.ollama_model(pulled), line(f"Ollama has {pulled.called!r} now. {use}"))


@connections.command("try")
@click.argument("sentence")
@setting_option("--embedder", setting="embedder", metavar="NAME", help="The embedder to try.")
def connections_try(sentence: str, embedder: str) -> None:
    """Embed SENTENCE, and show how long it took and where it was done."""
    trial = library_of_owner().models.try_embedder(OWNER, embedder, sentence)
    numbers = ", ".join(f"{number:.4f}" for number in trial.beginning)
    lines = [
        f"embedder   {trial.identity}",
        f"vector     {trial.dimension:,} numbers: {numbers}, …",
        f"took       {trial.took_ms:,.0f} ms, and {trial.open_ms:,.0f} ms to load the embedder",
        f"text       {trial.text}",
    ]
    emit(asdict(trial), "\n".join(lines))
