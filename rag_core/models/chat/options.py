"""What a model that answers is opened with, and what it can do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from rag_core.errors import InvalidInput
from rag_core.models.servers.ollama import OLLAMA_URL

if TYPE_CHECKING:
    from rag_core.models.chat.call import Call

Provider = Literal["ollama", "openai"]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class LLMOptions:
    """What the owner configured for models that answer.

    ``context`` is how many tokens a model reads and writes together, ``max_tokens`` how many of them it
    writes at most; ``timeout_s`` is for a whole answer; ``retry_s`` is how long to wait before a busy server
    is asked again, and twice as long before the next time.
    """

    ollama_url: str = OLLAMA_URL
    openai_url: str = ""
    openai_key: str = field(default="", repr=False)
    temperature: float = 0.2
    max_tokens: int = 1024
    context: int = 8192
    timeout_s: float = 300.0
    retry_s: float = 0.5


@dataclass(frozen=True, slots=True)
class LLMName:
    """``PROVIDER:MODEL``."""

    provider: Provider
    model: str

    def __str__(self) -> str:
        return f"{self.provider}:{self.model}"


class LLM(Protocol):
    """A model on a server."""

    url: str
    model: str
    called: str
    """The server's name in a sentence, with its address."""
    remedy: str
    """What to do when it does not answer."""

    def chat(self, messages: Sequence[Message], call: Call) -> Iterator[str]:
        """What the model says, piece by piece; no piece is empty. ``call`` hears how it ended.

        Raises Failure, or LLMError where no other request would fare better.
        """


def parse_llm(name: str) -> LLMName:
    """The parts of a model's name. Raises InvalidInput for any that is none."""
    provider, _, model = name.partition(":")
    if provider not in ("ollama", "openai") or not model.strip():
        raise InvalidInput(
            f"There is no model called {name[:80]!r}.", "Use 'ollama:MODEL' or 'openai:MODEL'."
        )
    return LLMName("ollama" if provider == "ollama" else "openai", model)


def server_of(name: str, options: LLMOptions) -> str:
    """The address that text goes to for the model ``name``. Raises InvalidInput for any that is none."""
    return options.ollama_url if parse_llm(name).provider == "ollama" else options.openai_url
