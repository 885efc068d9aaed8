"""Known families of embedding models and their prompts. Servers add no prompt, and without its prompt a model
finds far less. The prompts come from the models' cards, as the mteb benchmark uses them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prompts:
    """The texts before a question and before a passage when they are embedded."""

    query: str = ""
    document: str = ""


NO_PROMPTS = Prompts()
_LETTERS = re.compile(r"[^\W\d_]")
_LATIN = re.compile("[A-Za-zÀ-ÖØ-öø-ɏ]")
_PASSAGES = "Represent this sentence for searching relevant passages: "
_GEMMA = Prompts("task: search result | query: ", "title: none | text: ")
_NOMIC = Prompts("search_query: ", "search_document: ")
_QWEN = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"


@dataclass(frozen=True, slots=True)
class Family:
    """Models that are used in the same way."""

    pattern: str  #: Regular expression for their names in lower case.
    max_tokens: int  #: Maximum tokens of a text; 0 if unknown.
    prompts: Prompts = NO_PROMPTS
    latin: bool = False  #: Whether they were trained on Latin script only.
    shortens: bool = False  #: Whether the first numbers of a vector are a usable vector (Matryoshka).


FAMILIES: tuple[Family, ...] = (  # the first that fits
    Family("embeddinggemma|gemma-embedding", 2048, _GEMMA, shortens=True),
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
    Family("", 0, shortens=True),  # an unknown model
)


def family_of(model: str) -> Family:
    """Return the family of a model by the model's name, such as ``embeddinggemma:300m`` or
    ``BAAI/bge-m3``."""
    name = model.lower().rpartition("/")[2].replace("_", "-")
    return next(family for family in FAMILIES if re.search(family.pattern, name))


def prompts_in_config(told: Mapping[str, str]) -> Prompts:
    """Return the prompts in ``told``, which maps the names that sentence-transformers uses, such as
    ``query``, to the prompts in a model's own configuration."""
    document = next((told[key] for key in ("document", "passage", "corpus") if told.get(key)), "")
    return Prompts(told.get("query") or "", document)


def prompt_scheme(prompts: Prompts) -> str:
    """Return a short digest of the passage prompt for an embedder's identity; ``none`` without a prompt."""
    digest = hashlib.sha256(json.dumps(prompts.document).encode()).hexdigest()
    return digest[:8] if prompts.document else "none"


def is_latin(text: str) -> bool:
    """Whether at least half of the letters are Latin. Text in other scripts is noise to a model trained on
    Latin script."""
    return text.isascii() or 2 * len(_LATIN.findall(text)) >= len(_LETTERS.findall(text))
