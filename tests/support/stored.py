"""What a store holds and a run did, as tests look at it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rag_core.config import Settings
from rag_core.extract.chunk import chunk_spec
from rag_core.library import Library
from rag_core.store import Store, decisions
from rag_core.types import OWNER, Job


def new_store(path: Path) -> Store:
    return Store.create(path, embedder="hashing", spec=chunk_spec(256), backend="local", metric="cosine")


def store_of(library: Library, name: str) -> Store:
    """The store behind ``name``, opened for this look only; close it."""
    return Store(library.settings.store_dir / f"{name}.db")


def file_of(library: Library, name: str = "s") -> Path:
    return library.settings.store_dir / f"{name}.db"


@contextmanager
def copy_of(sound: Library, folder: Path) -> Iterator[Library]:
    """A library in ``folder`` with a copy of the store ``s`` of another one, which is closed."""
    opened = Library.open(Settings(folder / "data", folder / "models", ()))
    opened.settings.store_dir.mkdir(parents=True)
    for file in (file_of(sound), decisions.beside(file_of(sound))):
        shutil.copy(file, opened.settings.store_dir)
    yield opened
    opened.close()


_ABOUT = "state, reason, file_type, encoding, title, title_from, date, private, metadata, warnings, display"
_CHUNK = (
    "chunk_index, text, heading_path, start_line, end_line, prefix, anchor_type, anchor_ref, split_part,"
    " title, headings, path, tags, title_terms, terms,"
    " kept, kept_text, furniture"
)


def contents(library: Library, name: str) -> dict[bytes, dict[str, Any]]:
    """All that a store knows of each file and each part of one, by path and part: equal for equal files,
    however they came to be."""
    store = store_of(library, name)
    try:
        with store.read() as db:
            rows = db.execute(
                f"SELECT id, CAST(path || part AS BLOB) AS place, {_ABOUT} FROM documents"
            ).fetchall()
            return {row["place"]: _document(db, row) for row in rows}
    finally:
        store.close()


def _document(db: sqlite3.Connection, row: sqlite3.Row) -> dict[str, Any]:
    def all_of(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(found) for found in db.execute(sql, (row["id"],))]

    return {
        "about": tuple(row)[2:],
        "chunks": all_of(f"SELECT {_CHUNK} FROM chunks WHERE document_id = ? ORDER BY chunk_index"),
        "vectors": all_of(
            "SELECT hash, vector FROM embeddings WHERE hash IN"
            " (SELECT embed_hash FROM chunks WHERE document_id = ?) ORDER BY hash"
        ),
        "tags": all_of("SELECT folded, tag FROM tags WHERE document_id = ? ORDER BY 1"),
        "names": all_of("SELECT key, kind FROM names WHERE document_id = ? ORDER BY 1, 2"),
        "links": all_of(
            "SELECT l.type, l.target, l.key, l.heading, l.label, l.start, t.path FROM links l"
            " LEFT JOIN documents t ON t.id = l.target_id WHERE l.document_id = ? ORDER BY l.start"
        ),
    }


def fresh_contents(library: Library, folder: Path, name: str = "fresh") -> dict[bytes, dict[str, Any]]:
    """What a store says that has never seen ``folder`` before."""
    library.create_store(OWNER, name, "hashing")
    library.add_source(OWNER, name, folder, ("**/*",))
    library.jobs.request(OWNER, name)
    library.jobs.run(OWNER, name)
    found = contents(library, name)
    library.stores.delete(OWNER, name)
    return found


def links(library: Library, name: str) -> dict[tuple[str, str], str | None]:
    """(path of the linking note, target as written) → path of the document it leads to."""
    store = store_of(library, name)
    try:
        with store.read() as db:
            rows = db.execute(
                "SELECT d.display, l.target, t.display FROM links l JOIN documents d ON d.id = l.document_id"
                " LEFT JOIN documents t ON t.id = l.target_id"
            )
            return {(row[0], row[1]): row[2] for row in rows}
    finally:
        store.close()


def keys(library: Library, name: str, path: str) -> list[str]:
    """The keys of a document's chunks in reading order."""
    store = store_of(library, name)
    try:
        with store.read() as db:
            rows = db.execute(
                "SELECT key FROM chunks c JOIN documents d ON d.id = c.document_id"
                " WHERE d.display = ? ORDER BY chunk_index",
                (path,),
            )
            return [row[0] for row in rows]
    finally:
        store.close()


def unused_vectors(library: Library, name: str = "s") -> int:
    """How many vectors no passage needs."""
    store = store_of(library, name)
    with store.read() as db:
        sql = "SELECT count(*) FROM embeddings WHERE hash NOT IN (SELECT embed_hash FROM chunks)"
        count: int = db.execute(sql).fetchone()[0]
    store.close()
    return count


def outcomes(job: Job) -> dict[str, str]:
    return {result.source_file: result.outcome for result in job.results}


def paths(library: Library, store: str = "s") -> list[str]:
    return [document.path for document in library.documents.all(OWNER, store)]


def found(library: Library, words: str, store: str = "s") -> list[str]:
    """The paths of the documents that hold ``words`` word for word."""
    answer = library.search(OWNER, f'"{words}"', [store], mode="lexical", top_k=50)
    return sorted({hit.document.path for hit in answer.hits})


def long_note(paragraphs: int) -> str:
    body = "\n\n".join(
        f"Paragraph {n} tells of subject{n} and of nothing else that the others would tell of; it goes on."
        for n in range(paragraphs)
    )
    return f"# A long note\n\n{body}\n"


def pretend_seen(library: Library, file: Path, *, scanned_ns: int = 0) -> None:
    """Let the store believe that it saw ``file`` with its present stat at ``scanned_ns``, or long after it
    was last changed."""
    stat = file.stat()
    scanned_ns = scanned_ns or stat.st_ctime_ns + 10**10
    store = store_of(library, "s")
    with store.write() as db:
        db.execute(
            "UPDATE documents SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, scanned_ns = ?"
            " WHERE display = ?",
            (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino, scanned_ns, file.name),
        )
    store.close()
