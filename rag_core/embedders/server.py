"""What a remote embedder asks of its server, and what a server may say instead of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, Protocol

import httpx

from rag_core.embedders.options import NO_PROMPTS, Prompts
from rag_core.errors import EmbedderError, Unreachable
from rag_core.types import EmbedderIdentity

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


class Server(Protocol):
    """A server with one model. Every method may raise `Failure`, or an EmbedderError where no other
    request would fare better."""

    url: str
    called: str
    """Its name in a sentence, with its address."""
    remedy: str
    """What to do when it does not answer."""
    stays_loaded_s: float
    """How long the model stays in memory when it is not used; infinite where that is not ours to know."""

    def load(self) -> None:
        """Bring the model into memory, however long that takes."""

    def embed(self, texts: Sequence[str], *, question: bool) -> Sequence[Sequence[float]]:
        """The vectors of the texts as they are, in order; a question is answered soon or not at all."""


@dataclass(frozen=True, slots=True)
class Model:
    """What is known of a server's model. ``context`` is how many tokens it reads, prompt included."""

    identity: EmbedderIdentity
    context: int
    prompts: Prompts = NO_PROMPTS
    latin: bool = False


def error_of(failure: Failure, server: Server, model: str) -> EmbedderError:
    """The error for people, once nothing more is tried."""
    match failure.kind:
        case "away":
            return Unreachable(f"{server.called} does not answer: {failure.reason}.", server.remedy)
        case "busy":
            return Unreachable(f"{server.called} is too busy: {failure.reason}.", "Try again later.")
        case "slow":
            return EmbedderError(
                f"{server.called} did not answer in time: {failure.reason}.",
                "Try again, or set `embedding_timeout_s` higher.",
            )
        case "too long":
            return EmbedderError(f"The model {model!r} finds the text too long.", "Its words are found.")
        case "crashed":
            return EmbedderError(f"The model {model!r} crashes on the text.", "Its words are found.")
        case "failed":
            return EmbedderError(f"{server.called} failed: {failure.reason}.", "Look at the server's log.")
        case "refused":
            return EmbedderError(f"{server.called} refuses: {failure.reason}.", "Look at the server's log.")


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


@contextmanager
def explained(server: Server, model: str) -> Iterator[None]:
    """Let a Failure become its error for people."""
    try:
        yield
    except Failure as failure:
        raise error_of(failure, server, model) from None


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
