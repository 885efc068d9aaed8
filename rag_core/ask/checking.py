"""Checks a model's output, statement by statement. Quotes must be in the cited passage, word for word.
Citations of passages that do not exist are removed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from rag_core.ask.citations import CODE, Citation, citations, end_of_citations
from rag_core.ask.quotes import Quoted, closing, is_decided, mark_at, opening, quotes
from rag_core.ask.verbatim import Held
from rag_core.replies import Draft, Quote, QuoteSpan, Reference, Statement, Support

Edit = tuple[QuoteSpan, str]
"""A span of a text and its replacement."""

_LONGEST = 2000  # characters of a statement; longer statements are cut

_STOPS = ".!?…。！？"
_WIDE_STOPS = "。！？"  # a sentence ends after these without a space
_PLAIN = re.compile(r"[\w ]+")
_UNFINISHED = re.compile(
    r"(?:[\[【［][^\]】］\n]{0,60}|&[\#\w]{0,6}|</?(?:[qb][^<>\n]{0,112})?|\\|,|`)$", re.IGNORECASE
)
_ABBREVIATIONS = frozenset(
    "dr mr mrs ms prof st vs e.g i.e approx ca nr no fig vol p pp jr sr inc ltd z.b bzw u.a d.h usw vgl etc"
    " jan feb mar apr jun jul aug sep sept oct nov dec".split()
)
_LEAD = re.compile(r"\s*(?:(?:[-*+•]|\d{1,3}[.)]|#{1,6})[ \t]+|>[ \t]*)*\s*")
_BETWEEN = " \t.,;:!?…)*_`。，"  # characters between a quote and its citation


class Checker:
    """Checks an answer against its passages while it arrives piece by piece."""

    def __init__(self, references: Sequence[Reference]) -> None:
        self._references = tuple(references)
        self._held = {reference.number: Held(reference.content) for reference in references}
        self._open = ""
        self._spans: dict[int, set[QuoteSpan]] = {number: set() for number in self._held}
        self._cited: set[int] = set()
        self.statements: list[Statement] = []

    def feed(self, piece: str, *, final: bool = False) -> None:
        """Add the next piece of the answer. ``final`` means that the answer is complete."""
        self._open += piece
        start = 0
        while (end := next_end(self._open, start, final=final)) is not None and end > start:
            if self._open[start:end].strip():
                self.statements.append(self._statement(self._open[start:end]))
            start = end
        self._open = "" if final else self._open[start:]

    def end(self) -> None:
        self.feed("", final=True)

    @property
    def begun(self) -> bool:
        """Whether the answer has any text yet."""
        return bool(self.statements or self._open.strip())

    @property
    def references(self) -> tuple[Reference, ...]:
        """The passages, each with whether it is cited and which spans are quoted so far."""
        return tuple(
            replace(
                reference, cited=reference.number in self._cited, spans=_joined(self._spans[reference.number])
            )
            for reference in self._references
        )

    @property
    def draft(self) -> Draft:
        """The answer so far, with its passages."""
        return Draft(self.references, tuple(self.statements), self._open)

    def _statement(self, written: str) -> Statement:
        lead = lead_of(written)
        text, is_block = written[lead:], ">" in written[:lead]
        named = citations(text)
        spoken = [Quoted(0, len(text), 0, len(text))] if is_block else quotes(text)
        checked = [quote for quoted in spoken if (quote := self._quote(quoted, text, named))]
        if not is_block:  # citations inside a correct quote are part of the quoted text
            held = [quote for quote in checked if quote.holds]
            named = [
                cited for cited in named if not any(cited.within(quote.start, quote.end) for quote in held)
            ]
        all_numbers = [number for cited in named for number in cited.numbers]
        numbers = tuple(dict.fromkeys(number for number in all_numbers if number in self._held))
        self._cited.update(numbers)
        edits = self._without_wrong_numbers(named)
        return Statement(
            written[:lead],
            _edited(text, edits),
            _support(checked, numbers),
            numbers,
            tuple(_shifted(quote, edits) for quote in checked),
            sum(number not in self._held for number in all_numbers),
        )

    def _without_wrong_numbers(self, named: Sequence[Citation]) -> list[Edit]:
        """Return the edits that remove nonexistent passage numbers from the citations ``named``."""
        edits: list[Edit] = []
        for citation in named:
            good = [str(number) for number in citation.numbers if number in self._held]
            if len(good) < len(citation.numbers):
                edits.append(((citation.start, citation.end), f" [{', '.join(good)}]" if good else ""))
        return edits

    def _quote(self, quoted: Quoted, text: str, named: Sequence[Citation]) -> Quote | None:
        """Check one quoted span. Return None if it has no words."""
        inner = [
            ((citation.start, citation.end), "")
            for citation in named
            if citation.within(quoted.first, quoted.last)
        ]
        end = _moved(quoted.last, inner)
        tried = dict.fromkeys((text[quoted.first : quoted.last], _edited(text, inner)[quoted.first : end]))
        if not all(any(map(str.isalnum, words)) for words in tried):
            return None
        meant = self._meant(quoted, text, named)
        for number in dict.fromkeys((*meant, *self._held)):
            span = next((span for words in tried if (span := self._held[number].find(words))), None)
            if span and number in meant:
                self._spans[number].add(span)
            if span:
                return Quote(quoted.start, quoted.end, holds=number in meant, number=number)
        return Quote(quoted.start, quoted.end, holds=False, number=0)

    def _meant(self, quoted: Quoted, text: str, named: Sequence[Citation]) -> list[int]:
        """Return the numbers of the passages that a quote may be from: passages cited directly after it, else
        passages cited in the statement, else all."""
        follows: list[int] = []
        position = quoted.end
        for citation in named:
            if citation.start >= position and not text[position : citation.start].strip(_BETWEEN):
                follows += citation.numbers
                position = citation.end
        for numbers in (follows, [number for citation in named for number in citation.numbers]):
            if held := [number for number in dict.fromkeys(numbers) if number in self._held]:
                return held
        return list(self._held)


def _support(quotes: Sequence[Quote], numbers: Sequence[int]) -> Support:
    """Return how a statement that cites the passages ``numbers`` is supported: by a quote from one of them,
    by the citation alone, or not at all."""
    if any(quote.holds and quote.number in numbers for quote in quotes):
        return "quoted"
    return "cited" if numbers else "none"


def _shifted(quote: Quote, edits: Sequence[Edit]) -> Quote:
    """Return the quote with its offsets moved by the ``edits`` of the text."""
    return replace(quote, start=_moved(quote.start, edits), end=_moved(quote.end, edits))


def _edited(text: str, edits: Sequence[Edit]) -> str:
    for (start, end), instead in reversed(edits):
        text = text[:start] + instead + text[end:]
    return text


def _moved(position: int, edits: Sequence[Edit]) -> int:
    return position + sum(len(instead) - (end - start) for (start, end), instead in edits if end <= position)


def _joined(spans: set[QuoteSpan]) -> tuple[QuoteSpan, ...]:
    """Sort spans and join overlapping or touching ones."""
    joined: list[QuoteSpan] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(joined[-1][1], end)
        else:
            joined.append((start, end))
    return tuple(joined)


def lead_of(text: str) -> int:
    """Return the length of what precedes the words of a line: white space and marks such as ``- ``, ``1. ``,
    ``# `` and ``> ``."""
    match = _LEAD.match(text)
    return match.end() if match else 0


