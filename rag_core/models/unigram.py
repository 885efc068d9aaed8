"""The tokenizer of XLM-R (Kudo 2018, "Subword Regularization"): a word is cut into the pieces with the
highest sum of scores. For a vocabulary of 250,000 pieces, the library `tokenizers` takes 280 MB. A dictionary
takes 50 MB, and is as fast because words are cached."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Sequence
from pathlib import Path

from rag_core.models.packed import read_vocabulary

_REMEMBERED = 32_768  # words: 6 MB
_LONG = 24  # letters; longer words, such as sentences in Chinese, are rarely repeated
_WORD_BEGINS = "▁"
_UNKNOWN_PENALTY = 10.0  # below the lowest score, as in sentencepiece

# sentencepiece's table leaves this character as it is, NFKC does not.
_KEPT, _STAND_IN = "～", "\ue000"


class Unigram:
    """Cuts texts into pieces. Threads may share a tokenizer."""

    closing = 1  #: Number of special tokens after a text.

    def __init__(self, path: Path) -> None:
        vocabulary = read_vocabulary(path)
        self._numbers = {piece: number for number, piece in enumerate(vocabulary.pieces)}
        for mark in vocabulary.marks:  # in a text they are letters
            del self._numbers[vocabulary.pieces[mark]]
        self._longest: dict[str, int] = {}  # first letter → letters of the longest piece
        for piece in self._numbers:
            if len(piece) > self._longest.get(piece[0], 0):
                self._longest[piece[0]] = len(piece)
        self._scores = array("f", vocabulary.scores.tobytes())
        self._lowest = min(self._scores) - _UNKNOWN_PENALTY
        self._begin, self._end, self._unknown = vocabulary.begin, vocabulary.end, vocabulary.unknown
        # NFKC does the rest of the table, and composes letters with their accents, as the model learnt them.
        self._table = {point: text for point, text in vocabulary.replaced.items() if text in ("", " ")}
        self._known: dict[str, list[int]] = {}

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the numbers of the pieces of each text, including special tokens."""
        return [self._numbers_of(text) for text in texts]

    def _numbers_of(self, text: str) -> list[int]:
        clean = text.translate(self._table).replace(_KEPT, _STAND_IN)
        clean = unicodedata.normalize("NFKC", clean).replace(_STAND_IN, _KEPT)
        if len(self._known) >= _REMEMBERED:
            self._known = {}  # a new one, as another thread may read the old
        numbers, known = [self._begin], self._known
        for word in clean.split():
            pieces = known.get(word)
            if pieces is None:
                pieces = self._cut(_WORD_BEGINS + word)
                if len(word) <= _LONG:
                    known[word] = pieces
            numbers += pieces
        numbers.append(self._end)
        return numbers

    def _cut(self, word: str) -> list[int]:
        """Return the best pieces of a word (Viterbi's algorithm). Neighbouring letters that no piece covers
        become one unknown piece."""
        count = len(word)
        best = [0.0] + [float("-inf")] * count  # highest sum of scores up to each letter
        last: list[tuple[int, int]] = [(0, 0)] * (count + 1)  # start and number of the piece that ends there
        numbers, scores, longest = self._numbers.get, self._scores, self._longest.get
        for start in range(count):
            before, covered = best[start], False
            for end in range(start + 1, min(count, start + longest(word[start], 1)) + 1):
                number = numbers(word[start:end])
                if number is None:
                    continue
                covered = covered or end == start + 1
                if (score := before + scores[number]) > best[end]:
                    best[end], last[end] = score, (start, number)
            if not covered and before + self._lowest > best[start + 1]:
                best[start + 1], last[start + 1] = before + self._lowest, (start, self._unknown)
        numbers_cut: list[int] = []
        while count:
            count, number = last[count]
            if number != self._unknown or numbers_cut[-1:] != [number]:
                numbers_cut.append(number)
        return numbers_cut[::-1]
