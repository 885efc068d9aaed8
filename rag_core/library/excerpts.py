"""A part of a document, for a reader who cannot take in all of it at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

from rag_core.errors import InvalidInput, NotFound
from rag_core.extract.chunk import estimate_tokens
from rag_core.library.reader import Reader
from rag_core.library.stores import no_store
from rag_core.reports import Excerpt
from rag_core.store import find
from rag_core.types import Neighbour, Viewer

EXCERPT_TOKENS = 8000
"""So many tokens, about, an excerpt holds at most; a first passage that is longer stands alone."""


class Excerpts(Reader):
    """Every store of one owner, for reading a little at a time."""

    def one_store(self, viewer: Viewer, name: str | None = None) -> str:
        """The store called ``name``; without a name the one that is configured, or the only one there is.

        Raises NotFound where there is none for this viewer, InvalidInput where it could be several.
        """
        names = self.store_names(viewer)
        name = name or (self.settings.default_store if self.settings.default_store in names else None)
        if name:
            self._stores.require(viewer, name)
            return name
        if not names:
            raise no_store(viewer, "There is no store yet.")
        if len(names) > 1:
            raise InvalidInput("Which store is meant?", f"Name one of these: {', '.join(names)}.")
        return names[0]

    def excerpt(
        self,
        viewer: Viewer,
        store: str,
        path: str,
        first_line: int = 1,
        last_line: int | None = None,
        *,
        start: str = "",
    ) -> Excerpt:
        """These lines of a document (None: all behind the first) in its passages, each cut to them, from the
        passage called ``start`` on, as far as they fit into `EXCERPT_TOKENS`.

        Raises NotFound, InvalidInput for lines that cannot be.
        """
        if first_line < 1 or (last_line is not None and last_line < first_line):
            raise InvalidInput(
                f"There are no lines from {first_line} to {last_line}.", "Count from 1, the first line first."
            )
        found = self.document(viewer, store, path)
        wanted = _lines(_from(start, found.chunks), first_line, last_line or sys.maxsize)
        if not wanted and found.chunks:
            where = (
                f"from line {first_line} on" if last_line is None else f"in lines {first_line} to {last_line}"
            )
            first, last = found.chunks[0].start_line, found.chunks[-1].end_line
            said = f"Its first line with text is {first}, its last is {last}."
            raise NotFound(f"{path!r} has no text {where}.", said)
        kept = _within(wanted)
        left = wanted[len(kept)].key if len(kept) < len(wanted) else None
        return Excerpt(replace(found, chunks=tuple(kept)), left)

    def around(self, viewer: Viewer, store: str, key: str, around: int = 0) -> Excerpt:
        """The passage called ``key`` with ``around`` passages before and behind it, and its document.

        Raises InvalidInput unless ``around`` is 0 to 20, NotFound when the passage is gone.
        """
        passages = self.neighbours(viewer, store, key, around)
        with self._stores.reading(viewer, store) as db:
            rows = find.neighbours(db, key, find.visible(viewer), 0)
        if not rows:
            raise _gone()
        found = self.document(viewer, store, rows[0]["path"], key)
        return Excerpt(replace(found, chunks=tuple(passages)))


def _gone() -> NotFound:
    return NotFound("This passage is no longer in the store.", "Search again; its file was changed.")


def _from(key: str, passages: Sequence[Neighbour]) -> Sequence[Neighbour]:
    """The passages from the one called ``key`` on. Raises NotFound."""
    if not key:
        return passages
    for number, each in enumerate(passages):
        if each.key == key:
            return passages[number:]
    raise _gone()


def _lines(passages: Sequence[Neighbour], first: int, last: int) -> list[Neighbour]:
    """What of the passages lies in these lines; none that only repeats the one before."""
    kept: list[Neighbour] = []
    for each in passages:
        if each.end_line >= first and each.start_line <= last:
            cut = _cut(each, first, last)
            if cut is each or cut.content[cut.repeats if kept else 0 :].strip():
                kept.append(cut)
    return kept


def _cut(passage: Neighbour, first: int, last: int) -> Neighbour:
    """The lines of a passage from ``first`` to ``last``; the whole of one that was not read line by line."""
    rows = passage.content.splitlines(keepends=True)
    if len(rows) != passage.end_line - passage.start_line + 1:
        return passage
    before, behind = max(0, first - passage.start_line), max(0, passage.end_line - last)
    if not before and not behind:
        return passage
    rows = rows[: len(rows) - behind]
    start, end = len("".join(rows[:before])), len("".join(rows))

    def moved(place: int) -> int:
        return min(max(place, start), end) - start

    return replace(
        passage,
        content=passage.content[start:end],
        start_line=passage.start_line + before,
        end_line=passage.end_line - behind,
        repeats=moved(passage.repeats),
        shown=(moved(passage.shown[0]), moved(passage.shown[1])),
    )


def _within(passages: Sequence[Neighbour]) -> list[Neighbour]:
    """The first passages that fit together, and at least one."""
    kept: list[Neighbour] = []
    room = EXCERPT_TOKENS
    for each in passages:
        room -= estimate_tokens(each.content)
        if room < 0 and kept:
            break
        kept.append(each)
    return kept