def next_end(text: str, start: int, *, final: bool) -> int | None:
    """Return the end of the statement that begins at ``start``.

    It ends after a sentence and its ``[n]``, or at the end of its line, but never inside quote marks. Return
    None if more text is needed. ``final`` means that no more text comes.
    """
    position = start + lead_of(text[start : start + _LONGEST])
    space = text.rfind(" ", start + _LONGEST // 2, start + _LONGEST)
    cut = space if space > 0 else start + _LONGEST
    if position >= len(text):
        return len(text) if final and position > start else None
    while position < len(text):
        if position - start >= _LONGEST:
            return cut
        if text[position] == "\n":
            return position
        if plain := _PLAIN.match(text, position, start + _LONGEST):
            position = plain.end()
            continue
        step = _step(text, position, final=final)
        if step is None:
            return cut if len(text) - start >= _LONGEST else None
        position, may_end = step
        if may_end and (end := _end_behind(text, start, position, final=final)) != "goes on":
            return None if end == "open" else end
    return len(text) if final else None


def _step(text: str, position: int, *, final: bool) -> tuple[int, bool] | None:
    """Return the next offset to examine, and whether a sentence may end there. Return None if a quote or code
    is still open there."""
    if code := CODE.match(text, position):
        return code.end(), False
    if text[position] == "`" and not final and "\n" not in text[position:]:
        return None
    if mark := opening(text, position):
        close = closing(text, mark)
        if not (final or is_decided(text, mark, close)):
            return None
        return (close.end, text[close.start - 1] in _STOPS) if close else (mark.end, False)
    if mark := mark_at(text, position):
        return mark.end, False
    end = position
    while end < len(text) and text[end] in _STOPS:
        end += 1
    return max(end, position + 1), end > position


def _end_behind(text: str, start: int, position: int, *, final: bool) -> int | Literal["open", "goes on"]:
    """Return the end of the statement if its sentence ends at ``position``. Return *goes on* if the sentence
    does not end there, and *open* if that depends on text still to come."""
    uncited = position  # after the brackets, emphasis and quotes that end with the sentence
    while uncited < len(text):
        mark = mark_at(text, uncited)
        if not (mark and mark.closes) and text[uncited] not in "*_)]":
            break
        uncited = mark.end if mark and mark.closes else uncited + 1
    cited = end_of_citations(text, uncited)
    if cited == len(text):
        return cited if final else "open"
    rest = text[cited:]
    following = rest.lstrip(" \t")
    if not final and (not following or _UNFINISHED.match(following)):
        return "open"
    if cited > uncited or text[position - 1] in _WIDE_STOPS or following[:1] in ("\n", ""):
        return cited
    if following is rest or following[0].islower() or _is_abbreviation(text[start:position]):
        return "goes on"
    return cited


def _is_abbreviation(before: str) -> bool:
    # only the last word is split off: a text may have hundreds of words, and as many stops
    *_, word = before.rsplit(maxsplit=1) or [""]
    word, stop, rest = word.lstrip("(\"'“„")[:-1], before[-1:], before[-2:]
    if stop != "." or rest == "..":
        return False
    short = (word.isdigit() and len(word) < 3) or (word.isalpha() and len(word) == 1)
    return short or word.casefold() in _ABBREVIATIONS
