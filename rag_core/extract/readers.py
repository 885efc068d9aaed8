"""Reads what is attached to a mail: with the module of its format, or as text. In the worker process."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePosixPath

from rag_core.extract import plain
from rag_core.extract.filetypes import READER_MODULES
from rag_core.extract.unpacking import refuse_bomb
from rag_core.types import Extracted


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The file as a document. Raises ExtractError, NotText, and what a parser raises on a damaged file."""
    module = READER_MODULES.get(path.suffix.lower())
    if module is None:
        return plain.read(data, path)
    refuse_bomb(data, path)
    found: Extracted = import_module(f"rag_core.extract.{module}").read(data, path)
    return found
