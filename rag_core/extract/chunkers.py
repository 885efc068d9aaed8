"""Chunkers of installed packages, found by their entry points in ``commonplace.chunkers``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Protocol

from rag_core.errors import ExtractError, InvalidInput
from rag_core.extensions import Extension, catalogue
from rag_core.types import Extracted, Segment


class Chunker(Protocol):
    """The function that an entry point in ``commonplace.chunkers`` names. It splits a document into
    passages."""

    def __call__(self, document: Extracted, size: int, overlap: int, /) -> Iterable[Segment]:
        """Return the passages of ``document`` as spans of its ``text``, in the order of their starts.

        Passages may overlap. Text that no passage covers cannot be found. ``size`` and ``overlap`` are the
        configured numbers of characters. A passage with more tokens than the embedder reads is split again.
        ``document.segments`` are the sections, pages or definitions of the file.
        """


@cache
def installed_chunkers() -> dict[str, Extension]:
    """Return the chunkers of installed packages, by name."""
    return catalogue("chunkers", ())


def find_chunker(name: str) -> Extension:
    """Return the package that brings the chunker ``name``. Raises InvalidInput if there is none."""
    if name not in installed_chunkers():
        raise InvalidInput(f"There is no chunker called {name!r}.", "Install the package that brings it.")
    return installed_chunkers()[name]


def cut_by(name: str, document: Extracted, size: int, overlap: int) -> list[Segment]:
    """Return the segments into which a package's chunker splits a document. Raises InvalidInput if there is
    no such chunker, and ExtractError if the chunker fails or returns invalid segments."""
    extension = find_chunker(name)
    chunker: Chunker = extension.load(ExtractError)
    with extension.errors(ExtractError, "cutting this file"):
        found = list(chunker(document, size, overlap))
    last = 0
    for each in found:
        if not isinstance(each, Segment) or not last <= each.start <= each.end <= len(document.text):
            raise extension.failed(
                ExtractError,
                "{extension} gave {given!r:.80}, which is outside the text or not in order.",
                given=each,
            )
        last = each.start
    return found
