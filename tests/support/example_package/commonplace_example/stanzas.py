"""Passages of whole stanzas: what stands between two blank lines is never cut."""

import re
from collections.abc import Iterator
from dataclasses import replace

from rag_core.types import Extracted, Segment

API_VERSION = 1
STANZA = re.compile(r"\S.*(?:\n.*\S.*)*")


def cut(document: Extracted, size: int, overlap: int) -> Iterator[Segment]:
    """The stanzas of each segment, under its headings."""
    for segment in document.segments:
        for stanza in STANZA.finditer(document.text, segment.start, segment.end):
            yield replace(segment, start=stanza.start(), end=stanza.end())
