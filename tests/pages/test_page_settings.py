"""The Settings page: what the owner changes there is written and holds at once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config as streamlit_config
from streamlit.testing.v1 import AppTest

from rag_core import config
from rag_core.library import Library
from rag_core.models import built_in_install
from rag_core.models.built_in import BUILT_IN
from tests.conftest import index
from tests.pages import visiting
from tests.pages.index_page import until
from tests.pages.visiting import drawn, has_key, press, texts
from tests.support.chat_servers import OllamaChat
from tests.support.configured import configure
from tests.support.packed_model import packed_model

pytestmark = pytest.mark.usefixtures("owner")


def page(view: str = "settings") -> AppTest:
    return visiting.open_page(view)


def test_a_switch_and_a_choice_are_written_into_config_yaml(home: Path) -> None:
    configure(home, "# mine\n")
    app = page()
    drawn(app.toggle(key="setting_watch").set_value(False).run())
    drawn(app.selectbox(key="setting_ocr").set_value("off").run())
    assert (home / "config.yaml").read_text("utf-8") == '# mine\nwatch: false\nocr: "off"\n'
    press(app, "setting_watch_reset")
    assert config.load().watch
    assert not has_key(app, "setting_watch_reset")


def test_the_model_chosen_for_new_stores_can_be_installed_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = packed_model(tmp_path / "source")
    monkeypatch.setitem(BUILT_IN, row.name, row)  # type: ignore[arg-type]
    install = partial(built_in_install.install, source=tmp_path / "source")
    monkeypatch.setattr("ui.index.model_notice.install", install)
    app = page()
    drawn(app.selectbox(key="setting_embedder").set_value("multilingual").run())
    assert config.load().embedder == "multilingual"
    assert "The built-in model for every language, which finds passages by meaning, is not" in texts(app)
    until(press(app, "index_install_model"), lambda app: not has_key(app, "index_install_model"))
    until(app, lambda app: "is not installed" not in texts(app))
    assert built_in_install.is_installed(row, config.load().model_dir)


def test_what_a_variable_decides_cannot_be_changed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_OCR", "off")
    app = page()
    assert app.selectbox(key="setting_ocr").disabled
    assert "COMMONPLACE_OCR in the environment decides it." in texts(app)


def test_the_model_that_answers_is_chosen_on_the_ask_page(
    home: Path, notes: Path, ollama_chat: OllamaChat
) -> None:
    (notes / "tea.md").write_text("Green tea steeps for two minutes.\n", "utf-8")
    index(Library.open(), "notes", notes)
    configure(home, f"ollama_url: {ollama_chat.url}\n")
    app = page("ask")
    drawn(app.selectbox(key="ask_model").set_value("ollama:talker").run())
    assert config.load().llm == "ollama:talker"
    assert page().selectbox(key="setting_llm").value == "ollama:talker"


def test_a_theme_holds_at_once_and_a_typed_reranker_is_shown(home: Path) -> None:
    configure(home, "theme: dark\n")
    streamlit_config.set_option("theme.base", "dark")  # as `serve` starts; its file has both sections
    app = page()
    assert (st.get_option("theme.base"), st.get_option("theme.light.primaryColor")) == ("dark", None)
    drawn(app.selectbox(key="setting_theme").set_value("light").run())
    assert (st.get_option("theme.base"), st.get_option("theme.light.primaryColor")) == ("light", None)
    drawn(app.selectbox(key="setting_theme").set_value("system").run())
    assert (st.get_option("theme.base"), bool(st.get_option("theme.light.primaryColor"))) == (None, True)
    configure(home, "reranker: onnx:/models/mine\n")
    row = visiting.open_page("settings", opened="settings_advanced").selectbox(key="setting_reranker")
    assert (row.options[-1], row.value) == ("None", "onnx:/models/mine")
