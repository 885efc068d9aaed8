"""What is configured is what the pages begin with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from rag_core.library import Library
from rag_core.types import OWNER
from tests.configured import configure
from tests.conftest import index
from ui.access import OWNER_HEADERS

SHELL = str(Path(__file__).parent.parent / "ui" / "shell.py")


@pytest.fixture(autouse=True)
def owner(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The owner looks at an empty home, and nothing is remembered of other tests."""
    monkeypatch.setattr("ui.access._headers", lambda: OWNER_HEADERS)
    for cache in (st.cache_data, st.cache_resource):
        cache.clear()
    yield
    for cache in (st.cache_data, st.cache_resource):
        cache.clear()


@pytest.fixture
def zebras(library: Library, notes: Path) -> None:
    for number in range(8):
        (notes / f"{number}.md").write_text(f"# Zebra {number}\n\nA zebra and {number} llamas.\n")
    index(library, "zoo", notes)


def search_page(**params: str) -> AppTest:
    app = AppTest.from_file(SHELL, default_timeout=20)
    for name, value in params.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception
    return app


def cards(app: AppTest) -> int:
    bodies = "".join(element.proto.body for element in app.get("html"))
    return len(re.findall("<article", bodies))


@pytest.mark.usefixtures("zebras")
def test_the_search_page_gives_as_many_passages_as_configured(home: Path) -> None:
    configure(home, "top_k: 3\n")
    app = search_page(q="zebra")
    assert cards(app) == 3
    assert dict(app.query_params) == {"q": "zebra"}, "what is configured is not in the address"
    assert cards(search_page(q="zebra", k="5")) == 5, "the address wins"


@pytest.mark.usefixtures("zebras")
def test_what_is_configured_is_no_filter_to_be_removed(home: Path) -> None:
    configure(home, "mode: lexical\nmin_score: 0.05\n")
    app = search_page(q="zebra")
    assert not [button.key for button in app.button if str(button.key).startswith("remove_")]
    assert [b.key for b in search_page(q="zebra", mode="hybrid").button if b.key == "remove_mode"]


@pytest.mark.usefixtures("zebras")
def test_a_changed_file_is_followed_while_the_app_runs(home: Path) -> None:
    assert cards(search_page(q="zebra")) == 8
    configure(home, "top_k: 2\n")
    assert cards(search_page(q="zebra")) == 2


@pytest.mark.usefixtures("zebras")
def test_a_mistake_in_the_settings_is_shown_with_its_line(home: Path) -> None:
    configure(home, "topk: 5\n")
    [error] = search_page(q="zebra").error
    said = error.value.replace("\\", "")
    assert "'topk' is not a setting (line 1 of" in said
    assert "Did you mean 'top_k'?" in said


def test_a_new_store_is_offered_the_configured_embedder(home: Path) -> None:
    configure(home, "embedder: hashing:64\n")
    app = AppTest.from_file(SHELL, default_timeout=20)
    app.switch_page("../pages/index.py").run()
    assert not app.exception, app.exception
    assert app.selectbox(key="index_embedder").value == "hashing:64"
    app.text_input(key="index_new_name").set_value("zoo")
    app.button(key="index_create_store").click().run()
    assert not app.exception, app.exception
    opened = Library.open()
    assert opened.store_info(OWNER, "zoo").embedder == "hashing:64"
    opened.close()
