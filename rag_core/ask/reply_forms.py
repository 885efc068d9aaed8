"""A reply as JSON, with the seed's names, and as Markdown that can be pasted into a note.

What a model says is hostile: in Markdown it is escaped, so that a note that it is pasted into fetches
nothing and leads nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from rag_core.replies import Quote, Reference, Reply, Statement, marked
from rag_core.types import Notice
from rag_core.wording import lines

_MARKS = re.compile(r"[\\`*_{}\[\]()<>#|~$!=^@&]|(?<=\w):(?=//)|(?<=www)\.", re.IGNORECASE)
_NUMBERS = re.compile(r"\\\[(\d+(?:, \d+)*)\\\](?!\\\(|:)")


def address(reference: Reference) -> str:
    """The page of a passage's document in the app, the passage marked: relative to the app's address."""
    parameters = {"store": reference.vault, "path": reference.rel_path, "passage": reference.key}
    return f"files?{urlencode(parameters)}"


# --- JSON -------------------------------------------------------------------------------


def reply(found: Reply) -> dict[str, Any]:
    """A reply; ``answer`` is the text with its marks, ``references`` are all passages it was made from."""
    return {
        "question": found.question,
        "answer": found.answer,
        "references": [reference(each) for each in found.references],
        "found": found.found,
        "retrieved_chunks": found.retrieved_chunks,
        "message": found.message,
        "ending": found.ending,
        "statements": [statement(each) for each in found.statements],
        "stores": list(found.stores),
        "model": found.model,
        "private": found.private,
        "pending": found.pending,
        "warnings": [notice.message for notice in found.notices],
        "took_ms": round(found.took_ms, 1),
    }


def reference(found: Reference) -> dict[str, Any]:
    """A numbered passage; ``spans`` are the places in ``content`` that were quoted word for word."""
    return {
        "number": found.number,
        "vault": found.vault,
        "rel_path": found.rel_path,
        "heading_path": found.heading_path,
        "chunk_index": found.chunk_index,
        "id": found.key,
        "title": found.title,
        "file_type": found.file_type,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "anchor_type": found.anchor_type,
        "anchor_ref": found.anchor_ref,
        "content": found.content,
        "private": found.private,
        "spans": [list(span) for span in found.spans],
        "cited": found.cited,
        "score": found.score,
        "relevant": found.relevant,
        "link": f"/{address(found)}",
    }


def statement(found: Statement) -> dict[str, Any]:
    """A sentence of an answer, checked; ``support`` is ``quoted``, ``cited`` or ``none``."""
    return {
        "lead": found.lead,
        "text": found.text,
        "support": found.support,
        "references": list(found.numbers),
        "quotes": [
            {"start": q.start, "end": q.end, "holds": q.holds, "reference": q.number} for q in found.quotes
        ],
        "removed": found.removed,
    }


def kept(found: Reply) -> dict[str, Any]:
    """A reply with all that a page shows of it later."""
    return {**reply(found), "on_page": [notice.on_page for notice in found.notices]}


def from_kept(value: Mapping[str, Any]) -> Reply:
    """The reply that `kept` wrote. Raises LookupError, TypeError or ValueError for anything else."""
    return Reply(
        question=value["question"],
        ending=value["ending"],
        stores=tuple(value["stores"]),
        statements=tuple(map(_statement, value["statements"])),
        references=tuple(map(_reference, value["references"])),
        retrieved_chunks=value["retrieved_chunks"],
        message=value["message"],
        notices=tuple(
            Notice(said, on_page=on_page)
            for said, on_page in zip(value["warnings"], value["on_page"], strict=True)
        ),
        model=value["model"],
        private=value["private"],
        pending=value.get("pending", 0),  # conversations that were kept before have none
        took_ms=value["took_ms"],
    )


def _statement(value: Mapping[str, Any]) -> Statement:
    quotes = tuple(Quote(q["start"], q["end"], q["holds"], q["reference"]) for q in value["quotes"])
    return Statement(
        value["lead"], value["text"], value["support"], tuple(value["references"]), quotes, value["removed"]
    )


def _reference(value: Mapping[str, Any]) -> Reference:
    known = {name: each for name, each in value.items() if name not in ("id", "spans", "link")}
    spans = tuple((start, end) for start, end in value["spans"])
    return Reference(key=value["id"], spans=spans, **known)


# --- Markdown ---------------------------------------------------------------------------


def markdown(found: Reply) -> str:
    """The question, the answer and its sources, for a note."""
    said = "".join(each.lead + _escaped(marked(each)) for each in found.statements).strip()
    parts = [f"**{_escaped(found.question)}**", said or _escaped(found.message)]
    sources = [each for each in found.references if each.cited] or list(found.references)
    return "\n\n".join([*parts, _sources(sources)]).strip() + "\n"


def _sources(found: Sequence[Reference]) -> str:
    rows = (f"- [{each.number}] {_escaped(' '.join(where(each).split()))}" for each in found)
    return "\n".join(["Sources:", "", *rows]) if found else ""


def where(found: Reference) -> str:
    """``vault/rel_path :: heading_path`` with its page or lines."""
    if found.anchor_type in ("page", "slide"):
        return f"{found.place}, {found.anchor_type} {found.anchor_ref}"
    several = "line" if found.start_line == found.end_line else "lines"
    return f"{found.place}, {several} {lines(found.start_line, found.end_line)}"


def _escaped(text: str) -> str:
    """Text for Markdown, shown as it stands; the numbers of passages stay as they are, where they cannot
    become links."""
    return _NUMBERS.sub(r"[\1]", _MARKS.sub(lambda match: f"\\{match[0]}", text))
