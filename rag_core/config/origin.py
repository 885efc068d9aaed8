"""Written values with their place in a file, which errors and ``commonplace config`` show."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, Self

from rag_core.errors import InvalidSettings

Layer = Literal["default", "config.yaml", ".env", "environment"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a setting's value."""

    layer: Layer
    #: The name as written there, such as ``COMMONPLACE_TOP_K``; '' for a default or a whole file.
    name: str = ""
    file: str = ""  #: Path of the file; '' if the value is not from a file.
    line: int = 0  #: From 1; 0 if the value is not from a file.

    def __str__(self) -> str:
        if self.file:
            return f"{self.file}:{self.line}"
        return f"{self.layer}, {self.name}" if self.name else self.layer

    def at(self, line: int, name: str = "") -> Origin:
        """Return the place at ``line`` (from 1) of the same file, where ``name`` is written."""
        return Origin(self.layer, name, self.file, line)

    def error(self, problem: str, suggestion: str) -> InvalidSettings:
        """Return an error at this place. The place is added to the sentence ``problem``."""
        if self.file:
            problem = f"{problem.removesuffix('.')} (line {self.line} of {self.file!r})."
        return InvalidSettings(problem, suggestion)


DEFAULT = Origin("default")


class Text(str):
    """A text as written, without quotes. ``empty`` means that there is no text, or YAML's ``null``."""

    origin: Origin
    empty: bool

    def __new__(cls, text: str, origin: Origin, *, empty: bool = False) -> Self:
        made = super().__new__(cls, text)
        made.origin, made.empty = origin, empty
        return made


class Listing(list[Any]):
    """A list as written, with its place ``origin``."""

    def __init__(self, origin: Origin, items: Iterable[Any]) -> None:
        super().__init__(items)
        self.origin = origin


class Table(dict[Text, Any]):
    """Names and values as written, with the place ``origin`` of the table."""

    def __init__(self, origin: Origin) -> None:
        super().__init__()
        self.origin = origin


Written = Text | Listing | Table
ADVICE = "Change it, or leave it out for the default."


def refused(written: Written, allowed: str, advice: str = ADVICE, *, hidden: bool = False) -> InvalidSettings:
    """Return the error for a value that is not allowed. ``allowed`` describes the allowed values, and
    ``advice`` is the second sentence. A ``hidden`` value is not repeated."""
    shown = "a list" if isinstance(written, Listing) else "a table of names and values"
    if isinstance(written, Text):
        shown = "(hidden)" if hidden else repr(str(written)[:80])
    return written.origin.error(f"{written.origin.name} is {shown}, which is not {allowed}.", advice)
