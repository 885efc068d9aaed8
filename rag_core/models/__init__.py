"""Models: embedders turn texts into vectors, chat models answer questions. Each provider has one module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.lazy import lazily

if TYPE_CHECKING:
    from rag_core.models.chat import LLM, ChatMessage, LLMOptions
    from rag_core.models.embedder import DEFAULT_EMBEDDER, Embedder, EmbedderOptions, full_name
    from rag_core.models.families import Prompts
    from rag_core.models.ocr import OcrOptions
    from rag_core.models.registry import (
        Facts,
        SharedEmbedders,
        known_facts,
        open_embedder,
        open_llm,
        open_ocr,
    )

__all__ = [
    "DEFAULT_EMBEDDER",
    "LLM",
    "ChatMessage",
    "Embedder",
    "EmbedderOptions",
    "Facts",
    "LLMOptions",
    "OcrOptions",
    "Prompts",
    "SharedEmbedders",
    "full_name",
    "known_facts",
    "open_embedder",
    "open_llm",
    "open_ocr",
]

_HOMES = {
    "chat": "LLM ChatMessage LLMOptions",
    "embedder": "DEFAULT_EMBEDDER Embedder EmbedderOptions full_name",
    "families": "Prompts",
    "ocr": "OcrOptions",
    "registry": "Facts SharedEmbedders known_facts open_embedder open_llm open_ocr",
}

__getattr__ = lazily(__name__, _HOMES)
