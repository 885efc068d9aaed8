"""Rich text (RTF) → its text."""

from __future__ import annotations

from pathlib import PurePosixPath

from striprtf.striprtf import rtf_to_text

from rag_core.extract.building import Builder, damaged
from rag_core.types import Extracted

_BEGINNING = b"{\\rtf"


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The document in ``data``. Raises ExtractError for what is no rich text."""
    if not data.lstrip().startswith(_BEGINNING):
        raise damaged(path, data)
    builder = Builder()
    text: str = rtf_to_text(data.decode("latin-1"), errors="replace")  # type: ignore[no-untyped-call]
    builder.add(text)
    return builder.document("word", path.name)
