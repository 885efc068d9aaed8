"""Who may talk to the app.

Threat. The app listens on one loopback port, and everything on this computer that can open a
socket can reach it: a web page in the owner's browser (other origins, other localhost ports, DNS
rebinding), a reverse proxy or tunnel that forwards strangers, a forged identity header. Whoever
gets a websocket reads notes, so HTTP *and* websockets pass one gate before any page runs.
The loopback peer address alone proves nothing (a proxy has it too), nor does the Host header (a
tailnet peer may send any), so the owner needs all of it at once: loopback peer, loopback Host,
no trace of a proxy, and no foreign Origin. What cannot be judged is refused.

Others come through ``tailscale serve`` and nothing else. It deletes the identity headers that a
client sends and sets its own, for people and not for tagged machines; keeps the Host; and says whom
it forwards for, in exactly one X-Forwarded-For. So a login counts when it stands alone in its header
and is plain (what is encoded or a list is not looked into), the peer is loopback, the Host is a name
of the tailnet, nothing speaks of Funnel (which lets the internet in) or of another proxy, and the
X-Forwarded headers are what Serve writes. A page whose name was rebound to this computer may have its
script send all of these; its Host names the app's own port, which nobody sees behind Serve. A server
that puts the address in X-Forwarded-For in the place of the peer's (uvicorn does, unless `ui.serve`
tells it not to) leaves a peer that is not loopback: nobody gets in that way. Who a login is, the
library says, every time.

Out of scope: another program running as, or beside, the owner on the same computer; it can also say
that it is ``tailscale serve``.

A script that sends one of the owner's tokens is the owner, on REST and MCP alone and through a proxy,
too: no page, proxy or rebound name can know a token, so it proves more than the way that it came.
Whoever sends one that is not known is refused, wherever from.

The gate (`ui.gate`) hands the verdict on in two ``x-commonplace-*`` headers, after deleting any that came in.
"""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import streamlit as st

from rag_core.config.keys import HOST_NAME, LOGIN_NAME
from rag_core.errors import RagError
from rag_core.types import OWNER, Viewer

LOGIN_HEADER: Final = "x-commonplace-login"
ROLE_HEADER: Final = "x-commonplace-role"
OWNER_HEADERS: Final = {LOGIN_HEADER: OWNER.login, ROLE_HEADER: "owner"}
API: Final = "/api/"
MCP: Final = "/mcp"
NOT_LET_IN: Final = RagError(
    "Commonplace does not let you in.",
    "Open it on the computer it runs on, or ask its owner to share a store with you.",
)
REFUSAL: Final = str(NOT_LET_IN)

_LOOPBACK_HOST: Final = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:[1-9]\d{0,4})?", re.ASCII)
_PORT: Final = re.compile(r":[1-9]\d{0,4}\Z", re.ASCII)  # as browsers write it: ":08501" is refused
_TAILNET: Final = ".ts.net"
_LOGIN: Final = "tailscale-user-login"
_FUNNEL: Final = "tailscale-funnel"
_TAILSCALE: Final = "tailscale-"
_BY_SERVE: Final = frozenset({"x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"})
_OF_A_PROXY: Final = re.compile(
    r"""
    forward | proxy | client-?ip | -addr\b | -ip\b | remote- | origin(al)?-(hop|host|url|uri|proto|ip)
    | ^x-(original|rewrite)- | ^(via|cdn-loop|disguised-host|front-end-https)$
    | ^(tailscale|cf|cloudfront|fastly|fly|akamai|ngrok)-
    | ^x-(amz-cf|amzn|appengine|arr|azure|envoy|nf|vercel)-
    """,
    re.VERBOSE,
)
"""In a name, with hyphens: words that proxies use for who is behind them, and marks of known ones."""

_LOG = logging.getLogger(__name__)

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a request was not let in. The reason is for the log, never for the sender, who gets ``said``."""

    reason: str
    status: int = 403
    said: RagError = NOT_LET_IN
    retry_after_s: int = 0


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose a request is: ``login`` was verified by Tailscale; without one it is the owner's at this
    computer, or of who holds a ``token``."""

    login: str = ""
    token: str = field(default="", repr=False)


# --- the decision, pure -----------------------------------------------------------------


def decide(
    peer: str | None,
    headers: Iterable[Header],
    *,
    token: str = "",
    hosts: Sequence[str] = (),
    port: int | None = None,
) -> Sender | Refused:
    """Judge one HTTP request or websocket handshake.

    ``peer`` is the address of the other end of the socket, None where there is none; ``headers``
    are (name, value) pairs as received, repeats included. ``token`` is one that is known to be the owner's.
    ``hosts`` are names of this computer in the tailnet besides those that end in .ts.net; ``port`` is the
    app's.
    """
    sent: dict[str, list[str]] = {}
    for name, value in headers:
        sent.setdefault(name.lower(), []).append(value)
    origins, asked_host = sent.get("origin", []), sent.get("host", [])
    if len(asked_host) != 1 or len(origins) > 1:
        return Refused("the Host or Origin header is missing or repeated")
    verdict = Sender(token=token) if token else _by_its_way(peer, asked_host[0], sent, hosts, port)
    if isinstance(verdict, Refused):
        return verdict
    if origins and not same_origin(origins[0], asked_host[0]):
        return Refused("another origin asked")
    if is_cross_site(sent):
        return Refused("another site embedded or fetched this")
    return verdict


