"""The browser that the tests, the pictures and a benchmark drive.

It is the one that is named, or one on the PATH, or Playwright's own, which is fetched if that takes no longer
than two minutes.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import cache

NAMED = "COMMONPLACE_TEST_CHROMIUM"
PROGRAMS = (
    "google-chrome", "google-chrome-stable", "chromium", "chromium-browser", "microsoft-edge",
    "microsoft-edge-stable",
)  # fmt: skip
START_S = 60
INSTALL_S = 120


class NoBrowser(Exception):
    """No browser starts; the message says how to get one."""


def find() -> str:
    """The program to start. One that is named in the environment is the only one tried."""
    if named := os.environ.get(NAMED):
        if not starts(named):
            raise NoBrowser(f"{NAMED} is {named!r}, which does not start. Name a Chrome, Chromium or Edge.")
        return named
    there = [path for path in map(shutil.which, PROGRAMS) if path]
    found = next(filter(starts, there), None) or playwrights_own(INSTALL_S)
    if found is None:
        raise NoBrowser(f"No browser was found. Install Chrome, Chromium or Edge, or name one in {NAMED}.")
    return found


@cache
def starts(program: str) -> bool:
    """Whether the program is there with the libraries that it needs."""
    try:
        command = [program, "--version"]
        return subprocess.run(command, capture_output=True, timeout=START_S).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


@cache
def playwrights_own(limit_s: float) -> str | None:
    """The Chromium of Playwright, fetched if it is missing and that takes no longer than ``limit_s``."""
    from playwright.sync_api import sync_playwright  # the benchmark says so itself if it is missing

    command = [sys.executable, "-m", "playwright", "install", "--no-shell", "chromium"]
    nothing = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nothing, stderr=nothing, start_new_session=True) as process:
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # what downloads is a child of the command
    with sync_playwright() as driver:
        own = driver.chromium.executable_path
    return own if starts(own) else None
