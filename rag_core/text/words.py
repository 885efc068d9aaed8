"""How text becomes index terms, the same for passages and for queries.

FTS5's ``unicode61`` splits at everything that is no letter or digit and folds the case and
accents of Latin letters. That leaves three kinds of words that nobody types the way they are
written: identifiers (``getUserName``), runs of scripts without spaces (``价格歧视``), and
letters with more than one spelling (``Straße``, ``Müller``, ``ＡＢＣ``). For those a passage gets extra
terms: the parts of an identifier; the overlapping pairs of characters of a run and its last
one alone (bigrams, the usual unit for Chinese and Japanese retrieval: Nie, Gao, Zhang & Zhou,
"On the use of words and n-grams for Chinese information retrieval", IRAL 2000); the folded
spelling. Ordinary words give no extra term, nor does base64.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import pairwise

from rag_core.text.numbers import Number, Span, codes, months, numbers
from rag_core.text.prose import without_runs

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # Han, half-width kana
    "\uac00-\ud7a3"  # Hangul: it has spaces, but particles are glued to the words
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")

# Marks belong to the letter before them, as in Thai and Hindi; to Python they are no letters.
_MARKS = "".join(c for c in map(chr, range(0x300, 0x3100)) if unicodedata.category(c).startswith("M"))
_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*")
_ORDINARY_OR_NOT = re.compile(rf"[A-Za-z][a-z]*(?![^\W_]|[{_MARKS}])|({_WORD.pattern})")
_SPACED_WORD = re.compile(rf"[^\W_{_UNSPACED}]+(?:[{_MARKS}]+[^\W_{_UNSPACED}]*)*")
_CLUSTER = re.compile(rf".[{_MARKS}]*", re.DOTALL)
_STRETCH = re.compile(rf"[\x00-\x7f]+(?![{_MARKS}])|.[{_MARKS}]*", re.DOTALL)
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"}
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_LATIN_ACCENTS = re.compile("[\u0300-\u036f](?<=[a-z].)[\u0300-\u036f]*")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MIXED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")

_POSSESSIVE = re.compile("(?<=\\w)['\u2019]s\\b", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_SNAKE = re.compile("[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+", re.ASCII)

TERM_COLUMNS = ("title_terms", "terms")

# Words so common that they say nothing about what is looked for; they count only when the
# query has no others. The shortest list that covers questions as people type them.
STOP_WORDS = frozenset(
    (
        "a about an and any are as at be been but by can could did do does for from get had has have he her "
        "him his how i if in into is it its many me much my not of on or our per she should so some than "
        "that the their them then there these they this to us use was we were what when where which who "
        "whom whose why will with would you your"
    ).split()
)


def fold(text: str) -> str:
    """``text`` as words are compared: no case, no accents or strokes on Latin letters, one spelling of each
    letter."""
    if text.isascii():
        return text.lower()
    return _without_accents(unicodedata.normalize("NFKD", text).casefold()).translate(_LETTERS)


def _without_accents(decomposed: str) -> str:
    return unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", decomposed))


def without_umlauts(word: str) -> str:
    """``word`` (folded) as it is when its *ae*, *oe* and *ue* are umlauts, folded."""
    return re.sub("(?<=[aou])e", "", word)


def clusters(text: str) -> list[str]:
    """``text`` cut into characters, each with the marks that belong to it."""
    return _CLUSTER.findall(text)


def stretches(text: str) -> list[str]:
    """``text`` cut where it may be folded apart: at every letter but inside ASCII."""
    return _STRETCH.findall(text)


def bigrams(run: str) -> list[str]:
    """The overlapping pairs of a run; a single character stands for itself."""
    found = clusters(run)
    return [first + second for first, second in pairwise(found)] or [run]


def units(words: Iterable[str]) -> list[str]:
    """The index terms of ``words`` (from query_words), each once: words, and the pairs of unspaced runs."""
    found: dict[str, None] = {}
    for word in words:
        found.update(dict.fromkeys(bigrams(word) if is_unspaced(word) else [word]))
    return list(found)


def extra_terms(text: str) -> str:
    """The terms that ``unicode61`` would not find in ``text``, space-separated, in order."""
    return " ".join(_extra(without_runs(text)))


def _extra(text: str) -> Iterator[str]:
    for word in filter(None, _ORDINARY_OR_NOT.findall(text)):
        if not word.isascii():
            yield from _extra_of(word)
        elif len(word) > 2 and _MIXED.search(word):
            yield from _parts(word)
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    for number in numbers(text):
        yield from (*number.wholes, *number.days)
        if number.month and number.month not in number.parts:
            yield number.month
    yield from months(text)


def _extra_of(word: str) -> Iterator[str]:
    folded = fold(word)
    if _UNSPACED_RUN.search(folded):
        for piece in _pieces(folded):
            yield from [*bigrams(piece), clusters(piece)[-1]] if is_unspaced(piece) else [piece]
    elif folded != _as_indexed(word):
        yield folded
    lower = unicodedata.normalize("NFC", word).lower()
    if (spelled := lower.translate(_UMLAUTS)) != lower:
        yield fold(spelled)


def _as_indexed(word: str) -> str:
    """A word as ``unicode61`` indexes it: a decomposed one loses its marks."""
    if not unicodedata.is_normalized("NFC", word):
        return ""
    return _without_accents(unicodedata.normalize("NFD", word.lower()))


def _parts(word: str) -> list[str]:
    parts = [part.lower() for part in _PART.findall(word)]
    return parts if len(parts) > 1 else []


def _pieces(word: str) -> Iterator[str]:
    """A word cut into unspaced runs and what stands between them: ``2023年计划`` → 2023, 年计划."""
    position = 0
    for run in _UNSPACED_RUN.finditer(word):
        if run.start() > position:
            yield word[position : run.start()]
        yield run.group()
        position = run.end()
    if position < len(word):
        yield word[position:]


def query_words(text: str) -> tuple[str, ...]:
    """The words of a query in order, folded, without repetitions; stop words only if all are."""
    words = dict.fromkeys(_split(text, parts=True))
    telling = dict.fromkeys(words)
    for word in STOP_WORDS & telling.keys():
        del telling[word]
    return tuple(telling or words)


def typed_words(text: str) -> dict[str, list[str]]:
    """The words of a query as typed, each once and with its index terms: a number keeps its signs, a name
    in code stays whole."""
    text = _readable(text)
    places = [(each.span, list(each.parts)) for each in figures(text)]
    places += [(match.span(), [match[0].lower()]) for match in _SNAKE.finditer(text)]
    found: dict[str, tuple[str, list[str]]] = {}
    at = 0
    for (start, end), parts in [*sorted(places), ((len(text), len(text)), [])]:
        for typed in _WORD.findall(text[at:start]):
            for word in _pieces(typed):
                found.setdefault(fold(word), (word, units([fold(word)])))
        if parts:
            found.setdefault(text[start:end], (text[start:end], parts))
        at = end
    every = dict(found.values())
    for word in STOP_WORDS & found.keys():
        del found[word]
    return dict(found.values()) or every


def figures(text: str) -> list[Number]:
    """The numbers, dates and codes of a query."""
    text = _readable(text)
    return [*numbers(text), *codes(text)] if _DIGIT.search(text) else []


def _readable(text: str) -> str:
    """A query in one form of each letter, without the *'s* behind a name."""
    return _POSSESSIVE.sub("", unicodedata.normalize("NFKC", text))


