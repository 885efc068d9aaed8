"""The values of an answered question. Offsets are in characters, ends are exclusive. All are frozen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlencode

from rag_core.anchors import anchor_in_words
from rag_core.types import Freshness, Notice

Support = Literal["quoted", "cited", "none"]
"""What a statement rests on: a quote that its passage holds, the number of a passage alone, or nothing."""
Ending = Literal["answered", "quotes", "nothing found", "no model", "stopped", "too long", "broken off"]
"""How a question ended. *quotes*: no model is set up, and sentences of the passages answer. *no model*: it
did not answer; sentences stand in for it, too. *stopped*: by who asked. *too long*: in time or in tokens.
*broken off*: the model's server failed in the middle."""
QuoteSpan = tuple[int, int]

_HEADING_MARK = re.compile(r"(\A| > )#{1,6} ")
DEFAULT_K, MAX_K = 5, 20  # how many passages a question is answered from, usually and at most


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer. *private* says that it is from private notes that may not leave this
    machine."""

    question: str
    answer: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage that was given to the model; neighbouring chunks are joined into one."""

    number: int  #: From 1, as the answer cites it.
    vault: str  #: Its store.
    rel_path: str  #: Its document's path.
    heading_path: str  #: The headings of its first chunk.
    chunk_index: int  #: The place of its first chunk in the document, from 0.
    key: str
    title: str
    file_type: str
    start_line: int
    end_line: int
    anchor_type: str
    anchor_ref: str
    content: str
    private: bool = False
    spans: tuple[QuoteSpan, ...] = ()  #: The parts of ``content`` that the answer quotes word for word.
    cited: bool = False  #: Whether the answer names it.
    score: float = 0.0  #: That of its best chunk.
    relevant: bool = True

    @property
    def anchor(self) -> str | None:
        """Where it is in its document, as in `anchor_in_words`."""
        return anchor_in_words(self.file_type, self.anchor_type, self.anchor_ref)

    @property
    def address(self) -> str:
        """The address of its document's page with the passage marked, relative to the app's address."""
        parameters = {"store": self.vault, "path": self.rel_path, "passage": self.key}
        return f"files?{urlencode(parameters)}"

    @property
    def place(self) -> str:
        """Where it is, as every interface shows it: ``vault/rel_path :: heading_path``. Markdown's marks are
        left out, and headings that only repeat the file's name."""
        path, headings = f"{self.vault}/{self.rel_path}", self.heading_path
        if self.file_type == "markdown":
            headings = _HEADING_MARK.sub(r"\1", headings)
        stem = PurePosixPath(self.rel_path).stem
        in_headings, name = (re.findall(r"[^\W_]+", text.casefold()) for text in (headings, stem))
        return path if in_headings in ([], name) else f"{path} :: {headings}"


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted span of a statement, quote marks included."""

    start: int
    end: int
    holds: bool  #: Whether the passage that it is meant to be from has it word for word.
    number: int = 0  #: The passage that has it, not the one that is meant unless it ``holds``; 0 for none.


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer after it was checked."""

    lead: str  #: What stands before it: line breaks, the mark of a list.
    text: str  #: The sentence, without the numbers of passages that do not exist.
    support: Support
    numbers: tuple[int, ...] = ()  #: The passages that it names.
    quotes: tuple[Quote, ...] = ()
    removed: int = 0  #: How many numbers of passages that do not exist were removed.

    @property
    def says(self) -> bool:
        """Whether its text has any letters or digits."""
        return any(char.isalnum() for char in self.text)


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that is being written."""

    references: tuple[Reference, ...] = ()  #: The passages that the answer is made from.
    statements: tuple[Statement, ...] = ()  #: What is checked.
    rest: str = ""  #: What is written and not checked yet.
    looking: bool = False  #: Whether the passages are not found yet.


@dataclass(frozen=True, slots=True)
class Reply:
    """The checked answer to a question."""

    question: str
    ending: Ending
    stores: tuple[str, ...]
    statements: tuple[Statement, ...] = ()
    references: tuple[Reference, ...] = ()  #: The passages for the model, whether it was asked or not.
    retrieved_chunks: int = 0  #: How many of their chunks fit the question.
    message: str = ""  #: What stands where there is no answer.
    notices: tuple[Notice, ...] = ()
    model: str = ""  #: The model's name; '' for a guest.
    private: bool = False
    pending: int = 0  #: Passages that are not embedded yet.
    freshness: Freshness | None = None  #: The stores' when it was asked; None for a guest.
    took_ms: float = 0.0
    timestamp: str = ""

    @property
    def found(self) -> bool:
        """Whether any passage fits the question."""
        return self.ending != "nothing found"

    @property
    def answer_kind(self) -> Literal["model", "quotes", "none"]:
        """Whether the statements are written by a model, quoted from the passages, or missing."""
        if not self.statements:
            return "none"
        return "quotes" if self.ending in ("quotes", "no model") else "model"

    @property
    def answer(self) -> str:
        """The whole answer as plain text, with marks after false quotes and missing sources."""
        return "".join(statement.lead + marked(statement) for statement in self.statements).strip()

    @property
    def turn(self) -> Turn:
        """The question and answer for a follow-up, without statements that have no source or a false
        quote."""
        sourced = (statement for statement in self.statements if statement.support != "none")
        held = (statement for statement in sourced if all(quote.holds for quote in statement.quotes))
        return Turn(
            self.question,
            "".join(statement.lead + statement.text for statement in held).strip(),
            self.private,
        )


@dataclass(frozen=True, slots=True)
class Conversation:
    """Questions that were asked one after the other."""

    id: str
    title: str  #: The first question.
    asked_at: str  #: When the last question was asked: ISO 8601, UTC.
    count: int  #: Number of questions.


def marked(statement: Statement) -> str:
    """Return a statement as plain text, with a mark after every false quote, and one at the end for a missing
    source or quote."""
    parts: list[str] = []
    position = 0
    for quote in statement.quotes:
        if not quote.holds:
            parts += [statement.text[position : quote.end], f" [{fault(quote)}]"]
            position = quote.end
    lack = lacks(statement)
    return "".join((*parts, statement.text[position:], f" [{lack}]" if lack else ""))


def lacks(statement: Statement) -> str:
    """Return what a statement lacks to be checked: a source, or a quote from it; '' if it has both."""
    if statement.support == "none":
        return "no source" if statement.says else ""
    return "no quote" if statement.says and not statement.quotes else ""


def fault(quote: Quote) -> str:
    """Return what is wrong with a false quote, in words."""
    return f"not there, but in passage {quote.number}" if quote.number else "not in the passage"
