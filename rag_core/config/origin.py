"""Where a value was given, so that errors and ``commonplace config`` can say it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rag_core.errors import InvalidSettings

Layer = Literal["default", "config.yaml", ".env", "environment"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of one value. ``name`` is as written there (``min_similarity``,
    ``COMMONPLACE_TOP_K``), ``line`` counts from 1; both are empty for a default."""

    layer: Layer
    name: str = ""
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        match self.layer:
            case "default":
                return "default"
            case "environment":
                return f"environment, {self.name}"
            case _:
                return f"{self.file}:{self.line}"

    def at(self, line: int, name: str) -> Origin:
        """A place further down in the same file."""
        return Origin(self.layer, name, self.file, line)

    def error(self, problem: str, suggestion: str) -> InvalidSettings:
        """An error at this place; ``problem`` is a sentence without its full stop."""
        where = f" (line {self.line} of {self.file!r})" if self.file else ""
        return InvalidSettings(f"{problem}{where}.", suggestion)


DEFAULT = Origin("default")
