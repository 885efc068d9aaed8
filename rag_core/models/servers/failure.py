"""What a server says instead of an answer: what went wrong, in its words and without ours.

Texts that were sent are notes. An error may repeat them, so what a server says is quoted with care.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import httpx

Kind = Literal["away", "busy", "failed", "slow", "too long", "crashed", "refused"]

_QUOTED = 160
_PIECE = 12
"""So many characters in a row are no chance."""
_WORD = 4
"""A text of fewer characters is in many an answer, and tells nothing."""


class Failure(Exception):
    """What a server said instead of an answer; ``reason`` is the end of a sentence.

    *away*: nobody answers. *busy*: it asks to wait, for ``wait_s`` if it says so. *failed*: an error of its
    own. *slow*: no answer in time. *too long*, *crashed*, *refused*: it may be one of the texts.
    """

    def __init__(self, kind: Kind, reason: str, wait_s: float = 0.0) -> None:
        super().__init__(reason)
        self.kind = kind
        self.reason = reason
        self.wait_s = wait_s


@contextmanager
def asked() -> Iterator[None]:
    """Let what httpx raises become a Failure, without the texts that were sent."""
    try:
        yield
    except (httpx.ConnectError, httpx.ConnectTimeout) as error:
        raise Failure("away", type(error).__name__) from None
    except httpx.TimeoutException as error:
        raise Failure("slow", type(error).__name__) from None
    except httpx.HTTPError:  # the connection was there, and broke
        raise Failure("crashed", "it hung up") from None


def said_by(answer: httpx.Response) -> str:
    """The message of an error, which every server wraps in its own way."""
    try:
        said = answer.json()
    except ValueError:
        return answer.text
    for name in ("error", "message", "detail"):
        if isinstance(said, dict) and name in said:
            said = said[name]
    return said if isinstance(said, str) else str(said)


def wait_s(answer: httpx.Response) -> float:
    """How long an answer asks to wait; 0 where it does not say."""
    try:
        return max(0.0, float(answer.headers.get("retry-after", "")))
    except ValueError:
        return 0.0


def quoted(said: str, *secrets: str, sent: Sequence[str] = ()) -> str:
    """What a server said, as the end of a sentence: one short line without ``secrets``, and not at all where
    it repeats a piece of the texts that were ``sent``."""
    for secret in filter(None, secrets):
        said = said.replace(secret, "…")
    line = " ".join(said.split())
    short = line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"
    if any(_repeats(short, text) for text in sent):
        return "it repeats what it was sent"
    return repr(short) if short else "it says nothing"


def _repeats(said: str, text: str) -> bool:
    """Whether ``said`` holds a piece of ``text``, or all of a short one, however it is spaced."""
    text = " ".join(text.split())
    size = min(_PIECE, len(text))
    return size >= _WORD and any(said[at : at + size] in text for at in range(len(said) - size + 1))
