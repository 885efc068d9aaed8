"""Finds text for machines: base64, ``data:`` URIs and minified code. Base64 has at least 60 letters and
digits, and is neither a hash nor part of a web address. Minified code has long lines with hardly any
spaces."""

from __future__ import annotations

import re

from rag_core.text.numbers import Span

_LARGE = 1000
"""Minimum number of characters of base64 that count as an embedded file, such as an image in a mail."""

_UNSPACED = re.compile(r"(?<!\S)\S{40}")
_RUN = re.compile(
    r"https?://[^\s\"'<>()]*"
    r"|(data:[\w.+-]+/[\w.+-]+[;,][^\s\"'<>()]{40,}|(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,}={0,2})",
    re.ASCII,
)
_LONG_RUN = 24
_UNBROKEN = re.compile(rf"[A-Za-z0-9+=]{{{_LONG_RUN},}}")
_HASH = re.compile("(?=[A-Fa-f]*[0-9])(?:[0-9a-f]{60,128}|[0-9A-F]{60,128})")
_MIXED = re.compile("(?=[A-Za-z]{0,19}[0-9])[A-Za-z0-9]{20}")
_BETWEEN = re.compile(r"[\s\"',>|+\\]+")
_MOST_BETWEEN = 40
_LAST_LINE = re.compile(
    r"\s*(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)(?![^\s\"'<])"
)

_LONG_LINE = re.compile("[^\r\n]{500,}")
_MOST_SPACE = 0.08


def runs(text: str) -> list[Span]:
    """Return the spans of base64 and ``data:`` URIs in ``text``, including the line ends in them."""
    if not _UNSPACED.search(text):  # true for most texts, and quick to check
        return []
    found: list[Span] = []
    for match in _RUN.finditer(text):
        if not match[1] or _HASH.fullmatch(match[1]):
            continue
        start, end = match.span()
        # Only a line break lies between two lines of base64.
        if found and start - found[-1][1] <= _MOST_BETWEEN and _BETWEEN.fullmatch(text, found[-1][1], start):
            start = found.pop()[0]
        found.append((start, end))
    return [span for span in found if text.startswith("data:", span[0]) or _MIXED.search(text, *span)]


def is_unreadable(text: str) -> bool:
    """Whether ``text`` consists mostly of long runs of letters and digits, such as keys and hashes. Searches
    can find these by words, but no model can read them."""
    if max(map(len, text.split()), default=0) < _LONG_RUN:
        return False
    return 2 * sum(match.end() - match.start() for match in _UNBROKEN.finditer(text)) > len(text)


def blocks(text: str) -> list[Span]:
    """Return the spans of base64 and ``data:`` URIs of at least 1,000 characters, including the line ends in
    them."""
    found: list[Span] = []
    for start, end in runs(text):
        if end - start >= _LARGE:
            last = _LAST_LINE.match(text, end)
            found.append((start, last.end() if last else end))
    return found


def minified(text: str) -> list[Span]:
    """Return the spans of lines of 500 characters or more in the code ``text`` that have hardly any
    spaces."""
    return [match.span() for match in _LONG_LINE.finditer(text) if is_dense(match[0])]


def is_dense(code: str) -> bool:
    """Whether ``code`` has hardly any spaces: at most 8 in 100 characters are spaces or tabs."""
    return code.count(" ") + code.count("\t") <= _MOST_SPACE * len(code)


def without_runs(text: str) -> str:
    """Replace each run of base64 and each ``data:`` URI in ``text`` by a space."""
    parts, at = [], 0
    for start, end in runs(text):
        parts.append(text[at:start])
        at = end
    return " ".join([*parts, text[at:]]) if parts else text
