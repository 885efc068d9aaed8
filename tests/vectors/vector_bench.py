"""A store with made-up notes whose vectors are chosen, and a vector index beside it to be tried.

The store is the truth: what an index finds is checked against it as the read path does.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import sqlite3
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rag_core.extract.filetypes import TYPE_BY_SUFFIX
from rag_core.store import Store, find
from rag_core.store.documents import name_key
from rag_core.store.embeddings import set_identity, vectors_of
from rag_core.store.file import active_identity
from rag_core.types import OWNER, ChunkSpec, EmbedderIdentity, Filters, Query, Vectors
from rag_core.vectors import NO_FILTERS, Match, Metadata, RemoteIndex, VectorIndex, VectorRecord, unit
from rag_core.vectors.payload import metadata

SPACE = uuid.UUID(int=7)
SPARE = 20
"""Hits asked for beyond those wanted: half-precision rows are not quite of length 1."""


@dataclass(frozen=True)
class Note:
    """A file of one chunk; ``key`` is derived from the path unless it is said."""

    path: str
    vector: Vectors
    tags: tuple[str, ...] = ()
    date: str = "2026-01-01"
    page: str = ""
    private: bool = False
    said: str = ""

    @property
    def key(self) -> str:
        return self.said or str(uuid.uuid5(SPACE, self.path))

    @property
    def file_type(self) -> str:
        return TYPE_BY_SUFFIX.get(posixpath.splitext(self.path)[1], "text")

    @property
    def folded_tags(self) -> dict[str, str | None]:
        """Every tag with its parents, as the store keeps them."""
        found: dict[str, str | None] = {}
        for tag in self.tags:
            parts = name_key(tag).split("/")
            found |= {"/".join(parts[:depth]): None for depth in range(1, len(parts))}
            found[name_key(tag)] = tag
        return found

    @property
    def anchor_type(self) -> str:
        return "page" if self.page else "text"

    @property
    def metadata(self) -> Metadata:
        return metadata(
            self.path,
            file_type=self.file_type,
            folded_tags=self.folded_tags,
            date=self.date,
            private=self.private,
            anchor_type=self.anchor_type,
            anchor_ref=self.page,
        )

    @property
    def record(self) -> VectorRecord:
        doc = {"path": self.path, "tags": [*self.tags], "date": self.date}
        return VectorRecord(self.key, as_stored(self.vector), f"Text of {self.path}", doc, self.metadata)


def as_stored(vector: Vectors) -> Vectors:
    """A vector of length 1 as a store gives it back."""
    return unit(vector).astype("<f2").astype(np.float32)


@dataclass
class Bench:
    """A store, the index under trial, and how to open that anew; ``remote`` is None for the local one."""

    store: Store
    open_index: Callable[[Bench], tuple[VectorIndex, RemoteIndex | None]]
    dimension: int
    index: VectorIndex = field(init=False)
    remote: RemoteIndex | None = field(init=False)

    def __post_init__(self) -> None:
        self.reopen()

    def reopen(self) -> None:
        self.index, self.remote = self.open_index(self)

    def put(self, *notes: Note) -> None:
        """Write notes, or write them anew."""
        with self.store.write() as db:
            for note in notes:
                _forget(db, note.key)
                _insert(db, note)
        if self.remote is not None:
            receipt = self.remote.put(note.record for note in notes)
            assert not receipt.refused
            assert {*receipt.sent} == {note.key for note in notes}

    def delete(self, *notes: Note) -> None:
        with self.store.write() as db:
            for note in notes:
                _forget(db, note.key)
        if self.remote is not None:
            assert {*self.remote.delete(note.key for note in notes).sent} == {note.key for note in notes}

    def search(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        """The ``k`` nearest that fit, as the read path asks for them: more until enough are eligible, and
        a few more than that, because the store's own vectors have the last word on their order."""
        allowed = find.eligible(Query("", "", filters=filters), OWNER)
        wanted = k + SPARE
        while True:
            matches = self.index.search(query, wanted, filters)
            assert len(matches) == len({match.key for match in matches})
            found = self.compared(query, allowed, [match.key for match in matches])
            if len(found) >= k + SPARE or len(matches) < wanted:
                return found[:k]
            wanted *= 4

    def exact(self, query: Vectors, k: int, filters: Filters = NO_FILTERS) -> list[Match]:
        """What it must find: every vector of the store compared."""
        with self.store.read() as db:
            keys = [row[0] for row in db.execute("SELECT key FROM chunks")]
        return self.compared(query, find.eligible(Query("", "", filters=filters), OWNER), keys)[:k]

    def compared(self, query: Vectors, allowed: find.Eligible, keys: Sequence[str]) -> list[Match]:
        """Those of ``keys`` that are eligible, by the store's vectors, best first."""
        with self.store.read() as db:
            known = find.chunk_ids(db, keys, allowed)
            identity = active_identity(db)
            assert identity is not None
            ids, matrix = vectors_of(db, identity[0], [*known.values()])
        rows = dict(zip(ids, matrix, strict=True))
        matches = (
            Match(key, float(rows[chunk] @ unit(query))) for key, chunk in known.items() if chunk in rows
        )
        return sorted(matches, key=lambda match: (-match.similarity, match.key))


