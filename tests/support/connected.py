"""A library with settings of its own, one of the connections that it sees, and where there are none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.reports import Connection
from rag_core.types import OWNER
from tests.support.configured import configure
from tests.support.standin import nobody

Make = Callable[..., Library]
KEY = "sk-sesame-42"


@pytest.fixture
def no_aws(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No AWS configuration of this computer."""
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture
def no_servers(home: Path, no_aws: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Ollama and no AWS configuration of this computer, in a home that says so."""
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    configure(home, f"ollama_url: {nobody()}\n")


@pytest.fixture
def make(home: Path, tmp_path: Path, no_aws: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """A library with these settings, on a computer without Ollama and without an AWS configuration."""
    monkeypatch.setattr("rag_core.config.settings.OLLAMA_URL", nobody())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    made: list[Library] = []

    def make(**settings: Any) -> Library:
        known = {"ocr": "off", **settings}  # reading a picture takes a second
        made.append(Library.open(Settings(home / "data", home / "models", (tmp_path,), **known)))
        return made[-1]

    yield make
    for library in made:
        library.close()


def connection(library: Library, key: str, *, ask_all: bool = False) -> Connection:
    [found] = [each for each in library.models.connections(OWNER, ask_all=ask_all) if each.key == key]
    return found
