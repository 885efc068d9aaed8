"""A library with settings of its own, and one of the connections that it sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.reports import Connection
from rag_core.types import OWNER
from tests.standin import nobody

Make = Callable[..., Library]
KEY = "sk-sesame-42"


@pytest.fixture
def make(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A library with these settings, on a computer without Ollama and without an AWS configuration."""
    monkeypatch.setattr("rag_core.reader.OLLAMA_URL", nobody())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    made: list[Library] = []

    def make(**settings: Any) -> Library:
        made.append(Library.open(Settings(home / "data", home / "models", (tmp_path,), **settings)))
        return made[-1]

    yield make
    for library in made:
        library.close()


def connection(library: Library, key: str, *, ask_all: bool = False) -> Connection:
    [found] = [each for each in library.connections(OWNER, ask_all=ask_all) if each.key == key]
    return found
