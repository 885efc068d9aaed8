"""The Stores page in a real browser: a store goes out as a file and comes back, and Back finds the list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import watched_store
from tests.index import portable_file

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_store_is_exported_downloaded_deleted_and_dropped_back(tmp_path: Path) -> None:
    with watched_store(tmp_path, "garden", {"rose.md": "# Rose\n\nCut roses in late winter.\n"}) as app:
        page = app.page
        app.open("/stores")
        page.get_by_role("link", name="garden").click()
        expect(page.get_by_role("heading", name="garden", level=1)).to_be_visible()
        expect(page).to_have_url(re.compile(r"/stores\?store=garden$"))

        page.locator("summary", has_text="Export").click()
        page.get_by_role("button", name="Export").click()
        expect(page.get_by_text("Exported 1 passage of 1 file")).to_be_visible()
        with page.expect_download() as downloading:
            page.get_by_role("button", name="Download").click()
        file = tmp_path / "garden.commonplace"
        downloading.value.save_as(file)
        assert portable_file.manifest(file)["store"]["name"] == "garden"

        page.go_back()
        expect(page.get_by_role("heading", name="Stores", level=1)).to_be_visible()
        page.go_forward()
        page.locator("summary", has_text="Delete").click()
        page.get_by_label("Type garden to delete it").fill("garden")
        page.keyboard.press("Enter")
        expect(page.get_by_text("There is no store yet")).to_be_visible()
        expect(page).to_have_url(re.compile(r"/stores$"))

        page.get_by_text("Import a store").click()
        page.locator("input[type=file]").set_input_files(file)
        expect(page.get_by_role("button", name="Remove garden.commonplace")).to_be_visible()
        app.rest()  # a press while the page takes the file in is lost
        page.get_by_role("button", name="Import", exact=True).click()
        expect(page.get_by_text("Store 'garden' is ready: 1 passage of 1 file.")).to_be_in_viewport()
        page.get_by_role("link", name="Open the store").click()
        expect(page.get_by_role("heading", name="garden", level=1)).to_be_visible()

        assert app.elsewhere == []
        assert app.errors == []
