"""Models that answer questions: Ollama's, and those of any server that speaks OpenAI's chat protocol.

A model gets messages and gives text, piece by piece. It gets no tools, and nothing that it says is followed.
"""

from __future__ import annotations

from rag_core.errors import InvalidInput
from rag_core.models.chat.call import Call, Outcome
from rag_core.models.chat.options import LLM, LLMName, LLMOptions, Message, parse_llm, server_of

__all__ = [
    "LLM",
    "Call",
    "LLMName",
    "LLMOptions",
    "Message",
    "Outcome",
    "open_llm",
    "parse_llm",
    "server_of",
]


def open_llm(name: str, options: LLMOptions) -> LLM:
    """The model called ``name``; its server is not asked for anything yet.

    Raises InvalidInput for a name that is none, or without an address for it, LLMError where Ollama's
    package cannot be used.
    """
    called = parse_llm(name)
    if called.provider == "ollama":
        from rag_core.models.chat.ollama import OllamaChat  # only now: these bring httpx

        return OllamaChat(called.model, options)
    if not options.openai_url:
        raise InvalidInput(
            f"The model {name!r} needs the address of its server.",
            "Set `chat_base_url`, such as http://127.0.0.1:8080/v1.",
        )
    from rag_core.models.chat.openai import OpenAIChat

    return OpenAIChat(called.model, options)
