"""Chunkers of installed packages, by their entry points in ``commonplace.chunkers``."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Protocol

from rag_core.errors import ExtractError, InvalidInput
from rag_core.extensions import Extension, catalogue
from rag_core.types import Extracted, Segment


class Chunker(Protocol):
    """What an entry point in ``commonplace.chunkers`` names: a function that cuts a document."""

    def __call__(self, document: Extracted, size: int, overlap: int, /) -> Iterable[Segment]:
        """The passages of ``document`` as stretches of its ``text``, in the order in which they start.

        They may overlap; what none covers is not found. ``size`` and ``overlap`` are the configured
        characters. A stretch with more tokens than the embedder reads is cut again. ``document.segments``
        are the sections, pages or definitions of the file.
        """


@cache
def installed_chunkers() -> dict[str, Extension]:
    """The chunkers of installed packages, by name."""
    return catalogue("chunkers", ())


def find_chunker(name: str) -> Extension:
    """The package that brings the chunker ``name``. Raises InvalidInput."""
    if name not in installed_chunkers():
        raise InvalidInput(f"There is no chunker called {name!r}.", "Install the package that brings it.")
    return installed_chunkers()[name]


def cut_by(name: str, document: Extracted, size: int, overlap: int) -> list[Segment]:
    """The stretches into which a package's chunker cuts a document. Raises
    InvalidInput when there is no such chunker, ExtractError for what it does wrong."""
    extension = find_chunker(name)
    chunker: Chunker = extension.load(ExtractError)
    with extension.errors(ExtractError, "cutting this file"):
        found = list(chunker(document, size, overlap))
    last = 0
    for each in found:
        if not isinstance(each, Segment) or not last <= each.start <= each.end <= len(document.text):
            raise extension.failed(
                ExtractError,
                "{extension} gave {given!r:.80}, which is no stretch in order in the text.",
                given=each,
            )
        last = each.start
    return found
