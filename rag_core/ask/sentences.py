"""The sentences of passages that answer a question, word for word. They are the answer if no model gives one.

Each sentence is weighed by its similarity in meaning to the question, by the share of the question's words in
it, and by whether it has what the question asks for: a day for *when*, a name for *who*, a number for *how
many*.

The weights were set by hand on our own questions in `benchmarks/answers.py` and on half of the questions of
others. The answer is shown for 80 % of our questions, and for 60 % of the others.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from rag_core.ask.checking import lead_of, next_end
from rag_core.ask.verbatim import Held
from rag_core.replies import Quote, QuoteSpan, Reference, Statement
from rag_core.search.query import parse
from rag_core.search.shown import clean
from rag_core.text.numbers import numbers
from rag_core.text.words import fold, split_words, stem
from rag_core.types import DESCRIPTION

MOST_SENTENCES = 3
_MOST_COMPARED = 80  # sentences whose meaning is compared; sentences with words of the question come first
_SHORTEST, _LONGEST = 6, 600  # characters
_CLOSE = 0.65  # minimum share of the best sentence's weight for another sentence to be shown
_MEANING, _WORDS, _ASKED, _PASSAGE = 0.5, 0.35, 0.2, 0.5  # weights
_BEFORE = 0.5  # share for words that only the sentence before has
_FRAGMENT = 0.85  # factor for a text without the end of a sentence
_STOPS = frozenset(".!?…。！？)”\"'")

Similarities = Callable[[Sequence[str]], Sequence[float]]
"""Returns the similarity, −1 to 1, of each text to the question in meaning."""

_WHEN = re.compile(r"\b(when|what (day|date|month|year)|which (day|date|month|year)|how long|until|since)\b")
_WHO = re.compile(r"\b(who|whom|whose)\b")
_HOW_MUCH = re.compile(
    r"\b(how (many|much|large|big|old|far|high|long)|what (percentage|share|size|price))\b"
)
_PARAGRAPHS = re.compile(r"\n[ \t]*\n")
_TIME = re.compile(
    r"\b(\d{4}-\d\d|(19|20)\d\d|q[1-4]|mon|tue|wed|thu|fri|sat|sun|tomorrow|yesterday|today|week|month|year"
    r"|morning|evening|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)",
    re.IGNORECASE,
)
_NAME = re.compile(r"(?<![.!?] )(?<!\A)\b[A-Z][a-z]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a passage as plain text."""

    number: int  #: The number of its passage.
    text: str
    context: str  #: The title and the heading of its passage.
    before: str  #: The sentence before it in its paragraph; '' for the first.
    score: float = 0.0  #: The score of its passage.


def sentences(references: Sequence[Reference]) -> Iterator[Sentence]:
    """Return the sentences, list items and table rows of the passages, in reading order."""
    for reference in references:
        if reference.heading_path.endswith(DESCRIPTION):
            continue
        context = f"{reference.title} {reference.heading_path}"
        before = ""
        for paragraph in _PARAGRAPHS.split(reference.content):
            for text in _lines(paragraph, reference.file_type):
                for sentence in _split(text):
                    yield Sentence(reference.number, sentence, context, before, reference.score)
                    before = sentence
            before = ""


def _lines(paragraph: str, file_type: str) -> Iterator[str]:
    """Return the clean text of a paragraph. Each list item and table row is separate, and other text is one
    piece."""
    prose: list[str] = []
    for block in clean(paragraph, file_type, ()):
        text = " ".join(block.text.replace("\t", " | ").split())
        if block.kind in ("text", "quote"):
            prose.append(text)
        elif block.kind != "heading":
            yield from [" ".join(prose), text]
            prose = []
    yield " ".join(prose)


def _split(text: str) -> Iterator[str]:
    start = 0
    while (end := next_end(text, start, final=True)) is not None and end > start:
        sentence = text[start + lead_of(text[start:end]) : end].strip()
        if _SHORTEST <= len(sentence) <= _LONGEST:
            yield sentence
        start = end


