"""Saved searches of the owner, in ``state.db`` in the data folder, and the new hits of each."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, fields, replace
from typing import Any

from rag_core import system
from rag_core.errors import InvalidInput, NotFound, RagError, StoreError
from rag_core.library.searching import Searching
from rag_core.library.service import Service, Shared
from rag_core.reports import SavedSearch
from rag_core.store.connection import kept
from rag_core.store.file import now
from rag_core.store.state import State
from rag_core.types import Answer, Filters, Hit, Mode, Sort, Viewer

_MOST = 100
"""Maximum number of saved searches."""

MOST_NEW = 99
"""Maximum number of new hits counted for a saved search."""

_LONGEST_NAME = 100
_TABLE = """
CREATE TABLE IF NOT EXISTS saved_searches (
    name TEXT PRIMARY KEY COLLATE NOCASE,
    search TEXT NOT NULL,     -- JSON: text, filters, sort, min_score, mode, stores
    opened_at TEXT NOT NULL,
    seen TEXT NOT NULL        -- JSON: the documents that fitted, read in the second when it was opened
);
"""
_TYPED_STORE = re.compile(r'(?<!\S)(?i:store:)("?)([\w-]+)\1(?!\S)')
_Seen = list[tuple[str, int, str]]  # (store, id, hash) of documents


class Saved(Service):
    """The saved searches of the owner."""

    def __init__(self, shared: Shared, searching: Searching) -> None:
        super().__init__(shared)
        self._searching = searching
        self._state = State(
            self._settings.data_dir,
            self._settings.busy_timeout_s,
            tables=_TABLE,
            called="Saved searches",
            without="Without it there are none.",
        )

    def save(
        self,
        viewer: Viewer,
        name: str,
        text: str,
        stores: Sequence[str] = (),
        *,
        filters: Filters | None = None,
        sort: Sort = "best",
        min_score: float | None = None,
        mode: Mode | None = None,
    ) -> SavedSearch:
        """Save a search, replacing an existing one of this name. ``text`` and the arguments after it are
        those with which it is run. Without ``min_score`` and ``mode``, the settings apply.

        Raises InvalidInput if the name or the query cannot be used, or if there are 100 saved searches
        already, and NotFound for an unknown store.
        """
        name = _checked(name)
        saved = SavedSearch(name, text, tuple(stores), filters or Filters(), sort, min_score, mode, now())
        self._searching.search(
            viewer, text, stores, filters=filters, min_score=min_score, top_k=1
        )  # or raises
        seen = json.dumps(self._fitting(viewer, saved))
        parts = asdict(saved)
        search = json.dumps({key: parts[key] for key in _KEPT})
        with self._state.open() as db:
            (count,) = db.execute("SELECT count(*) FROM saved_searches WHERE name <> ?", (name,)).fetchone()
            if count >= _MOST:
                raise InvalidInput(
                    f"There are {_MOST} saved searches, and no more can be saved.", "Remove one first."
                )
            db.execute(_SAVE, (name, search, saved.opened_at, seen))
        return saved

    def searches(self, viewer: Viewer) -> list[SavedSearch]:
        """Return all saved searches by name, each with its number of new hits."""
        rows = self._state.rows("SELECT * FROM saved_searches ORDER BY name")
        return [self._counted(viewer, _read(row), json.loads(row[3])) for row in rows]

    def rename(self, viewer: Viewer, name: str, new_name: str) -> None:
        """Give a saved search another name. Raises NotFound, and InvalidInput for a name that is taken or
        cannot be used."""
        saved, new_name = self._get(name)[0], _checked(new_name)
        try:
            self._state.rows("UPDATE saved_searches SET name = ? WHERE name = ?", new_name, saved.name)
        except StoreError as error:
            if not isinstance(error.__context__, sqlite3.IntegrityError):
                raise
            raise InvalidInput(f"There is a saved search {new_name!r}.", "Choose another name.") from None

    def rename_store(self, viewer: Viewer, store: str, new_name: str) -> None:
        """Replace the name of a renamed store in every saved search, also after ``store:`` in its text."""
        typed = re.compile(rf'(?<!\S)((?i:-?store:))("?){re.escape(store)}\2(?!\S)')
        for name, kept_search, _, kept_seen in self._state.rows("SELECT * FROM saved_searches"):
            search = json.loads(kept_search)
            search["stores"] = [new_name if each == store else each for each in search["stores"]]
            search["text"] = typed.sub(rf"\1\2{new_name}\2", search["text"])
            seen = [
                (new_name if named == store else named, *document)
                for named, *document in json.loads(kept_seen)
            ]
            sql = "UPDATE saved_searches SET search = ?, seen = ? WHERE name = ?"
            self._state.rows(sql, json.dumps(search), json.dumps(seen), name)

    def delete(self, viewer: Viewer, name: str) -> None:
        """Forget a saved search. Raises NotFound."""
        self._state.rows("DELETE FROM saved_searches WHERE name = ?", self._get(name)[0].name)

    def open(self, viewer: Viewer, name: str, **wish: Any) -> Answer:
        """Run a saved search and count its hits as seen. ``wish`` are arguments of `Searching.search` that
        replace saved ones. Raises NotFound, also if all its stores are gone."""
        saved, _ = self._get(name)
        opened = replace(saved, opened_at=now())
        stores = self._existing(viewer, saved)
        if self._is_gone(viewer, saved) and not wish.get("stores"):
            gone = ", ".join(map(repr, _stores_of(saved)))
            problem = f"Saved search {saved.name!r} is about stores that are gone: {gone}."
            raise NotFound(problem, f"Remove it: `commonplace saved remove {system.quote(saved.name)}`.")
        given: dict[str, Any] = {"stores": stores, "filters": saved.filters, "sort": saved.sort}
        given |= {"mode": saved.mode, "min_score": saved.min_score, **wish}
        answer = self._searching.search(viewer, saved.text, **given)
        seen = json.dumps(self._fitting(viewer, opened))
        sql = "UPDATE saved_searches SET opened_at = ?, seen = ? WHERE name = ?"
        self._state.rows(sql, opened.opened_at, seen, saved.name)
        return answer

    def get(self, viewer: Viewer, name: str) -> SavedSearch:
        """Return the saved search of this name, without its number of new hits. Raises NotFound."""
        return self._get(name)[0]

    def _get(self, name: str) -> tuple[SavedSearch, _Seen]:
        rows = self._state.rows("SELECT * FROM saved_searches WHERE name = ?", name.strip())
        if not rows:
            known = [taken for (taken,) in self._state.rows("SELECT name FROM saved_searches ORDER BY name")]
            there_are = f"There are: {', '.join(known)}." if known else "None was saved yet."
            raise NotFound(f"There is no saved search {name[:_LONGEST_NAME]!r}.", there_are)
        return _read(rows[0]), json.loads(rows[0][3])

    def _is_gone(self, viewer: Viewer, saved: SavedSearch) -> bool:
        """Whether a saved search names stores that are all gone."""
        stores = _stores_of(saved)
        return bool(stores) and set(stores).isdisjoint(self._stores.names(viewer))

    def _existing(self, viewer: Viewer, saved: SavedSearch) -> list[str]:
        """Return the stores of a saved search that still exist; empty if the search covers all stores."""
        existing = self._stores.names(viewer) if saved.stores else []
        return [name for name in saved.stores if name in existing]

    def _counted(self, viewer: Viewer, saved: SavedSearch, seen: _Seen) -> SavedSearch:
        """Return a saved search with its number of new hits: documents that fit and were read after it was
        last opened."""
        known = {tuple(document) for document in seen}
        fitting = self._fitting(viewer, saved)
        new = len([document for document in fitting if document not in known])
        return replace(
            saved, new=min(new, MOST_NEW), more_new=new > MOST_NEW, is_gone=self._is_gone(viewer, saved)
        )

    def _fitting(self, viewer: Viewer, saved: SavedSearch) -> _Seen:
        """Return the documents that fit a saved search and were read since it was last opened, including the
        same second, as (store, id, hash)."""
        stores = self._existing(viewer, saved)
        if (saved.stores and not stores) or not self._changed(viewer, stores, saved.opened_at):
            return []
        hits: list[Hit] = []
        with suppress(RagError):  # a store named in the text may be gone, and there is nothing to tell
            answer = self._searching.search(
                viewer,
                saved.text,
                stores,
                filters=replace(saved.filters, since=saved.opened_at),
                sort="newest",
                min_score=saved.min_score,
                mode=saved.mode,
                group="document",
                top_k=2 * MOST_NEW,
                max_tokens=_NO_BUDGET,
            )
            hits = [hit for hit in answer.hits if hit.relevant]
        return [(hit.store, hit.document.id, hit.document.file_hash) for hit in hits]

    def _changed(self, viewer: Viewer, stores: Sequence[str], since: str) -> bool:
        """Whether any document of the stores was read at ``since`` or later. This is faster than a search."""
        opened, _ = self._stores.each(viewer, stores)
        for open_store in opened.values():
            with suppress(StoreError), open_store.store.read() as db:
                if kept(db, _last_read) >= since:
                    return True
        return False


_NO_BUDGET = 10**9  # tokens
_KEPT = "text", "stores", "filters", "sort", "min_score", "mode"
_SAVE = "INSERT OR REPLACE INTO saved_searches VALUES (?, ?, ?, ?)"


def _last_read(db: sqlite3.Connection) -> str:
    """Return the time at which a document was last read, as ISO 8601; '' if none was read."""
    return str(db.execute("SELECT coalesce(max(indexed_at), '') FROM documents").fetchone()[0])


def _checked(name: str) -> str:
    """Return a name for a saved search with single spaces. Raises InvalidInput for a name that cannot be
    used."""
    name = " ".join(name.split())
    if not 1 <= len(name) <= _LONGEST_NAME or not name.isprintable():
        raise InvalidInput(
            f"{name[:_LONGEST_NAME]!r} cannot be the name of a saved search.",
            f"Use 1 to {_LONGEST_NAME} visible characters.",
        )
    return name


def _read(row: Sequence[str]) -> SavedSearch:
    """Parse a row of the table. Filters from a newer version are left out."""
    search = json.loads(row[1])
    known = {field.name for field in fields(Filters)}
    filters: dict[str, Any] = {}
    for name, value in search.pop("filters").items():
        if name in known:
            filters[name] = tuple(value) if isinstance(value, list) else value
    stores = tuple(search.pop("stores"))
    return SavedSearch(name=row[0], filters=Filters(**filters), stores=stores, opened_at=row[2], **search)


def _stores_of(saved: SavedSearch) -> list[str]:
    """Return the stores that a saved search names, including ``store:`` in its text."""
    return [*saved.stores, *(typed[2] for typed in _TYPED_STORE.finditer(saved.text))]
