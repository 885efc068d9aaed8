"""Who may talk to the app.

Threat. The app listens on one loopback port, and everything on this computer that can open a
socket can reach it: a web page in the owner's browser (other origins, other localhost ports, DNS
rebinding), a reverse proxy or tunnel that forwards strangers, a forged identity header. Whoever
gets a websocket reads all notes, so HTTP *and* websockets pass one gate before any page runs.
The loopback peer address alone proves nothing (a proxy has it too), nor does the Host header (a
tailnet peer may send any), so the owner needs all of it at once: loopback peer, loopback Host,
no trace of a proxy, and no foreign Origin. What cannot be judged is refused.

Out of scope: another program running as, or beside, the owner on the same computer.

A script that sends one of the owner's tokens is the owner, on the REST interface alone and through a proxy,
too: no page, proxy or rebound name can know a token, so it proves more than the way that it came. Whoever
sends one that is not known is refused, wherever from.

The gate hands the verdict on in two ``x-commonplace-*`` headers, after deleting any that came in.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

import streamlit as st
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_core.errors import RagError
from rag_core.types import OWNER, Viewer

LOGIN_HEADER: Final = "x-commonplace-login"
ROLE_HEADER: Final = "x-commonplace-role"
OWNER_HEADERS: Final = {LOGIN_HEADER: OWNER.login, ROLE_HEADER: "owner"}
API: Final = "/api/"
NOT_THE_OWNER: Final = RagError(
    "Commonplace answers only to its owner, on the computer it runs on.",
    "Open it there at the address it printed when it started, without a proxy in between.",
)
REFUSAL: Final = str(NOT_THE_OWNER)
NO_SUCH_TOKEN: Final = RagError(
    "This token is not known, or was revoked.", "Make one with `commonplace token create NAME`."
)

_OWN_PREFIX: Final = "x-commonplace-"
_LOOPBACK_HOST: Final = re.compile(r"(localhost|127\.0\.0\.1|\[::1\])(:\d{1,5})?", re.ASCII)
_PROXY_PREFIXES: Final = ("x-forwarded", "tailscale-")
_PROXY_HEADERS: Final = frozenset(
    {"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"}
)
_POLICY_VIOLATION: Final = 1008
_UNREADABLE: Final = RagError("The tokens cannot be read.", "`commonplace token list` says why.")
_LOG = logging.getLogger(__name__)

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a request was not let in. The reason is for the log, never for the sender, who gets ``said``."""

    reason: str
    status: int = 403
    said: RagError = NOT_THE_OWNER


# --- the decision, pure -----------------------------------------------------------------


def decide(peer: str | None, headers: Iterable[Header], *, has_token: bool = False) -> Viewer | Refused:
    """Judge one HTTP request or websocket handshake.

    ``peer`` is the address of the other end of the socket, None where there is none; ``headers``
    are (name, value) pairs as received, repeats included. ``has_token``: it holds a token of the owner.
    """
    pairs = [(name.lower(), value) for name, value in headers]
    hosts = [value for name, value in pairs if name == "host"]
    origins = [value for name, value in pairs if name == "origin"]
    if not has_token and not is_loopback(peer):  # behind a proxy it may be whoever the proxy names
        return Refused("the peer is not this computer")
    if len(hosts) != 1 or len(origins) > 1:
        return Refused("the Host or Origin header is missing or repeated")
    if not has_token and not _LOOPBACK_HOST.fullmatch(hosts[0].lower()):
        return Refused("the Host is not this computer")
    if not has_token and any(came_through_proxy(name) for name, _ in pairs):
        return Refused("the request came through a proxy")
    if origins and not same_origin(origins[0], hosts[0]):
        return Refused("another origin asked")
    if is_cross_site(dict(pairs)):
        return Refused("another site embedded or fetched this")
    return OWNER


def sent_token(path: str, headers: Iterable[Header]) -> str | None:
    """The token that a request to the REST interface holds; '' for credentials of another kind or more than
    one, None for no credentials, and everywhere else."""
    sent = [value for name, value in headers if name.lower() == "authorization"]
    if not path.startswith(API) or not sent:
        return None
    scheme, _, token = sent[0].partition(" ")
    return token.strip() if scheme.lower() == "bearer" and len(sent) == 1 else ""


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
    return name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIXES)


def same_origin(origin: str, host: str) -> bool:
    """Whether an Origin, its scheme aside, is exactly the Host. ``null`` is not."""
    return origin.lower() in {f"http://{host.lower()}", f"https://{host.lower()}"}


def is_cross_site(headers: Mapping[str, str]) -> bool:
    """Whether the browser says that another site or port made this request.

    Images, scripts and no-cors fetches carry no Origin, only ``Sec-Fetch-*``. Following a link
    from elsewhere (mode ``navigate``) stays allowed.
    """
    site, mode = headers.get("sec-fetch-site", "none"), headers.get("sec-fetch-mode")
    return site not in {"none", "same-origin"} and mode != "navigate"


# --- the gate, ASGI ---------------------------------------------------------------------


class AccessGate:
    """ASGI middleware: lets in whom `decide` lets in, and tells the app who it is.

    ``knows_token`` says whether a token is the owner's; it may take a moment, and raise RagError.
    """

    def __init__(self, app: ASGIApp, knows_token: Callable[[str], bool] = lambda _: False) -> None:
        self.app = app
        self.knows_token = knows_token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge HTTP and websocket scopes; pass the lifespan on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        verdict = await self._verdict(scope, headers)
        if isinstance(verdict, Refused):
            _LOG.warning("Refused a %s request: %s.", scope["type"], verdict.reason)
            await _refuse(verdict, scope, receive, send)
            return
        await self.app({**scope, "headers": _introduce(scope["headers"], verdict)}, receive, send)

    async def _verdict(self, scope: Scope, headers: list[Header]) -> Viewer | Refused:
        token = sent_token(scope["path"], headers) if scope["type"] == "http" else None
        peer = (scope.get("client") or (None,))[0]
        if token is None:
            return decide(peer, headers)
        try:
            known = bool(token) and await asyncio.to_thread(self.knows_token, token)
        except RagError:
            return Refused("the tokens cannot be read", 500, _UNREADABLE)
        if not known:
            return Refused("its token is not known", 401, NO_SUCH_TOKEN)
        return decide(peer, headers, has_token=True)


def _introduce(raw: Iterable[tuple[bytes, bytes]], viewer: Viewer) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in raw if not name.lower().startswith(_OWN_PREFIX.encode())]
    role = "owner" if viewer.is_owner else "guest"
    return [*kept, (LOGIN_HEADER.encode(), viewer.login.encode()), (ROLE_HEADER.encode(), role.encode())]


async def _refuse(verdict: Refused, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        return
    body, kind = f"{verdict.said}\n".encode(), b"text/plain; charset=utf-8"
    if scope["path"].startswith(API):
        body, kind = json.dumps(verdict.said.as_dict()).encode(), b"application/json"
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body))]
    if verdict.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": "http.response.start", "status": verdict.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


# --- in a page --------------------------------------------------------------------------


def _headers() -> Mapping[str, str]:
    """The one seam to the request; AppTest has none, so its tests replace this function."""
    return st.context.headers


def viewer() -> Viewer | None:
    """Who is looking at the page now, as the gate verified it; None means no access."""
    return viewer_of(_headers())


def viewer_of(headers: Mapping[str, str]) -> Viewer | None:
    """Whose a request is, from its headers as the gate passes them on; None is nobody's."""
    if headers.get(ROLE_HEADER) == "owner" and headers.get(LOGIN_HEADER) == OWNER.login:
        return OWNER
    return None


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
