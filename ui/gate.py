"""The gate, ASGI: lets in whom `ui.access.decide` and the library let in, within limits, and tells the
app who it is.

What a guest never reaches, whatever page they open: uploads, the server's figures, and every path below
``/_stcore/`` that a page does not need. Pages decide for themselves what they show to whom.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Final

import streamlit as st
from starlette.types import ASGIApp, Receive, Scope, Send

from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.types import Viewer
from ui.access import (
    LOGIN_HEADER,
    ROLE_HEADER,
    Header,
    Refused,
    Sender,
    decide,
    is_loopback,
    is_program,
    sent_token,
)
from ui.arrival import GUARDED
from ui.limits import HEADERS_TOO_LARGE, MAX_HEADERS, Allowance, Limits, too_many
from ui.passage import Passage, is_upload, refuse
from ui.refusal_log import RefusalLog
from ui.visit_log import Visits
from ui.watch import Roster, Watch

_OWN_PREFIX: Final = b"x-commonplace-"
_PROTOCOL: Final = b"sec-websocket-protocol"
_CORE: Final = "/_stcore/"
_CORE_OF_GUESTS: Final = frozenset({"/_stcore/health", "/_stcore/host-config", "/_stcore/stream"})
_READS: Final = frozenset({"GET", "HEAD"})
_NO_SUCH_TOKEN: Final = Refused(
    "its token is not known",
    401,
    RagError("This token is not known, or was revoked.", "Make one with `commonplace token create NAME`."),
)
_NO_TOKEN: Final = Refused(
    "its credentials are no token",
    401,
    RagError("What it sends as Authorization is no token.", "Send one, as: Authorization: Bearer TOKEN."),
)
_UNGUARDED: Final = Refused("the app was not started by `commonplace serve`, so no login counts")
_UNREADABLE: Final = Refused(
    "who may come in cannot be read",
    500,
    RagError("Who may come in cannot be read.", "`commonplace token list` says why."),
)


class AccessGate:
    """ASGI middleware. ``library`` is that of this process; it may take a moment, and raise RagError."""

    def __init__(self, app: ASGIApp, library: Callable[[], Library], visits: Visits) -> None:
        self.app = app
        self._roster = Roster(library)
        self._watch = Watch(self._roster)
        self._allowance = Allowance()
        self._visits = visits
        self._refusals = RefusalLog()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Judge HTTP and websocket scopes; pass the lifespan on."""
        if scope["type"] == "lifespan":
            await _start(self.app, scope, receive, send)
            return
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        limits = await self._roster.limits()
        passage = await self._judge(scope, headers, limits)
        if isinstance(passage, Refused):
            self._refusals.add(scope["type"], passage.reason)
            await refuse(passage, scope, receive, send)
            return
        await self._pass(passage, receive, send)

    async def _pass(self, passage: Passage, receive: Receive, send: Send) -> None:
        is_watched = bool(passage.sender.login or passage.sender.token)
        if is_watched:
            self._watch.add(passage)
        try:
            await passage.run(self.app, receive, send)
        finally:
            self._watch.remove(passage)

    async def _judge(self, scope: Scope, headers: Sequence[Header], limits: Limits) -> Passage | Refused:
        if sum(len(name) + len(value) for name, value in headers) > MAX_HEADERS:
            return HEADERS_TOO_LARGE
        sender = await self._sender(scope, headers, limits)
        if isinstance(sender, Refused):
            return sender
        path: str = scope["path"]
        is_counted = scope["type"] == "websocket" or is_program(path)
        try:
            viewer = await self._roster.viewer(sender, just_now=is_counted)
        except RagError:
            return _UNREADABLE
        if viewer is None:
            self._visits.count(sender.login, path, refused=True)
            return Refused("its login is nobody's whom the owner lets in")
        return self._within_limits(scope, headers, limits, sender, viewer, is_counted=is_counted)

    async def _sender(self, scope: Scope, headers: Sequence[Header], limits: Limits) -> Sender | Refused:
        peer = (scope.get("client") or (None,))[0]
        token = sent_token(scope["path"], headers) if scope["type"] == "http" else None
        if token is None:
            port = (scope.get("server") or (None, None))[1]
            sender = decide(peer, headers, hosts=limits.hosts, port=port)
            is_login = isinstance(sender, Sender) and bool(sender.login)
            return _UNGUARDED if is_login and GUARDED not in scope.get("state", {}) else sender
        if not token:
            return _NO_TOKEN
        try:
            known = bool(await self._roster.viewer(Sender(token=token)))
        except RagError:
            return _UNREADABLE
        return decide(peer, headers, token=token) if known else _NO_SUCH_TOKEN

    def _within_limits(
        self,
        scope: Scope,
        headers: Sequence[Header],
        limits: Limits,
        sender: Sender,
        viewer: Viewer,
        *,
        is_counted: bool,
    ) -> Passage | Refused:
        path: str = scope["path"]
        if not viewer.is_owner and not _is_for_guests(scope):
            return Refused("only the owner may do this")
        if not is_upload(path) and _said_length(headers) > limits.max_body:
            return limits.too_large()
        if not viewer.is_owner and self._watch.count(sender.login) >= limits.open_requests:
            return too_many(1)
        if is_counted and sender.login:
            self._visits.count(sender.login, path)
            wait = 0.0 if viewer.is_owner else self._allowance.take(sender.login, limits.per_minute)
            if wait:
                return too_many(wait)
        introduced = {**scope, "headers": _introduce(scope["headers"], sender, viewer)}
        return Passage(sender, viewer, introduced, limits, self._on_message if sender.login else None)

    async def _on_message(self, passage: Passage) -> None:
        """Count a message of a page, and see whether its sender may still; of a guest who sends too many,
        each waits until it may go on."""
        login = passage.sender.login
        self._visits.count(login, passage.path)
        if not passage.viewer.is_owner:
            per_minute = (await self._roster.limits()).per_minute
            while wait := self._allowance.take(login, per_minute):
                await asyncio.sleep(wait)
        await self._watch.check(passage)


