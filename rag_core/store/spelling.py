"""Finds other spellings of a query's words: corrections of typing errors, longer words for an unfinished
word, and words written together or apart (*database*, *data base*)."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from contextlib import suppress
from itertools import pairwise

from rag_core.errors import StoreError
from rag_core.store import find
from rag_core.store.file import Store
from rag_core.store.lexical import BEGUN, LEAST_NAME, by_beginnings, frequencies
from rag_core.text.stop_words import ENGLISH
from rag_core.text.words import SPACED_WORD, fold, is_unspaced, one_edit_away, split_words
from rag_core.types import Query, Viewer

_SHORTEST, _LONGEST = 4, 24  # letters of a corrected word; shorter words resemble too many others
_MOST_CORRECTED = 3  # maximum number of words of a query that are corrected
_MEANT = 3  # maximum number of corrections for a word
_LIKELY, _LOOKED_AT = 8, 10  # maximum number of similar stems, and of passages that show their spelling
_LEAST_TOGETHER, _MOST_TOGETHER = 4, 20  # minimum and maximum letters of a word that is split
_MOST_APART = 60  # maximum number of spellings of a query that are looked up


def together_or_apart(stores: Sequence[Store], query: Query, viewer: Viewer) -> dict[str, tuple[str, ...]]:
    """Return the words of a query that passages also write together with the next word, or as two words.

    Each word comes with its spellings, itself first: ``database`` → ``database``, ``data base``. Spellings
    that no passage has are left out.
    """
    spellings = _spellings(query)
    counts: Counter[str] = Counter()
    for store in stores if spellings else ():
        with suppress(StoreError), store.read() as db:
            counts.update(frequencies(db, list(spellings), viewer)[1])
    others: dict[str, tuple[str, ...]] = {}
    for spelling, words in spellings.items():
        for word in words if counts[spelling] else ():
            others[word] = (*others.get(word, (word,)), spelling)
    return others


def _spellings(query: Query) -> dict[str, list[str]]:
    """Return the spellings that join neighbouring words or split a word, each with the words that it
    replaces."""
    spellings: dict[str, list[str]] = {}
    words = [word for word in split_words(query.text) if word.isalpha() and not is_unspaced(word)]
    for first, second in pairwise(words):
        asked = [word for word in (first, second) if word in query.terms.loose]
        if asked and _LEAST_TOGETHER <= len(first + second) <= _MOST_TOGETHER:
            spellings.setdefault(first + second, asked)
    for word in words:
        if word in query.terms.loose and _LEAST_TOGETHER <= len(word) <= _MOST_TOGETHER:
            for split in range(1, len(word) - 1):
                if split > 1 or word[0] not in ENGLISH:
                    spellings.setdefault(f"{word[:split]} {word[split:]}", [word])
    return spellings if len(spellings) <= _MOST_APART else {}


def corrections(
    stores: Sequence[Store], words: Sequence[str], viewer: Viewer, known: Set[str] = frozenset()
) -> dict[str, tuple[str, ...]]:
    """Suggest other spellings for the words of a query that no passage has: word → at most three words.
    ``viewer`` may see all of these in passages.

    The last word may be unfinished. Its suggestions are the word itself, then the most frequent words of
    titles that begin with it.

    Any other word is corrected only if it is not in ``known``, and if no passage has another form of it or a
    word that begins with it. Suggestions differ by one typing error. Words in titles come first, then the
    most frequent.
    """
    unknown = [word for word in words if LEAST_NAME <= len(word) <= _LONGEST and not is_unspaced(word)]
    if not unknown:
        return {}
    last, allowed = words[-1], find.visible(viewer)
    has_longer: list[str] = []  # words for which passages have longer words
    longer: Counter[str] = Counter()
    for store in stores:
        with suppress(StoreError), store.read() as db:
            held = frequencies(db, unknown, viewer)[1]
            unknown = [word for word in unknown if not held[word]]
            has_longer += [word for word in unknown if by_beginnings(db, [word], allowed)]
            if last in unknown:
                longer.update(_longer_in_titles(db, last, allowed))
    corrected: dict[str, tuple[str, ...]] = {}
    if longer and last in unknown:
        corrected[last] = (last, *_commonest(longer))
        has_longer.append(last)
    unknown = [word for word in unknown if len(word) >= _SHORTEST and word not in {*has_longer, *known}]
    for word in unknown[:_MOST_CORRECTED]:
        if meant := _one_error_away(stores, word, allowed):
            corrected[word] = meant
    return corrected


def _longer_in_titles(db: sqlite3.Connection, beginning: str, allowed: find.Eligible) -> Counter[str]:
    """Count the eligible titles with each word that begins with ``beginning``."""
    sql = f"""SELECT DISTINCT d.id, c.title FROM words JOIN chunks c ON c.id = words.rowid
              JOIN documents d ON d.id = c.document_id WHERE words MATCH ? AND {allowed.sql} LIMIT {BEGUN}"""
    match = f"{{title title_terms}} : ({find.match_any([beginning])} *)"
    longer: Counter[str] = Counter()
    for _, title in db.execute(sql, (match, *allowed.values)):
        words = {*SPACED_WORD.findall(fold(title))} - ENGLISH
        longer.update([word for word in words if word.startswith(beginning)])
    return longer


def _one_error_away(stores: Sequence[Store], word: str, allowed: find.Eligible) -> tuple[str, ...]:
    """Return the most likely words that differ from ``word`` by one typing error."""
    spellings = [
        spelling for spelling in one_edit_away(word) if len(spelling) >= _SHORTEST and spelling not in ENGLISH
    ]
    counts: Counter[str] = Counter()
    for store in stores:
        with suppress(StoreError), store.read() as db:
            counts.update(_literal(db, spellings, allowed))
    return _commonest(counts)


def _commonest(counts: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(sorted(counts, key=lambda word: (-counts[word], word))[:_MEANT])


def _literal(db: sqlite3.Connection, words: Sequence[str], allowed: find.Eligible) -> dict[str, int]:
    """Count the eligible passages that contain each of ``words`` as written, not only its stem. A word in a
    title counts more than all texts."""
    total, counts = frequencies(db, words, allowed.viewer)
    sql = f"""SELECT c.title, c.title || ' ' || c.headings || ' ' || c.text FROM words
              JOIN chunks c ON c.id = words.rowid JOIN documents d ON d.id = c.document_id
              WHERE words MATCH ? AND {allowed.sql} LIMIT {_LOOKED_AT}"""
    literal: dict[str, int] = {}
    for word in sorted(counts, key=lambda each: -counts[each])[:_LIKELY]:
        if not counts[word]:
            break
        for columns in ("{title title_terms} : ", ""):
            match = f"{columns}{find.match_any([word])}"
            for title, text in db.execute(sql, (match, *allowed.values)):
                if word in SPACED_WORD.findall(fold(text)):
                    in_title = word in SPACED_WORD.findall(fold(title))
                    literal[word] = max(literal.get(word, 0), counts[word] + (total if in_title else 0))
    return literal
