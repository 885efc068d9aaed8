"""``commonplace`` alone: the model is fetched, the app starts, and the browser is opened."""

from __future__ import annotations

import click
import pytest

from rag_core.cli import opening, serving
from rag_core.errors import EmbedderError
from rag_core.models import built_in_install
from tests.conftest import Run


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, bool]]:
    """The ports that were served, and whether the browser was to be opened."""
    started: list[tuple[int, bool]] = []
    monkeypatch.setattr(serving, "serve_app", lambda port, open_browser: started.append((port, open_browser)))
    return started


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("DISPLAY", ":0")


def no_model(monkeypatch: pytest.MonkeyPatch, error: EmbedderError | None = None) -> list[str]:
    """Stand in for a home without the model, whose installation raises ``error``. Returns what is done."""
    done: list[str] = []

    def install(*_: object, **__: object) -> None:
        done.append("installed")
        if error:
            raise error

    monkeypatch.setattr(built_in_install, "is_installed", lambda *_: False)
    monkeypatch.setattr(built_in_install, "install", install)
    return done


@pytest.mark.usefixtures("screen")
def test_it_fetches_the_model_and_serves_with_the_browser(
    run: Run, served: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = no_model(monkeypatch)
    monkeypatch.setenv("COMMONPLACE_PORT", "8765")
    assert run().status == 0
    assert done == ["installed"]
    assert served == [(8765, True)]


def test_without_network_it_serves_and_says_so(
    run: Run, served: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    no_model(monkeypatch, EmbedderError("pip could not fetch it.", "Check the network."))
    result = run()
    assert result.status == 0
    assert "Check the network. Until then, notes are found by words." in " ".join(result.err.split())
    assert len(served) == 1


def test_a_model_that_is_there_is_not_fetched(
    run: Run, served: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    done = no_model(monkeypatch)
    monkeypatch.setattr(built_in_install, "is_installed", lambda *_: True)
    run()
    assert (done, len(served)) == ([], 1)


@pytest.mark.parametrize(("variable", "opens"), [("DISPLAY", True), ("BROWSER", True), ("TERM", False)])
def test_a_terminal_without_a_screen_gets_no_browser(
    run: Run,
    served: list[tuple[int, bool]],
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    opens: bool,
) -> None:
    no_model(monkeypatch)
    monkeypatch.setattr("sys.platform", "linux")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, "x")
    run()
    assert [opened for _, opened in served] == [opens]


@pytest.mark.usefixtures("screen")
def test_an_app_that_runs_is_opened_and_no_second_one_started(
    run: Run, served: list[tuple[int, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(opening, "where_it_runs", lambda _: 8505)
    monkeypatch.setattr("webbrowser.open", opened.append)
    result = run()
    assert result.out == "Commonplace runs already, at http://127.0.0.1:8505/\n"
    assert opened == ["http://127.0.0.1:8505/"]
    assert served == []


def test_help_is_still_help(run: Run, served: list[tuple[int, bool]]) -> None:
    assert "Usage: commonplace" in run("--help").out
    assert served == []
    assert isinstance(run("nosuch").status, int)


def test_every_line_of_help_says_what_a_command_does(run: Run) -> None:
    from rag_core.cli import COMMANDS, app

    context = click.Context(app)
    for name in COMMANDS:
        command = app.get_command(context, name)
        assert command is not None
        assert command.get_short_help_str(200).endswith(".")
