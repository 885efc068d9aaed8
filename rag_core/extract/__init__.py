"""File → text, segments and metadata. Pure: bytes and a name in, a value out.

Text files are read here (`plain`), HTML and all others in a process of their own (`worker`): by the module of
their format, see `filetypes.READER_MODULES`, or by the package that claims their suffix.
"""

from __future__ import annotations

import posixpath
from contextlib import closing, nullcontext
from pathlib import PurePosixPath

from rag_core.extract import binary, ocr, plain
from rag_core.extract.content import named_by_content, under_its_name, with_its_name
from rag_core.extract.filetypes import (
    EXTRACTOR_VERSION,
    Extractor,
    current_sql,
    extractor_number,
    file_type,
    is_current,
    reader_in_worker,
    reader_of,
    type_of_suffix,
)
from rag_core.extract.worker import TIME_LIMIT_S, Worker
from rag_core.extract.workers import Workers
from rag_core.types import Extracted

__all__ = [
    "EXTRACTOR_VERSION",
    "TIME_LIMIT_S",
    "Extractor",
    "Worker",
    "Workers",
    "current_sql",
    "extract",
    "extractor_number",
    "file_type",
    "hardly_text",
    "is_current",
    "named_by_content",
    "reader_in_worker",
    "reader_of",
    "type_of_suffix",
    "under_its_name",
    "with_its_name",
]


def hardly_text(path: str) -> bool:
    """Whether a file can hardly be read, by its name alone, so that ``extract`` is likely to refuse it."""
    suffix = posixpath.splitext(path)[1].lower()
    return suffix in binary.SUFFIXES and not reader_in_worker(PurePosixPath(path))


def extract(
    data: bytes, path: PurePosixPath, worker: Worker | None = None, remote: ocr.RemoteReader | None = None
) -> Extracted:
    """Read a file's bytes as a document, with its title, sections, tags, links and front matter.

    ``path`` is only a name: its suffix chooses the format unless the content tells another, its stem is the
    title of last resort. Raises
    NotText for a file that holds nothing to read, ExtractError for one that cannot be read. ``worker`` is
    where HTML and formats other than text are read; without it they get one for this file alone. ``remote``
    reads the pictures in it, if it is given.
    """
    named = named_by_content(data, path)
    with under_its_name(path, named, data):
        if reader := reader_in_worker(named):
            with nullcontext(worker) if worker else closing(Worker()) as process:
                return with_its_name(process.read(reader, data, named, remote), path, named)
        return with_its_name(plain.read(data, named), path, named)
