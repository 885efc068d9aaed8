"""Decide who sends a request, from its peer address and headers alone. Pure: no files, no clock.

Threat. The app listens on one loopback port. Everything on this computer that can open a socket reaches
it: a web page in the owner's browser (other origins, other localhost ports, DNS rebinding), a reverse
proxy or tunnel that forwards strangers, a forged identity header. Whoever gets a websocket reads notes,
so HTTP and websockets pass the same gate before any page runs. What cannot be judged is refused.

The owner at this computer. A loopback peer alone proves nothing, because a proxy has one too. A loopback
Host alone proves nothing, because a tailnet peer may send any. So the owner needs all of these at once: a
loopback peer, a loopback Host, no trace of a proxy, and no foreign Origin.

A login. Others come through ``tailscale serve`` only. It deletes the identity headers a client sends and
sets its own (for people, not for tagged machines), keeps the Host, and names the client in exactly one
X-Forwarded-For. A login counts only when it is alone in its header and plain (encoded values and lists are
not decoded), the peer is loopback, the Host is a name of the tailnet, no header speaks of Funnel (which
opens the app to the internet) or of another proxy, and the X-Forwarded headers are as Serve writes them.
A page whose name was rebound to this computer can send all of these, but its Host then names the app's own
port, which nobody sees behind Serve. A server that replaces the peer by X-Forwarded-For (uvicorn does,
unless `ui.serve` turns that off) leaves a peer that is not loopback, which is refused. The library says
on every request what a login may see.

A token. A script that sends one of the owner's tokens is the owner, on REST and MCP, even through a proxy:
no page, proxy or rebound name can know a token. A token that is not known is refused.

Out of scope: another program running on the owner's computer. It can claim to be ``tailscale serve``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_core.config.keys import HOST_NAME, LOGIN_NAME
from rag_core.errors import RagError
from rag_core.types import OWNER

NOT_LET_IN: Final = RagError(
    "Commonplace does not let you in.",
    "Open it on the computer it runs on, or ask its owner to share a store with you.",
)
REFUSAL: Final = str(NOT_LET_IN)

_LOOPBACK_HOST: Final = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[1-9]\d{0,4})?", re.ASCII)
_PORT: Final = re.compile(r":[1-9]\d{0,4}\Z", re.ASCII)  # as browsers write it: ":08501" is refused
_LOGIN: Final = "tailscale-user-login"
_SERVE_HEADERS: Final = frozenset({"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"})
_PROXY_HEADER: Final = re.compile(
    r"""
    forward | proxy | client-?ip | -addr\b | -ip\b | remote- | origin(al)?-(hop|host|url|uri|proto|ip)
    | ^x-(original|rewrite)- | ^(via|cdn-loop|disguised-host|front-end-https)$
    | ^(tailscale|cf|cloudfront|fastly|fly|akamai|ngrok)-
    | ^x-(amz-cf|amzn|appengine|arr|azure|envoy|nf|vercel)-
    """,
    re.VERBOSE,
)
"""Header names, with hyphens, that only proxies add: words for the client behind them, and known brands."""

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal. The sender gets ``status`` and ``error``; ``reason`` is for the log only."""

    reason: str
    status: int = 403
    error: RagError = NOT_LET_IN
    retry_after_s: int = 0


