"""Jupyter notebooks (IPYNB) → their cells with the printed output. Pictures and other data are left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from rag_core.extract import encoding, escapes, webpage
from rag_core.extract.building import Builder
from rag_core.types import Extracted

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.M)
_COLOUR = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
_MOST_PRINTED = 2000
"""Maximum number of characters kept of a cell's output."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """Return the notebook in ``data``, with a segment for each cell under the Markdown headings above it."""
    builder = Builder()
    headings: list[tuple[int, str]] = []
    title = ""
    warnings: list[str] = []
    for number, cell in enumerate(_cells(json.loads(encoding.decode(data).text)), 1):
        try:
            texts = [_joined(cell.get("source", cell.get("input", ""))), *_printed(cell.get("outputs", ()))]
        except (AttributeError, TypeError):
            warnings.append(f"Cell {number} is damaged.")
            continue
        if cell.get("cell_type") == "markdown":
            texts[0] = escapes.shown(texts[0], "markdown", path)
            for mark, heading in _HEADING.findall(texts[0]):
                text = heading.rstrip(" \t#") or heading
                title = title or text
                headings = [each for each in headings if each[0] < len(mark)] + [(len(mark), text)]
        builder.begin("cell", number, *(text for _, text in headings))
        for text in texts:
            builder.add(text)
    return builder.document("notebook", path.name, title, warnings=warnings)


def _cells(notebook: Any) -> Any:
    """Return the cells of a notebook in any version of the format."""
    return notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]


def _printed(outputs: Any) -> Iterator[str]:
    """Yield the text that a person sees below a cell, without colours."""
    for output in outputs:
        data = output.get("data", {})
        if output.get("output_type") == "error":
            error = f"{output.get('ename', '')}: {output.get('evalue', '')}"
            text = "\n".join((error, *output.get("traceback", ())))
        elif text := _joined(output.get("text") or data.get("text/markdown") or ""):
            pass
        elif "text/html" in data:
            page = webpage.visible_page(_joined(data["text/html"]))
            text = "\n".join(block for _, block in page.blocks)
        else:
            text = _joined(data.get("text/plain") or "")
        yield _COLOUR.sub("", text)[:_MOST_PRINTED]


def _joined(lines: Any) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
