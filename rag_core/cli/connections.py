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

    Each is contacted; the model that answers questions is asked for one word. Exit status 1 if one that a
    store or a setting needs is not ready.
    """
    if context.invoked_subcommand:
        return
    found = library_of_owner().models.connections(OWNER, ask_all=ask_all)
    ready = not any(each.is_missed for each in found)
    value = {"ready": ready, "connections": [reports.connection(each) for each in found]}
    emit(value, lambda: _show(found))
    sys.exit(not ready)


def _show(found: list[Connection]) -> None:
    for each in found:
        mark = "NO  " if each.is_missed else _MARKS[each.state]
        click.echo(f"{mark}  {click.style(each.name, bold=True)}: {each.state}. {line(each.sentence)}")
        stores = f"; used by {', '.join(each.used_by)}" if each.used_by else ""
        if each.state != "not set up" or each.is_missed:
            click.secho(f"      Text {line(each.goes)}{stores}.", dim=True)
        if each.models:
            click.secho(f"      Can answer: {line(', '.join(each.models))}.", dim=True)
        if each.next_step:
            click.echo(f"      Next: {line(str(each.next_step))}")


@connections.command("models")
def connections_models() -> None:
    """List the models that Ollama has."""
    models = library_of_owner().models.list_ollama(OWNER)
    value = {"models": [reports.ollama_model(each) for each in models]}
    rows = [
        (
            each.name, f"{each.dimension:,} numbers" if each.embeds else "no",
            "yes" if each.chats else "no", f"{each.context:,} tokens",
            size(each.size_bytes), "yes" if each.loaded else "no",
        )
        for each in models
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
            kept = "Ollama keeps what it has; run the same command to continue."
            raise ByKey("Stopped.", kept) from None
    use = f"Set it as: llm: ollama:{pulled.called}" if pulled.chats else "It can neither embed nor answer."
    use = f"Use it as: --embedder {pulled.embedder}" if pulled.embeds else use
    emit(reports.ollama_model(pulled), line(f"Ollama has {pulled.called!r} now. {use}"))


@connections.command("try")
@click.argument("sentence")
@setting_option("--embedder", setting="embedder", metavar="NAME", help="The embedder to try.")
def connections_try(sentence: str, embedder: str) -> None:
    """Embed SENTENCE, and show how long it took and which computer did it."""
    trial = library_of_owner().models.try_embedder(OWNER, embedder, sentence)
    numbers = ", ".join(f"{number:.4f}" for number in trial.beginning)
    lines = [
        f"embedder   {trial.identity}",
        f"vector     {trial.dimension:,} numbers: {numbers}, …",
        f"took       {trial.took_ms:,.0f} ms, and {trial.open_ms:,.0f} ms to load the embedder",
        f"text       {trial.text}",
    ]
    emit(asdict(trial), "\n".join(lines))
