"""How text becomes index terms, the same for passages and for queries.

FTS5's ``unicode61`` splits at everything that is no letter or digit, which leaves two kinds
of words that nobody types the way they are written: identifiers (``getUserName``) and runs
of scripts without spaces (``价格歧视``). For those a passage gets extra terms: the parts of
an identifier, the overlapping pairs of characters of a run and its last one alone (bigrams,
the usual unit for Chinese and Japanese retrieval: Nie, Gao, Zhang & Zhou, "On the use of
words and n-grams for Chinese information retrieval", IRAL 2000). Ordinary words give no
extra term.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

_UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Myanmar, Khmer
    "\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff"  # radicals, kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"  # Han, half-width kana
    "\U00020000-\U0003ffff"
)
_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MIXED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")

TERM_COLUMNS = ("title_terms", "terms")

# Words so common that they say nothing about what is looked for; they count only when the
# query has no others. The shortest list that covers questions as people type them.
STOP_WORDS = frozenset(
    (
        "a about an and any are as at be been but by can could did do does for from had has have how i if in "
        "into is it its me my of on or our should so than that the their them then there these they this to "
        "was we were what when where which who whom whose why will with would you your"
    ).split()
)


def bigrams(run: str) -> list[str]:
    """The overlapping pairs of a run; a single character stands for itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


def extra_terms(text: str) -> str:
    """The terms that ``unicode61`` would not find in ``text``, space-separated, in order."""
    if not _MIXED.search(text) and not _UNSPACED_RUN.search(text):  # most prose, at a glance
        return ""
    return " ".join(_extra(text))


def _extra(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text):
        word = match.group()
        if word.isascii():
            if len(word) > 2 and _MIXED.search(word):
                yield from _parts(word)
        elif _UNSPACED_RUN.search(word):
            for piece in _pieces(word):
                yield from [*bigrams(piece), piece[-1]] if is_unspaced(piece) else [piece.lower()]


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
    """The words of a query in order, in lower case, without repetitions; stop words only if all are."""
    words = dict.fromkeys(word.lower() for word in _split(text, parts=True))
    return tuple(word for word in words if word not in STOP_WORDS) or tuple(words)


def _split(text: str, *, parts: bool = False) -> Iterator[str]:
    for match in _WORD.finditer(unicodedata.normalize("NFC", text)):
        word = match.group()
        if word.isascii():
            yield word
            if parts:
                yield from _parts(word)
        else:
            yield from _pieces(word)


def is_unspaced(word: str) -> bool:
    """Whether ``word`` is a run of a script that is written without spaces."""
    return _UNSPACED_RUN.fullmatch(word) is not None


def match_any(words: Iterable[str]) -> str:
    """An FTS5 expression for passages with at least one of ``words`` (from query_words)."""
    return " OR ".join(_match(word, " OR ") for word in words)


def match_all(text: str) -> str:
    """An FTS5 expression for passages with every word of ``text``; '' if it has none.

    An exact wording is a subset of this, which the caller checks on the text itself.
    """
    return " AND ".join(_match(word, " AND ") for word in dict.fromkeys(_split(text)))


def _match(word: str, joint: str) -> str:
    if not is_unspaced(word):
        return f'"{word}"'
    star = "*" if len(word) == 1 else ""
    pairs = joint.join(f'"{pair}"{star}' for pair in bigrams(word))
    return f"{{{' '.join(TERM_COLUMNS)}}} : ({pairs})"