def answer(
    question: str, references: Sequence[Reference], similarities: Similarities
) -> tuple[list[Statement], list[Reference]]:
    """Choose at most three sentences of the passages that answer the question.

    Return them as quotes, best first, each citing its passage. Also return the passages, with these sentences
    as their spans.
    """
    candidates = list(dict.fromkeys(sentences(references)))
    held = {reference.number: Held(reference.content) for reference in references}
    weights = _weights(question, candidates, similarities)
    ranked = sorted(zip(weights, candidates, strict=True), key=lambda pair: -pair[0])
    best = [sentence for weight, sentence in ranked if weight >= _CLOSE * ranked[0][0]]
    chosen: list[Sentence] = []
    spans: dict[int, list[QuoteSpan]] = {reference.number: [] for reference in references}
    for sentence in best:
        span = held[sentence.number].find(sentence.text)
        if span and len(chosen) < MOST_SENTENCES and not _repeats(sentence, chosen):
            chosen.append(sentence)
            spans[sentence.number].append(span)
    marked = [
        replace(reference, spans=tuple(sorted(spans[reference.number])), cited=bool(spans[reference.number]))
        for reference in references
    ]
    return [_statement(sentence) for sentence in chosen], marked


def _statement(sentence: Sentence) -> Statement:
    quoted = f"“{sentence.text}”"
    text = f"{quoted} [{sentence.number}]"
    quote = Quote(0, len(quoted), holds=True, number=sentence.number)
    return Statement("\n", text, "quoted", (sentence.number,), (quote,))


def _repeats(sentence: Sentence, chosen: Sequence[Sentence]) -> bool:
    """Whether a sentence says nearly the same as a ``chosen`` one: at most a fifth of its words are missing
    there."""
    words = set(split_words(fold(sentence.text)))
    return any(len(words - set(split_words(fold(other.text)))) <= len(words) // 5 for other in chosen)


def _weights(question: str, candidates: Sequence[Sentence], similarities: Similarities) -> list[float]:
    """Return a number for each sentence; better answers to the question have higher numbers."""
    shares = _shares(question, candidates)
    asked = [_has_asked(question, sentence.text) for sentence in candidates]
    meaning = _meanings(candidates, shares, similarities)
    best = max((sentence.score for sentence in candidates), default=0.0) or 1.0
    share_of = {sentence.text: share for sentence, share in zip(candidates, shares, strict=True)}
    weights: list[float] = []
    for index, sentence in enumerate(candidates):
        led_to = max(0.0, share_of.get(sentence.before, 0.0) - shares[index])
        weight = _MEANING * meaning[index] + _WORDS * (shares[index] + _BEFORE * led_to)
        weight += _ASKED * asked[index] + _PASSAGE * sentence.score / best
        weights.append(weight if sentence.text[-1] in _STOPS else _FRAGMENT * weight)
    return weights


def _meanings(
    candidates: Sequence[Sentence], shares: Sequence[float], similarities: Similarities
) -> list[float]:
    """Return the similarity of each sentence to the question, 0 to 1. Only the sentences with the largest
    ``shares`` are compared; the others get 0."""
    first = sorted(range(len(candidates)), key=lambda index: -shares[index])[:_MOST_COMPARED]
    meaning = [0.0] * len(candidates)
    if first:
        texts = [f"{candidates[index].context}\n{candidates[index].text}" for index in first]
        for index, similarity in zip(first, similarities(texts), strict=True):
            meaning[index] = max(0.0, similarity)
    return meaning


def _shares(question: str, candidates: Sequence[Sentence]) -> list[float]:
    """Return the share, 0 to 1, of the question's information in each sentence. Rare words weigh more. Words
    found only in the heading count half."""
    query = parse(question)
    wanted = {stem(word) for word in query.terms.words if word not in query.terms.stop_words}
    inside = [{stem(word) for word in split_words(fold(sentence.text))} for sentence in candidates]
    around = [{stem(word) for word in split_words(fold(sentence.context))} for sentence in candidates]
    counts = Counter(word for words in inside for word in words & wanted)
    information = {word: math.log(1 + len(candidates) / (1 + counts[word])) for word in wanted}
    whole = sum(information.values()) or 1.0
    shares: list[float] = []
    for words, heading in zip(inside, around, strict=True):
        held = sum(information[word] for word in wanted & words)
        held += sum(information[word] for word in (wanted - words) & heading) / 2
        shares.append(held / whole)
    return shares


def _has_asked(question: str, sentence: str) -> float:
    """Return 1.0 if a sentence has what the question asks for (a time, a number or a name), else 0.0."""
    asks = question.casefold()
    if _WHEN.search(asks):
        return float(bool(_TIME.search(sentence)) or any(True for _ in numbers(sentence)))
    if _HOW_MUCH.search(asks):
        return float(bool(re.search(r"\d", sentence)))
    if _WHO.search(asks):
        return float(bool(_NAME.search(sentence)))
    return 0.0
