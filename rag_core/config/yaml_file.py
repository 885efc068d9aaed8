"""config.yaml as tables, lists and texts that know their line. Tags are never acted on.

Aliases are refused: nobody needs them here, and a few lines of them can unfold to gigabytes.
"""

from __future__ import annotations

import yaml

from rag_core.config.origin import Listing, Origin, Table, Text, Written

_MAX_DEPTH = 16
_SHAPE = "Write lines like 'top_k: 5'."


class _Mistake(Exception):
    """What is wrong, what to do about it, and where."""

    def __init__(self, problem: str, suggestion: str, line: int) -> None:
        super().__init__(problem)
        self.problem, self.suggestion, self.line = problem, suggestion, line


class _Loader(yaml.BaseLoader):
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        line = _line(event)
        if isinstance(event, yaml.AliasEvent):  # its name may be a secret that begins with an asterisk
            advice = "Write the value itself, in quotes."
            raise _Mistake("What begins with '*' is an alias, which is not read", advice, line)
        if self.depth > _MAX_DEPTH:
            raise _Mistake("This is nested too deeply", "See docs/configuration.md.", line)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node


def parse(text: str, file: Origin) -> Table:
    """The table that ``text`` holds; an empty one for an empty text.

    Raises InvalidSettings, with file and line, for anything but names and values, for a name that is there
    twice, and for aliases.
    """
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        found = _written(node, file.at(_line(node))) if node else Table({}, file)
    except _Mistake as error:
        raise file.at(error.line).error(error.problem, error.suggestion) from None
    except yaml.YAMLError as error:
        raise file.at(_line_of(error, text, loader)).error(
            "This is not valid YAML",
            "Write lines like 'top_k: 5', indented with spaces; quote values with ': ' or ' #' in them.",
        ) from None
    if isinstance(found, Text) and found.empty:
        return Table({}, file)
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
            return Listing(items, place)
        case _:
            return _table(node, place)


def _table(node: yaml.Node, place: Origin) -> Table:
    entries: dict[Text, Written] = {}
    lines: dict[str, int] = {}
    for name, value in node.value:
        line = _line(name)
        if not isinstance(name, yaml.ScalarNode):
            raise _Mistake("A name here is no plain text", _SHAPE, line)
        if name.value in lines:
            said = f"{name.value[:80]!r} is there twice, first in line {lines[name.value]}"
            raise place.at(line, name.value).error(said, "Remove one of them.")
        lines[name.value] = line
        here = place.at(line, name.value)
        entries[Text(name.value, here)] = _written(value, here)
    return Table(entries, place)
