"""A reply as Markdown that can be pasted into a note.

Threat: a model's output is hostile. It is escaped, so that the note loads nothing and has no links.
"""

from __future__ import annotations

import re

from rag_core import wording
from rag_core.replies import Reference, Reply, marked

_MARKS = re.compile(r"[\\`*_{}\[\]()<>#|~$!=^@&]|(?<=\w):(?=//)|(?<=www)\.", re.IGNORECASE)
_NUMBERS = re.compile(r"\\\[(\d+(?:, \d+)*)\\\](?!\\\(|:)")


def markdown(reply: Reply) -> str:
    """Write a reply as Markdown for a note: the question, the answer and its sources, with their text
    escaped."""
    answer = "".join(statement.lead + _escaped(marked(statement)) for statement in reply.statements).strip()
    parts = [f"**{_escaped(reply.question)}**", answer or _escaped(reply.message)]
    sources = [reference for reference in reply.references if reference.cited] or reply.references
    rows = [
        f"- [{reference.number}] {_escaped(' '.join(reference_place(reference).split()))}"
        for reference in sources
    ]
    parts += ["\n".join(["Sources:", "", *rows])] if rows else []
    return "\n\n".join(parts).strip() + "\n"


def reference_place(reference: Reference) -> str:
    """Return the place of a passage, not escaped: ``vault/rel_path :: heading_path, page 3``, or its lines
    (``lines 3-9``) instead of the page."""
    return ", ".join(filter(None, (reference.place, wording.where(reference))))


def _escaped(text: str) -> str:
    """Escape text for Markdown. Numbers of passages stay unchanged unless they could become links."""
    return _NUMBERS.sub(r"[\1]", _MARKS.sub(lambda match: f"\\{match[0]}", text))
