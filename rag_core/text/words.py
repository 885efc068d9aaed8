"""Turns text into index terms, in the same way for passages and for queries.

FTS5's tokenizer ``unicode61`` splits at every character that is no letter or digit, and folds the case and
accents of Latin letters. Passages get extra terms for words that people do not type as they are written:

- The parts of an identifier (``getUserName``).
- For text in a script without spaces (``价格歧视``), overlapping pairs of characters and the last character
  alone. (Bigrams: Nie, Gao, Zhang & Zhou, "On the use of words and n-grams for Chinese information
  retrieval", IRAL 2000.)
- The folded spelling of a word (``Straße``, ``Müller``, ``ＡＢＣ``).
- The light stem of an Arabic word (Larkey, Ballesteros & Connell, "Light stemming for Arabic information
  retrieval", 2007).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

from rag_core.text.numbers import (
    MONTH_NAMES,
    MONTH_OF_YEAR,
    Span,
    codes,
    in_a_row,
    joined_codes,
    longest,
    numbers,
    word_parts,
)
from rag_core.text.prose import without_runs
from rag_core.text.ranges import as_ranges
from rag_core.text.stop_words import stop_words
from rag_core.types import Forms, Number, Query

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # Han, half-width kana
    "\uac00-\ud7a3"  # Hangul: it has spaces, but particles are attached to words
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_UNSPACED_SPLIT = re.compile(f"([{_UNSPACED}]+)")

UNBROKEN = _UNSPACED.replace("\uac00-\ud7a3", "")  # Hangul has spaces, and lines break at them
_BREAK = re.compile(
    f"(?<=[{UNBROKEN}])(?:[ \t]*\r?\\n[ \t\u3000>]*"
    rf"|\[(?:\[(?:[^\[\]|\n]{{1,200}}\|)?)?|\]\]|\]\([^()\s]{{1,2000}}\))(?=[{UNBROKEN}])"
)
"""A line break, or the signs of a link, inside a run. Readers do not see them."""

_INVISIBLE = "\u00ad\u200b\u200c\u200d\u2060\ufeff"  # soft hyphens and the like, inside words
# Marks belong to the letter before them, as in Thai and Hindi. Python does not count them as letters.
_EVERY_MARK = {c for c in map(chr, range(0x300, 0x3100)) if unicodedata.category(c).startswith("M")}
_EVERY_MARK.update(_INVISIBLE)
_MARKS = as_ranges(_EVERY_MARK)
_WORD = re.compile(rf"[^\W_]+(?:[{_MARKS}]+[^\W_]*)*")
_ORDINARY_OR_NOT = re.compile(rf"[A-Za-z][a-z]*(?![^\W_]|[{_MARKS}])|({_WORD.pattern})")
LETTER = rf"[^\W_{_UNSPACED}]"
"""A pattern for a letter or digit of a script with spaces."""
SPACED_WORD = re.compile(rf"[^\W_{_UNSPACED}]+(?:[{_MARKS}]+[^\W_{_UNSPACED}]*)*")
"""A word between spaces or signs, which is one term of the index."""
clusters: Callable[[str], list[str]] = re.compile(rf"(?s).[{_MARKS}]*").findall
"""Splits a text into characters, each with its combining marks."""
stretches: Callable[[str], list[str]] = re.compile(rf"(?s)[\x00-\x7f]+(?![{_MARKS}])|.[{_MARKS}]*").findall
"""Splits a text into pieces that can be folded separately: runs of ASCII, and every other character."""
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ŧ": "t", "ı": "i", "æ": "ae", "œ": "oe"}
    | dict.fromkeys(_INVISIBLE, "")
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})
_LATIN_ACCENTS = re.compile("[\u0300-\u036f](?<=[a-z].)[\u0300-\u036f]*")
_OTHER_ACCENTS = re.compile(  # accents of Greek, ё, vowel signs of Hebrew and Arabic
    "[\u0300-\u036f](?<=[α-ω].)[\u0300-\u036f]*|\u0308(?<=е.)|[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]+"
    "|[\u0640\u064b-\u0652\u0670]+"
)
_DIGITS = re.compile("[0-9]+")
_LONGEST_NUMBER = 12  # maximum number of digits that are compared as a number
_POSSESSIVE = re.compile("(?<=\\w)['\u2019]s\\b", re.IGNORECASE)
_SNAKE = re.compile("(?<![A-Za-z0-9])[A-Za-z0-9]+(?:_+[A-Za-z0-9]+)+", re.ASCII)

_ARABIC = str.maketrans("أإآٱةى", "ااااهي")
_ARABIC_WORD = re.compile("[ء-غف-ي]+")
_VOWEL_MARKS = re.compile("[\u0640\u064b-\u065f\u0670]")
_ARABIC_BEGINNING = re.compile("^(?:(?:وال|بال|كال|فال|لل|ال)(?=..))?(?:و(?=...))?")  # also of الوزير
_ARABIC_ENDING = re.compile("(?<=..)(?:ها|ان|ات|ون|ين|يه|ه|ي)$")


def well_formed(text: str) -> str:
    """Return ``text`` with ``?`` for each lone surrogate. No database, index or tokenizer accepts lone
    surrogates."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def fold(text: str) -> str:
    """Return ``text`` in the form in which words are compared: without case, invisible characters, accents or
    strokes on Latin letters, accents on Greek ones, the dots of ё and Hebrew vowel signs."""
    if text.isascii():
        return text.lower()
    decomposed = _OTHER_ACCENTS.sub("", unicodedata.normalize("NFKD", text).casefold())
    return _without_accents(decomposed).translate(_LETTERS)


