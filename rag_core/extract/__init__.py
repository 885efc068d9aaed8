"""File → text, anchors and metadata. Pure: bytes and a name in, a value out."""

from __future__ import annotations

import posixpath
from pathlib import PurePosixPath

from rag_core.errors import ExtractError, NotText
from rag_core.extract import binary, encoding
from rag_core.extract.encoding import BinaryError, Decoded
from rag_core.extract.filetypes import file_type
from rag_core.extract.formats import read
from rag_core.types import Extracted

__all__ = ["EXTRACTOR_VERSION", "extract", "file_type", "hardly_text"]

EXTRACTOR_VERSION = 1
"""Raised whenever the same bytes would be read differently; documents read by an older one are read again."""


def hardly_text(path: str) -> bool:
    """Whether a file is hardly text by its name alone, so that ``extract`` is likely to refuse it."""
    return binary.is_known(posixpath.splitext(path)[1])


def extract(data: bytes, path: PurePosixPath) -> Extracted:
    """Read a file's bytes as text, with its title, sections, tags, links and front matter.

    ``path`` is only a name: its suffix chooses the format, its stem is the title of last
    resort. Raises NotText for images, archives and other binaries, ExtractError when the
    bytes claim an encoding that they break.
    """
    what = binary.signature(data, path.suffix)
    if what:
        raise _not_text(path, what)
    kind = file_type(path)
    return read(_decode(data, path, kind), path, kind)


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
