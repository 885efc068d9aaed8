"""Jupyter notebooks (IPYNB) → their cells with what they printed; pictures and other data are left out."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from rag_core.extract.building import Builder
from rag_core.types import Extracted

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.M)
_MOST_PRINTED = 2000
"""Characters kept of what a cell printed."""


def read(data: bytes, path: PurePosixPath) -> Extracted:
    """The notebook in ``data``: a segment for each cell, under the Markdown headings above it."""
    notebook = json.loads(data)
    cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
    builder = Builder()
    headings: list[tuple[int, str]] = []
    title = ""
    for number, cell in enumerate(cells, 1):
        source = _joined(cell.get("source", cell.get("input", "")))
        if cell.get("cell_type") == "markdown":
            for mark, heading in _HEADING.findall(source):
                text = heading.rstrip(" \t#") or heading
                title = title or text
                headings = [each for each in headings if each[0] < len(mark)] + [(len(mark), text)]
        builder.begin("cell", number, *(text for _, text in headings))
        builder.add(source)
        for text in _printed(cell.get("outputs", ())):
            builder.add(text)
    return builder.document("notebook", path.name, title)


def _printed(outputs: Any) -> Iterator[str]:
    for output in outputs:
        text = output.get("text") or output.get("data", {}).get("text/plain") or ""
        if output.get("output_type") == "error":
            text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
        yield _joined(text)[:_MOST_PRINTED]


def _joined(lines: Any) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
