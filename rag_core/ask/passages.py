"""The numbered passages that a model is given: the chunks of hits, best first, neighbours joined.

A hit that is part of a longer section gets the parts before and behind it, as far as there is room.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rag_core.extract.chunk import estimate_tokens
from rag_core.replies import Reference
from rag_core.types import Hit, Neighbour

MAX_AROUND = 20
_CAUTION = 1.2  # models count a little differently
_FRAME = 40  # tokens around a passage: its number, place and fence
_LEAST = 400

Around = Callable[[Hit, int], Sequence[Neighbour]]
"""The chunks around a hit, so many on both sides, in reading order."""


def tokens(text: str) -> int:
    """An upper estimate of the tokens of a text."""
    return math.ceil(_CAUTION * estimate_tokens(text))


def budget(context: int, answer: int, *others: str) -> int:
    """The tokens left for passages: a model reads and writes ``context`` tokens together."""
    return max(_LEAST, context - min(answer, context // 2) - sum(map(tokens, others)))


def numbered(hits: Sequence[Hit], room: int, around: Around) -> tuple[list[Reference], int]:
    """The hits as references from 1 on, as many as fit into ``room`` tokens (at least one), and how many hits
    that is. If room is left, parts of the same section complete the hits. Neighbours are one passage."""
    kept: dict[str, Hit] = {}
    for hit in hits:
        left = room - tokens(hit.content) - _FRAME
        if left < 0 and kept:
            break
        kept[hit.key], room = hit, left
    count = len(kept)
    for part in [part for hit in kept.values() for part in _other_parts(hit, around)]:
        takes = tokens(part.content)
        if part.key not in kept and takes <= room:
            kept[part.key], room = part, room - takes
    runs = sorted(_runs(list(kept.values())), key=lambda run: min(hit.rank for hit in run))
    return [_reference(number, run, around) for number, run in enumerate(runs, 1)], count


def _other_parts(hit: Hit, around: Around) -> Iterator[Hit]:
    """The parts before and behind a hit of the section that it is a part of."""
    if not hit.split_part:
        return
    for each in around(hit, 1):
        step = each.split_part - hit.split_part
        if each.split_part and abs(step) == 1:
            yield replace(
                hit, key=each.key, content=each.content, start_line=each.start_line, end_line=each.end_line,
                chunk_index=hit.chunk_index + step, split_part=each.split_part, score=0.0, relevant=False,
            )  # fmt: skip


def _runs(hits: Sequence[Hit]) -> list[list[Hit]]:
    """The hits in groups of such as follow each other in their document."""
    runs: dict[tuple[str, int, int], list[Hit]] = {}  # by the place behind them
    for hit in sorted(hits, key=lambda hit: (hit.store, hit.document.id, hit.chunk_index)):
        run = runs.pop((hit.store, hit.document.id, hit.chunk_index), [])
        runs[hit.store, hit.document.id, hit.chunk_index + 1] = [*run, hit]
    return list(runs.values())


def _reference(number: int, run: Sequence[Hit], around: Around) -> Reference:
    first = run[0]
    return Reference(
        number=number, vault=first.store, rel_path=first.document.path, heading_path=heading_path(first),
        chunk_index=first.chunk_index, key=first.key, title=first.document.title,
        file_type=first.document.file_type, start_line=first.start_line,
        end_line=max(hit.end_line for hit in run), anchor_type=first.anchor_type, anchor_ref=first.anchor_ref,
        content=_joined(run, around), private=any(hit.document.private for hit in run),
        score=round(max(hit.score for hit in run), 4), relevant=any(hit.relevant for hit in run),
    )  # fmt: skip


def _joined(run: Sequence[Hit], around: Around) -> str:
    """The text of chunks that follow each other, once where they overlap."""
    if len(run) == 1:
        return run[0].content
    keys = {hit.key for hit in run}
    middle = len(run) // 2
    beside = [each for each in around(run[middle], min(middle, MAX_AROUND)) if each.key in keys]
    if len(beside) < len(run):  # the document was changed just now
        return "\n\n".join(hit.content for hit in run)
    further = (each.content[each.repeats :] if each.repeats else f"\n\n{each.content}" for each in beside[1:])
    return "".join((beside[0].content, *further))


def heading_path(hit: Hit) -> str:
    """The headings that lead to a hit as the seed writes them: ``# Meetings > ## Weekly standup``.

    A passage before any heading has the document's title.
    """
    title = hit.document.title
    mark = "# " if hit.document.file_type == "markdown" and title else ""
    return hit.headings or f"{mark}{title}"
