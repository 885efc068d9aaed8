"""Builds a read-only store here from a remote vector index that another installation fills.

Threat. The records may come from a stranger. Each record must have the form that Commonplace writes. Its
paths are only shown, never opened.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from itertools import chain, groupby
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from rag_core.errors import EmbedderError, VectorError
from rag_core.extract import EXTRACTOR_VERSION, frontmatter
from rag_core.extract.building import one_line
from rag_core.extract.chunk import chunk_spec, cut
from rag_core.files import FileStat, display
from rag_core.index.parts import row_of_file
from rag_core.models import Embedder
from rag_core.store import Store, chunks, documents, embeddings, parts, sources, switch
from rag_core.store.creation import new_store_file
from rag_core.store.documents import FileRecord
from rag_core.text.embedded import embedded_text
from rag_core.text.furniture import kept_text
from rag_core.text.tags import bounded
from rag_core.text.words import well_formed
from rag_core.types import (
    METRICS,
    ChunkSpec,
    EmbedderIdentity,
    Extracted,
    Metric,
    Passage,
    Vectors,
)
from rag_core.vectors import RemoteIndex, VectorRecord, unit
from rag_core.vectors.payload import reason_against

_MOST = 2**53
_FIELDS: dict[type, str] = {
    str: "path part file_type file_hash encoding title title_from date words"
    " prefix headings anchor_type anchor_ref",
    int: "chunk_index number size start end start_line end_line split_part",
    list: "tags heading_path",
}
"""The names of a record's JSON fields, by type."""
_NO_MAKER = "The vector index {address!r} is empty, or does not say which store fills it."

Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Maker:
    """The description that an index holds of the store that fills it."""

    name: str
    embedder: str
    identity: EmbedderIdentity
    metric: Metric
    spec: ChunkSpec


def make_attached(
    index: RemoteIndex,
    address: str,
    backend: str,
    path: Path,
    open_embedder: Callable[[str], Embedder],
    *,
    make_room: Callable[[], None],
    progress: Progress | None = None,
) -> None:
    """Create the store file ``path`` from the index at ``address``. An error leaves no file.

    Args:
        index: The open index.
        address: The address of the index.
        backend: The name of the index's backend.
        path: The store file to create; its name is the name of the store.
        open_embedder: Opens an embedder by its name.
        make_room: Called when the new file is complete, to remove a copy that was attached before.
        progress: Called with the number of passages read so far.

    Raises:
        VectorError: The index cannot be read, or Commonplace did not write it.
        EmbedderError: The embedder of the index is missing here, or is another model.

    """
    with (
        new_store_file(
            path,
            lambda why: f"Store {path.stem!r} cannot be attached: {why}.",
            "Then attach it again.",
            make_room,
        ) as unfinished,
        closing(sqlite3.connect(unfinished.with_name("records.db"), isolation_level=None)) as records,
    ):
        maker, sample = _gather(records, index, address, progress)
        embedder = open_embedder(maker.embedder)
        if not _is_same(embedder, maker, sample):
            raise EmbedderError(
                f"The vectors at {address!r} are from {maker.identity}, not {embedder.identity}.",
                "Install the same version of the model, then attach again.",
            )
        store = Store.create(
            unfinished, embedder=maker.embedder, spec=maker.spec, backend=backend, metric=maker.metric
        )
        with closing(store):
            _fill(store, records, embedder, address)


def _is_same(embedder: Embedder, maker: Maker, sample: tuple[str, Vectors] | None) -> bool:
    """Whether ``embedder`` makes the same vectors as the index holds. ``sample`` is a text with its vector,
    for embedders without a digest."""
    if embedder.identity != maker.identity:
        return False
    if not sample or embedder.identity.digest:
        return True
    return embeddings.same_canary(sample[1], embedder.embed_documents([sample[0]])[0])


def maker_at(index: RemoteIndex, address: str) -> Maker:
    """Return the description of the store that fills the index, reading only as many records as needed.
    Raises VectorError if the index cannot be read, or if Commonplace does not fill it."""
    for record in _records(index, address):
        if "store" in record.doc:
            return _maker(record.doc["store"], address)
    raise _not_ours(_NO_MAKER.format(address=address))


