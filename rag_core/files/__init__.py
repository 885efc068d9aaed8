"""The files of a source: scanning folders, glob patterns, ignored files, safe paths. Nothing here writes to a
source."""

from __future__ import annotations

from rag_core.files.extent import MANY_FILES, doubt, leaves_out
from rag_core.files.globs import EVERYTHING, Coverage, split_glob, validate_globs
from rag_core.files.offered import Offered, offered_folders
from rag_core.files.paths import (
    IN_CLOUD,
    contained,
    current_folder,
    display,
    expanded,
    list_folders,
    opened_in_slices,
    read_bytes,
    real_folder,
    with_sep,
)
from rag_core.files.rules import why_skipped
from rag_core.files.shared_disks import shared_by
from rag_core.files.walk import FileStat, Preview, Walk, file_stat, preview, scan

__all__ = [
    "EVERYTHING",
    "IN_CLOUD",
    "MANY_FILES",
    "Coverage",
    "FileStat",
    "Offered",
    "Preview",
    "Walk",
    "contained",
    "current_folder",
    "display",
    "doubt",
    "expanded",
    "file_stat",
    "leaves_out",
    "list_folders",
    "offered_folders",
    "opened_in_slices",
    "preview",
    "read_bytes",
    "real_folder",
    "scan",
    "shared_by",
    "split_glob",
    "validate_globs",
    "why_skipped",
    "with_sep",
]
