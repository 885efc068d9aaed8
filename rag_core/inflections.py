"""Which words of a text are forms of a word that was asked for, as far as their letters tell.

Coverage and highlights go by these rules, the word index by Porter's stemmer. These are the more generous
ones: a longer word that begins with a whole one counts, so that *config* finds *configuration* and *Vertrag*
its compounds.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache

_ENDINGS = "ations ation ings ing ies ied ers ed es er ly s e y".split()
_DOUBLING = ("ing", "ings", "ed")
_SHORT = 3  # letters; words that begin with so few are mostly others: artichoke

_AS_Y = frozenset("y ies ied ier iest ying".split())
_AS_E = frozenset("e es ed er ers or ors ing ings able ation ations ion ions ive".split())
_AS_WHOLE = _AS_E | {"", "s", "al", "ly", "ment", "ments"}
_AS_ATE = _AS_WHOLE | {"ate", "ates", "ated", "ating", "ator", "ators", "ative"}
_AS_LE = _AS_WHOLE | {"le", "les", "led", "ling", "lies", "lied"}
_AS_SHORT = frozenset(("", "s", "es", "ed", "ing", "ings", "er", "ers"))
_TAILS = {
    "y": _AS_Y,
    "ies": _AS_Y | {"ie"},
    "ied": _AS_Y,
    "e": _AS_E,
    "ation": _AS_ATE,
    "ations": _AS_ATE,
    "ly": _AS_LE,
}

_SYLLABLE = re.compile("[aeiouy]+[^aeiouy]+")


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of ``word``: those that begin with ``beginning`` and go on with one of ``tails``, before
    which its last letter may be doubled; and all that begin with the word itself, if ``is_open``."""

    word: str
    beginning: str
    tails: Set[str]
    is_open: bool

    def include(self, word: str) -> bool:
        """Whether ``word``, which has the beginning, is one of them."""
        if self.is_open and word.startswith(self.word):
            return True
        tail = word[len(self.beginning) :]
        return tail in self.tails or (tail[:1] == self.beginning[-1:] and tail[1:] in self.tails)


@lru_cache(maxsize=1024)
def forms_of(word: str) -> Forms:
    """The forms of an English word: ``stop`` for stopped, ``bug`` for bugs, *letters* but not *let's* for
    ``letter``; all folded."""
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest == word or len(rest) < (_SHORT if ending == "s" else _SHORT + 1):
            continue
        if ending in ("er", "ers") and not _is_of_a_doer(rest):
            return forms_of(word.removesuffix("s")) if ending == "ers" else _whole(word)
        if ending in _DOUBLING and rest[-1] == rest[-2] and rest[-1] not in "aeiouflsz":
            rest = rest[:-1]
        tails = _AS_SHORT if len(rest) <= _SHORT else _TAILS.get(ending, _AS_WHOLE)
        return Forms(word, rest, tails, is_open=True)
    return _whole(word)


def _is_of_a_doer(rest: str) -> bool:
    """Whether *-er* may be an ending behind ``rest``: in *computer* it is, in *letter* and *corner* not. That
    is Porter's rule: two vowels with consonants behind them."""
    return len(_SYLLABLE.findall(rest)) > 1


def _whole(word: str) -> Forms:
    return Forms(word, word, _AS_SHORT, is_open=len(word) > _SHORT)
