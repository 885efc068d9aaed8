"""Letting others in, and tokens, on the command line."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from tests.support.command import Run
from tests.support.configured import configure
from tests.support.tailscale_program import NAME, Program, forwarding, running


@pytest.fixture
def stores(run: Run) -> None:
    """Two stores without notes."""
    for name in ("notes", "work"):
        run("store", "create", name, "--embedder", "hashing")


def test_guests_are_let_in_listed_and_let_in_no_more(stores: None, run: Run) -> None:
    assert run("share", "list").out == "Nothing is shared. Only you have access.\n"
    added = run("share", "add", "Ada@example.com", "--store", "notes")
    assert added.out == "ada@example.com may search notes.\n"
    more = run("share", "add", "ada@example.com", "--store", "work", "--ask")
    assert more.out == "ada@example.com may search notes, work, and ask questions.\n"
    listed = run("share", "list").out.splitlines()
    assert listed[0].split() == ["login", "stores", "asks", "since"]
    assert listed[1].split()[:4] == ["ada@example.com", "notes,", "work", "yes"]
    less = run("share", "remove", "ada@example.com", "--store", "work")
    assert less.out == "ada@example.com may search notes, and ask questions.\n"
    assert run("share", "remove", "ada@example.com").out == "ada@example.com no longer has access.\n"
    assert run("share", "list", "--json").json == {"people": []}


def test_whoever_deletes_a_store_hears_who_loses_it(
    stores: None, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("share", "add", "ada@example.com", "--store", "notes")
    run("share", "add", "bob@example.com", "--store", "notes")
    parted = "ada@example.com and bob@example.com can no longer search it."
    monkeypatch.setattr(sys, "stdin", io.StringIO("no\n"))
    assert parted in run("store", "delete", "notes").err
    deleted = run("store", "delete", "notes", "--yes").out
    assert deleted == f"Store 'notes' is deleted; its files are untouched. {parted}\n"
    other = run("store", "delete", "work", "--yes").out
    assert other == "Store 'work' is deleted; its files are untouched.\n"


def test_an_owner_is_listed_first_and_removed_as_guests_are(stores: None, run: Run, home: Path) -> None:
    run("share", "add", "ada@example.com", "--store", "notes")
    assert run("share", "owner", "zoe@example.com").out == "zoe@example.com is an owner now.\n"
    assert "all, as an owner" in run("share", "list").out.splitlines()[1]
    assert "is an owner" in run("share", "add", "zoe@example.com", "--store", "notes").err
    gone = run("share", "remove", "zoe@example.com", "--json").json
    assert gone == {"removed": "zoe@example.com", "stores": [], "left": None}
    configure(home, "access_owners: [Me@example.com]\n")
    assert "in the configuration" in run("share", "list").out
    refused = run("share", "remove", "me@example.com")
    assert (refused.status, "access_owners" in refused.err) == (2, True)


def test_the_shapes_for_programs(stores: None, run: Run) -> None:
    guest = run("share", "add", "ada@github", "--store", "notes", "--ask", "--json").json
    since = guest.pop("since")
    assert since.startswith("20")
    assert guest == {
        "login": "ada@github",
        "role": "guest",
        "stores": ["notes"],
        "may_ask": True,
        "configured": False,
    }
    owner = run("share", "owner", "me@example.com", "--json").json
    assert (owner["role"], owner["stores"], owner["may_ask"]) == ("owner", None, True)
    people = run("share", "list", "--json").json["people"]
    assert [each["login"] for each in people] == ["me@example.com", "ada@github"]
    assert run("share", "remove", "ada@github", "--json").json["left"] is None


def test_the_command_line_makes_lists_and_revokes_tokens(run: Run) -> None:
    made = run("token", "create", "backup")
    assert made.status == 0
    assert made.out.startswith("cpl_")
    assert "not shown again" in made.err
    [listed] = run("token", "list", "--json").json["tokens"]
    assert listed["name"] == "backup"
    assert made.out.strip() not in run("token", "list").out
    assert "exists already" in run("token", "create", "Backup").err
    assert "cannot be a token's name" in run("token", "create", "../x").err
    assert "There are: backup." in run("token", "revoke", "nine").err
    assert run("token", "revoke", "backup").out == "Token 'backup' is revoked.\n"
    assert run("token", "list").out == "There is no token.\n"


ADA = "ada@example.com"


def test_the_command_is_on_a_line_of_its_own(run: Run, tailscale: Program) -> None:
    assert "    tailscale serve --bg 8501" in run("share", "status").out.splitlines()
    shown = run("share", "status", "--port", "9000").out
    assert "    tailscale serve --bg 9000\n" in shown
    assert "To undo it: tailscale serve --https=443 off\n" in shown
    assert {*tailscale.asked} == {"status --json", "serve status --json"}


def test_json_has_every_part(run: Run, tailscale: Program) -> None:
    tailscale.says(running(), forwarding(8501))
    found = run("share", "status", "--json").json
    assert (found["state"], found["forwards"], found["funnel"]) == ("running", True, False)
    assert (found["name"], found["address"]) == (NAME, f"https://{NAME}/")
    assert found["logins"] == [ADA, "grace@github"]
    users = {"101": {"LoginName": "\x1b[2J@example.com"}}
    tailscale.says(running(User=users, Self={"DNSName": "\x1b[2J.ts.net.", "UserID": 101}))
    assert "\x1b" not in run("share", "status").out + run("share", "status", "--json").out


@pytest.mark.usefixtures("no_tailscale")
def test_who_is_let_in_while_nobody_can_come_is_said_to_wait(run: Run) -> None:
    run("store", "create", "s", "--embedder", "hashing")
    said = run("share", "add", "ada@example.com", "--store", "s")
    assert (said.status, said.out) == (0, "ada@example.com may search s.\n")
    assert said.err.startswith("Nobody can connect yet. Tailscale is not installed")
    assert "`commonplace share status`" in said.err
    assert run("share", "status", "--port", 8602).out.endswith("    tailscale serve --bg 8602\n")
    slip = run("share", "add", "bob", "--store", "s")
    assert (slip.status, "it has no '@'" in slip.err, "ada@github" in slip.err) == (2, True, True)
