"""Sharing in a real browser: somebody of the tailnet is let in and removed again."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from tests.chromium import Watched, places, watch
from tests.tailscale_program import install

pytestmark = pytest.mark.browser

GRACE = "grace@github"


def choose(app: Watched, name: str, option: str) -> None:
    box = app.page.get_by_role("combobox", name=name)
    box.scroll_into_view_if_needed()
    app.rest()  # a list that opens while the page is scrolled closes again
    box.click()
    app.page.get_by_role("option", name=option).click()


def test_a_guest_is_let_in_and_removed(tmp_path: Path) -> None:
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    library.create_store(OWNER, "garden", "hashing")
    library.create_store(OWNER, "diary", "hashing")
    here = install(tmp_path / "tailscale").folder / "bin"
    path = os.pathsep.join([str(here), os.environ["PATH"]])
    with watch(tmp_path, places(tmp_path) | {"PATH": path}) as app:
        page = app.page
        app.open("/settings")
        expect(page.get_by_text(f"tailscale serve --bg {app.server.port}")).to_be_visible()
        choose(app, "Somebody of your tailnet", GRACE)
        expect(page.get_by_role("textbox", name="Share with")).to_have_value(GRACE)
        choose(app, "Stores", "garden")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Share", exact=True).click()
        expect(page.get_by_text("may search garden as soon as Tailscale leads to this app.")).to_be_visible()
        expect(page.get_by_role("textbox", name="Share with")).to_have_value("")
        assert library.sharing.viewer_for(GRACE) == Viewer(GRACE, stores=frozenset({"garden"}))

        app.rest()
        page.get_by_role("button", name="Remove", exact=True).click()
        page.get_by_role("button", name="Remove them").click()
        expect(page.get_by_text("gets in no more.")).to_be_visible()
        assert library.sharing.viewer_for(GRACE) is None

        assert app.elsewhere == []
        assert app.errors == []
    library.close()
