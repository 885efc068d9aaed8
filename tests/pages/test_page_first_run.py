"""The first minutes of an owner: a folder, one button, and the search by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from rag_core.types import OWNER
from tests.pages import visiting
from tests.pages.visiting import drawn, press, texts
from tests.support.waiting import until
from ui.frame.deps import library
from ui.index.folders import FOLDER_BOX as FOLDER

pytestmark = pytest.mark.usefixtures("owner")


def test_one_button_leads_from_a_folder_to_the_search(notes: Path) -> None:
    (notes / "tea.md").write_text("# Tea\n\nSteep green tea at eighty degrees.\n", "utf-8")
    app = visiting.open_page("search")
    assert app.title[0].value == "Which folder do you want to search?"
    drawn(app.text_input(key=FOLDER).set_value(str(notes)).run())
    press(app, "index_now")
    [store] = library().stores.names(OWNER)
    until(lambda: library().stores.info(OWNER, store).file_count == 1)
    assert "Which folder do you want to search?" not in texts(drawn(app.run()))


def test_a_store_without_documents_leads_to_the_folders(hashing_store: str) -> None:
    app = visiting.open_page("search")
    assert "There is no document to search yet." in texts(app)
    assert any(each.proto.page == "index" for each in app.get("page_link"))
