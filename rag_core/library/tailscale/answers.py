"""What ``tailscale status --json`` and ``tailscale serve status --json`` say, as far as it can be believed.

The fields are those of ``ipnstate.Status`` and ``ipn.ServeConfig`` in Tailscale's source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rag_core.config.keys import LOGIN_NAME

_MOST_LOGINS = 200
_DNS_NAME = re.compile(
    r"(?=.{4,253}\Z)[a-z0-9](?:[a-z0-9-]{0,62})(?:\.[a-z0-9](?:[a-z0-9-]{0,62}))+", re.ASCII
)
_HOST_PORT = re.compile(r"([A-Za-z0-9.-]{1,253}):([0-9]{1,5})", re.ASCII)
_TARGET = re.compile(
    r"(?:(?:https?|https\+insecure|tcp)://)?(?:(?:localhost|127\.0\.0\.1|\[::1\]):)?([0-9]{1,5})(?:/.*)?",
    re.ASCII,
)
_TAGGED = "tagged-devices"  # the login of machines that are nobody's


@dataclass(frozen=True, slots=True)
class Status:
    """A computer in its tailnet. ``backend`` is a state of ``ipn.State``, or ''."""

    backend: str
    name: str
    has_certificates: bool
    login: str
    logins: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Forward:
    """A port of this computer in the tailnet that goes to a ``target`` port here: the top of a web
    address, or ``is_raw``, as bytes without anybody's name."""

    host: str
    port: int
    target: int | None
    is_https: bool = True
    is_raw: bool = False
    is_tls: bool = False
    is_funnel: bool = False


def status(said: object) -> Status:
    """What is said of this computer and its tailnet."""
    known = _object(said)
    self = _object(known.get("Self"))
    tailnet = _object(known.get("CurrentTailnet"))
    name = _text(self.get("DNSName")).rstrip(".").lower()
    has_name = tailnet.get("MagicDNSEnabled", True) is not False and _DNS_NAME.fullmatch(name)
    users = _object(known.get("User"))
    return Status(
        backend=_text(known.get("BackendState")),
        name=name if has_name else "",
        has_certificates=bool(_list(known.get("CertDomains"))),
        login=_login(users.get(str(self.get("UserID")))),
        logins=tuple(sorted({each for user in users.values() if (each := _login(user))})[:_MOST_LOGINS]),
    )


def _login(user: object) -> str:
    login = _text(_object(user).get("LoginName")).lower()
    return login if LOGIN_NAME.fullmatch(login) and login != _TAGGED else ""


def forwards(said: object) -> list[Forward]:
    """What is forwarded, by its port: in the background, and by commands that still run."""
    known = _object(said)
    running = (_object(each) for each in _object(known.get("Foreground")).values())
    found = [each for config in (known, *running) for each in (*_web(config), *_raw(config))]
    return sorted(found, key=lambda each: (each.port, each.host))


def _web(config: dict[str, Any]) -> Iterator[Forward]:
    ports = _object(config.get("TCP"))
    for place, server in _object(config.get("Web")).items():
        address = _HOST_PORT.fullmatch(place)
        top = _object(_object(_object(server).get("Handlers")).get("/"))
        if address and top:
            yield Forward(
                host=address[1].lower(),
                port=int(address[2]),
                target=_target(top.get("Proxy")),
                is_https=_object(ports.get(address[2])).get("HTTP") is not True,
                is_funnel=_is_funnel(config, place),
            )


def _raw(config: dict[str, Any]) -> Iterator[Forward]:
    for port, handler in _object(config.get("TCP")).items():
        goes = _text(_object(handler).get("TCPForward"))
        if goes and re.fullmatch("[0-9]{1,5}", port, re.ASCII):
            open_to_all = any(each.endswith(f":{port}") for each in _object(config.get("AllowFunnel")))
            is_tls = bool(_text(_object(handler).get("TerminateTLS")))
            yield Forward("", int(port), _target(goes), is_raw=True, is_tls=is_tls, is_funnel=open_to_all)


def _is_funnel(config: dict[str, Any], place: str) -> bool:
    return _object(config.get("AllowFunnel")).get(place) is True


def _target(goes: object) -> int | None:
    """The port of this computer that something is forwarded to; None for any other place."""
    found = _TARGET.fullmatch(_text(goes))
    return int(found[1]) if found else None


# --- any JSON value ---------------------------------------------------------------------


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 1000 else ""