async def _start(app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
    """Pass the lifespan on, unless Streamlit was given an address that others can reach."""
    address = st.get_option("server.address")
    if address == "localhost" or is_loopback(address):
        await app(scope, receive, send)
        return
    await receive()
    where = repr(address) if address else "every address"
    refusal = RagError(
        f"Commonplace does not listen on {where}, because others could reach it there.",
        "Start it with `commonplace serve`; others come in through `tailscale serve`.",
    )
    await send({"type": "lifespan.startup.failed", "message": str(refusal)})


def _is_for_guests(scope: Scope) -> bool:
    path: str = scope["path"]
    if is_program(path) or scope["type"] == "websocket":
        return True
    return scope["method"] in _READS and (not path.startswith(_CORE) or path in _CORE_OF_GUESTS)


def _said_length(headers: Iterable[Header]) -> int:
    """How long the body is to be; very long for what is no number of it."""
    said = [value for name, value in headers if name.lower() == "content-length"]
    return max((int(each) if each.isdecimal() and len(each) < 16 else 10**16 for each in said), default=0)


def _introduce(
    raw: Iterable[tuple[bytes, bytes]], sender: Sender, viewer: Viewer
) -> list[tuple[bytes, bytes]]:
    kept = [(name, value) for name, value in raw if not name.lower().startswith(_OWN_PREFIX)]
    if not viewer.is_owner:
        kept = _anew(kept)
    role = "owner" if viewer.is_owner else "guest"
    login = sender.login or viewer.login
    return [*kept, (LOGIN_HEADER.encode(), login.encode()), (ROLE_HEADER.encode(), role.encode())]


def _anew(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Have a guest's page begin anew: Streamlit resumes whatever page is named behind the protocol, and its
    buttons act for who it was drawn for, who may have been an owner."""
    return [
        (name, value.partition(b",")[0] if name.lower() == _PROTOCOL else value) for name, value in headers
    ]