def _without_accents(decomposed: str) -> str:
    return unicodedata.normalize("NFC", _LATIN_ACCENTS.sub("", decomposed))


def arabic_stem(word: str) -> str:
    """Return a folded Arabic word without vowel marks, article and the commonest endings, and with one
    spelling of alef, ta marbuta and ya. Any other word is returned unchanged."""
    plain = _VOWEL_MARKS.sub("", word).translate(_ARABIC)
    if not _ARABIC_WORD.fullmatch(plain):
        return word
    return _ARABIC_ENDING.sub("", _ARABIC_BEGINNING.sub("", plain))


def name_key(name: str) -> str:
    """Return a name in the form in which links and tags are compared: NFC, without case and without white
    space around it."""
    return unicodedata.normalize("NFC", name).casefold().strip()


def name_order(name: str) -> str:
    """Return the sort key of a name. Case and accents do not count, and *week 2* comes before *week 10*."""
    return _DIGITS.sub(lambda digits: digits[0].zfill(_LONGEST_NUMBER), fold(name))


def bigrams(run: str) -> list[str]:
    """Return the overlapping pairs of characters of ``run``. If it is a single character, returns that."""
    found = clusters(run)
    return [first + second for first, second in pairwise(found)] or [run]


def units(words: Iterable[str]) -> list[str]:
    """Return the search units of ``words`` (from query_words), each once: the words themselves, the stems of
    Arabic words, and the character pairs of words in scripts without spaces."""
    found: list[str] = []
    for word in words:
        found += bigrams(word) if is_unspaced(word) else [word if word.isascii() else arabic_stem(word)]
    return list(dict.fromkeys(found))


def extra_terms(text: str) -> str:
    """Return the index terms to add to those that the tokenizer ``unicode61`` finds in ``text``, in order,
    separated by spaces."""
    text = without_runs(text)
    text = text if text.isascii() else _BREAK.sub("", text)
    terms: list[str] = []
    for word in filter(None, _ORDINARY_OR_NOT.findall(text)):
        if not word.isascii():
            terms += _extra_of(word)
        elif len(word) > 2:
            terms += word_parts(word)
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    for number in numbers(text):
        month = number.month if number.month not in number.parts else ""
        terms += filter(None, (*number.wholes, number.day, month))
    terms += (MONTH_NAMES[month] for month in MONTH_OF_YEAR.findall(text))
    terms += joined_codes(text)
    return " ".join(terms)


def _extra_of(word: str) -> Iterator[str]:
    folded = fold(word)
    if _UNSPACED_RUN.search(folded):
        for piece in _pieces(folded):
            yield from [*bigrams(piece), clusters(piece)[-1]] if is_unspaced(piece) else [piece]
    else:  # ``unicode61`` drops the marks of a decomposed word, and the accents of others
        indexed = _without_accents(unicodedata.normalize("NFD", word.lower()))
        if folded != indexed or not unicodedata.is_normalized("NFC", word):
            yield folded
        if (stem := arabic_stem(folded)) != folded:
            yield stem
    lower = unicodedata.normalize("NFC", word).lower()
    if (spelled := lower.translate(_UMLAUTS)) != lower:
        yield fold(spelled)


