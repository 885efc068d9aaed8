"""Why a passage is shown, in a few words. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from rag_core.types import Number, Query

ITS_NAME = "its name"
_OF_TIER = {3: ITS_NAME, 2: "the beginning of its name"}
_PHRASE, _PHRASES, _EVERY = "the exact phrase", "the exact phrases", "every word"
_WORD_HELD, _DATE_HELD, _NUMBER_HELD = "the word", "the date", "the number"
_NAMED_THERE = "named in a top result"
TELLS_OF_WORDS = frozenset((_PHRASE, _PHRASES, _EVERY, _WORD_HELD, _DATE_HELD, _NUMBER_HELD))
"""All reasons that say which words a passage contains."""
_CLOSE, _RELATED = 0.45, 0.36  # similarities of minilm


def of_passage(
    tier: int, words: str, similarity: float | None, *, by_words: bool, is_named_there: bool
) -> tuple[str, ...]:
    """Say in a few words why a passage is shown.

    Args:
        tier: 3 if the name of its document is the query, 2 if the name begins with it.
        words: Which words the passage contains, from `words_held`.
        similarity: The cosine to the query; None if unknown.
        by_words: Whether the passage was found by words.
        is_named_there: Whether one of the best passages names its document.

    """
    reasons = [_OF_TIER[tier]] if tier in _OF_TIER else []
    if words and not (reasons and words not in TELLS_OF_WORDS):  # a title that matches holds every word
        reasons.append(words)
    elif by_words:
        reasons.append("similar words")
    if similarity is not None and similarity >= _CLOSE:
        reasons.append("close in meaning")
    elif similarity is not None and similarity >= _RELATED:
        reasons.append("related in meaning")
    if is_named_there:
        reasons.append(_NAMED_THERE)
    return tuple(reasons) or ("distantly related",)


def words_held(
    query: Query, words: Mapping[str, Set[str]], present: frozenset[str], elsewhere: frozenset[str]
) -> str:
    """Say which words of a query a passage contains; '' if none.

    Args:
        query: The query.
        words: Its words as typed, each with its units: itself, or its pairs of characters if it is in a
            script without spaces.
        present: The units in the passage.
        elsewhere: The units that are only in other passages of its document.

    """
    if query.phrases and not query.terms.loose:
        return _PHRASE if len(query.phrases) == 1 else _PHRASES
    held = [word for word, units in words.items() if units <= present]
    apart = [word for word, units in words.items() if word not in held and units <= present | elsewhere]
    lacking = [word for word in words if word not in held and word not in apart]
    if not held:
        return "parts of words" if present else ""
    if lacking or apart:
        return _some(held, apart, lacking)
    if len(held) > 1:
        return _EVERY
    return _kind_of(query.terms.numbers[0]) if query.terms.numbers else _WORD_HELD


def _some(held: Sequence[str], apart: Sequence[str], lacking: Sequence[str]) -> str:
    """Name the words that a passage contains, the words elsewhere in its document, and the missing words."""
    found = len(held) + len(apart)
    text = f"{found} of {found + len(lacking)} words: {_few(held)}" if lacking else _EVERY
    if apart:
        text += f", {_few(apart)} elsewhere in it"
    return f"{text}; without {_few(lacking)}" if lacking else text


def _kind_of(figure: Number) -> str:
    """Return *number*, *date* or *code*: the kind of a query that consists of only one of these."""
    if figure.month:
        return _DATE_HELD
    return _NUMBER_HELD if any(whole.isdecimal() for whole in figure.wholes) else _WORD_HELD


def _few(words: Sequence[str]) -> str:
    return f"“{'”, “'.join(words[:4])}”" + (", …" if len(words) > 4 else "")