def refused(status: int, reason: str, message: str, suggestion: str, retry_after_s: int = 0) -> Refused:
    """A refusal that tells the sender ``message`` and ``suggestion``."""
    return Refused(reason, status, RagError(message, suggestion), retry_after_s)


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request: a ``login`` that Tailscale verified, the holder of a ``token``, or, where
    both are empty, the owner at this computer."""

    login: str = ""
    token: str = field(default="", repr=False)


def decide(
    peer: str | None,
    headers: Iterable[Header],
    *,
    token: str = "",
    hosts: Sequence[str] = (),
    port: int | None = None,
) -> Sender | Refused:
    """Judge one HTTP request or websocket handshake.

    Args:
        peer: the address of the other end of the socket, None where there is none.
        headers: (name, value) pairs as received, repeats included.
        token: a token of the request that is known to be the owner's.
        hosts: names of this computer in the tailnet besides those that end in .ts.net.
        port: the app's own port.

    """
    sent: dict[str, list[str]] = {}
    for name, value in headers:
        sent.setdefault(name.lower(), []).append(value)
    origins, asked_host = sent.get("origin", []), sent.get("host", [])
    if len(asked_host) != 1 or len(origins) > 1:
        return Refused("the Host or Origin header is missing or repeated")
    [host] = asked_host
    verdict = Sender(token=token) if token else _owner_or_login(peer, host, sent, hosts, port)
    if isinstance(verdict, Refused):
        return verdict
    if origins and origins[0].lower() not in {f"http://{host.lower()}", f"https://{host.lower()}"}:
        return Refused("another origin asked")
    if _is_cross_site(sent):
        return Refused("another site embedded or fetched this")
    return verdict


def _owner_or_login(
    peer: str | None, host: str, sent: Mapping[str, Sequence[str]], hosts: Sequence[str], port: int | None
) -> Sender | Refused:
    if not is_loopback(peer):  # behind a proxy it may be whoever the proxy names
        return Refused("the peer is not this computer")
    if _LOGIN in sent:
        if port == 80 or host.endswith(f":{port}"):  # browsers leave 80 out
            return Refused("the Host names the app's own port, which nobody sees behind Tailscale")
        return _login_of_serve(host, sent, hosts)
    if any(map(_is_proxy_header, sent)):
        return Refused("the request came through a proxy")
    if not _LOOPBACK_HOST.fullmatch(host.lower()):
        return Refused("the Host is not this computer")
    return Sender()


def _login_of_serve(host: str, sent: Mapping[str, Sequence[str]], hosts: Sequence[str]) -> Sender | Refused:
    """The login that ``tailscale serve`` verified, if every other header is as it sends it."""
    logins, sources = sent[_LOGIN], sent.get("x-forwarded-for", [])
    if any(name.startswith("tailscale-funnel") for name in sent):
        return Refused("the request came through Tailscale Funnel")
    others = (name for name in sent if name not in _SERVE_HEADERS and not name.startswith("tailscale-"))
    if any(map(_is_proxy_header, others)):
        return Refused("the request also came through another proxy")
    if not _is_tailnet_host(host, hosts):
        return Refused("the Host is not a name of the tailnet (`access_hosts`)")
    if len(sources) != 1 or not _is_remote(sources[0]):
        return Refused("X-Forwarded-For is not one address of another computer")
    if sent.get("x-forwarded-host", [host]) != [host]:
        return Refused("X-Forwarded-Host is not the Host")
    if sent.get("x-forwarded-proto", ["https"]) not in (["https"], ["http"]):
        return Refused("X-Forwarded-Proto is not what Tailscale sends")
    if len(logins) != 1 or not LOGIN_NAME.fullmatch(logins[0]) or logins[0].lower() == OWNER.login:
        return Refused("the login of Tailscale is not one plain login")
    return Sender(login=logins[0].lower())


def _is_tailnet_host(host: str, hosts: Sequence[str]) -> bool:
    """Whether a Host header is a name of this computer in the tailnet, as far as a name can tell."""
    name = _PORT.sub("", host.lower())
    if not HOST_NAME.fullmatch(name) or _LOOPBACK_HOST.fullmatch(name):
        return False
    return name in hosts or name.endswith(".ts.net")


def _is_remote(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_unspecified and not is_loopback(address)
    except ValueError:
        return False


def is_loopback(peer: str | None) -> bool:
    """Whether an address is this computer. Names and malformed addresses are not."""
    try:
        address = ipaddress.ip_address(peer or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _is_proxy_header(name: str) -> bool:
    return _PROXY_HEADER.search(name.replace("_", "-")) is not None


def _is_cross_site(sent: Mapping[str, Sequence[str]]) -> bool:
    """Whether the browser says that another site or port made this request.

    Images, scripts and no-cors fetches carry no Origin, only ``Sec-Fetch-*``. A link from elsewhere (mode
    ``navigate``) stays allowed.
    """
    sites, modes = sent.get("sec-fetch-site", ["none"]), sent.get("sec-fetch-mode", [])
    return not {*sites} <= {"none", "same-origin"} and modes != ["navigate"]
