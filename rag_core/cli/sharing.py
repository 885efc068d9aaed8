"""Giving access: to people through ``tailscale serve``, and to scripts with a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from rag_core.api import reports
from rag_core.cli import commands, options
from rag_core.cli.screen import line, table, warn
from rag_core.library import Library
from rag_core.reports import Person
from rag_core.types import OWNER
from rag_core.wording import moment


@click.group(cls=commands.Commands, no_args_is_help=False)
def share() -> None:
    """Share stores with others through Tailscale.

    LOGIN is the name that Tailscale shows for a person, such as ada@example.com or ada@github. People who are
    named neither here nor in the configuration (`access_owners`) are refused. A change takes effect at once,
    even while the app runs.
    """


@share.command("add")
@click.argument("login")
@click.option(
    "--store", "stores", multiple=True, help="A store to share; repeat for several.", **options.name_of_store
)
@click.option(
    "--ask/--no-ask", "may_ask", default=None, help="Whether the guest may also ask your language model."
)
def share_add(login: str, stores: Sequence[str], may_ask: bool | None) -> None:
    """Let a guest search and read stores.

    Stores shared before stay shared, and private notes are never shown. Without --ask or --no-ask, the
    guest's right to ask does not change; a new guest may not ask.
    """
    library = options.library_of_owner()
    person = library.sharing.share(OWNER, login, stores, may_ask=may_ask)
    options.emit(reports.person(person), _granted(person))
    _warn_without_tailscale(library)


@share.command("owner")
@click.argument("login")
def share_owner(login: str) -> None:
    """Make a person an owner, who may do everything.

    Owners see every store, private notes and the settings, from their own devices.
    """
    library = options.library_of_owner()
    person = library.sharing.make_owner(OWNER, login)
    options.emit(reports.person(person), f"{person.login} is an owner now.")
    _warn_without_tailscale(library)


@share.command("status")
@options.setting_option(
    "--port", setting="port", type=click.IntRange(1, 65535), help="The port of the app on this computer."
)
def share_status(port: int) -> None:
    """Show the state of Tailscale here, and what to do next.

    Nothing is changed. You type the command that makes Tailscale forward to the app.
    """
    tailscale = options.library_of_owner().sharing.tailscale(OWNER, port)
    labels = {"Guests open ": tailscale.address, "Next: ": tailscale.next_step, "    ": tailscale.command}
    labels |= {"To undo it: ": tailscale.undo}
    lines = [tailscale.sentence, *tailscale.warnings]
    lines += [f"{label}{text}" for label, text in labels.items() if text]
    options.emit(asdict(tailscale), "\n".join(map(line, lines)))


@share.command("list")
def share_list() -> None:
    """List everyone with access, owners first."""
    people = options.library_of_owner().sharing.people(OWNER)
    rows = []
    for person in people:
        stores = "all, as an owner" if person.is_owner else ", ".join(person.stores)
        since = "in the configuration" if person.configured else moment(person.since)
        rows.append((person.login, stores, "yes" if person.is_owner or person.may_ask else "no", since))
    header, empty = ("login", "stores", "asks", "since"), "Nothing is shared. Only you have access."
    value = {"people": [reports.person(person) for person in people]}
    options.emit(value, lambda: table(header, rows, empty=empty))


@share.command("remove")
@click.argument("login")
@click.option(
    "--store",
    "stores",
    multiple=True,
    **options.name_of_store,
    help="Withdraw only this store; repeat for several.",
)
def share_remove(login: str, stores: Sequence[str]) -> None:
    """Remove a person, or withdraw stores from a guest.

    Open pages of this person close within seconds.
    """
    library = options.library_of_owner()
    library.sharing.unshare(OWNER, login, stores)
    left = next((person for person in library.sharing.people(OWNER) if person.login == login.lower()), None)
    value = {"removed": login.lower(), "stores": list(stores), "left": reports.person(left) if left else None}
    options.emit(value, f"{login} no longer has access." if left is None else _granted(left))


def _warn_without_tailscale(library: Library) -> None:
    tailscale = library.sharing.tailscale(OWNER)
    if not tailscale.forwards:
        warn(f"Nobody can connect yet. {tailscale.sentence} `commonplace share status` says what to do.")


def _granted(person: Person) -> str:
    asks = ", and ask questions" if person.may_ask else ""
    return f"{person.login} may search {', '.join(person.stores)}{asks}."


@click.group(cls=commands.Commands, no_args_is_help=False)
def token() -> None:
    """Create, list and revoke tokens for scripts and assistants."""


@token.command("create")
@click.argument("name")
def token_create(name: str) -> None:
    """Create a token and print it once.

    NAME helps you to recognize the token later.
    """
    made = options.library_of_owner().sharing.create_token(OWNER, name)
    if not commands.wants_json():
        click.echo("Save it now: it opens every store and is not shown again.", err=True)
    options.emit(asdict(made), made.token)


@token.command("list")
def token_list() -> None:
    """List the tokens."""
    tokens = options.library_of_owner().sharing.tokens(OWNER)
    rows = [(known.name, moment(known.created_at)) for known in tokens]
    value = {"tokens": [{"name": known.name, "created_at": known.created_at} for known in tokens]}
    options.emit(value, lambda: table(("name", "made"), rows, empty="There is no token."))


@token.command("revoke")
@click.argument("name")
def token_revoke(name: str) -> None:
    """Revoke a token. It stops working at once."""
    options.library_of_owner().sharing.revoke_token(OWNER, name)
    options.emit({"revoked": name}, f"Token {name!r} is revoked.")
