"""The words of a store: which of them is spelled much like one that no passage has."""

from __future__ import annotations

import difflib
import json
import sqlite3
from itertools import islice

from rag_core.store import find
from rag_core.text.words import STOP_WORDS, fold, spaced_words
from rag_core.types import Viewer

_SHORTEST, _LONGEST = 4, 40  # letters; shorter words are like too many others, longer ones nobody types
_LIKE = 0.8  # of difflib's ratio: of six letters one is another one, or two neighbours are swapped
_LIKE_STEM = 0.7
_LONGER, _SHORTER = 2, 4  # letters by which a stem may differ from the word
_TRIED = 8


def like(db: sqlite3.Connection, word: str, viewer: Viewer) -> str:
    """A word of a passage that ``viewer`` may see, spelled much like ``word`` and with the same first letter;
    '' if there is none.

    The index has stems, so a passage says how the word is written. Call it only for a word that no passage
    has: all words with that letter are gone through, a tenth of a second for 100,000 passages.
    """
    if not _SHORTEST <= len(word) <= _LONGEST:
        return ""
    # Counted are those that may be seen: nothing hidden may tell of itself by what it displaces.
    written = filter(None, (_written(db, stem, viewer) for stem in _stems(db, word)))
    words = {each for some in islice(written, _TRIED) for each in some if len(each) >= _SHORTEST}
    near = difflib.get_close_matches(word, sorted(words - STOP_WORDS), 1, _LIKE)
    return near[0] if near else ""


def _stems(db: sqlite3.Connection, word: str) -> list[str]:
    """The words of the index that may be meant, without their endings, the most similar first."""
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.vocabulary USING fts5vocab(main, words, row)")
    rows = db.execute(
        """SELECT json_group_array(term) FROM temp.vocabulary
           WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?""",
        (word[0], chr(ord(word[0]) + 1), len(word) - _SHORTER, len(word) + _LONGER),
    )
    terms = json.loads(rows.fetchone()[0])
    return difflib.get_close_matches(word, terms, len(terms) or 1, _LIKE_STEM)


def _written(db: sqlite3.Connection, stem: str, viewer: Viewer) -> set[str]:
    """How the words with this stem are written in a passage that has one."""
    # Not by MATCH, which would take the stem of the stem: of warehous, that of warehouse, it is wareh.
    db.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.places USING fts5vocab(main, words, instance)")
    allowed = find.visible(viewer)
    row = db.execute(
        f"""SELECT c.title || ' ' || c.headings || ' ' || c.text FROM temp.places
            CROSS JOIN chunks c ON c.id = places.doc JOIN documents d ON d.id = c.document_id
            WHERE places.term = ? AND col IN ('title', 'headings', 'text') AND {allowed.sql} LIMIT 1""",
        (stem, *allowed.values),
    ).fetchone()
    beginning = stem[:-1]  # Porter's stemmer makes an i of a last y
    return {each for each, _ in spaced_words(fold(row[0])) if each.startswith(beginning)} if row else set()
