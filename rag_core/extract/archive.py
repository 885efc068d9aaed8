"""ZIP archives → the list of the files in them. No file in an archive is opened."""

from __future__ import annotations

import io
from pathlib import PurePosixPath
from zipfile import ZipFile

from rag_core.extract.building import Builder
from rag_core.types import Extracted

_MOST_NAMES = 10_000


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the names in the archive ``data``, one on each line."""
    with ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
    builder = Builder()
    builder.add("\n".join(names[:_MOST_NAMES]))
    more = [f"Only the first {_MOST_NAMES:,} of the {len(names):,} names of its files can be found."]
    return builder.document("archive", path.name, warnings=more if len(names) > _MOST_NAMES else [])
