"""Reads config.yaml as tables, lists and texts that know their line. YAML's tags (``!!str``) have no effect.

Aliases are refused, because a few lines of them can expand to gigabytes.
"""

from __future__ import annotations

import yaml

from rag_core.config.origin import Listing, Origin, Table, Text, Written

_MAX_DEPTH = 16
_SHAPE = "Write lines like 'top_k: 5'."


def parse_yaml(text: str, file: Origin) -> Table:
    """Parse the text of ``file`` to a table; an empty text to an empty table. Raises InvalidSettings, with
    file and line, if it is not a table or has duplicate names or aliases."""
    opened: list[int] = []
    try:
        for event in yaml.parse(text, yaml.BaseLoader):
            place = file.at(_line(event))
            if isinstance(event, yaml.AliasEvent):  # its name may be a secret that begins with an asterisk
                raise place.error(
                    "A value that begins with '*' is an alias of YAML, and aliases are not read.",
                    "Write the value itself; put it in quotes if it begins with '*'.",
                )
            if isinstance(event, yaml.CollectionStartEvent):
                opened.append(place.line)
            if isinstance(event, yaml.CollectionEndEvent):
                opened.pop()
            if len(opened) > _MAX_DEPTH:
                raise place.error("This is nested too deeply.", "See docs/configuration.md.")
        node = yaml.compose(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        # If something is still open at the end, the line is the one on which it begins.
        marks = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
        end = len(text.rstrip())
        line = next((mark.line + 1 for mark in marks if mark and mark.index < end), (opened or [1])[-1])
        raise file.at(line).error(
            "This is not valid YAML.",
            "Write lines like 'top_k: 5', indented with spaces; quote values with ': ' or ' #' in them.",
        ) from None
    table = _written(node, file.at(_line(node))) if node else Table(file)
    if isinstance(table, Text) and table.empty:
        return Table(file)
    if not isinstance(table, Table):
        raise table.origin.error("These are not names and values.", _SHAPE)
    return table


def _line(part: yaml.Event | yaml.Node) -> int:
    return part.start_mark.line + 1 if part.start_mark else 1


def _written(node: yaml.Node, place: Origin) -> Written:
    if isinstance(node, yaml.ScalarNode):
        return Text(node.value, place, empty=not node.style and node.value.lower() in ("", "~", "null"))
    if isinstance(node, yaml.SequenceNode):
        items = [_written(item, place.at(_line(item), place.name)) for item in node.value]
        return Listing(place, items)
    table = Table(place)
    for name, value in node.value:
        here = place.at(_line(name), str(name.value))
        if not isinstance(name, yaml.ScalarNode):
            raise here.error("A name here is not plain text.", _SHAPE)
        if name.value in table:
            raise here.error(f"{name.value[:80]!r} is set twice.", "Remove one of them.")
        table[Text(name.value, here)] = _written(value, here)
    return table
