"""``commonplace share status``, and what ``doctor`` says of sharing."""

from __future__ import annotations

import pytest

from tests.command import Run
from tests.tailscale_program import NAME, Program, forwarding, running

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
    assert said.err.startswith("Nobody can come in yet. Tailscale is not installed")
    assert "`commonplace share status`" in said.err
    assert run("share", "status", "--port", 8602).out.endswith("    tailscale serve --bg 8602\n")
    slip = run("share", "add", "bob", "--store", "s")
    assert (slip.status, "it has no '@'" in slip.err, "ada@github" in slip.err) == (2, True, True)
