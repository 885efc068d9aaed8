"""Reads attachments with the module for their format, or as text. Runs in the worker process."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePosixPath

from rag_core.extract import plain
from rag_core.extract.building import Builder
from rag_core.extract.content import named_by_content, under_its_name, with_its_name
from rag_core.extract.filetypes import READER_MODULES
from rag_core.extract.unpacking import refuse_bomb
from rag_core.text.shown import shown
from rag_core.types import Extracted


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the document in ``data``. Raises ExtractError, NotText, and any error of a parser on a damaged
    file."""
    named = named_by_content(data, path)
    module = READER_MODULES.get(named.suffix.lower())
    with under_its_name(path, named, data):
        if module is None:
            return with_its_name(plain.read(data, named), path, named)
        refuse_bomb(data, named)
        found: Extracted = import_module(f"rag_core.extract.{module}").read(data, named)
        return with_its_name(found, path, named)


def add(builder: Builder, data: bytes, path: PurePosixPath, above: tuple[str, ...]) -> list[str]:
    """Add an attachment to a document under the headings ``above``, read by the reader of its format. Returns
    a sentence for each part that could not be read. Raises ExtractError or a parser's error if nothing can be
    read."""
    found = read(data, path)
    builder.private = builder.private or found.private
    if not found.text.strip():
        add_name(builder, str(path), above)
    for segment in found.segments:
        place = f"{segment.anchor_type} {segment.anchor_ref}" if segment.anchor_ref else ""
        headings = (*above, str(path), *segment.heading_path)
        builder.begin("attachment", " › ".join(filter(None, (str(path), place))), *headings)
        text = found.text[segment.start : segment.end]
        builder.add(shown(text, "xml").text.strip() if found.file_type == "xml" else text)
    if found.in_part:
        return list(found.warnings)
    if found.text.strip() or found.file_type != "picture":  # a picture in a mail need not have text
        builder.notes += found.warnings
    return []


def add_name(builder: Builder, name: str, above: tuple[str, ...]) -> None:
    """Add only the name of an attachment that cannot be read."""
    builder.begin("attachment", name, *above)
    builder.add(name)
