"""Trees of files for tests, and what a scan finds in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from rag_core.files import scan


def plant(root: Path, *paths: str | bytes, text: bytes = b"text") -> Path:
    """Make files (and their folders) below ``root``."""
    for path in paths:
        full = root / os.fsdecode(path)
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_bytes(text)
    return root


def write(root: Path, files: Mapping[str, str]) -> None:
    """Make or change the files of these paths below ``root``, each with its text."""
    for path, text in files.items():
        plant(root, path, text=text.encode())


def found(root: Path, *include: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [os.fsdecode(file.path) for file in scan(root, include, exclude).files]


def skipped(root: Path, *include: str) -> dict[str, str]:
    return {os.fsdecode(path): reason for path, reason in scan(root, include).skipped}
