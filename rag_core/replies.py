"""The values of an answered question. Offsets are in characters, and ends are exclusive. All classes are
frozen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal
from urllib.parse import urlencode

from rag_core.anchors import anchor_in_words
from rag_core.types import Freshness, Notice

Support = Literal["quoted", "cited", "none"]
"""The support of a statement: a quote that its passage holds, only the number of a passage, or nothing."""
Ending = Literal["answered", "quotes", "nothing found", "no model", "stopped", "too long", "broken off"]
"""How a question ended.

*answered*: a model wrote the answer. *nothing found*: no passage fits. *quotes*: no model is set up, so
sentences of the passages are the answer. *no model*: the model did not answer, so sentences of the passages
stand in.

*stopped*: the person who asked stopped it. *too long*: the time or the tokens ran out. *broken off*: the
model's server failed in the middle.
"""
QuoteSpan = tuple[int, int]

_HEADING_MARK = re.compile(r"(\A| > )#{1,6} ")
DEFAULT_K, MAX_K = 5, 20  # number of passages that a question is answered from: usual and maximum


@dataclass(frozen=True, slots=True)
class Turn:
    """A question with its answer. *private* means that the answer is from private notes that must stay on
    this machine."""

    question: str
    answer: str = ""
    private: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A passage given to the model. Neighbouring chunks are joined into one passage."""

    number: int  #: The number that the answer cites, from 1.
    vault: str  #: The store of the passage.
    rel_path: str  #: The path of the document.
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
    cited: bool = False  #: Whether the answer cites this passage.
    score: float = 0.0  #: The score of its best chunk.
    relevant: bool = True

    @property
    def anchor(self) -> str | None:
        """Where the passage is in its document, such as ``page 3``; '' if no place is known, None for a file
        that people read by line numbers."""
        return anchor_in_words(self.file_type, self.anchor_type, self.anchor_ref)

    @property
    def address(self) -> str:
        """The address of the document's page with the passage marked, relative to the app's address."""
        parameters = {"store": self.vault, "path": self.rel_path, "passage": self.key}
        return f"files?{urlencode(parameters)}"

    @property
    def place(self) -> str:
        """The passage's place as every interface shows it: ``vault/rel_path :: heading_path``. Signs
        of Markdown, and headings that only repeat the file's name, are left out."""
        path, headings = f"{self.vault}/{self.rel_path}", self.heading_path
        if self.file_type == "markdown":
            headings = _HEADING_MARK.sub(r"\1", headings)
        stem = PurePosixPath(self.rel_path).stem
        in_headings, name = (re.findall(r"[^\W_]+", text.casefold()) for text in (headings, stem))
        return path if in_headings in ([], name) else f"{path} :: {headings}"


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted part of a statement, including the quote marks."""

    start: int
    end: int
    holds: bool  #: Whether the cited passage has the quote word for word.
    #: The passage that has the quote, which is the cited one only if it ``holds``; 0 for none.
    number: int = 0


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer, checked against the passages."""

    lead: str  #: The text before the sentence: line breaks, or the mark of a list.
    text: str  #: The sentence, without the numbers of passages that do not exist.
    support: Support
    numbers: tuple[int, ...] = ()  #: The passages that the sentence cites.
    quotes: tuple[Quote, ...] = ()
    removed: int = 0  #: Number of citations removed because their passages do not exist.

    @property
    def says(self) -> bool:
        """Whether the text has any letters or digits."""
        return any(char.isalnum() for char in self.text)


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer that is being written."""

    references: tuple[Reference, ...] = ()  #: The passages that the answer is based on.
    statements: tuple[Statement, ...] = ()  #: The checked part of the answer.
    rest: str = ""  #: The written part that is not checked yet.
    looking: bool = False  #: Whether the search for passages is still running.


@dataclass(frozen=True, slots=True)
class Reply:
    """The checked answer to a question."""

    question: str
    ending: Ending
    stores: tuple[str, ...]
    statements: tuple[Statement, ...] = ()
    references: tuple[Reference, ...] = ()  #: The passages found for the model, even if no model was asked.
    retrieved_chunks: int = 0  #: Number of chunks in these passages that fit the question.
    message: str = ""  #: The text to show if there is no answer.
    notices: tuple[Notice, ...] = ()
    model: str = ""  #: The model's name; '' for a guest.
    private: bool = False
    pending: int = 0  #: Passages that are not embedded yet.
    #: The freshness of the stores at the time of the question; None for a guest.
    freshness: Freshness | None = None
    took_ms: float = 0.0
    timestamp: str = ""

    @property
    def found(self) -> bool:
        """Whether any passage fits the question."""
        return self.ending != "nothing found"

    @property
    def answer_kind(self) -> Literal["model", "quotes", "none"]:
        """Who made the statements: a model wrote them, they are quoted from the passages, or there are
        none."""
        if not self.statements:
            return "none"
        return "quotes" if self.ending in ("quotes", "no model") else "model"

    @property
    def answer(self) -> str:
        """The whole answer as plain text, not escaped, with ``[…]`` after false quotes and where a source is
        missing."""
        return "".join(statement.lead + marked(statement) for statement in self.statements).strip()

    @property
    def turn(self) -> Turn:
        """The question and its answer as context for a follow-up. Statements without a source or with a false
        quote are left out."""
        sourced = (statement for statement in self.statements if statement.support != "none")
        held = (statement for statement in sourced if all(quote.holds for quote in statement.quotes))
        return Turn(
            self.question,
            "".join(statement.lead + statement.text for statement in held).strip(),
            self.private,
        )


@dataclass(frozen=True, slots=True)
class Conversation:
    """A series of questions, each a follow-up of the one before."""

    id: str
    title: str  #: The first question.
    asked_at: str  #: When the last question was asked: ISO 8601, UTC.
    count: int  #: Number of questions.


def marked(statement: Statement) -> str:
    """Return a statement as plain text, with a mark after every false quote and a mark at the end if a source
    or quote is missing."""
    parts: list[str] = []
    position = 0
    for quote in statement.quotes:
        if not quote.holds:
            parts += [statement.text[position : quote.end], f" [{fault(quote)}]"]
            position = quote.end
    lack = lacks(statement)
    return "".join((*parts, statement.text[position:], f" [{lack}]" if lack else ""))


def lacks(statement: Statement) -> str:
    """Return what a checked statement lacks: *no source* or *no quote*; '' if it has both, or no words."""
    if statement.support == "none":
        return "no source" if statement.says else ""
    return "no quote" if statement.says and not statement.quotes else ""


def fault(quote: Quote) -> str:
    """Return what is wrong with a false quote, in words."""
    return f"not there, but in passage {quote.number}" if quote.number else "not in the passage"
