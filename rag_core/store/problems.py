"""What of a store cannot be found as it should, and why: grouped, so that a thousand files are one line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from rag_core.reports import Problem, ProblemKind

_ORDER: tuple[ProblemKind, ...] = ("failed", "refused", "skipped")


def in_store(db: sqlite3.Connection) -> list[Problem]:
    """The problems of a store's documents as they were last read, and of the texts still to embed."""
    rows = db.execute(
        "SELECT state, reason, display FROM documents WHERE state <> 'indexed' ORDER BY display"
    )
    return _sorted([*grouped((row[0], row[1], row[2]) for row in rows), *_refused(db)])


def of_job(db: sqlite3.Connection, job_id: int) -> list[Problem]:
    """The problems that one job met. A folder that could not be read goes by its root."""
    rows = db.execute(
        "SELECT outcome, message, source_file FROM job_results"
        " WHERE job_id = ? AND outcome IN ('failed', 'skipped') ORDER BY source_file",
        (job_id,),
    )
    return grouped((row[0], row[1], row[2]) for row in rows)


def grouped(found: Iterable[tuple[ProblemKind, str, str]]) -> list[Problem]:
    """Problems from (kind, message, path) of single files, in the order of ``in_store``."""
    files: dict[tuple[ProblemKind, str], list[str]] = {}
    for kind, message, path in found:
        files.setdefault((kind, shared_reason(message, path)), []).append(path)
    return _sorted(
        [Problem(kind, reason, len(paths), tuple(paths)) for (kind, reason), paths in files.items()]
    )


def _refused(db: sqlite3.Connection) -> list[Problem]:
    """The texts that the embedder refused, with the documents that hold them."""
    counts = db.execute("SELECT error, count(*) FROM queue WHERE error <> '' GROUP BY 1").fetchall()
    rows = db.execute(
        """SELECT DISTINCT q.error, d.display FROM queue q JOIN chunks c ON c.embed_hash = q.hash
           JOIN documents d ON d.id = c.document_id WHERE q.error <> '' ORDER BY 2"""
    ).fetchall()
    return [
        Problem("refused", error, count, tuple(row[1] for row in rows if row[0] == error))
        for error, count in counts
    ]


def _sorted(problems: list[Problem]) -> list[Problem]:
    return sorted(problems, key=lambda each: (_ORDER.index(each.kind), -each.count, each.reason))


def shared_reason(message: str, path: str) -> str:
    """The message without the file's own name, so that equal reasons are equal."""
    parts = path.split("/")
    for start in range(len(parts)):
        name = repr("/".join(parts[start:]))
        for subject in (f"The file {name}", name):
            if message.startswith(subject):
                return f"It{message.removeprefix(subject)}"
        if name in message:
            return message.replace(name, "…")
    return message
