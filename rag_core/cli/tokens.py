"""Tokens by which scripts talk to the app as its owner."""

from __future__ import annotations

from dataclasses import asdict

import click

from rag_core.api import reports
from rag_core.cli.groups import Commands
from rag_core.cli.options import begun_tokens, emit, json_option, library_of_owner
from rag_core.cli.screen import table
from rag_core.reports import Token
from rag_core.types import OWNER
from rag_core.wording import moment


@click.group(cls=Commands, no_args_is_help=False)
def token() -> None:
    """Make, list and revoke tokens for scripts and assistants."""


@token.command("create")
@click.argument("name")
@json_option
def token_create(name: str, as_json: bool) -> None:
    """Make a token and print it, this once.

    NAME is for you, to know it again when you revoke it.
    """
    made = library_of_owner().sharing.create_token(OWNER, name)
    if not as_json:
        click.echo("Keep it: it opens every store, and is not shown again.", err=True)
    emit(as_json, reports.NewToken.of(made), lambda: click.echo(made.secret))


@token.command("list")
@json_option
def token_list(as_json: bool) -> None:
    """List the tokens that are valid."""
    found = library_of_owner().sharing.tokens(OWNER)
    emit(as_json, {"tokens": [asdict(each) for each in found]}, lambda: _show(found))


@token.command("revoke")
@click.argument("name", shell_complete=begun_tokens)
@json_option
def token_revoke(name: str, as_json: bool) -> None:
    """Let a token open nothing any more, from the next request on."""
    library_of_owner().sharing.revoke_token(OWNER, name)
    emit(as_json, {"revoked": name}, lambda: click.echo(f"Token {name!r} is revoked."))


def _show(found: list[Token]) -> None:
    if not found:
        click.echo("There is no token.")
        return
    table(["name", "made"], [[each.name, moment(each.created_at)] for each in found])
