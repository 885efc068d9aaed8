"""config.yaml as tables, lists and texts that know their line. Tags are never acted on.

Aliases are refused, because a few lines of them can unfold to gigabytes.
"""

from __future__ import annotations

from typing import TypeVar

import yaml

from rag_core.config.origin import Listing, Origin, Table, Text, Written

_MAX_DEPTH = 16
_SHAPE = "Write lines like 'top_k: 5'."
_Made = TypeVar("_Made", Listing, Table)


class _Loader(yaml.BaseLoader):
    depth = 0

    def __init__(self, text: str, file: Origin) -> None:
        super().__init__(text)
        self.file = file

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        place = self.file.at(_line(event))
        if isinstance(event, yaml.AliasEvent):  # its name may be a secret that begins with an asterisk
            raise place.error(
                "What begins with '*' is an alias, which is not read", "Write the value itself, in quotes."
            )
        if self.depth > _MAX_DEPTH:
            raise place.error("This is nested too deeply", "See docs/configuration.md.")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def parse(text: str, file: Origin) -> Table:
    """The table that ``text`` holds; an empty one for an empty text.

    Raises InvalidSettings, with file and line, for anything but names and values, for a name that is there
    twice, and for aliases.
    """
    loader = _Loader(text, file)
    try:
        node = loader.get_single_node()
    except yaml.YAMLError as error:
        raise file.at(_line_of(error, text, loader)).error(
            "This is not valid YAML",
            "Write lines like 'top_k: 5', indented with spaces; quote values with ': ' or ' #' in them.",
        ) from None
    found = _written(node, file.at(_line(node))) if node else Text("", file, empty=True)
    if isinstance(found, Text) and found.empty:
        found = _placed(Table(), file)
    if not isinstance(found, Table):
        raise found.origin.error("These are no names and values", _SHAPE)
    return found


def _line(part: yaml.Event | yaml.Node) -> int:
    return part.start_mark.line + 1 if part.start_mark else 1


def _line_of(error: yaml.YAMLError, text: str, loader: _Loader) -> int:
    """The line of the mistake; where something is still open at the end, the line on which it begins."""
    marks = getattr(error, "problem_mark", None), getattr(error, "context_mark", None), *loader.marks[-1:]
    end = len(text.rstrip())
    return next((mark.line + 1 for mark in marks if mark and mark.index < end), 1)


def _written(node: yaml.Node, place: Origin) -> Written:
    match node:
        case yaml.ScalarNode():
            empty = not node.style and node.value.lower() in ("", "~", "null")
            return Text(node.value, place, empty=empty)
        case yaml.SequenceNode():
            items = [_written(item, place.at(_line(item), place.name)) for item in node.value]
            return _placed(Listing(items), place)
        case _:
            return _table(node, place)


def _table(node: yaml.Node, place: Origin) -> Table:
    lines: dict[str, int] = {}
    table = _placed(Table(), place)
    for name, value in node.value:
        here = place.at(_line(name), str(name.value))
        if not isinstance(name, yaml.ScalarNode):
            raise here.error("A name here is no plain text", _SHAPE)
        if first := lines.get(name.value):
            raise here.error(
                f"{name.value[:80]!r} is there twice, first in line {first}", "Remove one of them."
            )
        lines[name.value] = here.line
        table[Text(name.value, here)] = _written(value, here)
    return table


def _placed(made: _Made, place: Origin) -> _Made:
    made.origin = place
    return made
