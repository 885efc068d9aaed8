"""Tokens on the Settings page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.types import OWNER
from tests.pages import has_key, markup, open_page, press
from ui.deps import library

pytestmark = pytest.mark.usefixtures("owner", "no_servers")


def make(page: AppTest, name: str) -> AppTest:
    page.text_input(key="settings_token_name").set_value(name)
    return press(page, "settings_token_make")


def shown(page: AppTest) -> list[str]:
    return [each.value for each in page.code if each.value.startswith("cpl_")]


def test_a_token_that_is_made_is_shown_once_and_is_valid() -> None:
    page = make(open_page("settings"), "backup")
    [token] = shown(page)
    assert library().sharing.knows_token(token)
    assert "not shown again" in markup(page)
    assert shown(page.run()) == []
    assert has_key(page, "settings_revoke_backup")


@pytest.mark.parametrize(
    ("setting", "said"), [("false", "It changes nothing"), ("true", "Assistants may change the index")]
)
def test_it_is_said_what_a_token_opens(monkeypatch: pytest.MonkeyPatch, setting: str, said: str) -> None:
    monkeypatch.setenv("COMMONPLACE_MCP_ALLOW_WRITES", setting)
    told = markup(open_page("settings"))
    assert all(word in told for word in ("/api/v1", "/mcp", "private", said))


def test_a_token_that_is_revoked_is_valid_no_more() -> None:
    token = library().sharing.create_token(OWNER, "backup").token
    page = press(open_page("settings"), "settings_revoke_backup")
    assert not library().sharing.knows_token(token)
    assert not has_key(page, "settings_revoke_backup")
    assert "The token backup is revoked" in page.success[0].value
    assert not page.run().success


def test_a_name_that_cannot_be_one_is_refused_in_two_sentences() -> None:
    page = make(open_page("settings"), "no name")
    [error] = page.error
    assert "cannot be a token" in error.value
    assert shown(page) == []
