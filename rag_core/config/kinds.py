"""Kinds of values that settings have, each in words."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number, both ends included."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


@dataclass(frozen=True, slots=True)
class Number:
    """A number, both ends included."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"a number from {self.low:g} to {self.high:g}"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words, in any case."""

    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{', '.join(self.words[:-1])} or {self.words[-1]}"


@dataclass(frozen=True, slots=True)
class Word:
    """A text of a certain shape, which ``said`` describes."""

    shape: re.Pattern[str]
    said: str

    def __str__(self) -> str:
        return self.said


@dataclass(frozen=True, slots=True)
class Folder:
    """An absolute folder, ``~`` allowed; it need not exist."""

    def __str__(self) -> str:
        return "an absolute folder"


@dataclass(frozen=True, slots=True)
class Folders:
    """Absolute folders: a list in YAML, separated like PATH in a variable."""

    def __str__(self) -> str:
        return "a list of absolute folders"


@dataclass(frozen=True, slots=True)
class Words:
    """Words of one kind in lower case: a list in YAML, separated by commas or spaces in a variable."""

    each: Word

    def __str__(self) -> str:
        return f"a list, each {self.each}"


@dataclass(frozen=True, slots=True)
class Address:
    """The address of a server. One without scheme and port gets ``port``; keys never stand in it."""

    port: int | None = None

    def __str__(self) -> str:
        return "an address like http://127.0.0.1:8080, without user, password, '?' and '#'"


@dataclass(frozen=True, slots=True)
class Switch:
    """Yes or no."""

    def __str__(self) -> str:
        return "true or false"


@dataclass(frozen=True, slots=True)
class PromptsByEmbedder:
    """Embedder → what is put in front of a query and of a passage. In YAML only."""

    def __str__(self) -> str:
        return "embedders, each with `query` and `document`"


@dataclass(frozen=True, slots=True)
class SizesByType:
    """File type → chunk_size and chunk_overlap. In YAML only."""

    def __str__(self) -> str:
        return "file types, each with `chunk_size` and `chunk_overlap`"


@dataclass(frozen=True, slots=True)
class Stores:
    """Store name → embedder and folders. In YAML only."""

    def __str__(self) -> str:
        return "store names, each with `embedder` and `folders`"


Plain = Whole | Number | Choice | Word | Folder | Folders | Words | Address | Switch
"""What can be written as one text, and so in a variable."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Name → text. In YAML only."""

    def __str__(self) -> str:
        return "names, each with a text"


Tables = SizesByType | Stores | PromptsByEmbedder | Labels
"""What only YAML can hold."""

Kind = Plain | Tables
