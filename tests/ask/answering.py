"""A library with notes about a harbour, and a scripted model that answers from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from rag_core.config import Settings
from rag_core.library import Library
from rag_core.types import Viewer
from tests.conftest import index
from tests.support.chat_servers import Messages, OllamaChat, Script
from tests.support.trees import write

NOTES = {
    "port/harbour.md": "# Harbour\n\n## Hours\n\nThe harbour opens at six. In winter nobody is there before"
    " eight.\n\n"
    "## Fees\n\nA berth in the harbour costs 40 euros a night, and a mooring half of that.\n",
    "port/boats.md": "# Boats\n\nBoats leave the harbour before dawn.\n",
    "port/deep/rope.md": "# Rope\n\nThe harbour rope is made of hemp.\n",
    "port/diary.md": "---\nprivate: true\n---\n# Diary\n\nThe harbour password is sesame.\n",
    "home/garden.md": "# Garden\n\nThe garden gate is green.\n",
}
GUEST = Viewer("ann@example.org", stores=frozenset({"port"}), may_ask=True)
QUESTION = "harbour opens at six"

Answering = Callable[..., Library]


@pytest.fixture
def answering(home: Path, notes: Path, ollama_chat: OllamaChat) -> Iterator[Answering]:
    """Open the library with a model that says as the script says, and further settings."""
    write(notes, NOTES)
    opened: list[Library] = []

    def open_with(script: Script | str = "", **settings: Any) -> Library:
        ollama_chat.script = script if callable(script) else lambda _: [script]
        plain = Settings(home / "data", home / "models", (notes.parent,))
        given = {"llm": "ollama:talker", "ollama_url": ollama_chat.url} | settings
        library = Library.open(plain.model_copy(update=given))
        if not opened:
            index(library, "port", notes / "port")
            index(library, "home", notes / "home")
        opened.append(library)
        return library

    yield open_with
    for library in opened:
        library.close()


def asked(server: OllamaChat) -> Messages:
    """What the model was sent at last."""
    messages: Messages = server.bodies("/api/chat")[-1]["messages"]
    return messages


def passages(server: OllamaChat) -> str:
    """The user's message at last: the passages and the question."""
    return asked(server)[-1]["content"]


def paths(references: Sequence[Any]) -> set[str]:
    return {each.rel_path for each in references}
