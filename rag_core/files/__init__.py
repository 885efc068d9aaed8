"""The files of a source: walking it, globs, ignores, containment. Nothing here writes to a source."""

from __future__ import annotations

from rag_core.files.globs import split_glob, validate_globs
from rag_core.files.paths import contained, display, list_folders, read_bytes
from rag_core.files.rules import why_skipped
from rag_core.files.walk import FileStat, Preview, Walk, preview, scan

__all__ = [
    "FileStat",
    "Preview",
    "Walk",
    "contained",
    "display",
    "list_folders",
    "preview",
    "read_bytes",
    "scan",
    "split_glob",
    "validate_globs",
    "why_skipped",
]
