"""Use Commonplace as a newcomer does, on any system: install, init, query, serve, ask for a page.

``python .ci/smoke.py`` uses the program of this Python. ``--install pip FOLDER`` first installs the checkout
into the environment FOLDER, ``--install uv FOLDER`` the wheel in dist/ with uv. Ends with 0 if all went well.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import urllib.request
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = "Scripts" if os.name == "nt" else "bin"
LIMIT_S = 300
UTF_8 = {"PYTHONIOENCODING": "utf-8"}  # that of a pipe on Windows cannot write every name


def run(*command: object, **environment: str) -> str:
    """Return what a command prints; ends the program if it fails."""
    print("$", *command, flush=True)
    words = [str(word) for word in command]
    done = subprocess.run(
        words,
        env={**os.environ, **UTF_8, **environment},
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=False,
    )
    said = done.stdout.decode("utf-8", "replace")
    print(said, flush=True)
    if done.returncode:
        raise SystemExit(f"It ended with {done.returncode}.")
    return said


def install(how: str, folder: Path) -> list[object]:
    """Install it, and return the beginning of its commands."""
    constraints = ["-c", ROOT / "constraints.txt"]
    if how == "pip":
        run(folder / SCRIPTS / "python", "-m", "pip", "install", "--quiet", *constraints, f"{ROOT}[ocr]")
        return [folder / SCRIPTS / "commonplace"]
    [wheel] = (ROOT / "dist").glob("*.whl")
    tool = {"UV_TOOL_DIR": str(folder / "tools"), "UV_TOOL_BIN_DIR": str(folder / "bin")}
    run("uv", "tool", "install", "--quiet", "--python", sys.executable, *constraints, f"{wheel}[ocr]", **tool)
    return [folder / "bin" / "commonplace"]


def serve(program: Sequence[object], home: dict[str, str]) -> None:
    """Start the app, ask for its first page, and stop it."""
    words = [str(word) for word in (*program, "serve", "--port", "0")]
    environment = {**os.environ, **UTF_8, **home}
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, encoding="utf-8")
    killer = threading.Timer(LIMIT_S, process.kill)
    killer.start()
    try:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        line = next((line for line in process.stdout if line.startswith("Commonplace is at")), "")
        url = line.split()[-1] if line else ""
        print(line, flush=True)
        with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 - the app's own
            status, page = answer.status, answer.read().decode("utf-8")
        if status != 200 or 'id="root"' not in page:
            raise SystemExit(f"The page was answered with {status}.")
    finally:
        killer.cancel()
        process.kill()
        process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--install", nargs=2, metavar=("pip|uv", "FOLDER"))
    parser.add_argument("--without-model", action="store_true", help="search by words alone")
    given = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(encoding="utf-8")  # type: ignore[union-attr] - they are files here
    program: list[object] = [sys.executable, "-m", "rag_core"]
    if given.install:
        program = install(given.install[0], Path(given.install[1]).resolve())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as temporary:
        home, notes = {"COMMONPLACE_HOME": str(Path(temporary, "home"))}, Path(temporary, "notes")
        notes.mkdir()
        (notes / "herons.md").write_text("# Herons\n\nA heron waits beside the water.\n", "utf-8")
        (notes / "会議.md").write_text("# 会議\n\n予算は春に決まる。\n", "utf-8")
        run(*program, "--version")
        if not given.without_model:
            run(*program, "model", "install", **home)
        run(*program, "init", notes, **home)
        for query, file in (("heron water", "herons.md"), ("予算", "会議.md")):
            if file not in run(*program, "query", query, **home):
                raise SystemExit(f"{file} was not found.")
        if "herons.md" in run(*program, "list", "--state", "changed", **home):
            raise SystemExit("A file that was just read counts as changed.")
        serve(program, home)
    print("All went well.")


if __name__ == "__main__":
    main()
