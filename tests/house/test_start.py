"""A command imports what it needs and nothing else: start-up is paid by everybody, each time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rag_core.cli import COMMANDS
from rag_core.library import Library
from tests.conftest import index
from tests.docs.doc_pages import ROOT

SLOW = {
    *("asyncio", "boto3", "botocore", "chromadb", "httpx", "huggingface_hub", "langchain_core"),
    *("langchain_text_splitters", "lxml", "mcp", "ollama", "onnx", "pandas", "PIL", "pydantic_settings"),
    *("qdrant_client", "ssl", "starlette", "streamlit", "uvicorn", "yaml"),
}
"""Packages that no search here needs."""

NOT_SEARCHING = {
    f"rag_core.{name}"
    for name in (
        *("api.answers", "ask.checking", "extract.chunk", "extract.plain", "extract.worker", "index.index"),
        *("library.asking", "models.chat", "models.server", "people.tailscale", "replies", "reports"),
        *("running", "vectors.remote"),
    )
}


def modules_of(*words: str) -> set[str]:
    """The modules that a command of the program imports, all above their own among them."""
    code = (
        f"import sys; sys.argv = ['commonplace', *{words!r}]\n"
        "from rag_core.__main__ import main\n"
        "try: main()\n"
        "finally: print('\\nmodules', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    last = done.stdout.rstrip().splitlines()[-1].split()
    assert last[0] == "modules"
    return {".".join(name.split(".")[:count]) for name in last[1:] for count in (1, 2, 3)}


def test_the_version_is_said_by_click_alone() -> None:
    names = modules_of("--version")
    assert "click" in names
    rooms = {f"rag_core.{room}" for room in ("api", "config", "library", "search", "store", "types")}
    assert not names & {*SLOW, *rooms, "numpy", "pydantic", "sqlite3"}


def test_an_unknown_command_is_refused_without_the_library(home: Path) -> None:
    code = "import sys; sys.argv = ['commonplace', 'nosuch']\nfrom rag_core.__main__ import main\n"
    code += "try: main()\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 2
    assert "No such command 'nosuch'" in done.stderr
    assert not {"numpy", "pydantic", "rag_core.search"} & set(done.stdout.split())


@pytest.mark.parametrize("words", [["query", "heron"], ["query", "heron", "--mode", "lexical"]])
def test_a_search_imports_nothing_that_only_reading_asking_or_serving_needs(
    words: list[str], library: Library, notes: Path
) -> None:
    (notes / "a.md").write_text("---\ntags: [bird]\n---\n# Bird\n\nA heron waits.\n", "utf-8")
    index(library, "birds", notes)
    names = modules_of(*words)
    assert "rag_core.search.retrieve" in names
    assert sorted(names & (SLOW | NOT_SEARCHING)) == []


def test_every_command_is_where_the_table_says() -> None:
    code = "from rag_core.cli import COMMANDS, app; import click\n"
    code += "print(*(app.get_command(click.Context(app), name).name for name in COMMANDS))"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, encoding="utf-8", check=True
    )
    assert done.stdout.split() == list(COMMANDS)
