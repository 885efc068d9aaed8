"""The addresses of servers: whose they are, how they are written, and whether text that goes there leaves
this machine."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TypedDict
from urllib.parse import urlsplit

from rag_core.errors import InvalidInput

# --- where text goes --------------------------------------------------------------------


def host_of(url: str) -> str:
    """The host of an address, without port and path."""
    return urlsplit(url).hostname or ""


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine."""
    host = host_of(url)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def leaves(url: str) -> bool:
    """Whether text that the server gets leaves this machine; '' is no server."""
    return bool(url) and not is_loopback(url)


def destination(url: str) -> str:
    """Where the text goes that the server gets, in words."""
    return f"goes to {host_of(url)}" if leaves(url) else "stays on this machine"


class Straight(TypedDict):
    """What makes an HTTP client of httpx go straight to a server."""

    follow_redirects: bool
    trust_env: bool
    verify: bool


def straight_to(url: str) -> Straight:
    """Text goes where it was configured to go, and nowhere else: no redirect is followed, and what stays on
    this machine goes through nobody else's proxy. Where nothing is encrypted, no certificates are read."""
    local = is_loopback(url)
    plain = local and urlsplit(url).scheme == "http"
    return Straight(follow_redirects=False, trust_env=not local, verify=not plain)


def silence_about(server: object) -> str:
    """Why ``server`` does not tell where text goes, as the end of a sentence; '' if it does: it is '' itself
    where text stays in this process, or a server's address."""
    if isinstance(server, str) and (not server or _is_address(server)):
        return ""
    return "does not say where texts go (server): '' for this machine, or an address like https://example.org"


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


# --- how they are written ---------------------------------------------------------------


def with_version(url: str) -> str:
    """The address of a server of OpenAI's protocol, ``/v1`` put behind one that has no path."""
    return url if urlsplit(url).path.strip("/") else f"{url.rstrip('/')}/v1"


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


def whole_url(url: str, port: int) -> str:
    """``url`` with its port, '' for ''. Raises InvalidInput like ``server_name``."""
    return f"{urlsplit(url).scheme}://{server_name(url, port)}" if url else ""


def shown(address: str) -> str:
    """``address`` at the beginning of a sentence, unless a password or key may stand in it."""
    return "What is given" if "@" in address or "?" in address else repr(address[:200])