def _split(text: str, *, parts: bool = False) -> Iterator[str]:
    text = _readable(text)
    for match in _WORD.finditer(text):
        word = match.group()
        yield from _pieces(fold(word))
        if parts and word.isascii() and _MIXED.search(word):
            yield from _parts(word)
    if not parts:
        return
    if _DIGIT.search(text):
        for number in numbers(text):
            yield from number.wholes
    for match in _SNAKE.finditer(text):  # a phrase for the index
        yield match[0].lower()


def is_unspaced(word: str) -> bool:
    """Whether ``word`` is a run of a script that is written without spaces."""
    return _UNSPACED_RUN.fullmatch(word) is not None


# --- places in a text -------------------------------------------------------------------


def spaced_words(text: str) -> Iterator[tuple[str, Span]]:
    """Each word of ``text`` that stands between spaces or signs, and where."""
    for match in _SPACED_WORD.finditer(text):
        yield match.group(), match.span()


def phrase_places(text: str, phrase: str) -> Iterator[Span]:
    """Where ``text`` holds ``phrase`` word for word, whatever the white space; both folded alike."""
    for match in re.finditer(r"\s+".join(map(re.escape, phrase.split())), text):
        if not (_within_word(text, match.start()) or _within_word(text, match.end())):
            yield match.span()


def _within_word(text: str, position: int) -> bool:
    around = text[max(0, position - 1) : position + 1]
    return len(around) == 2 and all(c.isalnum() and not is_unspaced(c) for c in around)


def has_phrase(text: str, phrase: str) -> bool:
    """Whether ``text`` holds ``phrase`` exactly but for case and white space."""
    return any(phrase_places(_composed(text), _composed(phrase)))


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).casefold()


# --- FTS5 expressions -------------------------------------------------------------------


def is_spaced_word(text: str) -> bool:
    """Whether ``text`` is a single index term."""
    return _SPACED_WORD.fullmatch(text) is not None


def match_any(some: Iterable[str]) -> str:
    """An FTS5 expression for passages with at least one of some ``units``."""
    return " OR ".join(map(_match, some))


def match_all(text: str) -> str:
    """An FTS5 expression for passages with every word of ``text``; '' if it has none.

    An exact wording is a subset of this, which the caller checks on the text itself.
    """
    return " AND ".join(map(_match, units(_split(text))))


def _match(unit: str) -> str:
    if not is_unspaced(unit):
        return f'"{unit}"'
    star = "*" if len(clusters(unit)) == 1 else ""
    return f'{{{" ".join(TERM_COLUMNS)}}} : "{unit}"{star}'
