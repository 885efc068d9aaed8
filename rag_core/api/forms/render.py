"""Values → the JSON that every face speaks, and hits → CSV.

The names are the seeds': a query answer as in A (``query, store, results[rank, score,
file_path, …], total_results, query_time_ms``), a job as in B. Ours stand beside them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from rag_core.api.forms.screen import plain, plain_json
from rag_core.index.plan import Plan
from rag_core.library.portable import Exported
from rag_core.reports import SourceInfo, Status
from rag_core.types import (
    Answer,
    Document,
    DocumentLink,
    DocumentView,
    FileResult,
    Hit,
    Job,
    Neighbour,
    Source,
    StoreInfo,
    Viewer,
)

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings

_CSV_COLUMNS = (
    "rank score relevant similarity bm25 store file_path start_line end_line title heading_path tags date"
    " content"
).split()
# What a spreadsheet takes for a formula, as typed on a Western or an East Asian keyboard.
_FORMULA = tuple("=+-@\t\r＝＋－＠")


def json_bytes(value: dict[str, Any]) -> bytes:
    """``value`` as a JSON text in UTF-8. Nothing in it steers a terminal, whatever a file name holds."""
    text = plain_json(json.dumps(value, ensure_ascii=False, indent=2))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def answer(found: Answer) -> dict[str, Any]:
    """A search answer; ``store`` is the one store searched, else null beside ``stores``."""
    return {
        "query": found.query.raw,
        "store": found.stores[0] if len(found.stores) == 1 else None,
        "stores": list(found.stores),
        "mode": found.mode,
        "convincing": found.convincing,
        "results": [hit(h) for h in found.hits],
        "total_results": len(found.hits),
        "offset": found.offset,
        "has_more": found.has_more,
        "unshown": found.unshown,
        "query_time_ms": round(found.query_time_ms, 1),
        "timestamp": found.timestamp,
        "pending": found.pending,
        "warnings": list(found.warnings),
    }


def hit(found: Hit) -> dict[str, Any]:
    """One result of a search."""
    doc = found.document
    return {
        "rank": found.rank,
        "score": round(found.score, 4),
        "file_path": doc.path,
        "file_type": doc.file_type,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "content": found.content,
        "metadata": {
            "title": doc.title,
            "tags": [f"#{tag}" for tag in doc.tags],
            "indexed_at": doc.indexed_at,
            "file_hash": doc.file_hash,
            "chunk_index": found.chunk_index,
            "heading_path": list(found.heading_path),
            "folder": doc.folder,
            "anchor_type": found.anchor_type,
            "anchor_ref": found.anchor_ref,
            "split_part": found.split_part,
            "date": doc.date,
        },
        "store": found.store,
        "id": found.key,
        "relevant": found.relevant,
        "similarity": None if found.similarity is None else round(found.similarity, 4),
        "bm25": None if found.bm25 is None else round(found.bm25, 3),
        "reasons": list(found.reasons),
        "highlights": [list(span) for span in found.spans],
        "copies": list(found.copies),
        "absolute_path": absolute_path(doc) or None,
        "state": doc.state,
    }


def hits_csv(found: Answer, viewer: Viewer, *, marked: bool = True) -> bytes:
    """The hits as CSV (RFC 4180) in UTF-8, one row a hit; ``marked`` for a file, by which Excel knows UTF-8.

    Numbers are as in JSON. A text that a spreadsheet would run as a formula has an apostrophe in front.
    The last column, ``absolute_path``, is for the owner alone.
    """
    columns = [*_CSV_COLUMNS, "absolute_path"] if viewer.is_owner else list(_CSV_COLUMNS)
    file = io.StringIO()
    # Every text in quotes: where the comma is the decimal sign, spreadsheets would split at semicolons.
    table = csv.DictWriter(file, columns, extrasaction="ignore", quoting=csv.QUOTE_NONNUMERIC)
    table.writeheader()
    table.writerows(_row(hit(each)) for each in found.hits)
    return file.getvalue().encode("utf-8-sig" if marked else "utf-8")


def _row(shown: dict[str, Any]) -> dict[str, Any]:
    flat = shown | shown["metadata"]
    flat["tags"] = ", ".join(flat["tags"])
    flat["heading_path"] = " > ".join(flat["heading_path"])
    return {name: _cell(value) if isinstance(value, str) else value for name, value in flat.items()}


def _cell(text: str) -> str:
    text = plain(text)
    return f"'{text}" if text.startswith(_FORMULA) else text


def absolute_path(doc: Document) -> str:
    """Where the file is on this machine; empty for a guest, who is not told the folder."""
    return str(PurePosixPath(doc.root) / doc.path_in_source) if doc.root else ""


def place(found: Hit) -> str:
    """``path:line`` as editors take it, on this machine for the owner and in the store for a guest.

    Pages and slides have no lines; the path stands alone.
    """
    path = absolute_path(found.document) or found.document.path
    return path if found.anchor_type in ("page", "slide") else f"{path}:{found.start_line}"


def document(doc: Document, viewer: Viewer) -> dict[str, Any]:
    """One file of a store; a guest is told nothing of the file on the disk."""
    of_owner = {"size": doc.size, "file_hash": doc.file_hash, "indexed_at": doc.indexed_at}
    return {
        "file_path": doc.path,
        "file_type": doc.file_type,
        "title": doc.title,
        "tags": [f"#{tag}" for tag in doc.tags],
        "date": doc.date,
        "private": doc.private,
        "state": doc.state,
        "reason": doc.reason,
        "chunks": doc.chunks,
        **(of_owner if viewer.is_owner else {}),
        "absolute_path": absolute_path(doc) or None,
    }


def document_view(found: DocumentView, viewer: Viewer) -> dict[str, Any]:
    """A document with its text and links; the first ``repeats`` characters of each end the one before."""
    return {
        "store": found.document.store,
        **document(found.document, viewer),
        "aliases": list(found.aliases),
        "properties": dict(found.properties),
        "warnings": list(found.warnings),
        "passages": [passage(each) for each in found.chunks],
        "links_out": [link(each) for each in found.links_out],
        "links_in": [link(each) for each in found.links_in],
    }


def passage(found: Neighbour) -> dict[str, Any]:
    """One passage of a document in reading order."""
    return {
        "id": found.key,
        "start_line": found.start_line,
        "end_line": found.end_line,
        "heading_path": list(found.heading_path),
        "content": found.content,
        "repeats": found.repeats,
    }


def link(found: DocumentLink) -> dict[str, Any]:
    """A link; ``file_path`` and ``title`` are those of the other document, null for a link to nothing."""
    return {
        "type": found.type,
        "target": found.target,
        "heading": found.heading,
        "label": found.label,
        "file_path": found.path,
        "title": found.title,
    }


def store(info: StoreInfo) -> dict[str, Any]:
    """A store, with the seed's fields (``bucket_name`` and ``index_name`` are those of S3 Vectors)."""
    return {
        "name": info.name,
        "bucket_name": info.bucket_name,
        "index_name": info.index_name,
        "dimension": info.dimension,
        "distance_metric": info.distance_metric,
        "created_at": info.created_at,
        "file_count": info.file_count,
        "chunk_count": info.chunk_count,
        "backend": info.backend,
        "address": info.address,
        "attached": info.attached,
        "unsent": info.unsent,
        "refused": info.refused,
        "switching": info.switching,
        "to_switch": info.to_switch,
        "sends_private": info.sends_private,
        "embedder": info.embedder,
        "identity": info.identity,
        "pending": info.pending,
        "withheld": info.withheld,
        "unreadable": info.unreadable,
        "failed": info.failed,
        "skipped": info.skipped,
        "excluded": info.excluded,
        "size_bytes": info.size_bytes,
        "types": info.types,
        "sources": [source(each) for each in info.sources],
    }