def _pieces(word: str) -> Iterator[str]:
    """Split a word where a script without spaces begins or ends: ``2023年计划`` → 2023, 年计划."""
    return filter(None, _UNSPACED_SPLIT.split(word))


def query_words(text: str) -> tuple[str, ...]:
    """Return the words of a query in order, folded, each once. Stop words are left out unless the query has
    only stop words."""
    words = dict.fromkeys(split_words(text, parts=True))
    figures = figures_of(unicodedata.normalize("NFKC", text))
    left_out = stop_words(words).difference(*(figure.parts for figure in figures))  # BE68… of an account
    return tuple(word for word in words if word not in left_out) or tuple(words)


def typed_words(text: str) -> tuple[dict[str, Sequence[str]], list[Number]]:
    """Return the words of a query as typed, each with its units, then the numbers, dates and codes in it. A
    number with its signs counts as one word, and so does a name such as ``snake_case``."""
    text = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", text))
    figures = figures_of(text)
    places = [(figure.span, figure.parts) for figure in figures]
    places += [(match.span(), (match[0].lower(),)) for match in _SNAKE.finditer(text)]
    found: dict[str, tuple[str, Sequence[str]]] = {}
    at = 0
    for (start, end), parts in [*sorted(places), ((len(text), len(text)), ())]:
        for typed in _WORD.findall(text[at:start]):
            for word in _pieces(typed):
                found.setdefault(fold(word), (word, units([fold(word)])))
        if parts:
            found.setdefault(text[start:end], (text[start:end], parts))
        at = end
    left_out = stop_words(found)
    telling = dict(each for word, each in found.items() if word not in left_out)
    return telling or dict(found.values()), figures


def figures_of(text: str) -> list[Number]:
    """Return the numbers, dates and codes of a query in order of position."""
    return longest([*numbers(text), *codes(text)])


def split_words(text: str, *, parts: bool = False) -> Iterator[str]:
    """Yield the words of a query, folded. With ``parts``, also the parts of identifiers, numbers and
    codes."""
    text = _POSSESSIVE.sub("", unicodedata.normalize("NFKC", text))
    figures = figures_of(text) if parts else []
    for match in _WORD.finditer(text):
        word = match.group()
        yield from _pieces(fold(word))
        if parts and not any(start <= match.start() < end for start, end in [each.span for each in figures]):
            yield from word_parts(word)
    for figure in figures:
        yield from (*figure.parts, *figure.wholes)
    if parts:
        for match in _SNAKE.finditer(text):  # the index searches it as a phrase
            yield match[0].lower()


def is_unspaced(word: str) -> bool:
    """Whether all of ``word`` is in a script that is written without spaces."""
    return _UNSPACED_RUN.fullmatch(word) is not None


# --- forms of a word ---------------------------------------------------------------------
# Coverage and highlights use these rules, which match more than the index's Porter stemmer: *founded* matches
# *founder*, and *config* matches *configuration*.

_SHORT = 3  # letters; words that share only so many are mostly unrelated: art, artichoke
_LONG = 4  # letters; longer words lose a final e: parse, parsing
_PLURAL = re.compile(r"(?<=..[^su])s\Z|(?<=ss|ch|sh|.x)es\Z")
_PAST = re.compile(r"(?<!e)ed\Z|ing\Z")
_VOWEL = re.compile("[aeiouy]")
_DOUBLED = re.compile(r"(?<=..)([^aeiouflsz])\1\Z")
_CLOSED = re.compile("[^aeiouy]*[aeiouy][^aeiouwxy]")  # a final e makes another word: hop, hope
_DERIVED = re.compile(  # only after enough letters to be an ending: investor, not letter
    r"(?<=.{3}[^aeiou])at(?:e|or|ion(?:al)?)\Z|(?<=.{4})e?ment(?:ation)?\Z"
    r"|(?<=.{5})(?:er|or|ion|(?:ion)?(?<!i)al|(?<!b)e?ly)\Z"
)
_LAST_Y = re.compile(r"(?<=..)(?:y|ie)\Z")


