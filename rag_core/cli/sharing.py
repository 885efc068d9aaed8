"""Who may come in through ``tailscale serve``: guests of chosen stores, and other owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import click

from rag_core.api import reports
from rag_core.api.encoding import plain
from rag_core.cli.groups import Commands
from rag_core.cli.options import emit, json_option, library_of_owner, name_of_store, setting_option
from rag_core.cli.screen import line, table
from rag_core.library import Library
from rag_core.reports import Person, Tailscale
from rag_core.types import OWNER
from rag_core.wording import moment


@click.group(cls=Commands, no_args_is_help=False)
def share() -> None:
    """Let others in through Tailscale, and see who may come in.

    A LOGIN is what Tailscale shows for a person, such as ada@example.com or ada@github. Whoever is not
    named here or in the configuration (`access_owners`) is refused. What is changed here holds at once,
    also while the app runs.
    """


@share.command("add")
@click.argument("login")
@click.option(
    "--store", "stores", multiple=True, help="A store to share; repeat for several.", **name_of_store
)
@click.option(
    "--ask/--no-ask", "may_ask", default=None, help="Whether they may ask your language model, too."
)
@json_option
def share_add(login: str, stores: Sequence[str], may_ask: bool | None, as_json: bool) -> None:
    """Let a guest search and read stores.

    They come beside those shared before; private notes are never shown. Without --ask and --no-ask the
    guest may ask as before, at first not at all.
    """
    library = library_of_owner()
    person = library.sharing.share(OWNER, login, stores, may_ask=may_ask)
    emit(as_json, reports.Person.of(person), lambda: click.echo(_granted(person)))
    _say_no_way_here(library)


@share.command("owner")
@click.argument("login")
@json_option
def share_owner(login: str, as_json: bool) -> None:
    """Let somebody do all that you may.

    That is every store, private notes and settings, from their own devices.
    """
    library = library_of_owner()
    person = library.sharing.make_owner(OWNER, login)
    emit(as_json, reports.Person.of(person), lambda: click.echo(f"{plain(person.login)} is an owner now."))
    _say_no_way_here(library)


@share.command("status")
@setting_option("--port", setting="port", type=click.IntRange(1, 65535), help="Where the app listens.")
@json_option
def share_status(port: int, as_json: bool) -> None:
    """Say how Tailscale stands here, and what to do next.

    Nothing is changed: the command that has Tailscale lead to the app is for you to type.
    """
    found = library_of_owner().sharing.tailscale(OWNER, port)
    emit(as_json, asdict(found), lambda: _show_tailscale(found))


@share.command("list")
@json_option
def share_list(as_json: bool) -> None:
    """List who may come in, owners first."""
    found = library_of_owner().sharing.people(OWNER)
    emit(as_json, {"people": [reports.Person.of(each) for each in found]}, lambda: _show(found))


@share.command("remove")
@click.argument("login")
@click.option(
    "--store",
    "stores",
    multiple=True,
    help="Take only this store from them; repeat for several.",
    **name_of_store,
)
@json_option
def share_remove(login: str, stores: Sequence[str], as_json: bool) -> None:
    """Let somebody in no more, or take stores from a guest.

    Pages that they have open close within seconds.
    """
    library = library_of_owner()
    library.sharing.unshare(OWNER, login, stores)
    left = next((each for each in library.sharing.people(OWNER) if each.login == login.lower()), None)
    said = f"{login} may not come in any more." if left is None else _granted(left)
    emit(
        as_json,
        {
            "removed": login.lower(),
            "stores": list(stores),
            "left": reports.Person.of(left) if left else None,
        },
        lambda: click.echo(plain(said)),
    )


def _show_tailscale(found: Tailscale) -> None:
    click.echo(line(found.sentence))
    for warning in found.warnings:
        click.secho(line(warning), fg="yellow")
    if found.address:
        click.echo(f"Guests open {line(found.address)}")
    if found.next_step:
        click.echo(f"Next: {line(found.next_step)}")
    if found.command:
        click.echo(f"    {line(found.command)}")
    if found.undo:
        click.echo(f"To undo it: {line(found.undo)}")


def _say_no_way_here(library: Library) -> None:
    found = library.sharing.tailscale(OWNER)
    if not found.forwards:
        said = f"Nobody can come in yet. {found.sentence} `commonplace share status` says what to do."
        click.secho(line(said), fg="yellow", err=True)


def _granted(person: Person) -> str:
    asks = ", and ask about them" if person.may_ask else ""
    return plain(f"{person.login} may search {', '.join(person.stores)}{asks}.")


def _show(found: Sequence[Person]) -> None:
    if not found:
        click.echo("Nobody may come in but the owner at this computer.")
        return
    table(["login", "stores", "asks", "since"], [_row(each) for each in found])


def _row(person: Person) -> list[str]:
    since = "in the configuration" if person.configured else moment(person.since)
    if person.is_owner:
        return [person.login, "all, as an owner", "yes", since]
    return [person.login, ", ".join(person.stores), "yes" if person.may_ask else "no", since]
