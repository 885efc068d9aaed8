"""Making a store of a remote vector index that another installation fills: all it holds, to be read here.

What comes from there is no more trusted than a file from a stranger: every record must have the shape that
we write, and paths are only shown, never opened.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from rag_core.errors import EmbedderError, StoreError, VectorError
from rag_core.extract import EXTRACTOR_VERSION, frontmatter
from rag_core.extract.chunk import chunk_spec
from rag_core.files import display
from rag_core.models import Embedder
from rag_core.store import Store, chunks, documents, embeddings, identities, sources, switch
from rag_core.store.connection import blames_file
from rag_core.store.documents import FileRecord, storable
from rag_core.store.errors import not_written
from rag_core.store.file import put_in_place
from rag_core.store.workroom import sync, workroom
from rag_core.text.tags import bounded
from rag_core.types import METRICS, ChunkSpec, EmbedderIdentity, Extracted, Metric, Passage, Vectors
from rag_core.vectors import RemoteIndex, VectorRecord, unit
from rag_core.vectors.payload import reason_against

_DOCUMENTS_A_WRITE = 50
_MOST = 2**53

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Maker:
    """What the installation that fills an index says of its store."""

    name: str
    embedder: str
    identity: EmbedderIdentity
    metric: Metric
    spec: ChunkSpec


@dataclass(frozen=True, slots=True)
class Found:
    """The records of an index, kept in a file of their own so that any number fits, who made them, and a
    text of them that is not private, with its vector."""

    file: Path
    maker: Maker
    sample: tuple[str, Vectors] | None


def attach(
    index: RemoteIndex,
    address: str,
    backend: str,
    path: Path,
    open_embedder: Callable[[str], Embedder],
    *,
    make_room: Callable[[], None],
    progress: Progress | None = None,
) -> None:
    """Make the store file ``path`` of what is at ``address``; it is there whole or not at all.

    ``make_room`` is called when all is ready, to remove a copy that was attached before; ``progress``
    hears how many passages came, and what it raises ends it. Raises VectorError when the index cannot be
    read or is not one of ours, EmbedderError when its embedder is not to be had here.
    """
    with _explained(path), workroom(path.parent) as room:
        found = gather(index, address, room / "records.db", progress)
        embedder = open_embedder(found.maker.embedder)
        if embedder.identity != found.maker.identity or not _gives_the_same(embedder, found.sample):
            raise EmbedderError(
                f"The vectors at {address!r} are from {found.maker.identity}, this machine has"
                f" {embedder.identity}.",
                "Install the same version of the model, then attach again.",
            )
        unfinished = room / path.name
        _fill(unfinished, found, embedder, address, backend)
        sync(unfinished)
        make_room()
        put_in_place(unfinished, path)
        sync(path.parent)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """What the disk or the rights do not allow is said of the store ``path``, not of its unfinished file."""
    try:
        yield
    except FileExistsError:
        raise StoreError(f"Store {path.stem!r} exists already.", "Choose another name.") from None
    except (OSError, sqlite3.Error, StoreError) as error:
        cause = error.__cause__ if isinstance(error, StoreError) else error
        if isinstance(cause, OSError) or (isinstance(cause, sqlite3.Error) and not blames_file(cause)):
            raise not_written(path.stem, "attached", path.parent, cause, "then attach it again") from error
        raise


def _gives_the_same(embedder: Embedder, sample: tuple[str, Vectors] | None) -> bool:
    """Whether the sample's vector is this embedder's, where its server does not tell which model it has."""
    if embedder.identity.digest or sample is None:
        return True
    text, vector = sample
    return identities.same_canary(vector, embedder.embed_documents([text])[0])


def maker_at(index: RemoteIndex, address: str) -> Maker:
    """Who fills the index; reads no further than it must. Raises VectorError when nobody of ours does."""
    is_empty = True
    for record in _records(index, address):
        if "store" in record.doc:
            return _maker(record.doc["store"], address)
        is_empty = False
    raise _nobodys(address, is_empty=is_empty)


def gather(index: RemoteIndex, address: str, file: Path, progress: Progress | None) -> Found:
    """Read every record into ``file``. Raises VectorError for one that is not as we write them."""
    maker: Maker | None = None
    sample: tuple[str, Vectors] | None = None
    count = 0
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("PRAGMA synchronous = OFF")
        db.execute(
            "CREATE TABLE records (path TEXT, chunk_index INTEGER, key TEXT UNIQUE, text TEXT, doc TEXT,"
            " vector BLOB)"
        )
        db.execute("BEGIN")
        for record in _records(index, address):
            doc = record.doc
            maker = maker or (_maker(doc["store"], address) if "store" in doc else None)
            db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?)", _row(record, address))
            if sample is None and not doc.get("private"):
                sample = _Doc(doc, address).passage(record.text).embedded, unit(record.vector)
            count += 1
            if progress is not None and count % 500 == 0:
                progress(count)
        db.execute("COMMIT")
    if maker is None:
        raise _nobodys(address, is_empty=not count)
    return Found(file, maker, sample)


# --- records → rows ---------------------------------------------------------------------


def _records(index: RemoteIndex, address: str) -> Iterator[VectorRecord]:
    try:
        for record in index.records():
            if not isinstance(record.doc, dict):
                raise TypeError("no object")
            yield replace(record, key=storable(record.key), text=storable(record.text))
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise _not_ours(address, "has a record that cannot be read") from error


def _row(record: VectorRecord, address: str) -> tuple[Any, ...]:
    doc = _Doc(record.doc, address)
    return (
        doc.path(),
        doc.whole("chunk_index"),
        record.key,
        record.text,
        json.dumps(record.doc),
        record.vector.tobytes(),
    )


def _fill(path: Path, found: Found, embedder: Embedder, address: str, backend: str) -> None:
    maker = found.maker
    store = Store.create(path, embedder=maker.embedder, spec=maker.spec, backend=backend, metric=maker.metric)
    try:
        canary = embedder.embed_documents([identities.CANARY_TEXT])[0]
        with store.decide() as db:
            identity_id = identities.set_identity(db, embedder.identity, canary)
            source = sources.put_source(db, address, ("**/*",), ())
            sources.change_source(db, replace(source, paused=True))
        with closing(sqlite3.connect(found.file)) as records:
            records.row_factory = sqlite3.Row
            rows = records.execute("SELECT * FROM records ORDER BY path, chunk_index, key")
            for some in _parts(groupby(rows, itemgetter("path")), _DOCUMENTS_A_WRITE):
                with store.write() as db:
                    for shown, group in some:
                        _put(db, identity_id, maker.identity.dimension, source.id, shown, group, address)
        with store.decide() as db:
            switch.attach(db, address)
    finally:
        store.close()


def _put(
    db: sqlite3.Connection,
    identity_id: int,
    dimension: int,
    source_id: int,
    shown: str,
    group: list[sqlite3.Row],
    address: str,
) -> None:
    group = list({row["text"]: row for row in reversed(group)}.values())[::-1]  # a passage is there once
    docs = [_Doc(json.loads(row["doc"]), address) for row in group]
    first = docs[0]
    passages = [doc.passage(row["text"]) for doc, row in zip(docs, group, strict=True)]
    extracted = first.extracted()
    file = FileRecord(
        source_id, os.fsencode(shown), shown, first.whole("size"), 0, 0, 0, 0, first.text("file_hash")
    )
    rows = replace(chunks.rows(shown, extracted, passages), keys=tuple(row["key"] for row in group))
    documents.put(db, file, extracted, rows, EXTRACTOR_VERSION)
    vectors = {chunks.embed_hash(p.embedded): row["vector"] for p, row in zip(passages, group, strict=True)}
    pending = [embeddings.Pending(digest, "") for digest in vectors]
    matrix = np.stack([_vector(vector, dimension, address) for vector in vectors.values()])
    embeddings.put_vectors(db, identity_id, pending, matrix)


def _vector(written: bytes, dimension: int, address: str) -> Vectors:
    vector = np.frombuffer(written, np.float32)
    if reason_against(vector, dimension):
        raise _not_ours(address, f"has a record whose vector has no direction in {dimension} dimensions")
    return unit(vector)


class _Doc:
    """The JSON that comes with a record, taken apart with distrust."""

    def __init__(self, doc: Mapping[str, Any], address: str) -> None:
        self._doc = doc
        self._address = address

    def text(self, name: str) -> str:
        value = self._doc.get(name, "")
        if not isinstance(value, str):
            raise _not_ours(self._address, f"has a record whose {name} is no text")
        return value.encode("utf-8", "replace").decode()

    def whole(self, name: str) -> int:
        value = self._doc.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MOST:
            raise _not_ours(self._address, f"has a record whose {name} is no number")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        value = self._doc.get(name, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _not_ours(self._address, f"has a record whose {name} is no list of texts")
        return tuple(value)

    def path(self) -> str:
        shown = display(os.fsencode(self.text("path")))
        if not shown or "\0" in shown or shown.startswith("/") or ".." in PurePosixPath(shown).parts:
            raise _not_ours(self._address, "has a record whose path is none")
        return shown

    def passage(self, text: str) -> Passage:
        start, end = self.whole("start"), self.whole("end")
        first, last = self.whole("start_line"), self.whole("end_line")
        if end - start != len(text) or not 1 <= first <= last:
            raise _not_ours(self._address, "has a record whose place in its document cannot be")
        return Passage(
            text,
            start,
            end,
            first,
            last,
            self.texts("heading_path"),
            self.text("anchor_type"),
            self.text("anchor_ref"),
            self.whole("split_part"),
            self.text("prefix"),
            self.text("headings"),
        )

    def extracted(self) -> Extracted:
        """The document, without its whole text, which no record has."""
        tags = self.texts("tags")
        title_from = self.text("title_from")
        front_matter = self._doc.get("front_matter", {})
        values = front_matter if isinstance(front_matter, dict) else {}
        words = self.text("words").removesuffix(frontmatter.words(values))
        aliases = words.removeprefix(" ".join(tags)).strip()
        return Extracted(
            text="",
            file_type=self.text("file_type"),
            encoding=self.text("encoding"),
            title=self.text("title"),
            title_from=title_from,  # type: ignore[arg-type]  # only shown
            segments=(),
            aliases=(aliases,) if aliases else (),
            tags=bounded(tags)[0],
            date=self.text("date") or None,
            private=bool(self._doc.get("private")),
            metadata=values,
        )


def _maker(written: Any, address: str) -> Maker:
    with suppress(KeyError, TypeError, ValueError):
        metric = written["metric"]
        sizes = {str(kind): (int(size), int(overlap)) for kind, (size, overlap) in written["sizes"].items()}
        names = ("provider", "model", "digest", "dimension", "prompts")
        identity = EmbedderIdentity(**{name: written["identity"][name] for name in names})
        spec = chunk_spec(int(written["max_tokens"]), by_type=sizes)
        if metric in METRICS and isinstance(identity.dimension, int):
            return Maker(str(written["name"]), str(written["embedder"]), identity, metric, spec)
    raise _not_ours(address, "does not say what made its vectors")


def _nobodys(address: str, *, is_empty: bool) -> VectorError:
    if is_empty:
        return VectorError(
            f"The vector index {address!r} is empty.",
            "Attach it when the installation that fills it has sent something; if none fills it any more,"
            " delete it with the tools of its server.",
        )
    return _not_ours(address, "holds no document that says where it is from")


def _not_ours(address: str, what: str) -> VectorError:
    return VectorError(
        f"The vector index {address!r} {what}.", "Attach one that Commonplace fills, by its own address."
    )


def _parts(
    groups: Iterable[tuple[str, Iterable[sqlite3.Row]]], count: int
) -> Iterator[list[tuple[str, list[sqlite3.Row]]]]:
    part: list[tuple[str, list[sqlite3.Row]]] = []
    for shown, rows in groups:
        part.append((shown, list(rows)))
        if len(part) == count:
            yield part
            part = []
    if part:
        yield part