@contextmanager
def bench_store(folder: Path, dimension: int) -> Iterator[Store]:
    spec = ChunkSpec(256, {"text": (800, 160)})
    store = Store.create(folder / "bench.db", embedder="hashing", spec=spec, backend="local", metric="cosine")
    with store.write() as db:
        db.execute(
            "INSERT INTO sources (id, root, label, include, exclude, created_at)"
            " VALUES (1, x'2f', '', '[]', '[]', '')"
        )
        set_identity(db, EmbedderIdentity("bench", "m", "d", dimension, ""), np.ones(dimension, np.float32))
    yield store
    store.close()


def _forget(db: sqlite3.Connection, key: str) -> None:
    hashes = [row[0] for row in db.execute("SELECT embed_hash FROM chunks WHERE key = ?", (key,))]
    db.execute("DELETE FROM documents WHERE id IN (SELECT document_id FROM chunks WHERE key = ?)", (key,))
    db.executemany("DELETE FROM embeddings WHERE hash = ?", [(h,) for h in hashes])


_PLAIN = dict.fromkeys(("size", "mtime_ns", "ctime_ns", "inode", "scanned_ns"), 1)
_BLANK = dict.fromkeys(("prefix", "headings", "title_terms", "terms", "title", "tags"), "")


def _insert(db: sqlite3.Connection, note: Note) -> None:
    folder, name = posixpath.split(note.path)
    document_id = _row(
        db, "documents", source_id=1, path=f"{note.key}{note.path}".encode(), display=note.path,
        folder=folder, file_hash="", state="indexed", file_type=note.file_type, title=name,
        date=note.date, private=int(note.private), indexed_at="", **_PLAIN,
    )  # fmt: skip
    for folded, tag in note.folded_tags.items():
        _row(db, "tags", document_id=document_id, folded=folded, tag=tag)
    parts = note.path.split("/")
    tails = ["/".join(parts[i:]) for i in range(len(parts))]
    if note.file_type == "markdown":
        tails += [posixpath.splitext(tail)[0] for tail in tails]
    for tail in dict.fromkeys(map(name_key, tails)):
        _row(db, "names", document_id=document_id, key=tail, kind=0)
    vector = as_stored(note.vector).astype("<f2").tobytes()
    embedded = hashlib.sha256(note.key.encode() + vector).digest()
    lines = {"start": 0, "end": 1, "start_line": 1, "end_line": 1, "chunk_index": 0, "split_part": 0}
    _row(
        db, "chunks", key=note.key, document_id=document_id, heading_path="[]", anchor_type=note.anchor_type,
        anchor_ref=note.page, embed_hash=embedded, path=note.path, text=f"Text of {note.path}",
        **lines, **_BLANK,
    )  # fmt: skip
    identity = active_identity(db)
    assert identity is not None
    _row(db, "embeddings", identity_id=identity[0], hash=embedded, vector=vector)


