"""How words are pronounced (ruby, furigana): the base is the text, its readings are further terms."""

from __future__ import annotations


class Readings:
    """Collects words with their readings. The parts of a word, such as 東 and 京, are put together."""

    def __init__(self) -> None:
        self._pairs: dict[tuple[str, str], None] = {}
        self._base = self._reading = ""

    def add(self, base: str, reading: str) -> None:
        """Add the next part of a word. What follows without `end` belongs to the same word."""
        base, reading = "".join(base.split()), "".join(reading.split())
        if base and reading:
            self._base += base
            self._reading += reading
        else:
            self.end()

    def end(self) -> None:
        """End the word: text without a reading follows."""
        if self._base:
            self._pairs[self._base, self._reading] = None
        self._base = self._reading = ""

    def lines(self) -> list[str]:
        """Return a line for each word: the word and its reading."""
        self.end()
        return [f"{base} {reading}" for base, reading in self._pairs]
