"""Replaces what note apps add to Markdown by what they show, or by common Markdown that looks the same. Line
numbers stay the same."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import partial

from rag_core.text.markup import opaque
from rag_core.text.numbers import Span

_Replacement = str | Callable[[re.Match[str]], str]

_CODE_OF_ORG = frozenset(("SRC", "EXAMPLE", "QUERY", "EXPORT"))
_EMBEDDED = frozenset(("embed", "video", "youtube", "vimeo", "tweet", "twitter", "pdf", "iframe", "cloze"))
_STATES = frozenset(("TODO", "DONE"))
_LABELS = frozenset("note tip info warning danger caution important question example success failure".split())
"""Names of boxes that are shown above a box without a title."""

_ATTRIBUTE = (
    r"(?:[.#][A-Za-z][\w:.-]{0,60}|:[A-Za-z][\w-]{0,40}[ \t][^{},\n]{1,60}"
    r"|[A-Za-z][\w-]{0,40}=(?:\"[^\"\n]{0,200}\"|[^\s\"'{},;]{1,60}))"
)
_ATTRIBUTES = rf"\{{:?[ ]?{_ATTRIBUTE}(?:[ ,]{{1,3}}{_ATTRIBUTE}){{0,9}}[ ]?\}}"
"""Such as ``{#id .class width=50%}`` of Pandoc and ``{:height 200}`` of Logseq."""


def as_shown(text: str) -> str:
    """Return the text of a note with the marks of Logseq, Roam, Obsidian, Bear and Pandoc replaced, except in
    code."""
    for sign, pattern, shown in _RULES:
        if sign in text and pattern.search(text):
            code = [(place.start, place.end) for place in opaque(text)]
            text = pattern.sub(partial(_outside_code, code, shown), text)
    return text


def _outside_code(code: Sequence[Span], shown: _Replacement, match: re.Match[str]) -> str:
    number = bisect_right(code, match.start(), key=lambda span: span[0]) - 1
    if number >= 0 and match.start() < code[number][1]:
        return match[0]
    return shown(match) if callable(shown) else match.expand(shown)


def _of_block(match: re.Match[str]) -> str:
    """Return a fence for a block of code that Logseq writes as Org does, and nothing for other blocks."""
    if match[3] not in _CODE_OF_ORG:
        return match[1]
    language = (match[4] or "").strip().split(" ", 1)[0] if match[2] == "BEGIN" else ""
    return f"{match[1]}```{language}"


def _of_macro(match: re.Match[str]) -> str:
    """Return what a macro of Logseq or Roam shows as far as the note tells: a task's state, an address."""
    name = match[1].strip("[]").rstrip(":")
    if name in _STATES:
        return name
    return match[2].strip() if name in _EMBEDDED else ""


def _of_box(match: re.Match[str]) -> str:
    """Return the name of a box that has no title, if it is shown then."""
    return match[1] + (match[2] if match[2] and match[2].lower() in _LABELS else "")


_RULES: tuple[tuple[str, re.Pattern[str], _Replacement], ...] = (
    (
        "#+",
        re.compile(r"^([ \t]*(?:-[ \t]+)?)#\+(BEGIN|END)_([A-Z]{2,12})\b([^\n]*)", re.I | re.M),
        _of_block,
    ),
    (
        "{{",
        re.compile(
            r"\{\{(\[\[(?:TODO|DONE|query|embed|table|kanban|video|pdf|iframe)\]\]:?(?=[ \t:}])"
            r"|(?:TODO|DONE)(?=[ \t}])|(?:embed|query|video|youtube|vimeo|tweet|twitter|pdf|iframe|cloze"
            r"|renderer|function|namespace|zotero)(?=:?[ \t]{1,9}[^\s{}]))([^{}\n]{0,1000})\}\}"
        ),
        _of_macro,
    ),
    ("^^", re.compile(r"(?<!\^)\^\^(?=[\w\"'“„(*\[])([^\n^]{1,500})(?<=\S)\^\^(?!\^)"), r"==\1=="),
    (
        "::",
        re.compile(
            r"(?<![^\s(*_\"'])::(?=[^\s:/])(?![\da-fA-F]{1,4}\b)([^:\n]{1,200})(?<=\S)::(?![^\s.,;!?)*_\"'])"
        ),
        r"==\1==",
    ),
    (
        "++",
        re.compile(
            r"(?<![+\w])\+\+(?=\w\w|[*_\"'(])([^+\n;={}]{1,200})(?<=\w\w|[\w.!?*_\"')][.!?*_\"')])\+\+(?![+\w])"
        ),
        r"\1",
    ),
    ("^", re.compile(r"^[ \t]*\^[A-Za-z0-9-]{1,60}[ \t]*$", re.M), ""),
    (
        "^",
        re.compile(r"(?<=[A-Za-z)])\^(-?\d{1,3})\^(?!\w)|(?<=\d)\^(st|nd|rd|th)\^"),
        lambda m: m[1] or m[2],
    ),
    ("~", re.compile(r"(?<=[A-Za-z)])~(\d{1,3})~"), r"\1"),
    ("]{", re.compile(rf"(?<!!)\[([^\[\]\n]{{1,300}})\]{_ATTRIBUTES}"), r"\1"),
    ("{", re.compile(rf"(\]\([^()\n]{{0,1000}}\)|(?<=`)){_ATTRIBUTES}"), r"\1"),
    ("{", re.compile(rf"^([ \t>]*#{{1,6}}[ \t][^\n{{}}]{{1,300}}?)[ \t]*{_ATTRIBUTES}[ \t#]*$", re.M), r"\1"),
    ("{:", re.compile(r"^[ \t]*\{:[^{}\n]{0,200}\}[ \t]*$", re.M), ""),
    (
        ":::",
        re.compile(
            r"^([ \t]*):{3,}(?:[ \t]*(?:\{[^{}\n]{0,200}\}|[A-Za-z-]{1,40}(?=[ \t]+\S)|([A-Za-z-]{1,40})))?"
            r"(?=[ \t]|$)",
            re.M,
        ),
        _of_box,
    ),
)
"""Characters that a note must contain, the pattern, and what the app shows instead."""