def _gather(
    db: sqlite3.Connection, index: RemoteIndex, address: str, progress: Progress | None
) -> tuple[Maker, tuple[str, Vectors] | None]:
    """Write every record to the table ``records`` in ``db``, so that they need not fit into memory. Returns
    the maker, then a text that is not private with its vector. Raises VectorError for a malformed
    record."""
    maker: Maker | None = None
    sample: tuple[str, Vectors] | None = None
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA synchronous = OFF")
    db.execute(
        "CREATE TABLE records (path TEXT, part TEXT, number INTEGER, key TEXT UNIQUE, text TEXT, doc TEXT,"
        " vector BLOB)"
    )
    db.execute("BEGIN")
    for count, record in enumerate(_records(index, address), 1):
        if maker is None and "store" in record.doc:
            maker = _maker(record.doc["store"], address)
        doc = _checked(record, address)
        if sample is None and not doc["private"]:
            read = kept_text(record.text, doc["kept"])
            sample = embedded_text(doc["prefix"], read, doc["anchor_type"]), unit(record.vector)
        place, vector = (doc["path"], doc["part"], doc["chunk_index"]), record.vector.tobytes()
        row = (*place, record.key, record.text, json.dumps(doc), vector)
        db.execute("INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        if progress is not None and count % 500 == 0:
            progress(count)
    db.execute("COMMIT")
    if maker is None:
        raise _not_ours(_NO_MAKER.format(address=address))
    return maker, sample


def _records(index: RemoteIndex, address: str) -> Iterator[VectorRecord]:
    try:
        for record in index.records():
            if not isinstance(record.doc, dict):
                raise TypeError("no object")
            yield replace(record, key=well_formed(record.key), text=well_formed(record.text))
    except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise _not_ours(f"The vector index {address!r} has a record that cannot be read.") from error


def _checked(record: VectorRecord, address: str) -> dict[str, Any]:
    """Return the JSON of a record with all fields. Missing fields are empty. Raises VectorError if a field
    has the wrong type."""
    fields: dict[str, Any] = {}
    for kind, names in _FIELDS.items():
        for name in names.split():
            value: Any = record.doc.get(name, kind())
            fits = type(value) is kind and (not isinstance(value, int) or 0 <= value < _MOST)
            if not fits or (kind is list and not all(isinstance(item, str) for item in value)):
                raise _not_ours(f"The vector index {address!r} has a record whose field {name!r} is wrong.")
            fields[name] = value.encode("utf-8", "replace").decode() if kind is str else value
    fields["kept"] = _kept(record, address)
    front_matter = record.doc.get("front_matter")
    fields["front_matter"] = front_matter if isinstance(front_matter, dict) else {}
    fields["private"] = bool(record.doc.get("private"))
    fields["part"] = one_line(fields["part"])
    path = fields["path"] = display(os.fsencode(fields["path"]))
    if not path or "\0" in path or path.startswith("/") or ".." in PurePosixPath(path).parts:
        raise _not_ours(f"The vector index {address!r} has a record whose field 'path' is wrong.")
    is_in_order = 1 <= fields["start_line"] <= fields["end_line"]
    if fields["end"] - fields["start"] != len(record.text) or not is_in_order:
        raise _not_ours(
            f"The vector index {address!r} has a record whose position in its document is impossible."
        )
    return fields


def _kept(record: VectorRecord, address: str) -> str | None:
    """Return the record's ``kept`` spans as JSON, as in `Passage`; None if the whole passage is kept.
    Raises VectorError."""
    if (written := record.doc.get("kept")) is None:
        return None
    with suppress(TypeError, ValueError, RecursionError):
        spans = [(int(start), int(end)) for start, end in json.loads(written)]
        places = [0, *chain(*spans), len(record.text)]
        if places == sorted(places):
            return json.dumps(spans)
    raise _not_ours(f"The vector index {address!r} has a record whose field 'kept' is wrong.")


def _passage(doc: Mapping[str, Any], text: str) -> Passage:
    return Passage(
        text,
        *(doc["start"], doc["end"], doc["start_line"], doc["end_line"], tuple(doc["heading_path"])),
        *(doc["anchor_type"], doc["anchor_ref"], doc["split_part"], doc["prefix"], doc["headings"]),
        doc["kept"],
    )


def _fill(store: Store, records: sqlite3.Connection, embedder: Embedder, address: str) -> None:
    dimension = embedder.identity.dimension
    canary = embedder.embed_documents([embeddings.CANARY_TEXT])[0]
    with store.decide() as db:
        identity_id = embeddings.set_identity(db, embedder.identity, canary)
        source = sources.put_source(db, address, ("**/*",), ())
        sources.change_source(db, replace(source, paused=True))
    rows = records.execute("SELECT * FROM records ORDER BY path, part, number, key")
    with store.write() as db:
        for place, group in groupby(rows, lambda row: (row["path"], row["part"])):
            vectors = _put(db, source.id, *place, _distinct(group))
            if any(reason_against(vector, dimension) for vector in vectors.values()):
                raise _not_ours(
                    f"The vector index {address!r} has a record without a vector of {dimension} dimensions."
                )
            texts = [embeddings.Pending(digest, "") for digest in vectors]
            embeddings.put_vectors(db, identity_id, texts, np.stack([*map(unit, vectors.values())]))
    with store.decide() as db:
        switch.mark_attached(db, address)


def _distinct(rows: Iterable[sqlite3.Row]) -> list[sqlite3.Row]:
    """Return the first record of each text."""
    once: dict[str, sqlite3.Row] = {}
    for row in rows:
        once.setdefault(row["text"], row)
    return list(once.values())


def _put(
    db: sqlite3.Connection, source_id: int, path: str, part: str, group: Sequence[sqlite3.Row]
) -> dict[bytes, Vectors]:
    """Write the document ``path``, or its ``part``, from the records of its passages. Returns the vectors of
    the passages by the hash of the embedded text."""
    docs = [json.loads(row["doc"]) for row in group]
    passages = [_passage(doc, row["text"]) for doc, row in zip(docs, group, strict=True)]
    doc, extracted = docs[0], _extracted(docs[0])
    stat = FileStat(os.fsencode(path), doc["size"], 0, 0, 0)
    file = FileRecord(source_id, path, stat, file_hash=doc["file_hash"])
    if part:
        file = replace(file, part=part, number=doc["number"], container=_file_of_parts(db, file))
    rows = replace(chunks.chunk_rows(path, extracted, passages), keys=tuple(row["key"] for row in group))
    documents.put_document(db, file, extracted, rows, EXTRACTOR_VERSION)
    return {
        digest: np.frombuffer(row["vector"], np.float32)
        for (digest, *_), row in zip(rows.values, group, strict=True)
    }


def _file_of_parts(db: sqlite3.Connection, file: FileRecord) -> int:
    """Return the row id of a file that holds many documents. Its first document creates the row. Only the
    owner sees the row, because all the documents may be private."""
    while (row := parts.file_row(db, file.source_id, file.stat.path)) is None:
        empty = row_of_file(file, PurePosixPath(file.display), private=True)
        rows = chunks.chunk_rows(file.display, empty, cut(empty, chunk_spec(256), None))
        documents.put_document(db, replace(file, file_hash=""), empty, rows, EXTRACTOR_VERSION)
    return row.id


def _extracted(doc: Mapping[str, Any]) -> Extracted:
    """Return the metadata that a record holds of its document. The text is empty, because no record has all
    of it."""
    words = doc["words"].removesuffix(frontmatter.words(doc["front_matter"]))
    aliases = words.removeprefix(" ".join(doc["tags"])).strip()
    return Extracted(
        text="",
        segments=(),
        file_type=doc["file_type"],
        encoding=doc["encoding"],
        title=doc["title"],
        title_from=doc["title_from"],
        tags=bounded(tuple(doc["tags"]))[0],
        aliases=(aliases,) if aliases else (),
        date=doc["date"] or None,
        private=doc["private"],
        metadata=doc["front_matter"],
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
    raise _not_ours(f"The vector index {address!r} does not describe its store and embedder correctly.")


def _not_ours(problem: str) -> VectorError:
    return VectorError(problem, "Attach a vector index that is filled by Commonplace.")
