"""The text of a passage as a person reads it, with a map from its characters to those of the source.

Phrases and quotes in answers are compared with this text. The source is what is stored, and lines and
highlights refer to the source.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, chain

from rag_core.text.drawn_tables import reading_order
from rag_core.text.inline import Mark
from rag_core.text.markup import disjoint, read_markup
from rag_core.text.numbers import Span
from rag_core.text.other_markup import marks_of_language

LIKE_JSON = frozenset({"json", "jsonl", "notebook", "csv"})
"""Types whose JSON quotes, braces and escapes are not shown, nor the stars around bold words."""

_OF_JSON = re.compile(
    r'\]\([^()\s"]*\)|":(?=\S)|"?,"|",(?=\S)|\\[nrt](?:[ ](?=\w))?|\\(?=["\\/])|(?<!\\)"|[{}\[\]]|,(?=\s*$)'
    r"|<(?:https?://|mailto:|[#@])[^|<>\s\"]{1,1000}\||&amp;",  # of Slack
    re.M,
)
_BOLD_OF_JSON = re.compile(r"(?<![\w*/])(\*{1,2}|_)(?=[^\s*/_])[^*_\"\n]{1,300}(?<=[^\s*/_])(\1)(?![\w*/])")
"""Words in bold or italics in a string, not ``**kwargs`` or ``**/*.py``."""
_SHOWN_OF_JSON = {
    '":': ": ",
    '",': ", ",
    ',"': ", ",
    '","': ", ",
    "\\n": "\n",
    "\\r": " ",
    "\\t": " ",
    "&amp;": "&",
}
_CUE = re.compile(r"\n[ \t]*\r?\n(?:[^\n]{1,60}\n)?(?:\d{1,3}:)?\d\d:\d\d[.,]\d{3}[ \t]+-->[^\n]*\n")
"""The lines between the words of two cues of subtitles."""
_BEGINNING = re.compile(r"(?<=\n)[ \t]*+(?:>|#|//|;)[>#/;]*+[!:'|]?(?:[ \t]+[>#/;]++)*+[ \t]")
"""The beginning of a line of a quoted mail or a comment."""
_COMMENT_SIGNS = {
    r"\*": "c cpp csharp css dart go groovy java javascript kotlin php protobuf rust scala solidity svelte"
    " swift terraform typescript vue",
    r"---*[|^!]?": "haskell lua sql",
    r"(?<=\n )\*": "sql",  # further in, as in C, it stands for all columns
    "%+": "erlang latex",
    "'+": "visualbasic",
    "::|@?(?:REM|rem)": "batch",
    r"\*>|\*": "cobol",
}


def _signs_by_type(types_by_sign: Mapping[str, str]) -> dict[str, str]:
    """Return the signs of each file type as one pattern."""
    signs: dict[str, str] = {}
    for sign, file_types in types_by_sign.items():
        for file_type in file_types.split():
            signs[file_type] = f"{signs[file_type]}|{sign}" if file_type in signs else sign
    return signs


_COMMENTS = {
    file_type: re.compile(rf"(?<=\n)[ \t]*+(?:{signs})[ \t]")
    for file_type, signs in _signs_by_type(_COMMENT_SIGNS).items()
}
"""File type → the beginning of a line in a comment. Only for signs that may have another meaning in other
types."""


_JOINED_BY = {
    "": "c cpp python",
    r"\+": "csharp dart go groovy java javascript kotlin python scala solidity svelte swift typescript vue",
    r"\.": "perl php",
    r"\.\.": "lua",
    r"\\": "ruby",
    "&": "visualbasic",
    r"<>|\+\+": "elixir haskell",
    r"\|\|": "sql",
}
_JOINED_STRINGS = {
    file_type: re.compile(
        rf"(?<!\"\")(?<!'')(?P<quote>[\"'])[ \t]*+"
        rf"(?:(?:{sign})[ \t]*+[_\\]?\r?\n[ \t]*+|[_\\]?\r?\n[ \t]*+(?:{sign})[ \t]*+)"
        r"[fFrRbBuU$@]{0,2}(?P=quote)(?!\"\"|'')"
    )
    for file_type, sign in _signs_by_type(_JOINED_BY).items()
}
"""File type → the break between two pieces of a string, which the program joins."""
_WITH_CONTINUED_LINES = frozenset("c cpp dockerfile javascript makefile python ruby shell typescript".split())
_GOES_ON = re.compile(r"(?<!\\)\\(?=\r?\n)")
"""The sign at the end of a line that goes on in the next one."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a source as it is shown."""

    text: str
    #: (start in the text, start in the source, end in the source) of each span, in order.
    stretches: tuple[tuple[int, int, int], ...]

    def source_span(self, start: int, end: int) -> Span:
        """Return the span of the source that is shown as ``text[start:end]``, which must not be empty."""
        return self._of(start)[0], self._of(end - 1)[1]

    def _of(self, place: int) -> Span:
        """Return the span of the source for one character. For a replaced span, the whole span is
        returned."""
        number = bisect_right(self.stretches, place, key=lambda stretch: stretch[0]) - 1
        first, start, end = self.stretches[number]
        following = self.stretches[number + 1][0] if number + 1 < len(self.stretches) else len(self.text)
        if end - start != following - first:
            return start, end
        return start + place - first, start + place - first + 1


@lru_cache(maxsize=512)
def shown(text: str, file_type: str) -> Shown:
    """Return the passage ``text`` of a document of this type as it is shown. The signs that begin the lines
    of a quote or comment are left out, so that its sentences continue."""
    written = _Written(text, marks_of(text, file_type))
    for part in reading_order(text, file_type):
        written.add(part.before, max(0, part.start - 1), max(1, part.start))
        written.add_source(part.start, part.end)
    return written.shown()


_Stretch = tuple[str, int, int]
"""What is shown, and the start and end of the source that it is shown for."""


class _Written:
    """Puts the text together from spans of the source, in the order in which they are read. What stands
    between two marks of the kind *aside* is read below the text."""

    def __init__(self, text: str, marks: Sequence[Mark]) -> None:
        self._text, self._marks = text, marks
        self._parts: list[_Stretch] = []
        self._asides: list[_Stretch] = []
        self._around: list[list[_Stretch]] = []  # the parts around those that are being added

    def add_source(self, start: int, end: int) -> None:
        """Add a span of the source as it is shown."""
        number = bisect_left(self._marks, start, key=lambda mark: mark.start)
        while number < len(self._marks) and self._marks[number].end <= end:
            mark, number = self._marks[number], number + 1
            self.add(self._text[start : mark.start], start, mark.start)
            if mark.kind == "aside":
                self._turn(mark)
            else:
                self.add(mark.shown, mark.start, mark.end)
            start = mark.end
        self.add(self._text[start:end], start, end)

    def add(self, part: str, start: int, end: int) -> None:
        """Add a text that is shown for a span of the source."""
        if part:
            self._parts.append((part, start, end))

    def _turn(self, mark: Mark) -> None:
        """Begin or end an aside."""
        if mark.opener < 0:
            self._around.append(self._parts)
            self._parts = [("\n", mark.start, mark.end)]
        elif self._around:
            self._asides += self._parts
            self._parts = self._around.pop()

    def shown(self) -> Shown:
        """Return the text and its map."""
        parts = [*chain(*self._around), *self._parts, *self._asides]
        places = accumulate((len(part) for part, *_ in parts), initial=0)
        stretches = tuple((place, start, end) for place, (_, start, end) in zip(places, parts, strict=False))
        return Shown("".join([part for part, *_ in parts]), stretches)


def marks_of(text: str, file_type: str) -> Sequence[Mark]:
    """Return the spans that are shown differently from how they are written, in order and disjoint."""
    if file_type == "markdown":
        return _of_note(text)
    if file_type == "notebook":
        return [*disjoint([*_of_note(text), *json_marks(text)])]
    if file_type in LIKE_JSON:
        return json_marks(text)
    marks = marks_of_language(text, file_type)
    if file_type == "subtitles":
        marks += [Mark(*match.span(), "\n", "line") for match in _CUE.finditer(text)]
    if comment := _COMMENTS.get(file_type):
        marks += [Mark(*match.span(), "", "line") for match in comment.finditer(text)]
    if joined := _JOINED_STRINGS.get(file_type):
        marks += [Mark(*match.span(), "", "line") for match in joined.finditer(text)]
    if file_type in _WITH_CONTINUED_LINES:
        marks += [Mark(*match.span(), "", "line") for match in _GOES_ON.finditer(text)]
    marks += [Mark(*match.span(), "", "line") for match in _BEGINNING.finditer(text)]
    return [*disjoint(marks)]


def json_marks(text: str) -> list[Mark]:
    """Return the quotes, braces and escapes of JSON, and the stars around bold words."""
    marks = [
        Mark(*match.span(), _SHOWN_OF_JSON.get(match[0].rstrip(" "), "")) for match in _OF_JSON.finditer(text)
    ]
    for match in _BOLD_OF_JSON.finditer(text):
        marks += Mark(*match.span(1)), Mark(*match.span(2))
    return [*disjoint(marks)]


def _of_note(text: str) -> list[Mark]:
    """Return the marks of a note, including the signs that begin its lines. The sign of a list item is shown
    as a dot."""
    markup = read_markup(text)
    beginnings = [
        Mark(line.start, line.first, "\u2022 " if line.kind == "item" else "", "line")
        for line in markup.lines
        if line.first > line.start and line.kind in ("heading", "quote", "item", "text")
    ]
    return [*disjoint([*markup.marks, *beginnings])]
