"""Subtitles in the format Advanced SubStation Alpha (ASS, SSA) → the dialogue, one line each."""

from __future__ import annotations

import re
from collections.abc import Iterator

OF_SUBTITLES = frozenset({".ass", ".ssa"})

_FORMAT = re.compile(r"Format:(.*)", re.I)
_DIALOGUE = re.compile(r"Dialogue:(.*)", re.I)
_OVERRIDE = re.compile(r"\{[^{}]*\}")
_BREAK = re.compile(r"\\[Nnh]")
_USUAL = "Layer Start End Style Name MarginL MarginR MarginV Effect Text".split()


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
