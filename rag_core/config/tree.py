"""config.yaml as a tree of texts that know their line.

Read from YAML's flat event stream, so tags are never acted on. Aliases are refused: nobody needs
them here, and a few lines of them can unfold to gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from rag_core.config.origin import Origin

_MAX_DEPTH = 16


@dataclass(frozen=True, slots=True)
class Scalar:
    """One text as written, without its quotes."""

    text: str
    line: int
    quoted: bool = False

    @property
    def is_null(self) -> bool:
        """Whether nothing is written there, or ``null`` in one of its spellings."""
        return not self.quoted and self.text.lower() in ("", "~", "null")

    def __str__(self) -> str:
        return repr(self.text[:80])


@dataclass(frozen=True, slots=True)
class Listing:
    """A list."""

    items: tuple[Node, ...]
    line: int

    def __str__(self) -> str:
        return "a list"


@dataclass(frozen=True, slots=True)
class Table:
    """Names and values; every name is there once."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int

    def __str__(self) -> str:
        return "a table of names and values"


Node = Scalar | Listing | Table


@dataclass(slots=True)
class _Unfinished:
    is_table: bool
    line: int
    items: list[Node] = field(default_factory=list)


def parse(text: str, file: Origin) -> Table:
    """The table that ``text`` holds; an empty one for an empty text.

    Raises InvalidInput, with file and line, for anything but names and values, for a name that is
    there twice, and for aliases.
    """
    import yaml  # only now: most homes have no config.yaml

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    begun: list[_Unfinished] = []
    try:
        root = _build(yaml.parse(text, Loader=loader), begun, file)
    except yaml.YAMLError as error:
        raise file.at(_line_of(error, text, begun), "").error(
            "This is not valid YAML",
            "Write lines like 'top_k: 5', indented with spaces; quote values with ': ' or ' #' in them.",
        ) from None
    if root is None or (isinstance(root, Scalar) and root.is_null):
        return Table((), 1)
    if not isinstance(root, Table):
        raise file.at(root.line, "").error("These are no names and values", _SHAPE)
    return root


_SHAPE = "Write lines like 'top_k: 5'."


def _line_of(error: Exception, text: str, begun: list[_Unfinished]) -> int:
    """Where the mistake is; where something is still open at the end, the line on which it begins."""
    at, opened = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    end = len(text.rstrip())
    if at is None or at.index < end:
        return at.line + 1 if at else 1
    if opened is not None and opened.index < end:
        return int(opened.line) + 1
    return begun[-1].line if begun else 1


def _build(events: Iterator[Any], stack: list[_Unfinished], file: Origin) -> Node | None:
    """What the events make; ``stack`` holds what is begun and not ended."""
    import yaml

    root: Node | None = None
    for event in events:
        line = event.start_mark.line + 1
        node: Node
        match event:
            case yaml.AliasEvent():
                raise file.at(line, "").error(  # its name may be a secret that begins with an asterisk
                    "What begins with '*' is an alias, which is not read",
                    "Write the value itself, in quotes.",
                )
            case yaml.DocumentStartEvent() if root is not None:
                raise file.at(line, "").error("A second document begins here", "Keep one, without '---'.")
            case yaml.SequenceStartEvent() | yaml.MappingStartEvent():
                if len(stack) == _MAX_DEPTH:
                    raise file.at(line, "").error("This is nested too deeply", "See docs/configuration.md.")
                stack.append(_Unfinished(isinstance(event, yaml.MappingStartEvent), line))
                continue
            case yaml.ScalarEvent():
                node = Scalar(event.value, line, bool(event.style))
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                node = _finished(stack.pop(), file)
            case _:
                continue
        if stack:
            stack[-1].items.append(node)
        else:
            root = node
    return root


def _finished(part: _Unfinished, file: Origin) -> Listing | Table:
    if not part.is_table:
        return Listing(tuple(part.items), part.line)
    seen: dict[str, int] = {}
    entries = []
    for name, value in zip(part.items[::2], part.items[1::2], strict=True):
        if not isinstance(name, Scalar):
            raise file.at(name.line, "").error("A name here is no plain text", _SHAPE)
        if name.text in seen:
            raise file.at(name.line, name.text).error(
                f"{name} is there twice, first in line {seen[name.text]}", "Remove one of them."
            )
        seen[name.text] = name.line
        entries.append((name, value))
    return Table(tuple(entries), part.line)
