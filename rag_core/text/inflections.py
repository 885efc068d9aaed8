"""Which words of a text are forms of a word of the query, judged by their letters.

Coverage and highlights go by these rules, the word index by Porter's stemmer. These are the more generous
ones: a longer word that begins with a whole one counts, so that *config* finds *configuration* and *Vertrag*
its compounds.
"""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass
from functools import lru_cache

_ENDINGS = "ations ation ements ement ings ing ies ied ers ed es er ly ions ion s e y".split()
_SHORT = 3  # letters; words that begin with so few are mostly others: artichoke
_LONG = 5  # letters before -ion: connection is of connect, station not of state

_NONE: Set[str] = frozenset()
_NOUN = frozenset(("", "s"))
_VERB = frozenset("ed ing ings er ers".split())
_AS_SHORT = _NOUN | _VERB | {"es"}
_AS_SHORT_E = _VERB | {"e", "es", "able", "ement", "ements"}
_AS_E = _AS_SHORT_E | {"or", "ors", "al", "als", "ation", "ations", "ive"}
_AS_WHOLE = _AS_E | _NOUN | {"ly", "ment", "ments"}
_AS_Y = frozenset("y ies ied ier iest ying".split())
_AS_ATE = _AS_WHOLE | frozenset("ate ates ated ating ator ators ative".split())
_AS_LE = _AS_WHOLE | frozenset("le les led ling lies lied".split())
_ION = frozenset(("ion", "ions"))

_SYLLABLE = re.compile("(?<![aeiouy])[aeiouy]++[^aeiouy]++")
_CLOSED = re.compile("[^aeiouy]?[aeiouy][^aeiouwxy]")  # before -ing it is doubled, or an e went: log, hop(e)
_VOWEL = re.compile("[aeiouy]")
_HISSING = ("s", "x", "z", "ch", "sh", "o")  # what has -es where others have -s


@dataclass(frozen=True, slots=True)
class Forms:
    """The forms of ``word``: those that begin with ``beginning`` and go on with one of ``tails``, or with its
    last letter once more and one of ``doubling``; and all that begin with the word itself, if ``is_open``."""

    word: str
    beginning: str
    tails: Set[str]
    doubling: Set[str]
    is_open: bool

    def include(self, word: str) -> bool:
        """Whether ``word``, which has the beginning, is one of them."""
        if self.is_open and word.startswith(self.word):
            return True
        tail = word[len(self.beginning) :]
        return tail in self.tails or (tail[:1] == self.beginning[-1:] and tail[1:] in self.doubling)


@lru_cache(maxsize=1024)
def forms_of(word: str) -> Forms:
    """The forms of an English word: ``stop`` for stopped, ``make`` for making, *letters* but not *let's* for
    ``letter``; all folded."""
    for ending in _ENDINGS:
        rest = word.removesuffix(ending)
        if rest == word:
            continue
        if ending in ("er", "ers") and len(rest) > _SHORT and not _is_of_a_doer(rest):
            return forms_of(word.removesuffix("s")) if ending == "ers" else _whole(word)
        if ending in ("ing", "ings", "ed") and len(rest) > _SHORT and _is_doubled(rest):
            rest = rest[:-1]
            return Forms(word, rest, *_of_whole(rest), is_open=True)
        tails, doubling = _behind(rest, ending)
        if tails:
            return Forms(_singular(word, ending), rest, tails, doubling, is_open=len(word) > _SHORT)
    return _whole(word)


def _singular(word: str, ending: str) -> str:
    """The word without its ending, which longer words begin with: *condition* for *conditions*."""
    return word[:-1] if ending in ("ations", "ements", "ions", "ings") else word


def _is_of_a_doer(rest: str) -> bool:
    """Whether *-er* may be an ending behind ``rest``: in *computer* it is, in *letter* and *corner* not. That
    is Porter's rule: two vowels with consonants behind them."""
    return len(_SYLLABLE.findall(rest)) > 1


def _is_doubled(rest: str) -> bool:
    return rest[-1] == rest[-2] and rest[-1] not in "aeiouflsz"


def _whole(word: str) -> Forms:
    return Forms(word, word, *_of_whole(word), is_open=len(word) > _SHORT)


def _of_whole(word: str) -> tuple[Set[str], Set[str]]:
    """The endings that may follow a word, and those that may follow its doubled last letter."""
    if _CLOSED.fullmatch(word):
        return _NOUN | ({"es"} if word.endswith(_HISSING) else _NONE), _VERB
    tails = _AS_SHORT if len(word) <= _SHORT else _AS_WHOLE
    return tails, tails


def _behind(rest: str, ending: str) -> tuple[Set[str], Set[str]]:
    """What may stand in the place of ``ending``, and behind the last letter of ``rest`` once more; nothing
    where it is no ending."""
    if len(rest) <= _SHORT:
        return _behind_short(rest, ending)
    ions = _ION if len(rest) >= _LONG else _NONE
    match ending:
        case "ion" | "ions":
            return (_AS_WHOLE | ions, _NONE) if ions else (_NONE, _NONE)
        case "y" | "ied":
            return _AS_Y, _NONE
        case "ies":
            return _AS_Y | {"ie"}, _NONE
        case "ation" | "ations":
            return _AS_ATE | _ION, _NONE
        case "ly":
            return _AS_LE, _AS_WHOLE
        case "e" | "ement" | "ements":
            return _AS_E | ions, _NONE
        case "es" if not rest.endswith(_HISSING):
            return _AS_E | ions, _NONE
        case _:
            return _AS_WHOLE | ions, _AS_WHOLE


def _behind_short(rest: str, ending: str) -> tuple[Set[str], Set[str]]:
    is_closed, has_vowel = _CLOSED.fullmatch(rest) is not None, _VOWEL.search(rest) is not None
    match ending:
        case "s" if len(rest) == _SHORT:
            return _of_whole(rest)
        case "y" | "ied" | "ies" if len(rest) == _SHORT or (len(rest) > 1 and not has_vowel):
            return _AS_Y | {"ie"}, _NONE
        case "es" if is_closed and rest.endswith(_HISSING):
            return _AS_SHORT_E | {""}, _NONE
        case "e" | "es" | "ed" | "ing" | "ings" | "ement" | "ements" if is_closed:
            return _AS_SHORT_E, _NONE
        case "e" if len(rest) == _SHORT and has_vowel:
            return _AS_SHORT_E, _NONE
        case "es" | "ed" | "ing" | "ings" if len(rest) == _SHORT and has_vowel:
            return _AS_SHORT | {"e"}, _NONE
        case _:
            return _NONE, _NONE
