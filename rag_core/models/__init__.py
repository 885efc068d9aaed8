"""Models: embedders turn texts into vectors, chat models answer questions. One file a provider."""

from rag_core.models.chat import LLM, ChatMessage, LLMOptions
from rag_core.models.embedder import DEFAULT_EMBEDDER, Embedder, EmbedderOptions, full_name
from rag_core.models.families import Prompts
from rag_core.models.ocr import OcrOptions
from rag_core.models.registry import Facts, SharedEmbedders, known_facts, open_embedder, open_llm, open_ocr

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
