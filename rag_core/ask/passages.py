"""The numbered passages for the model: the chunks of hits, best first. Neighbouring chunks are joined."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from rag_core.replies import Reference
from rag_core.text.tokens import estimate_tokens
from rag_core.types import Hit, Neighbour

_MAX_AROUND = 20
_CAUTION = 1.2  # models count tokens a little differently
_FRAME = 40  # tokens around a passage: number, place and fence
_LEAST = 400

Around = Callable[[Hit, int], Sequence[Neighbour]]
"""Returns the chunks around a hit, in reading order."""


def tokens(text: str) -> int:
    """Estimate the number of tokens of a text. The estimate is rather too high than too low."""
    return math.ceil(_CAUTION * estimate_tokens(text))


def budget(context: int, answer: int, *others: str) -> int:
    """Return the number of tokens left for passages, at least 400. These are the tokens of a model's
    ``context`` minus those of its ``answer``, which gets at most half, and of the ``others`` texts in the
    prompt."""
    return max(_LEAST, context - min(answer, context // 2) - sum(map(tokens, others)))


def numbered(hits: Sequence[Hit], room: int, around: Around) -> tuple[list[Reference], int]:
    """Number the hits that fit into ``room`` tokens, at least one, as references from 1 on. Return the
    references and the number of hits used.

    Remaining room is filled with other parts of the same sections. Neighbours become one passage.
    """
    kept: dict[str, Hit] = {}
    for hit in hits:
        left = room - tokens(hit.content) - _FRAME
        if left < 0 and kept:
            break
        kept[hit.key], room = hit, left
    count = len(kept)
    for hit in list(kept.values()):
        for passage in around(hit, 1) if hit.split_part else ():
            step, takes = passage.split_part - hit.split_part, tokens(passage.content)
            if passage.split_part and abs(step) == 1 and passage.key not in kept and takes <= room:
                room -= takes
                kept[passage.key] = replace(
                    hit,
                    key=passage.key,
                    content=passage.content,
                    start_line=passage.start_line,
                    end_line=passage.end_line,
                    chunk_index=hit.chunk_index + step,
                    split_part=passage.split_part,
                    score=0.0,
                    relevant=False,
                )
    groups: dict[tuple[str, int, int], list[Hit]] = {}  # of hits in sequence, by the next place
    for hit in sorted(kept.values(), key=lambda hit: (hit.store, hit.document.id, hit.chunk_index)):
        group = groups.pop((hit.store, hit.document.id, hit.chunk_index), [])
        groups[hit.store, hit.document.id, hit.chunk_index + 1] = [*group, hit]
    runs = sorted(groups.values(), key=lambda run: min(hit.rank for hit in run))
    return [_reference(number, run, around) for number, run in enumerate(runs, 1)], count


def _reference(number: int, run: Sequence[Hit], around: Around) -> Reference:
    first = run[0]
    return Reference(
        number=number, vault=first.store, rel_path=first.document.address, heading_path=heading_path(first),
        chunk_index=first.chunk_index, key=first.key, title=first.document.title,
        file_type=first.document.file_type, start_line=first.start_line,
        end_line=max(hit.end_line for hit in run), anchor_type=first.anchor_type, anchor_ref=first.anchor_ref,
        content=_joined(run, around), private=any(hit.document.private for hit in run),
        score=round(max(hit.score for hit in run), 4), relevant=any(hit.relevant for hit in run),
    )  # fmt: skip


def _joined(run: Sequence[Hit], around: Around) -> str:
    """Join the text of consecutive chunks, without repeating overlapping parts."""
    if len(run) == 1:
        return run[0].content
    keys = {hit.key for hit in run}
    middle = len(run) // 2
    beside = [passage for passage in around(run[middle], min(middle, _MAX_AROUND)) if passage.key in keys]
    if len(beside) < len(run):  # the document was changed just now
        return "\n\n".join(hit.content for hit in run)
    further = (
        passage.content[passage.repeats :] if passage.repeats else f"\n\n{passage.content}"
        for passage in beside[1:]
    )
    return "".join((beside[0].content, *further))


def heading_path(hit: Hit) -> str:
    """Return the headings above a hit (``# Meetings > ## Weekly standup``); without headings, its document's
    title."""
    title = hit.document.title
    mark = "# " if hit.document.file_type == "markdown" and title else ""
    return hit.headings or f"{mark}{title}"
