"""Made-up notes: the same for the same seed, with words about as frequent as in English.

The words are those of Python's own documentation, the most frequent first, behind them pairs of
them; they are drawn by Zipf's law, so that few are everywhere and most are rare.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics

import numpy as np
import numpy.typing as npt

VOCABULARY = 60_000
FILES_A_FOLDER = 1000
_WORDS_A_SENTENCE = 14
_SENTENCES_A_PARAGRAPH = 6
_PARAGRAPHS = 3  # of about 600 characters each


class Author:
    """Writes notes, each different, in an order that the seed decides."""

    def __init__(self, seed: int = 1) -> None:
        self._random = np.random.default_rng(seed)

    def note(self, number: int) -> str:
        """Markdown of about 2 kB: a title, and sections of one paragraph each."""
        sections = [f"## {self.words(3).capitalize()}\n\n{self.paragraph()}\n" for _ in range(_PARAGRAPHS)]
        return f"# {self.words(4).capitalize()} {number}\n\n" + "\n".join(sections)

    def paragraph(self) -> str:
        """About 600 characters."""
        sentences = [self.words(_WORDS_A_SENTENCE).capitalize() for _ in range(_SENTENCES_A_PARAGRAPH)]
        return ". ".join(sentences) + "."

    def words(self, count: int) -> str:
        """So many words."""
        words, shares = vocabulary()
        drawn = np.searchsorted(shares, self._random.random(count))
        return " ".join(words[number] for number in drawn)


@cache
def vocabulary() -> tuple[list[str], npt.NDArray[np.float64]]:
    """Words, the most frequent first, and the share of all text that each and those before it make up."""
    counted = Counter(re.findall(r"[a-z]{2,}", " ".join(topics.values()).lower()))
    real = [word for word, _ in sorted(counted.items(), key=lambda item: (-item[1], item[0]))]
    pairs = (first + second for first in real[100:] for second in real[100:200])
    words = [*real, *(pair for pair, _ in zip(pairs, range(VOCABULARY - len(real)), strict=False))]
    shares = np.cumsum(1 / np.arange(1, len(words) + 1))
    return words, shares / shares[-1]


def write_notes(folder: Path, count: int, seed: int = 1) -> Path:
    """Write ``count`` notes below ``folder``, a thousand to a folder."""
    author = Author(seed)
    for number in range(count):
        below = folder / f"{number // FILES_A_FOLDER:03d}"
        below.mkdir(parents=True, exist_ok=True)
        (below / f"note {number:06d}.md").write_text(author.note(number), "utf-8")
    return folder