def _by_its_way(
    peer: str | None, host: str, sent: Mapping[str, Sequence[str]], hosts: Sequence[str], port: int | None
) -> Sender | Refused:
    """The owner here, or a login, from the way that a request came."""
    if not is_loopback(peer):  # behind a proxy it may be whoever the proxy names
        return Refused("the peer is not this computer")
    if _LOGIN in sent:
        if port == 80 or host.endswith(f":{port}"):  # browsers leave 80 out
            return Refused("the Host names the app's own port, which nobody sees behind Tailscale")
        return _by_tailscale(host, sent, hosts)
    if any(map(came_through_proxy, sent)):
        return Refused("the request came through a proxy")
    if not _LOOPBACK_HOST.fullmatch(host.lower()):
        return Refused("the Host is not this computer")
    return Sender()


def _by_tailscale(host: str, sent: Mapping[str, Sequence[str]], hosts: Sequence[str]) -> Sender | Refused:
    """A login that ``tailscale serve`` sends, when everything else is as that sends it."""
    logins, sources = sent[_LOGIN], sent.get("x-forwarded-for", [])
    if any(name.startswith(_FUNNEL) for name in sent):
        return Refused("the request came through Tailscale Funnel")
    if any(came_through_proxy(name) and not _serve_sends(name) for name in sent):
        return Refused("the request came through another proxy, too")
    if not is_tailnet_host(host, hosts):
        return Refused("the Host is none of the tailnet's (`access_hosts`)")
    if len(sources) != 1 or not _is_remote(sources[0]):
        return Refused("X-Forwarded-For is not one address of another computer")
    if sent.get("x-forwarded-host", [host]) != [host]:
        return Refused("X-Forwarded-Host is not the Host")
    if sent.get("x-forwarded-proto", ["https"]) not in (["https"], ["http"]):
        return Refused("X-Forwarded-Proto is not what Tailscale sends")
    if len(logins) != 1 or not LOGIN_NAME.fullmatch(logins[0]) or logins[0].lower() == OWNER.login:
        return Refused("the login of Tailscale is not one plain login")
    return Sender(login=logins[0].lower())


def _serve_sends(name: str) -> bool:
    return name in _BY_SERVE or name.startswith(_TAILSCALE)


def _is_remote(address: str) -> bool:
    try:
        return not ipaddress.ip_address(address).is_unspecified and not is_loopback(address)
    except ValueError:
        return False


def is_tailnet_host(host: str, hosts: Sequence[str] = ()) -> bool:
    """Whether a Host header is a name of this computer in the tailnet, as far as a name can tell."""
    name = _PORT.sub("", host.lower())
    if not HOST_NAME.fullmatch(name) or _LOOPBACK_HOST.fullmatch(name):
        return False
    return name in hosts or name.endswith(_TAILNET)


def sent_token(path: str, headers: Iterable[Header]) -> str | None:
    """The token that a request to REST or MCP holds; '' for credentials of another kind or more than
    one, None for no credentials, and everywhere else."""
    sent = [value for name, value in headers if name.lower() == "authorization"]
    if not is_program(path) or not sent:
        return None
    scheme, _, token = sent[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(sent) == 1 else ""


def is_program(path: str) -> bool:
    """Whether a path is one that programs ask, not pages."""
    return path.startswith((API, f"{MCP}/")) or path == MCP


def is_loopback(peer: str | None) -> bool:
    """Whether an address is this computer. Names and malformed addresses are not."""
    try:
        address = ipaddress.ip_address(peer or "")
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def came_through_proxy(name: str) -> bool:
    """Whether a (lower-case) header is one that only a proxy adds."""
    return _OF_A_PROXY.search(name.replace("_", "-")) is not None


def same_origin(origin: str, host: str) -> bool:
    """Whether an Origin, its scheme aside, is exactly the Host. ``null`` is not."""
    return origin.lower() in {f"http://{host.lower()}", f"https://{host.lower()}"}


def is_cross_site(sent: Mapping[str, Sequence[str]]) -> bool:
    """Whether the browser says that another site or port made this request.

    Images, scripts and no-cors fetches carry no Origin, only ``Sec-Fetch-*``. Following a link
    from elsewhere (mode ``navigate``) stays allowed.
    """
    sites, modes = sent.get("sec-fetch-site", ["none"]), sent.get("sec-fetch-mode", [])
    return not {*sites} <= {"none", "same-origin"} and modes != ["navigate"]


# --- in a page --------------------------------------------------------------------------


def _headers() -> Mapping[str, str]:
    """The one seam to the request; AppTest has none, so its tests replace this function."""
    return st.context.headers


def viewer() -> Viewer | None:
    """Who is looking at the page now: whom the gate verified, with what the library grants them at this
    moment; None means no access."""
    try:
        return viewer_of(_headers())
    except RagError:
        _LOG.exception("Who may come in cannot be read.")
        return None


def viewer_of(headers: Mapping[str, str]) -> Viewer | None:
    """Whose a request is, from its headers as the gate passes them on; None is nobody's. Raises RagError."""
    login, role = headers.get(LOGIN_HEADER), headers.get(ROLE_HEADER)
    if not login or role not in ("owner", "guest"):
        return None
    if login == OWNER.login:
        return OWNER if role == "owner" else None
    from ui import deps  # only now: its caches want a running server

    return deps.library().viewer_for(login)


def require_viewer() -> Viewer:
    """The viewer, or the end of the page with a refusal."""
    who = viewer()
    if who is None:
        st.error(REFUSAL)
        st.stop()
    return who


def require_owner() -> Viewer:
    """The owner, or the end of the page with a refusal. Owner pages call this first."""
    who = require_viewer()
    if not who.is_owner:
        st.error(REFUSAL)
        st.stop()
    return who
