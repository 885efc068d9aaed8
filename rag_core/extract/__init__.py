"""File → text, anchors and metadata. Pure: bytes and a name in, a value out.

Files of a suffix that an installed package claims are read by the package, in a process of its own.
"""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath

from rag_core.errors import ExtractError, NotText
from rag_core.extract import binary, encoding, filetypes
from rag_core.extract.claims import (
    EXTRACTOR_VERSION,
    Claim,
    Extractor,
    claim_of,
    current_sql,
    extractor_number,
    is_current,
    reader_of,
    type_of_suffix,
)
from rag_core.extract.encoding import BinaryError, Decoded
from rag_core.extract.formats import read
from rag_core.extract.worker import TIME_LIMIT_S, Worker
from rag_core.types import Extracted

__all__ = [
    "EXTRACTOR_VERSION",
    "TIME_LIMIT_S",
    "Extractor",
    "Worker",
    "current_sql",
    "extract",
    "extractor_number",
    "file_type",
    "hardly_text",
    "is_current",
    "reader_of",
    "type_of_suffix",
]


def file_type(path: PurePosixPath) -> str:
    """The type of the file at ``path`` by its name alone; ``text`` when the name says nothing."""
    claim = claim_of(path)
    return claim.file_type if claim else filetypes.file_type(path)


def hardly_text(path: str) -> bool:
    """Whether a file is hardly text by its name alone, so that ``extract`` is likely to refuse it."""
    return binary.is_known(posixpath.splitext(path)[1]) and not claim_of(PurePosixPath(path))


def extract(data: bytes, path: PurePosixPath, worker: Worker | None = None) -> Extracted:
    """Read a file's bytes as text, with its title, sections, tags, links and front matter.

    ``path`` is only a name: its suffix chooses the format, its stem is the title of last
    resort. Raises NotText for images, archives and other binaries, ExtractError when the
    bytes claim an encoding that they break, or the package that reads them fails. ``worker`` is where
    packages work; without it they get one for this file alone.
    """
    if claim := claim_of(path):
        return _foreign(claim, data, path, worker)
    what = binary.signature(data, path.suffix)
    if what:
        raise _not_text(path, what)
    kind = filetypes.file_type(path)
    return read(_decode(data, path, kind), path, kind)


def _foreign(claim: Claim, data: bytes, path: PurePosixPath, worker: Worker | None) -> Extracted:
    if worker is not None:
        return worker.read(claim, data, path)
    with Worker() as alone:
        return alone.read(claim, data, path)


def _decode(data: bytes, path: PurePosixPath, kind: str) -> Decoded:
    try:
        return encoding.decode(data, kind)
    except BinaryError:
        raise _not_text(path, binary.guess(data)) from None
    except UnicodeDecodeError as error:
        raise ExtractError(
            f"{path.name!r} is marked as {error.encoding.upper()} but is not valid {error.encoding.upper()}.",
            "Save it as UTF-8 in the program that made it.",
        ) from None


def _not_text(path: PurePosixPath, what: str) -> NotText:
    return NotText(
        f"{path.name!r} is {what}, not text.",
        "It is skipped; export its words as Markdown or text to search them.",
    )
