"""The Settings page through AppTest: real library, real stand-ins over HTTP; only identity is replaced."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages import visiting
from tests.pages.visiting import HOSTILE, drawn, has_key, markup, press, texts
from tests.support.configured import configure
from tests.support.ollama_server import Model, OllamaServer
from tests.support.openai_server import OpenAIServer
from tests.support.standin import nobody, serving
from tests.support.waiting import until
from ui.frame import tasks, work
from ui.stores.task_status import library_name

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
        work.cancel_all()


@pytest.fixture
def here(home: Path, ollama: OllamaServer) -> OllamaServer:
    configure(home, f"ollama_url: {ollama.url}\n")
    return ollama


def page() -> AppTest:
    return visiting.open_page("settings", opened="settings_advanced")


def test_every_connection_is_there_with_its_state_and_next_step() -> None:
    app = page()
    said = texts(app)
    assert "Ollama does not answer; once it does" in said
    assert not has_key(app, "settings_pull_start")
    servers = ("Ollama", "OpenAI-compatible server", "MLX", "Amazon S3 Vectors", "Qdrant", "Chroma")
    assert all(name in said for name in ("Built-in model", *servers)), "a line each"
    assert "The built-in model for English is not installed. Install the model on the Index page." in said
    assert "Checked at" in said


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


def test_the_models_of_ollama_are_shown_as_they_are_called(here: OllamaServer) -> None:
    here.models[f"{HOSTILE.replace(' ', '')}:latest"] = Model()
    app = page()
    assert "embeddinggemma:latest" in app.dataframe[0].value["Model"].tolist()
    assert "<script>" not in markup(app)
    assert "&lt;script&gt;" in markup(app)


def test_a_model_is_downloaded_while_the_page_is_used(held: Held) -> None:
    app = page()
    assert "Ollama has no model yet." in texts(app)
    app.text_input(key="settings_pull_model").set_value("bge-m3")
    press(app, "settings_pull_start")
    until(lambda: tasks.known_tasks(library_name())[0].part == 0.5)
    other = page()
    bars = " ".join(element.proto.text for element in other.get("progress")).replace("\\", "")
    assert "Download of 'bge-m3' · 1.0 MB of 2.0 MB" in bars
    assert other.button(key="settings_pull_start").disabled
    held.go.set()
    until(lambda: not tasks.known_tasks(library_name())[0].running)
    drawn(other.run())
    assert "bge-m3 is installed. It can embed." in texts(other)
    assert "ollama:bge-m3" in other.selectbox(key="setting_embedder").options
    press(other, "task_close_pull_0")
    assert "is there now" not in texts(other)


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