@lru_cache(maxsize=32_768)
def stem(word: str) -> str:
    """Return the stem that the forms of a folded English word share: *invest* for *investors*, *famili* for
    *family*."""
    if not word.isascii() or len(word) < _SHORT:
        return word
    word = _PLURAL.sub("", word)
    rest = _PAST.sub("", word)
    if rest != word and _VOWEL.search(rest):
        word = _DOUBLED.sub(r"\1", rest)
        if word == rest and (word.endswith("at") or _CLOSED.fullmatch(word)):
            word += "e"
    word = _DERIVED.sub("", word)
    if word.endswith("e") and len(word) > _LONG and not _CLOSED.fullmatch(word[:-1]):
        word = word[:-1]
    return _LAST_Y.sub("i", word)


@lru_cache(maxsize=1024)
def forms_of(word: str) -> Forms:
    """Return the forms that match a unit of a query. These are words with the same stem, and longer words
    that begin with the unit, so that *config* matches *configuration*."""
    if "|" in word:
        return Forms(word, kind="any", others=tuple(map(forms_of, alternatives(word))))
    if " " in word:
        others = tuple([forms_of(part) for part in word.split(" ")])
        return Forms(word, beginning=others[0].whole, kind="row", others=others)
    if is_unspaced(word) or "_" in word:
        return Forms(word, beginning=word, kind="name" if "_" in word else "pair")
    root = stem(word)
    beginning = root[:-1] if len(root) >= _SHORT else root  # the last letter may differ: fly, fli
    return Forms(word, root, beginning, is_open=len(word) > _SHORT)


def is_in_a_word(sign: str) -> bool:
    """Whether a character is part of a word in a script with spaces; False for ''."""
    if sign.isascii():
        return sign.isalnum()
    return sign in _EVERY_MARK or (sign.isalnum() and not is_unspaced(sign))


_ALPHABETS = [
    "".join(map(chr, range(ord(first), ord(last) + 1))) for first, last in ("az", "αω", "ая", "את", "ءي")
]
_ALPHABET_OF = {letter: letters for letters in _ALPHABETS for letter in letters}


def one_edit_away(word: str) -> set[str]:
    """Return the strings one typing error away from ``word``: one letter added, left out or replaced, or two
    neighbours swapped (P. Norvig, "How to write a spelling corrector", 2007)."""
    letters = _ALPHABET_OF.get(word[0], "")
    strings: set[str] = set()
    for at in range(len(word) + 1):
        before, behind = word[:at], word[at:]
        strings |= {before + letter + behind for letter in letters}
        strings |= {before + letter + behind[1:] for letter in letters if behind}
        strings |= {before + behind[1:], before + behind[1:2] + behind[:1] + behind[2:]}
    return strings - {word}


def alternatives(unit: str) -> list[str]:
    """Return the words that a unit stands for: the unit itself, or the possible corrections of a misspelled
    word (``login|logic``)."""
    return unit.split("|")


def unit_forms(words: Iterable[str]) -> dict[str, Forms]:
    """Return the units of ``words``, each with its forms."""
    return _forms(units(words))


def _forms(units_of_query: Iterable[str]) -> dict[str, Forms]:
    return {unit: forms_of(unit) for unit in units_of_query}


# --- where words stand in a text ---------------------------------------------------------

_MOST_COUNTED = 20  # maximum occurrences of one word; more hardly change BM25


def word_places(text: str, forms: Forms) -> list[Span]:
    """Return the (start, end) of each word of ``text`` (folded) that is one of ``forms``, in order."""
    if forms.kind == "any":
        spellings = [other for other in forms.others if other.beginning in text]
        return sorted({span for spelling in spellings for span in word_places(text, spelling)})
    if forms.kind == "row":
        return _rows(text, *forms.others)
    spans: list[Span] = []
    start = text.find(forms.beginning)
    while start >= 0:
        end = start + len(forms.beginning)
        if forms.kind == "pair":
            spans.append((start, end))
        elif not is_in_a_word(text[start - 1 : start]):
            if forms.kind == "name":
                if not (text[end : end + 1] == "_" or is_in_a_word(text[end : end + 1])):
                    spans.append((start, end))
            elif word := SPACED_WORD.match(text, start):
                is_longer = forms.is_open and word[0].startswith(forms.whole)
                if is_longer or stem(word[0]) == forms.stem:
                    spans.append(word.span())
        start = text.find(forms.beginning, start + 1)
    return spans


