"""What is known of embedding models by their names: the prompts they learnt, and what they read.

Servers add no prompt, and without it a model finds far less. The prompts are those of the models' own
cards, as the mteb benchmark uses them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass

from rag_core.models.embedders.options import NO_PROMPTS, Prompts

_PASSAGES = "Represent this sentence for searching relevant passages: "
_NOMIC = Prompts("search_query: ", "search_document: ")
_QWEN = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@dataclass(frozen=True, slots=True)
class Family:
    """Models that are alike. ``pattern`` is looked for in the name, in lower case.

    ``latin``: they learnt texts in Latin script only. ``shortens``: the first numbers of a vector are a
    vector of their own (Matryoshka), so a smaller dimension can be asked for.
    """

    pattern: str
    max_tokens: int
    prompts: Prompts = NO_PROMPTS
    latin: bool = False
    shortens: bool = False


FAMILIES: tuple[Family, ...] = (  # the first that fits
    Family(
        "embeddinggemma|gemma-embedding",
        2048,
        Prompts("task: search result | query: ", "title: none | text: "),
        shortens=True,
    ),
    Family("nomic-embed-text-v2", 512, _NOMIC, shortens=True),
    Family("nomic-embed-text", 2048, _NOMIC, latin=True, shortens=True),
    Family("mxbai-embed-large", 512, Prompts(_PASSAGES), latin=True, shortens=True),
    Family("bge-m3", 8192),
    Family(r"bge-(large|base|small)(?!-zh)", 512, Prompts(_PASSAGES), latin=True),
    Family(r"arctic-embed2|arctic-embed-[lm]-v2", 8192, Prompts("query: "), shortens=True),
    Family("arctic-embed", 512, Prompts(_PASSAGES), latin=True),
    Family("qwen3-embedding", 32_768, Prompts(_QWEN), shortens=True),
    Family("all-minilm", 256, latin=True),
    Family("paraphrase-multilingual", 512),
    Family("granite-embedding", 512),
    Family(r"multilingual-e5-(small|base|large)(?!-instruct)", 512, Prompts("query: ", "passage: ")),
    Family("text-embedding-3-(small|large)", 8191, shortens=True),
    Family("text-embedding-ada-002", 8191),
)


def family_of(model: str) -> Family | None:
    """What is known of a model by its name, such as ``embeddinggemma:300m`` or ``BAAI/bge-m3``."""
    name = model.lower().replace("_", "-")
    return next((family for family in FAMILIES if re.search(family.pattern, name)), None)


def scheme(prompts: Prompts) -> str:
    """What stands for the prompts in an embedder's identity: vectors depend on that of the passages."""
    if not prompts.document:
        return "none"
    return hashlib.sha256(json.dumps(prompts.document).encode()).hexdigest()[:8]
