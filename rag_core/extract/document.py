"""Reads the bytes of a file as a document."""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import PurePosixPath

from rag_core.extract import ocr, plain
from rag_core.extract.content import named_by_content, under_its_name, with_its_name
from rag_core.extract.filetypes import reader_in_worker
from rag_core.extract.worker import Worker
from rag_core.types import Extracted


def extract(
    data: bytes, path: PurePosixPath, worker: Worker | None = None, remote: ocr.RemoteReader | None = None
) -> Extracted:
    """Read a file's bytes as a document, with its title, sections, tags, links and front matter.

    Args:
        data: The bytes of the file.
        path: Only its name matters. The suffix chooses the format, unless the content shows another one. The
            stem is the title if there is no better one.
        worker: The process that reads HTML and formats other than text. None starts one for this file only.
        remote: A server that reads the pictures in the file. None leaves them to ``worker``.

    Raises:
        NotText: The file contains nothing to read.
        ExtractError: The file cannot be read.

    """
    named = named_by_content(data, path)
    with under_its_name(path, named, data):
        if reader := reader_in_worker(named):
            with nullcontext(worker) if worker else closing(Worker()) as process:
                return with_its_name(process.read(reader, data, named, remote), path, named)
        return with_its_name(plain.read(data, named), path, named)
