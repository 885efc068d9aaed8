"""The viewers of senders, and ending the requests of senders who lost access.

Threat: the owner may withdraw a store, a person or a token while a page or stream of this sender is open. So
the library is asked again each second and before each message, and a request that may not continue is ended.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rag_core.access.decide import Refused, Sender
from rag_core.access.request import ActiveRequest
from rag_core.config import Settings
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.types import OWNER, Viewer

EVERY_S: Final = 1.0
_WITHDRAWN: Final = Refused("Its sender lost access.")
_LOG = logging.getLogger(__name__)


class Viewers:
    """Looks up viewers by login or token, and checks the active requests of people and tokens once a
    second."""

    def __init__(self, library: Callable[[], Library]) -> None:
        self._library = library
        self._settings: Settings | None = None
        self._open: set[ActiveRequest] = set()
        self._checking: asyncio.Task[None] | None = None

    async def settings(self) -> Settings:
        """Return the settings, or the defaults if the settings cannot be read."""
        if self._settings is None:
            try:
                self._settings = (await asyncio.to_thread(self._library)).settings
            except RagError:
                return Settings(Path(), Path(), ())
        return self._settings

    async def find(self, sender: Sender) -> Viewer | None:
        """Return the viewer of ``sender``; None without access. Raises RagError if the list of people cannot
        be read."""

        def ask() -> Viewer | None:
            sharing = self._library().sharing
            if sender.login:
                return sharing.viewer_for(sender.login)
            return OWNER if sharing.knows_token(sender.token) else None

        return await asyncio.to_thread(ask) if sender.login or sender.token else OWNER

    def count(self, login: str) -> int:
        """The number of active requests of this login."""
        return sum(request.sender.login == login for request in self._open)

    def add(self, request: ActiveRequest) -> None:
        """Check every second whether the sender still has access, and end the request if not, until
        `remove`."""
        self._open.add(request)
        if self._checking is None or self._checking.done():
            self._checking = asyncio.create_task(self._check_all())

    def remove(self, request: ActiveRequest) -> None:
        """Stop checking this request."""
        self._open.discard(request)

    async def _check_all(self) -> None:
        while self._open:
            await asyncio.sleep(EVERY_S)
            under_way = [*self._open]
            for sender in {request.sender for request in under_way}:
                await self.check(*(request for request in under_way if request.sender == sender))

    async def check(self, *requests: ActiveRequest) -> None:
        """End the given requests that may not continue. All of them are from one sender."""
        try:
            now = await self.find(requests[0].sender)
        except Exception:  # if the check fails, nobody may continue
            _LOG.exception("The list of people with access cannot be read.")
            now = None
        for request in requests:
            if now is None or _has_lost(request, now):
                request.end(_WITHDRAWN)


def _has_lost(request: ActiveRequest, now: Viewer) -> bool:
    """Whether the sender has fewer rights than at the start, and nothing else ends the request. A guest's
    page asks the library itself. Streams, and pages of owners who became guests, do not."""
    before = request.viewer
    less = not before.stores <= now.stores or before.may_ask > now.may_ask
    return not now.is_owner and (before.is_owner or (less and not request.is_websocket))
