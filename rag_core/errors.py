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
    """An error in two sentences: what is wrong, and what to do next. The suggestion may be a `Message`; pages
    then show their own text, which names their buttons."""

    code: ClassVar[str] = "unexpected"
    """The name of the class, such as ``not_found`` or ``store_busy``. Programs tell the kind of an error by
    it."""

    def __init_subclass__(cls) -> None:
        words = re.sub("(?<=[a-z])(?=[A-Z])", "_", cls.__name__).lower()
        cls.code = words.removesuffix("error").rstrip("_")

    def __init__(self, message: str, suggestion: str | Message = "") -> None:
        self.message = message
        self.next_step = suggestion if isinstance(suggestion, Message) else say("", text=suggestion)
        self.suggestion = str(suggestion)
        super().__init__(f"{message} {suggestion}".strip())

    def as_message(self) -> Message:
        """The error as one message with both sentences."""
        return say("error", message=self.message, next=self.next_step)

    def as_dict(self) -> dict[str, dict[str, str]]:
        """Return the JSON that every interface sends: ``{"error": {"code", "message", "suggestion"}}``."""
        return {"error": {"code": self.code, "message": self.message, "suggestion": self.suggestion}}


class InvalidInput(RagError):
    """A name, value, pattern or query cannot be used."""


class EmptyQuery(InvalidInput):
    """A query or question asks for nothing."""


class InvalidSettings(InvalidInput):
    """The configuration cannot be read; the request itself is not at fault."""


class Forbidden(RagError):
    """The viewer may not do this, mostly because only the owner may."""


class TooMany(RagError):
    """A guest has sent too many requests at once; the same request can succeed later."""


class NotFound(RagError):
    """A store, document or chunk does not exist, or this viewer may not see it."""


class SeveralFiles(NotFound):
    """Several files of a store have the name."""


class StoreError(RagError):
    """A store file cannot be opened, read or written. ``store`` is the name of a store that cannot be
    read; '' if that is not known."""

    store = ""


class StoreDamaged(StoreError):
    """A store can be opened, but parts of it cannot be read or written. A repair may help."""


class StoreBusy(StoreError):
    """Another process or thread is working on the store. A request to index stays in the queue and is done
    later."""


class InUpkeep(StoreError):
    """A store is being created, repaired, renamed or removed, so requests have to wait."""


class ExtractError(RagError):
    """A file could not be read as text."""


class NotText(ExtractError):
    """A file contains no text to read; it is skipped, not failed."""


class FileGone(ExtractError):
    """A file does not exist any more: it was deleted or renamed."""


class OnlyInCloud(FileGone):
    """The content of a file is only in a cloud and not on this computer. Reading the file would download
    it."""


class EmbedderError(RagError):
    """An embedder is missing or failed."""


class ModelMissing(EmbedderError):
    """The weights of an embedder are missing, on this machine or on its server."""


class Unreachable(EmbedderError):
    """An embedder's server does not answer, or fails for every text. The texts are not the cause."""


class LLMError(RagError):
    """A model that should answer questions is missing, does not answer, or failed."""


class VectorError(RagError):
    """A vector index is missing, refused a request, or belongs to another store."""


class VectorsUnreachable(VectorError):
    """A vector index cannot be reached now, or is too busy. Changes that were not sent stay in the store, and
    a later run sends them."""


class Cancelled(RagError):
    """The owner stopped the work. Finished parts stay."""

    def __init__(self) -> None:
        super().__init__("The run was cancelled.", "Start the run again to continue where it stopped.")


class Stopped(Cancelled):
    """The program that did the work is ending. The request stays."""

    def __init__(self) -> None:
        RagError.__init__(
            self, "The program was closed during the run.", "The run continues when the program starts again."
        )
