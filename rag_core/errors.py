"""Every error a user can meet, in one tree.

RagError
├── InvalidInput ─ EmptyQuery, InvalidSettings
├── Forbidden, TooMany, NotFound
├── StoreError ─ StoreDamaged, StoreBusy, InUpkeep
├── ExtractError ─ NotText, FileGone
├── EmbedderError ─ ModelMissing, Unreachable
├── LLMError
├── VectorError ─ VectorsUnreachable
└── Cancelled ─ Stopped
"""

from __future__ import annotations

import re
from typing import ClassVar

from rag_core.messages import Message, say


class RagError(Exception):
    """What is wrong, in a sentence, and what to do next, perhaps as a `Message`, which pages replace."""

    code: ClassVar[str] = "unexpected"
    """What programs tell the kind by: the name of the class, such as ``not_found`` or ``store_busy``."""

    def __init_subclass__(cls) -> None:
        words = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        cls.code = words.removesuffix("error").rstrip("_")

    def __init__(self, message: str, suggestion: str | Message = "") -> None:
        self.message = message
        self.next_step = suggestion if isinstance(suggestion, Message) else say("", text=suggestion)
        self.suggestion = str(suggestion)
        super().__init__(f"{message} {suggestion}".strip())

    def as_message(self) -> Message:
        """Both sentences."""
        return say("error", message=self.message, next=self.next_step)

    def as_dict(self) -> dict[str, dict[str, str]]:
        """The shape that every interface sends: ``{"error": {"code", "message", "suggestion"}}``."""
        return {"error": {"code": self.code, "message": self.message, "suggestion": self.suggestion}}


class InvalidInput(RagError):
    """A name, value, pattern or query that cannot be used."""


class EmptyQuery(InvalidInput):
    """A query or question that asks nothing."""


class InvalidSettings(InvalidInput):
    """Configuration that cannot be read; nothing that was asked for is wrong."""


class Forbidden(RagError):
    """Something only the owner may do."""


class TooMany(RagError):
    """More than a guest is granted at once; the same is done later."""


class NotFound(RagError):
    """A store, document or chunk that is not there, or not for this viewer."""


class SeveralFiles(NotFound):
    """A name that several files of a store have."""


class StoreError(RagError):
    """A store file that cannot be opened, read or written; ``store`` is its name where it cannot be read."""

    store = ""


class StoreDamaged(StoreError):
    """A store that can be opened, but not read or written as a whole: a repair may mend it."""


class StoreBusy(StoreError):
    """Another runner holds the store; the request was left for it."""


class InUpkeep(StoreError):
    """A store is being created, repaired, renamed or removed; requests have to wait."""


class ExtractError(RagError):
    """A file that could not be read as text."""


class NotText(ExtractError):
    """A file that holds no text to read; it is skipped, not failed."""


class FileGone(ExtractError):
    """A file that is not there any more: it was deleted or renamed."""


class EmbedderError(RagError):
    """An embedder that is missing or failed."""


class ModelMissing(EmbedderError):
    """The weights of an embedder are not there yet, on this machine or on its server."""


class Unreachable(EmbedderError):
    """An embedder's server that does not answer, or fails whatever it is given; no text is at fault."""


class LLMError(RagError):
    """A model that is to answer questions and is not there, does not answer, or failed."""


class VectorError(RagError):
    """A vector index that is missing, refused something, or is not this store's."""


class VectorsUnreachable(VectorError):
    """A vector index cannot be reached now, or is too busy; the outbox keeps what was to be sent."""


class Cancelled(RagError):
    """The owner stopped the work; what was committed stays."""

    def __init__(self) -> None:
        super().__init__("The run was cancelled.", "Start it again to go on where it stopped.")


class Stopped(Cancelled):
    """The program that did the work is ending; the request for it stays."""

    def __init__(self) -> None:
        RagError.__init__(self, "The program was closed during the run.", "Its next start continues it.")
