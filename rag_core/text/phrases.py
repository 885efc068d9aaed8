"""Finds exact words of a query in the text as it is shown. Case, white space, and the forms of quotes and
dashes may differ."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise

from rag_core.text.cells import cells_apart, cells_of_source_apart, rows_apart
from rag_core.text.shown import shown
from rag_core.text.words import LETTER, UNBROKEN, fold, split_words, units
from rag_core.types import Phrase

_ALIKE = {"'": "['’‘ʼ´′]", '"': '["“”„«»]', "-": "[-‐‑‒–—−]"}
"""Typed character → characters that notes may have in its place."""
_AS_TYPED = str.maketrans({other: typed for typed, others in _ALIKE.items() for other in others[1:-1]})
_IN_RUN = re.compile(f"[{UNBROKEN}]")
_BETWEEN = (
    r"(?:\s?(?:[,;:.!?…)\]}\"”“»’']|\[[\d*†]{1,4}\])|>){0,4}"  # closing signs, and the marks of notes: [1]
    r"\s+(?:[(\[{¿¡\"“”„«»‘']\s?|<(?!\s)){0,3}"
)
"""A pattern for the text between two words that are typed with a space between them."""
_HYPHEN_AT_END = r"(?:[ \t]{0,9}\r?\n[ \t>]{0,9})?"
"""A pattern for the end of a line after a hyphen inside a word."""
_BREAK_IN_PHRASE = "(?:[ \t]{0,9}\r?\\n[ \t\u3000]{0,9})?"


@lru_cache(maxsize=256)
def _pattern(phrase: str) -> re.Pattern[str]:
    """Compile a pattern that finds the words of ``phrase``, one after the other, in a text folded like it."""
    typed = phrase.translate(_AS_TYPED).split()
    words = _BETWEEN.join("".join(map(_as_found, pairwise(f"{word} "))) for word in typed)
    first = next((_ALIKE.get(word[0]) or re.escape(word[0]) for word in typed), "")
    before = f"(?<!{LETTER}.)" if re.match(LETTER, first) else ""
    behind = f"(?!{LETTER})" if re.search(rf"{LETTER}\Z", words) else ""
    return re.compile(f"{first}{before}{words.removeprefix(first)}{behind}", re.DOTALL)


def _as_found(pair: tuple[str, str]) -> str:
    """Return a pattern for the first letter of a pair, and for the text allowed between the two letters."""
    letter, following = pair
    pattern = _ALIKE.get(letter) or re.escape(letter)
    if letter == "-" and following.isalnum():
        return pattern + _HYPHEN_AT_END
    return pattern + _BREAK_IN_PHRASE if _IN_RUN.match(letter) and _IN_RUN.match(following) else pattern


def exact(phrase: str) -> Phrase:
    """Create a Phrase from exact words of a query."""
    return Phrase(phrase, tuple(units(split_words(phrase))), _pattern(fold(phrase)))


def has_phrase(text: str, phrase: str) -> bool:
    """Whether ``text`` contains ``phrase``. The text must not contain markup."""
    return _pattern(_compared(phrase)).search(_compared(text)) is not None


def shows_phrase(text: str, file_type: str, phrase: str) -> bool:
    """Whether a passage of a document of this type contains ``phrase``, as written or as shown. A phrase
    cannot extend over several table cells."""
    pattern = _pattern(_compared(phrase))
    if pattern.search(_compared(cells_apart(text, file_type))):
        return True
    as_shown = shown(cells_of_source_apart(text, file_type), file_type).text
    return as_shown != text and pattern.search(_compared(rows_apart(as_shown, file_type))) is not None


def _compared(text: str) -> str:
    return fold(text.translate(_AS_TYPED)).strip()
