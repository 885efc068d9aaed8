"""The gate, as ASGI middleware. It admits the senders that `decide` and the library accept, within limits,
and tells the app who they are.

Guests can never reach uploads, the server's figures, or paths below ``/_stcore/`` that pages do not need.
Pages decide what they show to whom.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from rag_core.access import limits
from rag_core.access.connection import GUARDED
from rag_core.access.decide import Header, Refused, Sender, decide, is_loopback
from rag_core.access.headers import with_identity
from rag_core.access.log import Throttle, Visits
from rag_core.access.programs import is_program, sent_token
from rag_core.access.request import ActiveRequest, PageMessages, is_upload, refuse
from rag_core.access.viewers import Viewers
from rag_core.config import Settings
from rag_core.errors import RagError
from rag_core.library import Library

_CORE_OF_GUESTS: Final = frozenset({"/_stcore/health", "/_stcore/host-config", "/_stcore/stream"})
_SCRIPTS_OF_PAGES: Final = "/_stcore/bidi-components/"  # files of ui/assets
_UNKNOWN_TOKEN: Final = Refused(
    "This token is not known, or was revoked.", 401, "Make one with `commonplace token create NAME`."
)
_NO_TOKEN: Final = Refused(
    "The Authorization header holds no token.", 401, "Send it as: Authorization: Bearer TOKEN."
)
_UNGUARDED: Final = Refused("The app was not started by `commonplace serve`, so no login counts.")
_LOG = logging.getLogger(__name__)
_UNREADABLE: Final = Refused(
    "The list of people with access cannot be read.", 500, "`commonplace token list` says why."
)


class AccessGate:
    """ASGI middleware that refuses a request, or passes it on with headers that name the sender.

    Args:
        app: The app that gets the admitted requests.
        library: Returns the open library. It may take a moment, and raise RagError.
        visits: Counts the visits of people.
        messages: Reads the websocket messages of a page.
        address: Returns the address that the server listens on; '' or None means every address.

    """

    def __init__(
        self,
        app: ASGIApp,
        library: Callable[[], Library],
        visits: Visits,
        messages: PageMessages,
        address: Callable[[], str | None],
    ) -> None:
        self.app = app
        self._viewers = Viewers(library)
        self._rates = limits.RateLimiter()
        self._throttle = Throttle()
        self._visits = visits
        self._messages = messages
        self._address = address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._start(scope, receive, send)
            return
        request = await self._judge(scope)
        if isinstance(request, Refused):
            if (more := self._throttle.admit(request.reason)) is not None:  # reasons are few
                _LOG.warning("Refused a request (%s). %s%s", scope["type"], request.reason, more)
            await refuse(request, scope, receive, send)
            return
        if request.sender.login or request.sender.token:
            self._viewers.add(request)
        try:
            await request.run(self.app, receive, send)
        finally:
            self._viewers.remove(request)

    async def _start(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Start the app, unless the server listens on an address that other computers can reach."""
        address = self._address()
        if address == "localhost" or is_loopback(address):
            await self.app(scope, receive, send)
            return
        await receive()
        where = repr(address) if address else "every address"
        error = RagError(
            f"Commonplace does not listen on {where}, because others could reach it there.",
            "Start it with `commonplace serve`; others come in through `tailscale serve`.",
        )
        await send({"type": "lifespan.startup.failed", "message": str(error)})

    async def _judge(self, scope: Scope) -> ActiveRequest | Refused:
        headers = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]]
        if sum(len(name) + len(value) for name, value in headers) > limits.MAX_HEADERS:
            return limits.HEADERS_TOO_LARGE
        path: str = scope["path"]
        settings = await self._viewers.settings()
        try:
            sender = await self._sender(scope, headers, settings)
            if isinstance(sender, Refused):
                return sender
            viewer = await self._viewers.find(sender)
        except RagError:
            return _UNREADABLE
        if viewer is None:
            self._visits.count(sender.login, path, refused=True)
            return Refused("The owner has not given its login access.")
        if not viewer.is_owner and not _is_for_guests(scope):
            return Refused("Only the owner may do this.")
        if not is_upload(path) and (refused := limits.refuse_larger(_declared_size(headers), settings)):
            return refused
        if not viewer.is_owner and self._viewers.count(sender.login) >= limits.MAX_OPEN:
            return limits.too_many(1)
        if sender.login and (scope["type"] == "websocket" or is_program(path)):
            self._visits.count(sender.login, path)
            limit = settings.guest_requests_per_minute
            if not viewer.is_owner and (wait := self._rates.take(sender.login, limit)):
                return limits.too_many(wait)
        identified = with_identity(scope["headers"], sender.login or viewer.login, is_owner=viewer.is_owner)
        on_message = self._on_message if sender.login else None
        scope = {**scope, "headers": identified}
        return ActiveRequest(sender, viewer, scope, settings, self._messages, on_message)

    async def _sender(self, scope: Scope, headers: Sequence[Header], settings: Settings) -> Sender | Refused:
        """Find the sender, by a known token or by the headers and peer of the request. Raises RagError."""
        peer = (scope.get("client") or (None,))[0]
        token = sent_token(scope["path"], headers) if scope["type"] == "http" else None
        if token is None:
            port = (scope.get("server") or (None, None))[1]
            sender = decide(peer, headers, hosts=settings.access_hosts, port=port)
            is_login = isinstance(sender, Sender) and bool(sender.login)
            return _UNGUARDED if is_login and GUARDED not in scope.get("state", {}) else sender
        if not token:
            return _NO_TOKEN
        if await self._viewers.find(Sender(token=token)) is None:
            return _UNKNOWN_TOKEN
        return decide(peer, headers, token=token)

    async def _on_message(self, request: ActiveRequest) -> None:
        """Count a message of a page, and check that the sender still has access. The message is delayed if
        its guest sends too many."""
        login = request.sender.login
        self._visits.count(login, request.path)
        if not request.viewer.is_owner:
            per_minute = (await self._viewers.settings()).guest_requests_per_minute
            while wait := self._rates.take(login, per_minute):
                await asyncio.sleep(wait)
        await self._viewers.check(request)


def _declared_size(headers: Sequence[Header]) -> int:
    """The declared size of a request's body in bytes: 0 without a body, and more than allowed if the size is
    invalid."""
    declared = [value for name, value in headers if name.lower() == "content-length"]
    sizes = (int(value) if value.isdecimal() and len(value) < 16 else 10**16 for value in declared)
    return max(sizes, default=0)


def _is_for_guests(scope: Scope) -> bool:
    path: str = scope["path"]
    if is_program(path) or scope["type"] == "websocket":
        return True
    return scope["method"] in ("GET", "HEAD") and (
        not path.startswith("/_stcore/") or path in _CORE_OF_GUESTS or path.startswith(_SCRIPTS_OF_PAGES)
    )
