"""The documents of a store as they were indexed: whole, by lines, or around a passage."""

from __future__ import annotations

import sqlite3
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import accumulate, dropwhile

from rag_core.errors import InvalidInput, NotFound, StoreError
from rag_core.index import requests
from rag_core.library.files import Files
from rag_core.library.service import Service, Shared, open_to_all
from rag_core.library.store_files import no_document
from rag_core.store import documents, facets, find, listing, outbox, view
from rag_core.text.tokens import estimate_tokens
from rag_core.types import Document, DocumentView, Facets, Neighbour, Viewer

MAX_AROUND = 20
EXCERPT_TOKENS = 8000
"""Maximum number of estimated tokens of an excerpt. A longer first passage is returned alone."""


class Documents(Service):
    """Reads the documents of stores."""

    def __init__(self, shared: Shared, files: Files) -> None:
        super().__init__(shared)
        self._files = files

    @open_to_all
    def get(self, viewer: Viewer, store: str, path: str, key: str = "") -> DocumentView:
        """Return the document called ``path`` as it was indexed. The chunk called ``key`` is marked, if there
        is one.

        The owner also gets the state of the file on disk, and can get excluded files, without their text.
        Raises NotFound if there is no such document or this viewer may not see it.
        """
        file = self._files.get(viewer, store, path) if viewer.is_owner else None
        with self._stores.reading(viewer, store) as db:
            seen = view.document(db, store, path, viewer, key)
        if seen and file:
            return replace(seen, document=replace(seen.document, state=file.state, reason=file.reason))
        if seen:
            return seen
        if file:
            return DocumentView(file, (), (), (), (), ())
        raise no_document(store, path)

    @open_to_all
    def neighbours(self, viewer: Viewer, store: str, key: str, around: int = 1) -> list[Neighbour]:
        """Return the chunk called ``key`` with ``around`` chunks before and after it, in reading order.
        Raises InvalidInput unless ``around`` is 0 to 20, and NotFound if the chunk is gone."""
        return view.neighbours(self._rows_around(viewer, store, key, around), key)

    def _rows_around(self, viewer: Viewer, store: str, key: str, around: int) -> list[sqlite3.Row]:
        if not 0 <= around <= MAX_AROUND:
            raise InvalidInput(f"around is {around}.", f"Use a number from 0 to {MAX_AROUND}.")
        with self._stores.reading(viewer, store) as db:
            rows = find.chunks_around(db, key, find.visible(viewer), around)
        if not rows:
            raise _gone()
        return rows

    @open_to_all
    def all(self, viewer: Viewer, store: str) -> list[Document]:
        """Return every file of a store, sorted by path, without the documents inside files. Guests get
        only files with text that are not private."""
        with self._stores.reading(viewer, store) as db:
            return listing.documents(db, store, viewer)

    @open_to_all
    def facets(self, viewer: Viewer, names: Sequence[str] = ()) -> Facets:
        """Count the documents of the named stores (none: all) by type, tag, folder, store and year, the
        largest numbers first. Stores that cannot be read are left out. Only documents that ``viewer`` may see
        count."""
        counts: list[Facets] = []
        for opened in self._stores.each(viewer, names)[0].values():
            with suppress(StoreError), self._stores.reading(viewer, opened.store.name) as db:
                counts.append(facets.of_all(db, opened.store.name, viewer))
        return facets.joined_facets(counts)

    @open_to_all
    def excerpt(
        self,
        viewer: Viewer,
        store: str,
        path: str,
        first_line: int = 1,
        last_line: int | None = None,
        *,
        start: str = "",
    ) -> DocumentView:
        """Return the passages in these lines of a document, each cut to the lines. ``last_line`` None means
        to the end.

        ``start`` is the key of the first passage to return. Passages are returned until `EXCERPT_TOKENS` is
        reached; ``next_key`` of the result is the key of the next one. Raises NotFound if there is no such
        document, passage or text, and InvalidInput for impossible lines.
        """
        if first_line < 1 or (last_line is not None and last_line < first_line):
            raise InvalidInput(
                f"The document has no lines {first_line} to {last_line or 'its end'}.",
                "The first line is number 1, and the last one cannot be before the first.",
            )
        whole = self.get(viewer, store, path)
        passages = whole.chunks
        if start:
            passages = tuple(dropwhile(lambda passage: passage.key != start, passages))
            if not passages:
                raise _gone()
        wanted: list[Neighbour] = []
        for passage in passages:
            part = _cut(passage, first_line, last_line or sys.maxsize)
            if part is passage or (part and part.content[part.repeats if wanted else 0 :].strip()):
                wanted.append(part)  # else it only repeats the one before
        if not wanted and whole.chunks:
            empty = f"{path!r} has no text from line {first_line} on."
            if last_line:
                empty = f"{path!r} has no text in lines {first_line} to {last_line}."
            raise NotFound(
                empty,
                f"Its first line with text is {whole.chunks[0].start_line}, its last is"
                f" {whole.chunks[-1].end_line}.",
            )
        fitting = max(1, _fitting(wanted, EXCERPT_TOKENS))
        next_key = wanted[fitting].key if fitting < len(wanted) else None
        return replace(whole, chunks=tuple(wanted[:fitting]), next_key=next_key)

    @open_to_all
    def around(self, viewer: Viewer, store: str, key: str, around: int = 0) -> DocumentView:
        """Return the document of the passage called ``key``, with that passage and ``around`` passages before
        and after it. Raises InvalidInput unless ``around`` is 0 to 20, and NotFound if the passage is
        gone."""
        rows = self._rows_around(viewer, store, key, around)
        document = self.get(viewer, store, rows[0]["path"], key)
        return replace(document, chunks=tuple(view.neighbours(rows, key)))

    def remove_passages(self, viewer: Viewer, store: str, keys: Sequence[str]) -> int:
        """Remove passages from the index until their files change or are read again; return their number.
        Raises NotFound if any passage is missing, and then removes nothing."""
        opened = self._own(viewer, store)
        with opened.decide() as db:
            ids = find.chunk_ids(db, keys, find.visible(viewer))
            if missing := [key for key in keys if key not in ids]:
                advice = "Nothing was removed. Search again: the file was changed."
                raise NotFound(f"Store {store!r} has no passage {missing[0][:80]!r}.", advice)
            documents.take_out_chunks(db, ids.values())
            is_remote = bool(outbox.address(db))
        if is_remote:
            requests.request(opened, [])
        return len(ids)


def _gone() -> NotFound:
    return NotFound("This passage is no longer in the store.", "Search again; its file was changed.")


def _cut(passage: Neighbour, first: int, last: int) -> Neighbour | None:
    """Cut a passage to the lines ``first`` to ``last``; return None if it has none of these lines. A passage
    without line numbers stays whole."""
    if passage.end_line < first or passage.start_line > last:
        return None
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

    first, last = passage.start_line + before, passage.end_line - behind
    return replace(
        passage,
        content=passage.content[start:end],
        start_line=first,
        end_line=last,
        repeats=moved(passage.repeats),
        shown=(moved(passage.shown[0]), moved(passage.shown[1])),
    )


def _fitting(passages: Sequence[Neighbour], tokens: int) -> int:
    """Return the number of first passages that fit into ``tokens`` together."""
    totals = accumulate(estimate_tokens(passage.content) for passage in passages)
    return sum(total <= tokens for total in totals)
