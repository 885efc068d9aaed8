"""Groups the files that could not be read by reason, so that a thousand files take one line."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterable

from rag_core.reports import Problem, ProblemKind
from rag_core.store.jobs import LAST_RESULTS
from rag_core.store.warnings import READ_IN_PART


def problems_in_store(db: sqlite3.Connection) -> list[Problem]:
    """Return the current problems of a store: files that could not be read, or only in part, pictures waiting
    for a server, and texts that the embedder refused."""
    sql = "SELECT state, reason, display FROM documents WHERE state <> 'indexed' ORDER BY display"
    problems = _grouped(db.execute(sql))
    sql = """SELECT 'waiting', reason, display FROM documents WHERE state = 'indexed' AND reason <> ''
             ORDER BY display"""
    problems += _grouped(db.execute(sql))
    problems += _read_in_part(db, "NOT EXISTS (SELECT 1 FROM documents WHERE container = d.id)")
    counts = db.execute("SELECT error, count(*) FROM queue WHERE error <> '' GROUP BY 1").fetchall()
    sql = """SELECT DISTINCT q.error, d.display FROM queue q JOIN chunks c ON c.embed_hash = q.hash
             JOIN documents d ON d.id = c.document_id WHERE q.error <> '' ORDER BY 2"""
    holders = db.execute(sql).fetchall()
    for error, count in counts:
        problems.append(Problem("refused", error, count, tuple(row[1] for row in holders if row[0] == error)))
    return sorted(problems, key=_rank)


def problems_of_job(db: sqlite3.Connection, job_id: int) -> list[Problem]:
    """Return the problems that occurred in one job. A folder that could not be read is named by its root."""
    sql = f"""SELECT outcome, message, source_file FROM job_results
             WHERE {LAST_RESULTS} AND outcome IN ('failed', 'skipped') ORDER BY source_file"""
    problems = _grouped(db.execute(sql, (job_id,)))
    during = """SELECT 1 FROM jobs WHERE id = ? AND d.indexed_at >= start_time
                AND d.indexed_at <= coalesce(end_time, d.indexed_at)"""
    problems += _read_in_part(db, f"EXISTS ({during})", job_id)
    return sorted(problems, key=_rank)


def _read_in_part(db: sqlite3.Connection, condition: str, *values: int) -> list[Problem]:
    """Return the documents ``d`` that were read only in part, with what their warnings say about that."""
    sql = f"""SELECT d.warnings, d.display FROM documents d WHERE d.state = 'indexed'
              AND json_extract(d.warnings, '$[0]') = ? AND {condition} ORDER BY d.display"""
    rows = db.execute(sql, (READ_IN_PART, *values)).fetchall()
    return _grouped(("in part", " ".join(json.loads(written)[1:]), path) for written, path in rows)


def _grouped(rows: Iterable[tuple[ProblemKind, str, str]]) -> list[Problem]:
    """Group rows of (kind, message, path) into problems: one for all files with the same reason."""
    files: dict[tuple[ProblemKind, str], list[str]] = {}
    for kind, message, path in rows:
        files.setdefault((kind, shared_reason(message, path)), []).append(path)
    return [Problem(kind, reason, len(paths), tuple(paths)) for (kind, reason), paths in files.items()]


def _rank(problem: Problem) -> tuple[int, int, str]:
    return (
        ("failed", "in part", "waiting", "refused", "skipped").index(problem.kind),
        -problem.count,
        problem.reason,
    )


def shared_reason(message: str, path: str) -> str:
    """Return the message about the file ``path`` without the file's own name, so that equal reasons can be
    grouped."""
    parts = path.split("/")
    for start in range(len(parts)):
        name = repr("/".join(parts[start:]))
        if name in message:
            return re.sub(f"^(The file )?{re.escape(name)}", "It", message).replace(name, "…")
    return message
