"""What is configured is what the pages begin with."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.library import Library
from rag_core.types import OWNER
from tests import index_page
from tests.configured import configure
from tests.conftest import index
from tests.pages import params, press
from tests.search_page import open_page, titles

pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def zebras(library: Library, notes: Path) -> None:
    for number in range(8):
        (notes / f"{number}.md").write_text(f"# Zebra {number}\n\nA zebra and {number} llamas.\n")
    index(library, "zoo", notes)


def cards(page: AppTest) -> int:
    return len(titles(page))


@pytest.mark.usefixtures("zebras")
def test_the_search_page_gives_as_many_passages_as_configured(home: Path) -> None:
    configure(home, "top_k: 3\n")
    app = open_page(q="zebra")
    assert cards(app) == 3
    assert params(app) == {"q": "zebra"}, "what is configured is not in the address"
    assert cards(open_page(q="zebra", k="5")) == 5, "the address wins"


@pytest.mark.usefixtures("zebras")
def test_a_mistake_in_the_settings_is_shown_with_its_line(home: Path) -> None:
    configure(home, "topk: 5\n")
    [error] = open_page(q="zebra").error
    said = error.value.replace("\\", "")
    assert "'topk' is not a setting (line 1 of" in said
    assert "Did you mean 'top_k'?" in said


def test_a_new_store_is_offered_the_configured_embedder(home: Path, notes: Path) -> None:
    configure(home, "embedder: hashing:64\n")
    app = index_page.with_folder(notes)
    assert app.selectbox(key="index_embedder").value == "hashing:64"
    app.text_input(key="index_new_name").set_value("zoo")
    press(app, "index_create_store")
    opened = Library.open()
    assert opened.stores.info(OWNER, "zoo").embedder == "hashing:64"
    opened.close()
