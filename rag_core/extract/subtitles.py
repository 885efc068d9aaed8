"""Subtitles → what is said: SubRip and WebVTT (SRT, VTT) without tags and escapes, in the same lines;
Advanced SubStation Alpha (ASS, SSA) as its dialogue, one line each."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

OF_SUBTITLES = frozenset({".ass", ".ssa"})

_FORMAT = re.compile(r"Format:(.*)", re.I)
_DIALOGUE = re.compile(r"Dialogue:(.*)", re.I)
_OVERRIDE = re.compile(r"\{[^{}]*\}")
_BREAK = re.compile(r"\\[Nnh]")
_USUAL = "Layer Start End Style Name MarginL MarginR MarginV Effect Text".split()

_TAG = re.compile(
    r"</?(?:[bius]|font|c|lang|ruby|rt)(?:[ \t.][^<>\n]*)?>|</?v(?:\.[^<>\s]*)?(?:[ \t]([^<>\n]*))?>"
    r"|<\d[\d:.]*>|\{\\[^{}\n]*\}",
    re.I,
)
"""The style, the speaker or the time in a cue."""
_ENTITY = re.compile(r"&(?:#\d{2,7}|#[xX][0-9a-fA-F]{2,6}|[A-Za-z]{2,31});")
_ARROW = "-->"
_MARKS_OF_DIRECTION = str.maketrans("", "", "\u200e\u200f")


def without_tags(text: str) -> str:
    """Return SubRip or WebVTT with its cues as a player shows them, in the same lines. A speaker whom a tag
    names stands before the first words of each turn."""
    head, arrow, cues = text.partition(_ARROW)
    speaker = ""

    def shown(tag: re.Match[str]) -> str:
        nonlocal speaker
        name = (tag[1] or "").strip()
        if name in ("", speaker):
            return ""
        speaker = name
        return f"{name}: "

    return head + arrow + _ENTITY.sub(_of_entity, _TAG.sub(shown, cues))


def _of_entity(entity: re.Match[str]) -> str:
    char = html.unescape(entity[0]).translate(_MARKS_OF_DIRECTION)
    return char if char.isprintable() or char == "\xa0" else entity[0]


def dialogue(text: str) -> str:
    """Return the dialogue of a file with its speakers, without styles, times and positions. Returns ``text``
    itself if there is no dialogue."""
    return "\n".join(_lines(text)) or text


def _lines(text: str) -> Iterator[str]:
    fields = [name.lower() for name in _USUAL]
    for line in text.splitlines():
        if named := _FORMAT.match(line):
            fields = [name.strip().lower() for name in named[1].split(",")]
        elif (dialogue := _DIALOGUE.match(line)) and "text" in fields:
            values = dict(zip(fields, dialogue[1].split(",", len(fields) - 1), strict=False))
            said = " ".join(_BREAK.sub(" ", _OVERRIDE.sub("", values.get("text", ""))).split())
            speaker = (values.get("name") or values.get("actor") or "").strip()
            if said:
                yield f"{speaker}: {said}" if speaker else said
