"""What everybody who asks an Ollama server needs: where it is, its package, what to do without a model."""

from __future__ import annotations

import os
import shlex
from typing import Any

from rag_core.errors import RagError
from rag_core.models.servers.addresses import host_of, is_loopback

OLLAMA_URL = "http://127.0.0.1:11434"

KEEP_ALIVE_S = 1800
"""How long a model stays in the server's memory. A number: the text "-1" would be an error."""


def package(error: type[RagError]) -> Any:
    """Ollama's own package. Raises ``error`` where it cannot be imported."""
    try:
        import ollama
    except ValueError:  # it makes a client of OLLAMA_HOST when it is imported
        raise error(
            f"The package 'ollama' cannot read OLLAMA_HOST, which is {os.environ.get('OLLAMA_HOST', '')!r}.",
            "Write it like http://[::1]:11434, or set `ollama_url` instead.",
        ) from None
    return ollama


def pull_line(model: str, url: str) -> str:
    """What to do where the server at ``url`` does not have a model; its name may come from anywhere."""
    where = "" if is_loopback(url) else f" on {host_of(url)}"
    return f"Run `ollama pull {shlex.quote(model)}`{where}."
