"""``commonplace open``: the running app or a new one, in the browser that the environment names."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from playwright.sync_api import expect

from rag_core.config import Settings
from rag_core.library import Library
from tests.browser.chromium import Watched, places, watch
from tests.conftest import index
from tests.support.standin import free_port
from tests.support.trees import write
from tests.support.waiting import until


@pytest.fixture
def browser(tmp_path: Path) -> Path:
    """A program that takes the place of the owner's browser, and writes down what it is to open."""
    script = tmp_path / "browser"
    script.write_text('#!/bin/sh\nprintf %s "$1" > "$0.new" && mv "$0.new" "$0.opened"\n', "utf-8")
    script.chmod(0o755)
    return script


def run_open(folder: Path, browser: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **places(folder), "BROWSER": f"{browser} %s", "COMMONPLACE_WATCH": "false"}
    command = [sys.executable, "-m", "rag_core", "open", *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, encoding="utf-8", timeout=120, check=False
    )


def opened(browser: Path) -> str:
    """The address that the browser was to open; it is started in the background."""
    file = browser.with_name("browser.opened")
    until(file.exists)
    return file.read_text("utf-8")


@pytest.mark.posix
@pytest.mark.browser
def test_the_running_app_is_opened_with_the_query_in_the_box(tmp_path: Path, browser: Path) -> None:
    write(tmp_path / "notes", {"tea.md": "# Tea & milk\n\nGreen tea wants water.\n"})
    library = Library.open(Settings(tmp_path / "home" / "data", tmp_path / "models", (tmp_path,)))
    index(library, "notes", tmp_path / "notes")
    library.close()
    with watch(tmp_path, places(tmp_path)) as app:
        _is_opened(app, tmp_path, browser)


def _is_opened(app: Watched, folder: Path, browser: Path) -> None:
    port = app.server.host.rpartition(":")[2]
    done = run_open(folder, browser, "--port", port, "green tea", "tag:a&b")
    assert (done.returncode, done.stderr) == (0, "")
    url = opened(browser)
    assert done.stdout == f"Opened {url}\n", "no second app is started"
    app.page.goto(url.replace("127.0.0.1", "localhost"))
    box = app.page.get_by_label("Search your notes")
    expect(box).to_have_value("green tea tag:a&b")
    expect(box).to_be_focused()
    done = run_open(folder, browser)
    assert done.stdout == f"Opened http://127.0.0.1:{port}/\n", "it is found where it runs"


@pytest.fixture
def stopped() -> Iterator[list[int]]:
    """Processes that are ended after the test."""
    processes: list[int] = []
    yield processes
    for process in processes:
        os.kill(process, signal.SIGTERM)


@pytest.mark.posix
def test_an_app_that_does_not_run_is_started_and_stays(
    tmp_path: Path, browser: Path, stopped: list[int]
) -> None:
    port = str(free_port())
    done = run_open(tmp_path, browser, "--port", port, "--json", "tea")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    stopped.append(said["started"])
    assert urllib.parse.urlsplit(opened(browser)).query == "q=tea"
    again = json.loads(run_open(tmp_path, browser, "--port", port, "--json").stdout)
    assert again == {"url": f"http://127.0.0.1:{port}/", "started": None}


@pytest.mark.posix
def test_another_program_at_the_port_is_told_and_not_opened(tmp_path: Path, browser: Path) -> None:
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        done = run_open(tmp_path, browser, "--port", str(other.server_port))
        other.shutdown()
    assert done.returncode == 1
    assert "is not Commonplace" in done.stderr
    assert not browser.with_name("browser.opened").exists()


@pytest.mark.posix
def test_an_app_that_cannot_start_says_why(tmp_path: Path, browser: Path) -> None:
    write(tmp_path / "home", {"data": "a file where the data folder is to be\n"})
    done = run_open(tmp_path, browser, "--port", str(free_port()))
    assert done.returncode == 1
    assert "The app did not start." in done.stderr
    assert str(tmp_path / "home" / "data") in done.stderr
    assert not browser.with_name("browser.opened").exists()
