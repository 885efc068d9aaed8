"""Turns a file into text, segments and metadata. Pure functions: bytes and a name in, a value out.

Text files are read here (`plain`). HTML and all other formats are read in a separate process (`worker`), by
the module for the format (see `filetypes.READER_MODULES`) or by the package that claims the suffix.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.lazy import lazily

if TYPE_CHECKING:
    from rag_core.extract.binary import hardly_text
    from rag_core.extract.content import named_by_content, under_its_name, with_its_name
    from rag_core.extract.document import extract
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

_HOMES = {
    "binary": "hardly_text",
    "content": "named_by_content under_its_name with_its_name",
    "document": "extract",
    "filetypes": "EXTRACTOR_VERSION Extractor current_sql extractor_number file_type is_current"
    " reader_in_worker reader_of type_of_suffix",
    "worker": "TIME_LIMIT_S Worker",
    "workers": "Workers",
}

__getattr__ = lazily(__name__, _HOMES)
