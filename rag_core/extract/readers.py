"""Which module reads the formats that are not plain text. They work in the reader process, see `worker`."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePosixPath

from rag_core.types import Extracted

MODULES: dict[str, str] = {
    suffix: module
    for module, suffixes in {
        "pdf": ".pdf",
        "word": ".docx .docm",
        "slides": ".pptx .pptm",
        "sheets": ".xlsx .xlsm .xlsb .xls .ods",
        "opendocument": ".odt .odp",
        "epub": ".epub",
        "mail": ".eml .mbox",
        "rtf": ".rtf",
        "pictures": ".png .jpg .jpeg .webp .gif .tif .tiff .bmp .heic .heif",
        "archive": ".zip",
        "notebook": ".ipynb",
    }.items()
    for suffix in suffixes.split()
}
"""Lower-case suffix → the module of this package whose ``read`` reads the format."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """A file in one of these formats, or else a text file. Raises ExtractError, NotText, and what a parser
    raises on a damaged file."""
    module = MODULES.get(path.suffix.lower())
    if module is None:
        from rag_core.extract import extract

        return extract(data, path)
    found: Extracted = import_module(f"rag_core.extract.{module}").read(data, path)
    return found
