"""The Stores page in a real browser: a store goes out as a file and comes back, and Back finds the list."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import expect

from rag_core.config import Settings
from rag_core.library import Library
from tests.browser.chromium import places, watch
from tests.conftest import index
from tests.index import portable_file

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def test_a_store_is_exported_downloaded_deleted_and_dropped_back(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "rose.md").write_text("# Rose\n\nCut roses in late winter.\n", "utf-8")
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    index(library, "garden", notes)
    library.close()
    with watch(tmp_path, places(tmp_path)) as app:
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