def store_for(info: StoreInfo, viewer: Viewer) -> dict[str, Any]:
    """A store as ``viewer`` is told of it: a guest of its name and counts alone."""
    if viewer.is_owner:
        return store(info)
    return {
        "name": info.name,
        "file_count": info.file_count,
        "chunk_count": info.chunk_count,
        "pending": info.pending,
        "types": info.types,
    }


def stores(infos: Iterable[StoreInfo], warnings: Iterable[str], viewer: Viewer) -> dict[str, Any]:
    """Every store that ``viewer`` may see, and a sentence about each that cannot be read."""
    return {"stores": [store_for(info, viewer) for info in infos], "warnings": list(warnings)}


def status(found: Status, viewer: Viewer) -> dict[str, Any]:
    """How everything stands; a guest is told neither of runs nor of folders."""
    shown = stores(found.stores, found.warnings, viewer)
    if not viewer.is_owner:
        return shown
    return {**shown, "running": [job(run) for run in found.running], "data_dir": found.data_dir}


def files(store: str, found: Iterable[Document], viewer: Viewer) -> dict[str, Any]:
    """The files of a store."""
    return {"store": store, "files": [document(each, viewer) for each in found]}


def exported(done: Exported) -> dict[str, Any]:
    """A portable file that was written."""
    return {
        "store": done.store,
        "path": str(done.path),
        "size_bytes": done.size_bytes,
        "file_count": done.file_count,
        "chunk_count": done.chunk_count,
    }


