"""The Settings page through AppTest: real library, real stand-ins over HTTP; only identity is replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from rag_core.access import REFUSAL
from rag_core.types import OWNER
from tests import pages
from tests.chat_servers import OllamaChat, say
from tests.configured import configure
from tests.ollama_server import Model, OllamaServer
from tests.openai_server import OpenAIServer
from tests.pages import HOSTILE, drawn, has_key, markup, press, texts
from tests.standin import nobody, serving
from tests.waiting import until
from ui import access, tasks, work
from ui.deps import library
from ui.task_status import library_name

pytestmark = pytest.mark.usefixtures("owner", "no_servers")


@dataclass
class Held(OllamaServer):
    """Ollama that goes on with a download when ``go`` is set."""

    go: threading.Event = field(default_factory=threading.Event)

    def _pull(self, body: dict[str, Any]) -> Any:
        def steps() -> Iterator[dict[str, Any]]:
            yield {"status": "pulling x", "digest": "sha256:x", "total": 2_000_000, "completed": 1_000_000}
            self.go.wait(20)
            yield {"status": "pulling x", "digest": "sha256:x", "total": 2_000_000, "completed": 2_000_000}
            self.models[f"{body['model']}:latest"] = Model("bert", 1024, 8192)
            yield {"status": "success"}

        return steps()


@pytest.fixture
def held(home: Path) -> Iterator[Held]:
    with serving(Held(models={})) as server:
        configure(home, f"ollama_url: {server.url}\n")
        yield server
        server.go.set()
        work.stop_all()


@pytest.fixture
def here(home: Path, ollama: OllamaServer) -> OllamaServer:
    configure(home, f"ollama_url: {ollama.url}\n")
    return ollama


def page() -> AppTest:
    return pages.open_page("settings")


def disabled(app: AppTest, key: str) -> bool:
    return next(button.disabled for button in app.button if button.key == key)


# --- connections ------------------------------------------------------------------------


def test_nobody_but_the_owner_sees_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "_headers", dict)
    app = page()
    assert [error.value for error in app.error] == [REFUSAL]
    assert "Ollama" not in texts(app)


def test_every_connection_is_there_with_its_state_and_next_step() -> None:
    app = page()
    said = texts(app)
    assert "Ollama does not answer; once it does" in said
    assert disabled(app, "settings_pull_start")
    for name in (
        "Built-in model",
        "Ollama",
        "OpenAI-compatible server",
        "MLX",
        "Amazon S3 Vectors",
        "Qdrant",
        "Chroma",
    ):
        assert f"**{name}**" in said
    assert "The built-in embedding model is not installed." in said
    assert "Next: Install it on the Index page." in said
    assert "If it is used, text goes to Amazon." in said, "it is not set up"
    assert "text goes nowhere, as no server is set." in said
    assert "Checked at" in said


def test_check_again_asks_again(here: OllamaServer) -> None:
    app = page()
    assert "Ollama 0.33.0" in texts(app)
    asked = len(here.asked)
    here.models.clear()
    drawn(app.run())
    assert "none that can embed" not in texts(app), "what was found a moment ago is not asked for again"
    press(app, "settings_check")
    assert "0 models, and none that can embed" in texts(app)
    assert len(here.asked) > asked


def test_a_store_that_needs_what_is_away_is_named(here: OllamaServer, home: Path) -> None:
    library().create_store(OWNER, "birds", "ollama")
    configure(home, f"ollama_url: {nobody()}\n")
    app = page()
    assert "Used by birds." in texts(app)
    assert "is not running" in texts(app)


def test_amazon_is_asked_only_at_the_press_of_a_button(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not has_key(page(), "settings_ask_amazon")
    for name, value in (("ACCESS_KEY_ID", "AKIASESAME"), ("SECRET_ACCESS_KEY", "sesame")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3VECTORS", nobody())
    app = press(page(), "settings_check")
    assert "it was not asked" in texts(app)
    press(app, "settings_ask_amazon")
    assert "Amazon S3 Vectors at 127.0.0.1 cannot be used" in texts(app)
    assert "sesame" not in texts(app).lower()


def test_what_a_server_says_is_shown_as_it_is_written(here: OllamaServer) -> None:
    here.models[f"{HOSTILE.replace(' ', '')}:latest"] = Model()
    app = page()
    assert "<script>" not in markup(app)
    assert "&lt;script&gt;" in markup(app)


# --- Ollama's models --------------------------------------------------------------------


def test_the_models_are_a_table(here: OllamaServer) -> None:
    here.models["llama:3b"] = Model("llama", 3072, 131_072, capabilities=("completion",))
    table = page().dataframe[0].value
    assert table["Model"].tolist() == ["embeddinggemma:latest", "llama:3b"]
    assert table["Embeds"].tolist() == [True, False]
    assert table["Numbers"].tolist()[0] == 768


def test_a_model_is_downloaded_while_the_page_is_used(held: Held) -> None:
    app = page()
    assert "Ollama has no model yet." in texts(app)
    app.text_input(key="settings_pull_model").set_value("bge-m3")
    press(app, "settings_pull_start")
    until(lambda: tasks.known(library_name())[0].part == 0.5)
    other = page()
    bars = " ".join(element.proto.text for element in other.get("progress")).replace("\\", "")
    assert "Download of 'bge-m3' · 1.0 MB of 2.0 MB" in bars
    assert disabled(other, "settings_pull_start")
    held.go.set()
    until(lambda: not tasks.known(library_name())[0].running)
    drawn(other.run())
    assert "bge-m3 is there now. A new store can have it as its embedder: ollama:bge-m3" in texts(other)
    assert "ollama:bge-m3 (stays on this machine)" in other.selectbox(key="settings_trial_embedder").options
    press(other, "task_close_pull_0")
    assert "is there now" not in texts(other)


def test_a_download_is_cancelled(held: Held) -> None:
    app = page()
    app.text_input(key="settings_pull_model").set_value("bge-m3")
    press(app, "settings_pull_start")
    until(lambda: tasks.known(library_name())[0].part == 0.5)
    press(drawn(app.run()), "task_cancel_pull_0")
    until(lambda: not tasks.known(library_name())[0].running)
    assert "Download of 'bge-m3' was cancelled; what was fetched is kept." in texts(drawn(app.run()))
    assert held.models == {}


# --- trying an embedder -----------------------------------------------------------------


def test_a_sentence_is_embedded_where_the_line_says(here: OllamaServer) -> None:
    app = page()
    app.selectbox(key="settings_trial_embedder").select("ollama:embeddinggemma")
    app.text_input(key="settings_trial_sentence").set_value("The heron waits.")
    press(app, "settings_trial_start")
    said = texts(app)
    assert "768 numbers: " in said
    assert "ms to have the embedder" in said
    assert "the sentence stays on this machine" in said
    assert here.texts[-1].endswith("The heron waits.")


def test_an_embedder_that_is_not_there_says_why() -> None:
    app = page()
    app.text_input(key="settings_trial_sentence").set_value("The heron waits.")
    assert "The built-in embedding model is not installed." in texts(press(app, "settings_trial_start"))
    app.text_input(key="settings_trial_sentence").set_value(" ")
    assert "There is no sentence." in texts(press(app, "settings_trial_start"))


# --- configuration ----------------------------------------------------------------------


def test_every_setting_is_there_with_where_it_is_from_and_no_secret(
    home: Path, openai: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_TOP_K", "7")
    configure(home, f"chat_base_url: {openai.url}\n", "COMMONPLACE_CHAT_API_KEY=sk-sesame\n")
    app = page()
    rows: Any = app.dataframe[-1].value.set_index("Setting")
    assert rows.loc["top_k", ["Value", "From"]].tolist() == ["7", "environment, COMMONPLACE_TOP_K"]
    assert rows.loc["chat_base_url", "From"] == f"{home / 'config.yaml'}:1"
    assert rows.loc["chat_api_key", "Value"] == "********"
    assert rows.loc["mode", "From"] == "default"
    assert "sesame" not in texts(app) + rows.to_string()
    assert f"config.yaml: {home / 'config.yaml'}" in texts(app)
    assert "(`chat_base_url`) answers" in texts(app).replace("<code>", "`").replace("</code>", "`")


def test_a_variable_that_means_nothing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_TOPK", "7")
    assert "COMMONPLACE_TOPK means nothing to Commonplace" in texts(page())


# --- the model that answers ---------------------------------------------------------------


def test_the_model_that_answers_is_asked_and_what_could_be_chosen_stands_with_its_line(
    home: Path, ollama_chat: OllamaChat
) -> None:
    ollama_chat.script = say("Yes.")
    configure(home, f"llm: ollama:talker\nollama_url: {ollama_chat.url}\n")
    app = page()
    assert "'ollama:talker' answers in " in texts(app)
    assert app.code[0].value == "llm: ollama:talker"


def test_without_a_model_the_page_says_how_to_choose_one(home: Path, ollama_chat: OllamaChat) -> None:
    configure(home, f"ollama_url: {ollama_chat.url}\n")
    said = texts(page())
    assert "No model is chosen to answer questions. These could: ollama:talker." in said
    assert "Next: Write `llm: ollama:talker` into" in said.replace("<code>", "`").replace("</code>", "`")
