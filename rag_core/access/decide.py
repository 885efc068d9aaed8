"""Decide who sends a request, from its peer address and headers alone. Pure: no files, no clock.

Threat. The app listens on one loopback port. Everything on this computer that can open a socket reaches
it: a web page in the owner's browser (other origins, other localhost ports, DNS rebinding), a reverse
proxy or tunnel that forwards strangers, a forged identity header. A websocket reads notes, so HTTP and
websockets pass the same gate before any page runs. What cannot be judged is refused.

The owner at this computer. A proxy has a loopback peer, too, and a tailnet peer may send a loopback Host. So
the owner needs all at once: a loopback peer, a loopback Host, no trace of a proxy, and no foreign Origin.

A login. Others come through ``tailscale serve`` only. It deletes the identity headers of a client and sets
its own (for people, not for tagged machines), keeps the Host, and names the client in one X-Forwarded-For.
A login counts only when it is alone in its header and plain, the peer is loopback, the Host is a name of the
tailnet, no header speaks of Funnel (which opens the app to the internet) or of another proxy, and the
X-Forwarded headers are as Serve writes them. A page whose name was rebound to this computer can send all of
these, but its Host then names the app's own port, which nobody sees behind Serve. A server that replaces the
peer by X-Forwarded-For (uvicorn does, unless `ui.frame.serve` turns that off) leaves a peer that is not
loopback, which is refused.

A token. A script that sends one of the owner's tokens is the owner, on REST and MCP, even through a proxy: no
page, proxy or rebound name can know a token. An unknown token is refused.

Out of scope: another program running on the owner's computer. It can claim to be ``tailscale serve``.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rag_core.config.keys import HOST_NAME, LOGIN_NAME
from rag_core.errors import Forbidden, RagError, TooMany
from rag_core.types import OWNER

NOT_LET_IN: Final = Forbidden(
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
"""Header names, with hyphens, that only proxies add: words for the client, and known brands."""

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """The refusal of a request."""

    #: Why the request is refused, in a sentence. With a ``suggestion`` the sender sees it, too; without one
    #: only the log does.
    reason: str
    status: int = 403  #: HTTP status.
    suggestion: str = ""  #: What the sender can do; '' if the sender only gets `REFUSAL`.
    retry_after_s: int = 0  #: The header Retry-After, in seconds; 0 for none.

    @property
    def error(self) -> RagError:
        """The error that is sent to the sender."""
        if not self.suggestion:
            return NOT_LET_IN
        kind = {401: Forbidden, 403: Forbidden, 429: TooMany}.get(self.status, RagError)
        return kind(self.reason, self.suggestion)


@dataclass(frozen=True, slots=True)
class Sender:
    """The sender of a request. Without login and token, it is the owner at this computer."""

    login: str = ""  #: The login that Tailscale verified; '' without one.
    token: str = field(default="", repr=False)  #: The token that a program sent; '' without one.


def decide(
    peer: str | None,
    headers: Iterable[Header],
    *,
    token: str = "",
    hosts: Sequence[str] = (),
    port: int | None = None,
) -> Sender | Refused:
    """Decide who sent an HTTP request or websocket handshake, or why it is refused.

    Args:
        peer: the address of the other end of the socket.
        headers: as received, including repeated ones.
        token: a valid token that the request sent; '' without one.
        hosts: names of this computer in the tailnet, in addition to names that end in .ts.net.
        port: the port of the app.

    """
    sent: dict[str, list[str]] = {}
    for name, value in headers:
        sent.setdefault(name.lower(), []).append(value)
    origins, asked_host = sent.get("origin", []), sent.get("host", [])
    if len(asked_host) != 1 or len(origins) > 1:
        return Refused("The Host or Origin header is missing or repeated.")
    [host] = asked_host
    verdict = Sender(token=token) if token else _owner_or_login(peer, host, sent, hosts, port)
    if isinstance(verdict, Refused):
        return verdict
    if origins and origins[0].lower() not in {f"http://{host.lower()}", f"https://{host.lower()}"}:
        return Refused("A page of another website sent the request.")
    # Images, scripts and no-cors fetches carry no Origin, only Sec-Fetch-*. A link from elsewhere is allowed.
    sites, modes = sent.get("sec-fetch-site", ["none"]), sent.get("sec-fetch-mode", [])
    if not {*sites} <= {"none", "same-origin"} and modes != ["navigate"]:
        return Refused("Another site embedded or fetched this.")
    return verdict


def _owner_or_login(
    peer: str | None, host: str, sent: Mapping[str, Sequence[str]], hosts: Sequence[str], port: int | None
) -> Sender | Refused:
    if not is_loopback(peer):  # behind a proxy it may be whoever the proxy names
        return Refused("The request comes from another computer.")
    if _LOGIN in sent:
        if port == 80 or host.endswith(f":{port}"):  # browsers leave 80 out
            return Refused("It names a Tailscale login, but came to the app's own port.")
        return _login_of_serve(host, sent, hosts)
    if any(map(_is_proxy_header, sent)):
        return Refused("The request came through a proxy.")
    if not _LOOPBACK_HOST.fullmatch(host.lower()):
        return Refused("The Host header names another computer.")
    return Sender()


def _login_of_serve(host: str, sent: Mapping[str, Sequence[str]], hosts: Sequence[str]) -> Sender | Refused:
    """Return the login that ``tailscale serve`` verified. Return a refusal if any other header differs from
    what Serve sends."""
    logins, sources = sent[_LOGIN], sent.get("x-forwarded-for", [])
    others = (name for name in sent if name not in _SERVE_HEADERS and not name.startswith("tailscale-"))
    name = _PORT.sub("", host.lower())
    is_tailnet = name in hosts or name.endswith(".ts.net")
    source = _address(sources[0]) if len(sources) == 1 else None
    login = logins[0].lower() if len(logins) == 1 and LOGIN_NAME.fullmatch(logins[0]) else OWNER.login
    wrong = {
        "The request came through Tailscale Funnel.": any(n.startswith("tailscale-funnel") for n in sent),
        "The request also came through another proxy.": any(map(_is_proxy_header, others)),
        "The Host header has a name that is not in `access_hosts`.": (
            not (HOST_NAME.fullmatch(name) and is_tailnet) or _LOOPBACK_HOST.fullmatch(name)
        ),
        "X-Forwarded-For is not one address of another computer.": (
            source is None or source.is_unspecified or source.is_loopback
        ),
        "X-Forwarded-Host is not the Host.": sent.get("x-forwarded-host", [host]) != [host],
        "X-Forwarded-Proto is not what Tailscale sends.": (
            sent.get("x-forwarded-proto", ["https"]) not in (["https"], ["http"])
        ),
        "The header with the Tailscale login is repeated or malformed.": login == OWNER.login,
    }
    reason = next((reason for reason, holds in wrong.items() if holds), "")
    return Refused(reason) if reason else Sender(login=login)


def _address(written: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(written)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def is_loopback(peer: str | None) -> bool:
    """Whether ``peer`` is a loopback address (127.0.0.0/8 or ::1), which only this computer can use. False
    for None, names of hosts and malformed addresses."""
    address = _address(peer or "")
    return address is not None and address.is_loopback


def _is_proxy_header(name: str) -> bool:
    return _PROXY_HEADER.search(name.replace("_", "-")) is not None
