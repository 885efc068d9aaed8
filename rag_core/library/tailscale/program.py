"""The ``tailscale`` program: finding it, and what it says about itself.

Threat. What it prints comes in part from other people: the names of their machines, their logins. It may
also be something else that has its name. So it gets no shell and no input, its time and its output are
bounded, and what comes back is a JSON value of which nothing is believed yet.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO

from rag_core.models.background import in_background

PATIENCE_S = 4.0
"""How long each question may take; on Windows two seconds and more are usual."""
MOST_BYTES = 16_000_000
"""A tailnet of some thousand machines says so much."""
PLACES = (
    "/usr/bin/tailscale",
    "/usr/local/bin/tailscale",
    "/opt/homebrew/bin/tailscale",
    "/snap/bin/tailscale",
    "/Applications/Tailscale.app/Contents/MacOS/Tailscale",
    "C:\\Program Files\\Tailscale\\tailscale.exe",
)
"""Where it is, too, when it is not on the PATH."""


class NoAnswerError(Exception):
    """The program did not say what it was asked; why not, as the end of a sentence."""


def find() -> str | None:
    """The program, by its name on the PATH or its whole path elsewhere."""
    if shutil.which("tailscale"):
        return "tailscale"
    return next((place for place in PLACES if Path(place).is_file()), None)


def typed(program: str, *words: str) -> str:
    """A command as it can be typed into a terminal."""
    quoted = f'"{program}"' if sys.platform == "win32" and " " in program else shlex.quote(program)
    return " ".join((program if program == "tailscale" else quoted, *words))


def ask(program: str, *words: str) -> object:
    """The JSON value that a command of the program prints. Raises NoAnswerError."""
    said = _output(program, words)
    try:
        return json.loads(said.decode(errors="replace") or "null")
    except (ValueError, RecursionError):
        raise NoAnswerError("what it says is no JSON") from None


def _output(program: str, words: tuple[str, ...]) -> bytes:
    process = _start(shutil.which(program) or program, words)
    try:
        said = in_background("tailscale", partial(_read, process.stdout)).result(PATIENCE_S)
        if len(said) > MOST_BYTES:
            raise NoAnswerError(f"it says more than {MOST_BYTES:,} bytes")
        status = process.wait(PATIENCE_S)
    except (TimeoutError, subprocess.TimeoutExpired):
        raise NoAnswerError(f"nothing came within {PATIENCE_S:g} seconds") from None
    finally:
        _end(process)
    if status:
        raise NoAnswerError(f"it ended with status {status}")
    return said


def _start(program: str, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [program, *words],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            env={**os.environ, "TAILSCALE_BE_CLI": "1"},  # the app of macOS would open its window
            start_new_session=True, creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )  # fmt: skip
    except OSError as error:
        raise NoAnswerError(f"it cannot be started ({error.strerror})") from None


def _read(pipe: IO[bytes] | None) -> bytes:
    if pipe is None:
        return b""
    with pipe:
        return pipe.read(MOST_BYTES + 1)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let nothing of it go on: what it has started holds its output, too."""
    if process.returncode is not None:
        return
    with suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    with suppress(subprocess.TimeoutExpired):
        process.wait(1)
