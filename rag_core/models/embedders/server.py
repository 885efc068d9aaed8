"""What a remote embedder asks of its server, and what a server may say instead of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol

from rag_core.errors import EmbedderError, Unreachable
from rag_core.models.embedders.options import NO_PROMPTS, Prompts
from rag_core.models.servers.failure import Failure
from rag_core.types import EmbedderIdentity


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
def explained(server: Server, model: str) -> Iterator[None]:
    """Let a Failure become its error for people."""
    try:
        yield
    except Failure as failure:
        raise error_of(failure, server, model) from None
