"""A home with a config.yaml and a .env, for tests of settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rag_core import config
from rag_core.config import Settings
from rag_core.errors import InvalidInput


def configure(home: Path, yaml: str | bytes = "", env: str | bytes = "") -> None:
    """Write the files of ``home``; an empty one is not there."""
    home.mkdir(parents=True, exist_ok=True)
    for name, text in (("config.yaml", yaml), (".env", env)):
        data = text.encode() if isinstance(text, str) else text
        (home / name).unlink(missing_ok=True)
        if data:
            (home / name).write_bytes(data)


def settings(home: Path, yaml: str | bytes = "", env: str | bytes = "", **variables: str) -> Settings:
    """What is read from these files and variables (without their prefix)."""
    configure(home, yaml, env)
    prefixed = {f"COMMONPLACE_{name}": value for name, value in variables.items()}
    return config.load({"COMMONPLACE_HOME": str(home), **prefixed})


def refusal(home: Path, yaml: str | bytes = "", env: str | bytes = "", **variables: str) -> str:
    """The error that these files and variables give, a place in them written like [config.yaml:2]."""
    with pytest.raises(InvalidInput) as error:
        settings(home, yaml, env, **variables)
    assert error.value.suggestion, "an error says what to do next"
    return re.sub(rf"\(line (\d+) of '{re.escape(str(home))}/([a-z.]+)'\)", r"[\2:\1]", str(error.value))


def says(refused: str, said: str) -> bool:
    """Whether an error begins as ``said`` does, and has what stands behind an ellipsis in it."""
    begins, _, holds = said.partition(" … ")
    return refused.startswith(begins) and holds in refused
