r"""``.env`` as lines of ``NAME=VALUE``.

The whole grammar: blank lines; ``#`` lines; ``NAME=VALUE`` with an optional ``export`` before it. A value in
single quotes stands as it is; in double quotes ``\\``, ``\"`` and ``\n`` are escapes; without quotes it
ends at `` #`` or the line's end, trimmed. Nothing is expanded and no value spans lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rag_core.config.origin import Origin

_LINE = re.compile(
    r"(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*"
    r"(?:'(?P<single>[^']*)'(?:[ \t]+#.*)?"
    r'|"(?P<double>(?:[^"\\]|\\[\\"n])*)"(?:[ \t]+#.*)?'
    r"|(?P<bare>(?![\"'#])(?:(?![ \t]#).)*)(?:[ \t]#.*)?)"
)
_ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def parse(text: str, file: Origin) -> Iterator[tuple[str, str, int]]:
    """(name, value, line) of every assignment, in order.

    Raises InvalidInput, with file and line but never the text, for a line that is none.
    """
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.strip(" \t\r")
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise file.at(number, "").error(
                "This is no assignment", "Write NAME=VALUE, or NAME='VALUE' where it holds a quote or ' #'."
            )
        yield match["name"], _value(match), number


def _value(match: re.Match[str]) -> str:
    if match["single"] is not None:
        return match["single"]
    if match["double"] is not None:
        return re.sub(r"\\.", lambda escape: _ESCAPES[escape[0]], match["double"])
    return match["bare"].rstrip(" \t")