def _row(db: sqlite3.Connection, table: str, **row: object) -> int:
    columns = ", ".join(f'"{column}"' for column in row)
    marks = ", ".join("?" * len(row))
    cursor = db.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", (*row.values(),))
    assert cursor.lastrowid is not None
    return cursor.lastrowid


def vectors(count: int, dimension: int, seed: int = 1) -> Vectors:
    """Random directions of length 1, shape (count, dimension)."""
    rows = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    unit_rows: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit_rows


def vault(count: int, dimension: int, seed: int = 1) -> list[Note]:
    """Notes with every kind of thing that can be asked for."""
    folders = ("", "projects", "projects/Deep one", "Projektarbeit", "100%_done", "archive/[old]/x")
    suffixes = (".md", ".py", ".txt", ".pdf.txt")
    tags = ((), ("aws",), ("aws/s3", "Work"), ("Büro",), ("work", "z" * 300))
    dates = ("", "2024-02-29", "2025-12-31", "2026-01-01", "2026-07-09")
    return [
        Note(
            posixpath.join(folders[n % len(folders)], f"Note {n}{suffixes[n // 2 % len(suffixes)]}"),
            row,
            tags=tags[n % len(tags)],
            date=dates[n // 3 % len(dates)],
            page=str(n % 4) if n % 2 == 0 else "",
        )
        for n, row in enumerate(vectors(count, dimension, seed))
    ]


def assert_same(found: Sequence[Match], expected: Sequence[Match], tie: float = 1e-5) -> None:
    """The same hits up to ties: wherever the keys differ, the similarities do not."""
    assert len(found) == len(expected)
    assert len({match.key for match in found}) == len(found)
    last = expected[-1].similarity if expected else 0.0
    sure = {match.key for match in expected if match.similarity > last + tie}
    assert sure <= {match.key for match in found}
    known = {match.key: match.similarity for match in expected}
    for match, other in zip(found, expected, strict=True):
        assert abs(known.get(match.key, last) - other.similarity) <= tie, json.dumps([match, other])


FILTERS = {
    "type": Filters(types=("markdown",)),
    "type by suffix": Filters(types=("py", "md")),
    "tag": Filters(tags=("work",)),
    "parent tag": Filters(tags=("aws",)),
    "tag in other letters": Filters(tags=("BÜRO",)),
    "several tags": Filters(tags=("büro", "aws/s3")),
    "folder": Filters(paths=("projects",)),
    "folder in other letters": Filters(paths=("PROJECTS/deep ONE",)),
    "folder that is the start of another": Filters(paths=("proj",)),
    "folder with odd characters": Filters(paths=("100%_done",)),
    "root only": Filters(paths=("",)),
    "root or folder": Filters(paths=("", "archive")),
    "one file by its path": Filters(paths=("projects/Note 1.md",)),
    "glob": Filters(paths=("projects/*/Note 2*",)),
    "glob from the start": Filters(paths=("*old*",)),
    "glob with brackets": Filters(paths=("archive/[old]/*",)),
    "file name": Filters(files=("Note 1.md", "note 12")),
    "tail of a path": Filters(files=("Deep one/Note 2.py",)),
    "page": Filters(pages=("3", "0")),
    "after": Filters(after="2025-12-31"),
    "before, also without a date": Filters(before="2024-03-01"),
    "between": Filters(after="2024-01-01", before="2026-01-01"),
    "everything at once": Filters(
        types=("markdown", "python"),
        tags=("aws",),
        paths=("projects", "100%_done"),
        pages=("3", "0"),
        after="2020-01-01",
        before="2030-01-01",
    ),
    "nothing fits": Filters(tags=("nowhere",)),
}
"""Every kind of filter, with something in a ``vault`` for all but two."""
