"""Recognizes the language of a text by its script and its most frequent words. This is good enough to know
the languages of a store."""

from __future__ import annotations

import re
from collections import defaultdict

from rag_core.text.stop_words import ENGLISH, OTHERS
from rag_core.text.words import fold

_LOOKED_AT = 600  # number of letters of a text that are examined
_LEAST = 2  # minimum number of frequent words in a text
_SCRIPTS = {  # languages that are recognized by their script alone
    "Japanese": "\u3041-\u30ff",
    "Korean": "\uac00-\ud7a3\u1100-\u11ff",
    "Chinese": "\u3400-\u9fff",
    "Thai": "\u0e00-\u0e7f",
    "Greek": "\u0370-\u03ff",
    "Hebrew": "\u0590-\u05ff",
    "Hindi": "\u0900-\u097f",
    "Arabic": "\u0600-\u06ff",
    "Russian": "\u0400-\u04ff",
}
_JAPANESE_SHARE = 0.1  # minimum share of kana among the letters
_LISTS = {"English": ENGLISH, **OTHERS}
_OF_WORD = {
    word: [name for name, words in _LISTS.items() if word in words]
    for word in frozenset().union(*_LISTS.values())
}


def language_of(text: str) -> str:
    """Return the English name of a text's language, or '' if it is unknown, as for a few words."""
    letters = "".join(re.findall(r"[^\W\d_]", text[:_LOOKED_AT]))
    for name, letters_of in _SCRIPTS.items():
        share = len(re.findall(f"[{letters_of}]", letters)) / max(1, len(letters))
        if share > (_JAPANESE_SHARE if name == "Japanese" else 0.5):
            return (_by_words(text) or name) if name == "Russian" else name
    return _by_words(text)


def _by_words(text: str) -> str:
    """Return the language whose frequent words a text contains, or '' if these are too few."""
    words = re.findall(r"[^\W\d_]+", fold(text[:_LOOKED_AT]))
    held = [word for word in words if word in _OF_WORD]
    shares: defaultdict[str, float] = defaultdict(float)
    for word in held:
        for name in _OF_WORD[word]:
            shares[name] += 1 / len(_OF_WORD[word])  # a word of several languages counts less
    return max(shares, key=lambda name: shares[name]) if len(held) >= _LEAST else ""
