"""From hits to a cited answer: numbered passages, the prompt, and checking the model's output.

Notes and models are both untrusted. A note is data to the model. The model's output is compared with the
passages word for word, and shown as text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.lazy import lazily

if TYPE_CHECKING:
    from rag_core.ask.checking import Checker
    from rag_core.ask.passages import budget, numbered
    from rag_core.ask.prompt import RULES, SYSTEM_PROMPT, beginning, conversation, leans_back, messages

__all__ = [
    "RULES",
    "SYSTEM_PROMPT",
    "Checker",
    "beginning",
    "budget",
    "conversation",
    "leans_back",
    "messages",
    "numbered",
]

_HOMES = {
    "checking": "Checker",
    "passages": "budget numbered",
    "prompt": "RULES SYSTEM_PROMPT beginning conversation leans_back messages",
}

__getattr__ = lazily(__name__, _HOMES)
