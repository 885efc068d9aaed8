"""Having a model speak: tries, the time limit, stopping, and leaving out what it only thinks."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator, Sequence

from rag_core.errors import LLMError
from rag_core.models.chat.call import Call
from rag_core.models.chat.options import LLM, LLMOptions, Message
from rag_core.models.servers.failure import Failure

LONGEST = 200_000
"""So many characters are read of one answer: a server may not care for the limit in tokens."""

_TRIES = 3
_LONGEST_WAIT_S = 10.0
_THINKS, _THOUGHT = "<think>", "</think>"


def talk(
    llm: LLM, messages: Sequence[Message], options: LLMOptions, stop: threading.Event, call: Call
) -> Generator[str]:
    """What the model says, piece by piece, until its end, ``stop`` or the time limit; ``call`` tells which.

    A server that is busy is asked again, as long as it has said nothing. Raises LLMError.
    """
    with call.within(options.timeout_s, stop):
        for left in reversed(range(_TRIES)):
            try:
                yield from _limited(_spoken(llm.chat(messages, call)), call)
            except Failure as failure:
                if call.cut_off:
                    return
                if failure.kind != "busy" or not left:
                    raise _error_of(failure, llm) from None
                wait_s = max(failure.wait_s, options.retry_s * 2 ** (_TRIES - 1 - left))
                stop.wait(min(wait_s, _LONGEST_WAIT_S))
                continue
            if not call.outcome:
                raise _error_of(Failure("crashed", "it hung up in the middle"), llm)
            return


def _limited(pieces: Iterator[str], call: Call) -> Iterator[str]:
    left = LONGEST
    for piece in pieces:
        if call.cut_off:
            return
        yield piece[:left]
        left -= len(piece)
        if left <= 0:
            call.end("too long")
            return


def _spoken(pieces: Iterator[str]) -> Iterator[str]:
    """The pieces without what a model thinks before it speaks, between its marks."""
    held = ""
    thinking: bool | None = None
    for piece in pieces:
        if thinking is False:
            yield piece
            continue
        held += piece
        begun = held.lstrip()
        if thinking is None and len(begun) < len(_THINKS) and _THINKS.startswith(begun):
            continue
        thinking = begun.startswith(_THINKS)
        if thinking:
            _, end, held = held.partition(_THOUGHT)
            thinking = not end
            held = held if end else begun
        if not thinking and held:
            yield held
            held = ""
    if thinking is None and held:
        yield held


def _error_of(failure: Failure, llm: LLM) -> LLMError:
    """The error for people, once nothing more is tried."""
    match failure.kind:
        case "away":
            return LLMError(f"{llm.called} does not answer: {failure.reason}.", llm.remedy)
        case "busy":
            return LLMError(f"{llm.called} is too busy: {failure.reason}.", "Ask again later.")
        case "slow":
            return LLMError(
                f"{llm.called} did not answer in time: {failure.reason}.",
                "Ask again, or set `llm_timeout_s` higher.",
            )
        case "crashed":
            return LLMError(f"{llm.called} broke off: {failure.reason}.", "Ask again, or look at its log.")
        case "too long" | "failed":
            return LLMError(f"{llm.called} failed: {failure.reason}.", "Look at the server's log.")
        case "refused":
            return LLMError(f"{llm.called} refuses: {failure.reason}.", "Look at the server's log.")
