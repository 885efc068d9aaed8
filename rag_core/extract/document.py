"""Reading the bytes of a file as a document."""

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
