"""Values → the JSON that every face speaks.

The names are the seeds': a query answer as in A (``query, store, results[rank, score,
file_path, …], total_results, query_time_ms``), a job as in B. Ours stand beside them.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from rag_core.plan import Plan
from rag_core.types import Answer, Document, FileResult, Hit, Job, StoreInfo


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
        "query_time_ms": round(found.query_time_ms, 1),
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
        "absolute_path": absolute_path(doc),
    }


def absolute_path(doc: Document) -> str:
    """Where the file is on this machine, for people."""
    return str(PurePosixPath(doc.root) / doc.path_in_source)


def document(doc: Document) -> dict[str, Any]:
    """One file of a store."""
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
        "size": doc.size,
        "file_hash": doc.file_hash,
        "indexed_at": doc.indexed_at,
        "absolute_path": absolute_path(doc),
    }


def store(info: StoreInfo) -> dict[str, Any]:
    """A store, with the seed's fields (``bucket_name`` and ``index_name`` are those of S3 Vectors)."""
    return {
        "name": info.name,
        "bucket_name": None,
        "index_name": None,
        "dimension": info.dimension,
        "distance_metric": info.distance_metric,
        "created_at": info.created_at,
        "file_count": info.file_count,
        "chunk_count": info.chunk_count,
        "backend": info.backend,
        "embedder": info.embedder,
        "identity": info.identity,
        "pending": info.pending,
        "failed": info.failed,
        "skipped": info.skipped,
        "size_bytes": info.size_bytes,
        "types": info.types,
        "sources": [
            {
                "id": source.id,
                "root": source.root,
                "include": list(source.include),
                "exclude": list(source.exclude),
                "paused": source.paused,
            }
            for source in info.sources
        ],
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
