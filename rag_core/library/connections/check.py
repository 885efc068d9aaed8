"""Looking at many things at once, each in a thread of its own, none for long."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from pathlib import Path

from rag_core.messages import Message
from rag_core.models.background import in_background
from rag_core.reports import Connection, ConnectionKind, ConnectionState

WITHIN_S = 5.0
"""How long all checks together may take."""

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What a check found; see `Connection`. ``goes`` is empty where the check says it."""

    state: ConnectionState
    sentence: str
    next_step: str | Message = ""
    goes: str = ""
    embedders: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Check:
    """Something to look at. ``goes`` says where text goes that it gets, ``used_by`` which stores need it;
    ``chosen``: a setting names it."""

    key: str
    name: str
    kind: ConnectionKind
    goes: str
    look: Callable[[], Found]
    used_by: tuple[str, ...] = ()
    chosen: bool = False


def written(setting: str, example: str, config_file: Path | None) -> str:
    """What to do about a setting that is not set, without the full stop, as a line that can be copied."""
    return f"write `{setting}: {example}` into {config_file or 'config.yaml'}"


class Unanswered(Exception):
    """A check ends here, with what it ``found``."""

    def __init__(self, found: Found) -> None:
        super().__init__(found.sentence)
        self.found = found


def look(checks: Sequence[Check], within_s: float = WITHIN_S) -> list[Connection]:
    """What each check finds, in order. One that takes longer than all may take, or fails, says so itself:
    nothing is raised, and nobody waits."""
    futures = [in_background(f"checking {check.key}", check.look) for check in checks]
    wait(futures, within_s)
    return [
        _connection(check, _found(future, within_s)) for check, future in zip(checks, futures, strict=True)
    ]


def _found(future: Future[Found], within_s: float) -> Found:
    if not future.done():
        return Found(
            "unreachable",
            f"It did not answer within {within_s:g} seconds.",
            "Check the address and the network, then check again.",
        )
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Unanswered):
        return error.found
    _LOG.error("a check of a connection ended with an error", exc_info=error)
    return Found("unreachable", "It could not be looked at.", "The log says why.")


def _connection(check: Check, found: Found) -> Connection:
    return Connection(
        check.key,
        check.name,
        check.kind,
        found.state,
        found.sentence,
        found.next_step,
        found.goes or check.goes,
        check.used_by,
        found.embedders,
        found.models,
        found.unasked,
        check.chosen,
    )
