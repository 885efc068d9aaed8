"""The viewers of senders, and ending the requests of senders who lost access.

Threat. The owner withdraws a store, a person or a token while its holder has a page or stream open. So the
library is asked again each second and before each message, and a request that may not continue is ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from rag_core.access.decide import Refused, Sender
from rag_core.access.limits import Limits
from rag_core.access.request import ActiveRequest
from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.types import OWNER, Viewer

EVERY_S: Final = 1.0
_WITHDRAWN: Final = Refused("its sender lost access")
_LOG = logging.getLogger(__name__)


class Viewers:
    """The library's viewers for logins and tokens, and its limits."""

    def __init__(self, library: Callable[[], Library]) -> None:
        self._library = library
        self._limits: Limits | None = None
        self._seen: dict[str, tuple[float, Viewer]] = {}

    async def limits(self) -> Limits:
        """The configured limits; the built-in ones where the configuration cannot be read."""
        if self._limits is None:
            try:
                self._limits = await asyncio.to_thread(lambda: Limits.of(self._library().settings))
            except RagError:
                return Limits()
        return self._limits

    async def find(self, sender: Sender, *, fresh: bool = True) -> Viewer | None:
        """The viewer of ``sender``; None without access. Raises RagError.

        Unless ``fresh``, the answer for a login may be a second old: a page loads many files at once.
        """
        if not (sender.login or sender.token):
            return OWNER
        seen = self._seen.get(sender.login)
        if sender.login and not fresh and seen and time.monotonic() - seen[0] < EVERY_S:
            return seen[1]
        found = await asyncio.to_thread(self._ask, sender)
        if sender.login and found is not None:
            self._seen[sender.login] = (time.monotonic(), found)
        else:
            self._seen.pop(sender.login, None)
        return found

    def _ask(self, sender: Sender) -> Viewer | None:
        library = self._library()
        if sender.login:
            return library.sharing.viewer_for(sender.login)
        return OWNER if library.sharing.knows_token(sender.token) else None


class ActiveRequests:
    """The requests and websockets of people and tokens that are under way."""

    def __init__(self, viewers: Viewers) -> None:
        self._viewers = viewers
        self._open: set[ActiveRequest] = set()
        self._sweeping: asyncio.Task[None] | None = None

    def count(self, login: str) -> int:
        """How many of them are of this login."""
        return sum(each.sender.login == login for each in self._open)

    def add(self, request: ActiveRequest) -> None:
        """Check a request each second until it is removed."""
        self._open.add(request)
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep())

    def remove(self, request: ActiveRequest) -> None:
        """Check a request no longer."""
        self._open.discard(request)

    async def _sweep(self) -> None:
        while self._open:
            await asyncio.sleep(EVERY_S)
            under_way = [*self._open]
            for sender in {each.sender for each in under_way}:
                await self.check(*(each for each in under_way if each.sender == sender))

    async def check(self, *requests: ActiveRequest) -> None:
        """End those requests of one sender that may not continue."""
        try:
            now = await self._viewers.find(requests[0].sender)
        except Exception:  # without an answer nobody continues
            _LOG.exception("Who may come in cannot be read.")
            now = None
        for each in requests:
            if now is None or _has_lost(each.viewer, now, keeps_asking=each.is_websocket):
                each.end(_WITHDRAWN)


def _has_lost(before: Viewer, now: Viewer, *, keeps_asking: bool) -> bool:
    """Whether ``now`` may do less than ``before``, and nothing else would notice.

    A guest's page ``keeps_asking`` the library, so it learns of a withdrawn store by itself. A stream and the
    page of an owner who became a guest do not.
    """
    if now.is_owner:
        return False
    less = not before.stores <= now.stores or before.may_ask > now.may_ask
    return before.is_owner or (less and not keeps_asking)
