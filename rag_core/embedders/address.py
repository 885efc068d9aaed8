"""The address of a server: whose it is, and whether text that goes there leaves this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


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


def is_plain(url: str) -> bool:
    """Whether it is on this machine and not encrypted, so that no certificates need to be read."""
    return is_loopback(url) and urlsplit(url).scheme == "http"


def leaves(url: str) -> bool:
    """Whether text that an embedder's server gets leaves this machine; '' is no server."""
    return bool(url) and not is_loopback(url)


def says_where(server: object) -> bool:
    """Whether ``server`` tells where text goes: '' where it stays in this process, or a server's address."""
    if not isinstance(server, str):
        return False
    if not server:
        return True
    try:
        parts = urlsplit(server)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)


def destination(url: str) -> str:
    """Where the text goes that an embedder reads, in words."""
    return f"goes to {host_of(url)}" if leaves(url) else "stays on this machine"
