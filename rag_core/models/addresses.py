"""Addresses of servers: whether text sent there leaves this machine, and how an address is shown."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from rag_core.errors import InvalidInput


def host_of(url: str) -> str:
    """Return the host in ``url``; '' if there is no host."""
    return urlsplit(url).hostname or ""


def is_local_server(url: str) -> bool:
    """Whether ``url`` is a server on this machine."""
    host = host_of(url)
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def leaves(url: str) -> bool:
    """Whether text sent to the server at ``url`` leaves this machine. It is False for '', which means no
    server."""
    return bool(url) and not is_local_server(url)


def destination(url: str) -> str:
    """Return where text sent to the server at ``url`` goes, as the end of a sentence: ``goes to HOST`` or
    ``stays on this machine``."""
    return f"goes to {host_of(url)}" if leaves(url) else "stays on this machine"


def straight_to(url: str) -> dict[str, Any]:
    """Return arguments for an httpx client that sends text to ``url`` only. Redirects are off, and a server
    on this machine gets no proxy."""
    local = is_local_server(url)
    is_plain = local and urlsplit(url).scheme == "http"
    return {"follow_redirects": False, "trust_env": not local, "verify": not is_plain}


def server_problem(server: object) -> str:
    """Return a sentence that says why ``server``, the attribute of a package's object, is invalid; '' if it
    is valid. ``{extension}`` in it stands for the package."""
    if server == "" or (isinstance(server, str) and re.match(r"https?://[^/?#\s]", server)):
        return ""
    return (
        "{extension} does not say where texts go: its `server` must be '' for this machine, or an address"
        " like https://example.org."
    )


def server_name(url: str, port: int) -> str:
    """Return ``HOST:PORT`` and the path of ``url``. ``port`` is the default port. Raises InvalidInput for an
    invalid address."""
    parts = urlsplit(url)
    try:
        host, port_number = parts.hostname, parts.port
    except ValueError:
        host, port_number = None, None
    if parts.scheme not in ("http", "https") or not host or parts.username or parts.query or parts.fragment:
        raise InvalidInput(
            f"{shown(url)} is not the address of a server.",
            f"Write it like http://127.0.0.1:{port}, without user, password, '?' and '#'.",
        )
    bracketed = f"[{host}]" if ":" in host else host
    return f"{bracketed}:{port_number or port}{parts.path.rstrip('/')}"


def shown(address: str) -> str:
    """Return ``address`` quoted, to begin a sentence. If it may contain a password or key, returns ``The
    given text`` instead."""
    return "The given text" if "@" in address or "?" in address else repr(address[:200])
