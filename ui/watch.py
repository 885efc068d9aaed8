"""Requests and websockets of people and tokens that are under way: each second the library is asked
whether those still may, and what may not is ended.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from rag_core.errors import RagError
from rag_core.library import Library
from rag_core.types import OWNER, Viewer
from ui.access import Refused, Sender
from ui.limits import Limits
from ui.passage import Passage

EVERY_S: Final = 1.0
_WITHDRAWN: Final = Refused("what its sender may see was withdrawn")
_LOG = logging.getLogger(__name__)


class Roster:
    """Whom logins and tokens stand for, and the limits, as the library has them. A file of the front end
    costs no question of its own."""

    def __init__(self, library: Callable[[], Library]) -> None:
        self._library = library
        self._limits: Limits | None = None
        self._seen: dict[str, tuple[float, Viewer | None]] = {}

    async def limits(self) -> Limits:
        """What the configuration says; what is built in where it cannot be read."""
        if self._limits is None:
            try:
                self._limits = await asyncio.to_thread(lambda: Limits.of(self._library().settings))
            except RagError:
                return Limits()
        return self._limits

    async def viewer(self, sender: Sender, *, just_now: bool = True) -> Viewer | None:
        """Whom ``sender`` stands for; None for nobody. Unless ``just_now``, it may be a second ago. Raises
        RagError."""
        if not (sender.login or sender.token):
            return OWNER
        seen = self._seen.get(sender.login)
        if sender.login and not just_now and seen and time.monotonic() - seen[0] < EVERY_S:
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
            return library.viewer_for(sender.login)
        return OWNER if library.knows_token(sender.token) else None


class Watch:
    """What is under way."""

    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self._open: set[Passage] = set()
        self._sweeping: asyncio.Task[None] | None = None

    def count(self, login: str) -> int:
        """How many of them are of this login."""
        return sum(each.sender.login == login for each in self._open)

    def add(self, passage: Passage) -> None:
        """Look after it until it is over."""
        self._open.add(passage)
        if self._sweeping is None or self._sweeping.done():
            self._sweeping = asyncio.create_task(self._sweep())

    def remove(self, passage: Passage) -> None:
        """It is over."""
        self._open.discard(passage)

    async def _sweep(self) -> None:
        while self._open:
            await asyncio.sleep(EVERY_S)
            for sender, of_sender in _by_sender(self._open).items():
                now = await self._now(sender)
                for passage in of_sender:
                    _end_if_over(passage, now)

    async def check(self, passage: Passage) -> None:
        """End it now if it may not go on."""
        _end_if_over(passage, await self._now(passage.sender))

    async def _now(self, sender: Sender) -> Viewer | None:
        try:
            return await self._roster.viewer(sender)
        except Exception:  # whatever it is, nobody goes on who is not known to be let in
            _LOG.exception("Who may come in cannot be read.")
            return None


def _by_sender(passages: set[Passage]) -> dict[Sender, list[Passage]]:
    found: dict[Sender, list[Passage]] = {}
    for each in passages:
        found.setdefault(each.sender, []).append(each)
    return found


def _end_if_over(passage: Passage, now: Viewer | None) -> None:
    if now is None or _has_lost(passage.viewer, now, keeps_asking=passage.is_websocket):
        passage.end(_WITHDRAWN)


def _has_lost(before: Viewer, now: Viewer, *, keeps_asking: bool) -> bool:
    """Whether ``now`` may do less. Of a store that is withdrawn a page hears by itself, as it
    ``keeps_asking``; a stream does not, nor does an owner's page that it is a guest's now."""
    if now.is_owner:
        return False
    less = not before.stores <= now.stores or before.may_ask > now.may_ask
    return before.is_owner or (less and not keeps_asking)
