"""Tokens on the command line."""

from __future__ import annotations

from tests.command import Run


def test_the_command_line_makes_lists_and_revokes_tokens(run: Run) -> None:
    made = run("token", "create", "backup")
    assert made.status == 0
    assert made.out.startswith("cpl_")
    assert "not shown again" in made.err
    [listed] = run("token", "list", "--json").json["tokens"]
    assert listed["name"] == "backup"
    assert made.out.strip() not in run("token", "list").out
    assert run("token", "revoke", "backup").out == "Token 'backup' is revoked.\n"
    assert run("token", "list").out == "There is no token.\n"


def test_a_tokens_name_is_used_once_and_is_a_name(run: Run) -> None:
    run("token", "create", "backup", "--json")
    assert "exists already" in run("token", "create", "Backup").err
    assert "cannot be a token's name" in run("token", "create", "../x").err
    assert "There are: backup." in run("token", "revoke", "nine").err
