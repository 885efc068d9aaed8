"""The server that a vector index is on: its address as it is configured, and as part of an index's own."""

from __future__ import annotations

from urllib.parse import urlsplit

from rag_core.errors import InvalidInput


def server_name(url: str, port: int) -> str:
    """``HOST:PORT`` of ``url``, with its path behind; ``port`` is where the server is that names none.

    Raises InvalidInput for what is no address, or holds a user or password.
    """
    parts = urlsplit(url)
    try:
        host, said = parts.hostname, parts.port
    except ValueError:
        host, said = None, None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        raise InvalidInput(
            f"{shown(url)} is not the address of a server.",
            f"Write it like http://127.0.0.1:{port}, without user, password, '?' and '#'.",
        )
    bracketed = f"[{host}]" if ":" in host else host
    return f"{bracketed}:{said or port}{parts.path.rstrip('/')}"


def shown(address: str) -> str:
    """``address`` at the beginning of a sentence, unless a password or key may stand in it."""
    return "What is given" if "@" in address or "?" in address else repr(address[:200])


def whole_url(url: str, port: int) -> str:
    """``url`` with its port. Raises InvalidInput like ``server_name``."""
    return f"{urlsplit(url).scheme}://{server_name(url, port)}" if url else ""
