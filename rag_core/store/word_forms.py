"""Finds other forms of a query's words in languages other than English. Such a form has another ending
(*journaux* for *journal*).

In languages that write words together, it may also be a longer word with the same end (*Krankenversicherung*
for *Versicherung*).

The forms are looked up among the words of the store, so nothing is indexed for them.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

from rag_core.errors import StoreError
from rag_core.store.connection import kept
from rag_core.store.file import Store
from rag_core.store.lexical import frequencies
from rag_core.text.words import is_unspaced
from rag_core.types import OWNER, Query, Viewer

_TELLING = {
    "German": ("und", "der"),
    "Dutch": ("het", "een"),
    "Swedish": ("och", "att"),
    "Danish": ("og", "af"),
    "Norwegian": ("og", "av"),
}
"""Words that identify a language: a store has text in it if many passages have each of its words."""
_ENDINGS = ("", "e", "en", "n", "er", "ern", "es", "s", "r", "t", "et", "na", "ar", "or")
_PLURALS = (
    ("al", "aux"),
    ("eau", "eaux"),
    ("eu", "eux"),
    ("ion", "iones"),
    ("on", "ones"),
    ("z", "ces"),
    ("ao", "oes"),
    ("al", "ais"),
    ("el", "eis"),
    ("m", "ns"),
)
_MANY = 0.1  # share of the passages
_SHORTEST, _LEAST_ROOT, _LEAST_BEFORE = 6, 5, 3  # minimum letters: of a word, of its root, before the root
_MOST = 12  # maximum number of forms of one word


def other_forms(stores: Sequence[Store], query: Query, viewer: Viewer) -> dict[str, tuple[str, ...]]:
    """Return the words of a query that passages have in other forms. Each comes with itself first, then these
    forms. Only words of at least six letters are looked up."""
    words = [word for word in query.terms.loose if _may_have_forms(word)]
    counts: dict[str, Counter[str]] = {word: Counter() for word in words}
    for store in stores if words else ():
        with suppress(StoreError), store.read() as db:
            vocabulary = kept(db, _vocabulary) if kept(db, _writes_together) else "\n"
            for word in words:
                forms = {*_with_other_ending(word), *_ending_with(word, vocabulary)} - {word}
                counts[word].update(frequencies(db, sorted(forms), viewer)[1])
    others: dict[str, tuple[str, ...]] = {}
    for word, held in counts.items():
        likely = [form for form in sorted(held, key=lambda form: (-held[form], form)) if held[form]]
        if likely:
            others[word] = (word, *likely[:_MOST])
    return others


def _may_have_forms(word: str) -> bool:
    return len(word) >= _SHORTEST and word.isalpha() and not is_unspaced(word)


def _with_other_ending(word: str) -> Iterator[str]:
    """Yield the plural or singular of a French, Spanish or Portuguese word, if no rule for English covers it.
    A plural that only adds letters is found as a longer word."""
    for singular, plural in _PLURALS:
        if word.endswith(plural) and len(word) - len(plural) + len(singular) >= _LEAST_ROOT:
            yield word.removesuffix(plural) + singular
        if word.endswith(singular) and plural != f"{singular}es":
            yield word.removesuffix(singular) + plural


def _writes_together(db: sqlite3.Connection) -> bool:
    """Whether a store has text in a language that writes words together."""
    words = sorted({word for telling in _TELLING.values() for word in telling})
    total, counts = frequencies(db, words, OWNER)
    return any(min(counts[word] for word in telling) > _MANY * total for telling in _TELLING.values())


def _vocabulary(db: sqlite3.Connection) -> str:
    """Return the longer words of the index as stored there, each between line breaks."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab('main', 'words', 'row')")
    sql = "SELECT group_concat(term, char(10)) FROM temp.vocabulary WHERE length(term) >= ?"
    return f"\n{db.execute(sql, (_SHORTEST,)).fetchone()[0] or ''}\n"


def _ending_with(word: str, vocabulary: str) -> Iterator[str]:
    """Yield the words of a vocabulary that end with ``word``. Both are compared without their endings."""
    root = _root(word)
    start = vocabulary.find(root)
    while start >= 0:
        first, last = vocabulary.rindex("\n", 0, start) + 1, vocabulary.index("\n", start)
        before, ending = start - first, vocabulary[start + len(root) : last]
        if ending in _ENDINGS and (before == 0 or before >= _LEAST_BEFORE):
            yield vocabulary[first:last]
        start = vocabulary.find(root, start + 1)


def _root(word: str) -> str:
    """Return a word without its ending, if enough letters are left."""
    for ending in sorted(_ENDINGS[1:], key=len, reverse=True):
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_ROOT:
            return word.removesuffix(ending)
    return word