def source(folder: Source) -> dict[str, Any]:
    """A folder of a store."""
    return {
        "id": folder.id,
        "root": folder.root,
        "include": list(folder.include),
        "exclude": list(folder.exclude),
        "label": folder.label,
        "paused": folder.paused,
        "removed": folder.removed,
    }


def source_info(found: SourceInfo) -> dict[str, Any]:
    """A folder of a store with the number of its files."""
    return {
        **source(found.source),
        "indexed": found.indexed,
        "failed": found.failed,
        "skipped": found.skipped,
        "missing": found.missing,
    }


def job(run: Job) -> dict[str, Any]:
    """An indexing run, with the seed's names."""
    progress = run.progress
    return {
        "id": run.id,
        "store": run.store,
        "state": run.state,
        "start_time": run.start_time,
        "end_time": run.end_time,
        "duration_ms": run.duration_ms,
        "total_files": run.total_files,
        "succeeded": run.succeeded,
        "failed": run.failed,
        "total_chunks_added": run.total_chunks_added,
        "texts_embedded": run.texts_embedded,
        "counts": run.counts,
        "message": run.message,
        "progress": {
            "phase": progress.phase,
            "done": progress.done,
            "total": progress.total,
            "rate": round(progress.rate, 1),
            "eta_seconds": None if progress.eta is None else round(progress.eta),
            "current": progress.current,
        },
        "results": [result(r) for r in run.results],
    }


def result(file: FileResult) -> dict[str, Any]:
    """What became of one file in a run."""
    return {
        "source_file": file.source_file,
        "status": file.status,
        "outcome": file.outcome,
        "chunks_added": file.chunks_added,
        "chunks_skipped": file.chunks_skipped,
        "message": file.message,
        "processing_time_ms": file.processing_time_ms,
    }


def plan(plans: list[Plan]) -> dict[str, Any]:
    """What a run would do, for ``--dry-run``."""
    return {
        "dry_run": True,
        "sources": [
            {
                "root": p.source.root,
                "counts": p.counts(),
                "files": [{"outcome": o, "file_path": path, "note": note} for o, path, note in p.rows()],
                "warnings": list(p.warnings),
            }
            for p in plans
        ],
    }


def settings(found: Settings) -> dict[str, Any]:
    """Every setting with where it is from: ``layer`` default, config.yaml, .env or environment."""
    return {
        "data_dir": str(found.data_dir),
        "config_file": str(found.config_file),
        "env_file": str(found.env_file),
        "settings": [
            {
                "key": row.key.name,
                "value": row.value,
                "layer": row.origin.layer,
                "name": row.origin.name,
                "file": row.origin.file,
                "line": row.origin.line,
            }
            for row in found.rows()
        ],
        "warnings": list(found.warnings),
    }
