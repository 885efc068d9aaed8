"""Whether a question leans on the one before it, or can be understood alone."""

from __future__ import annotations

from rag_core.text.words import STOP_WORDS, fold, spaced_words

_BEGINNINGS = frozenset("and but or so then und aber et mais y pero e ma en och og".split())
_POINTING = frozenset(
    (
        "he she him her his hers they them their theirs it its this that these those one ones there then so"
        " such same else other others instead former latter"
    ).split()
)


def leans_back(question: str) -> bool:
    """Whether a question takes up what was said: it goes on from there, points at something there, or has
    one word at most that says anything (in scripts without spaces always)."""
    words = [fold(word) for word, _ in spaced_words(question)]
    goes_on = bool(words) and words[0] in _BEGINNINGS
    saying = {*words} - STOP_WORDS
    return goes_on or not _POINTING.isdisjoint(words) or len(saying) <= 1