def _rows(text: str, first: Forms, second: Forms) -> list[Span]:
    """Return the spans where a form of ``second`` follows the whole word ``first``, after a space or a
    hyphen."""
    if second.beginning not in text:
        return []
    before = re.escape(first.whole)  # at the start of the pattern, where it is found much faster
    pattern = rf"{before}(?<!\w{before})[ \n-]({re.escape(second.beginning)}\w{{0,20}})"
    root = stem(first.whole + second.whole)
    return [match.span() for match in re.finditer(pattern, text) if stem(first.whole + match[1]) == root]


def occurrences(
    text: str,
    wanted: Mapping[str, Forms],
    numbers: Sequence[Number],
    in_one_piece: Collection[Number] = (),
) -> dict[str, int]:
    """Count the occurrences of each of the units ``wanted`` in ``text``, up to 20. Units that do not occur
    are left out.

    The parts of one of the ``numbers`` count together where the whole number occurs, in any notation.
    Elsewhere they belong to other numbers and do not count.

    Args:
        text: The folded text.
        wanted: The units, each with its forms.
        numbers: The numbers and codes of the query.
        in_one_piece: Codes among ``numbers`` that count only without white space inside.

    """
    counts: dict[str, int] = {}
    for unit, forms in wanted.items():
        if forms.beginning in text and (spans := word_places(text, forms)):
            counts[unit] = min(len(spans), _MOST_COUNTED)
    for number in numbers:
        is_held = not number.month and in_a_row(number, text, in_one_piece=number in in_one_piece)
        if is_held or not counts.keys().isdisjoint(number.wholes):
            for part in (*number.wholes, *number.parts):
                counts.setdefault(part, 1)
        else:
            for part in number.parts:
                counts.pop(part, None)
    return counts


# --- the words of a query ---------------------------------------------------------------


def with_words(
    query: Query, words: Sequence[str], text: str | None = None, loose: Iterable[str] | None = None
) -> Query:
    """Return ``query`` with ``words`` in place of its own. Its text becomes ``text``, or these words if that
    is None. ``loose`` are the words outside quotes; None means all."""
    text = " ".join(words) if text is None else text
    typed, figures = typed_words(text)
    terms = replace(
        query.terms,
        words=tuple(words),
        name=name_key(text),
        forms=unit_forms(words),
        loose=unit_forms(words if loose is None else [word for word in loose if word in words]),
        typed=tuple(zip(typed, map(tuple, typed.values()), strict=True)),
        numbers=tuple(figures),
        stop_words=stop_words([*split_words(text)]),
    )
    return replace(query, text=text if typed else "", terms=terms)  # a query of signs alone has no words


def with_corrections(query: Query, meant: Mapping[str, Sequence[str]]) -> Query:
    """Return ``query`` with words replaced by their corrections, except in phrases. ``meant`` maps a word to
    its corrections, the best first.

    Passages with any correction of a word are searched; the reasons shown for a hit name the first
    correction. A word that is among its own corrections is completed, not corrected. The text that is
    embedded stays as typed.
    """
    quoted = {word for phrase in query.phrases for word in split_words(phrase.text)}
    instead = {word: "|".join(others) for word, others in meant.items() if word not in quoted}
    if not instead:
        return query
    corrected = {word: tuple(meant[word]) for word in instead if word not in meant[word]}
    name = SPACED_WORD.sub(lambda found: meant.get(fold(found[0]), found)[0], query.text)
    typed: list[tuple[str, tuple[str, ...]]] = []
    for word, part in query.terms.typed:
        named = corrected.get(part[0], (word,))[0] if len(part) == 1 else word
        typed.append((named, part))
    terms = replace(
        query.terms,
        name=name_key(name),
        typed=tuple(typed),
        corrected=tuple(corrected.items()),
        completed=next((word for word in instead if word in meant[word]), ""),
    )
    return with_units(replace(query, terms=terms), instead)


def with_units(query: Query, instead: Mapping[str, str]) -> Query:
    """Return ``query`` with each unit that is a key of ``instead`` replaced by its value."""
    terms = query.terms
    typed = [(word, tuple(instead.get(unit, unit) for unit in part)) for word, part in terms.typed]
    changed = replace(
        terms,
        words=tuple([instead.get(word, word) for word in terms.words]),
        forms=_forms([instead.get(unit, unit) for unit in terms.forms]),
        loose=_forms([instead.get(unit, unit) for unit in terms.loose]),
        typed=tuple(typed),
    )
    return replace(query, terms=changed)
