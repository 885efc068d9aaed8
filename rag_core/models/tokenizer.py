"""Tokenizers of transformers: a published model's, run by the library `tokenizers`, and our own."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from rag_core.models.unigram import Unigram

PIECES_FILE = "pieces.bin"
"""The file with the tokenizer that `Unigram` reads."""


class Tokenizer(Protocol):
    """Turns texts into token numbers. Threads may share a tokenizer."""

    @property
    def closing(self) -> int:
        """Number of special tokens after a text."""

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of all tokens of each text, including special tokens."""


class PublishedTokenizer:
    """A ``tokenizer.json``."""

    def __init__(self, path: Path) -> None:
        # Waking its own threads takes longer than its work here.
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import tokenizers

        #: The library's own object, for what is only in it.
        self.library: Any = tokenizers.Tokenizer.from_file(str(path))
        # Files as shipped may pad and cut every text to another length than the model's.
        self.library.no_padding()
        self.library.no_truncation()
        mask = self.library.encode("a").special_tokens_mask
        self.closing = next((number for number, special in enumerate(reversed(mask)) if not special), 0)

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        # Only the library's batch methods release the GIL.
        return [encoding.ids for encoding in self.library.encode_batch_fast([*texts])]


def open_tokenizer(path: Path) -> Tokenizer:
    """Open the tokenizer in a file. Raises ValueError, OSError or the library's error if the file is
    damaged."""
    return Unigram(path) if path.name == PIECES_FILE else PublishedTokenizer(path)
