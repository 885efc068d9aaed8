"""The automatic numbers of headings and lists in OpenDocument as they are shown: ``1.2``, ``a)``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lxml.etree import _Element

from rag_core.extract.numerals import numeral
from rag_core.extract.office import local_name
from rag_core.extract.word_numbers import attribute

_KINDS = {
    "1": "decimal",
    "a": "lowerLetter",
    "A": "upperLetter",
    "i": "lowerRoman",
    "I": "upperRoman",
    "①": "decimalEnclosedCircle",
    "一": "chineseCounting",
    "01": "decimalZero",
}
"""Beginning of a format of numbers → the name of the kind in Word."""
_PLACEHOLDER = re.compile(r"%(\d{1,2})%")
_LEVELS = (
    "list-level-style-number",
    "list-level-style-bullet",
    "list-level-style-image",
    "outline-level-style",
)
_DEEPEST = 10


@dataclass(frozen=True, slots=True)
class _Level:
    kind: str  #: '' for bullets and levels without a number.
    prefix: str
    suffix: str
    shown: int  #: Number of levels whose numbers are shown, such as 2 for ``1.2``.
    start: int
    pattern: str  #: Such as ``%1%.%2%)``; '' in older files.


class OpenNumbers:
    """Counts the numbered paragraphs of a document. Call `of` for each paragraph and heading, in their
    order."""

    def __init__(self, parts: Iterable[_Element | None]) -> None:
        """Read the styles of lists, headings and paragraphs in ``parts`` of a document."""
        self._lists: dict[str, dict[int, _Level]] = {}
        self._outline: dict[int, _Level] = {}
        self._styles: dict[str, tuple[str, str | None]] = {}  # name → (parent, list; None if it says nothing)
        for part in parts:
            for element in (
                part.iter("{*}list-style", "{*}outline-style", "{*}style") if part is not None else ()
            ):
                self._add_style(element)
        self._counts: dict[int, int] = {}
        self._counts_of_outline: dict[int, int] = {}
        self._last: dict[str, dict[int, int]] = {}
        self._list: _Element | None = None
        self._by_id: dict[str, dict[int, int]] = {}

    def of(self, paragraph: _Element) -> str:
        """Count a paragraph or heading. Return its number and a space, or '' if it has none or a bullet."""
        item = next(_above(paragraph, "list-item", "list-header"), None)
        lists = [*_above(paragraph, "list")]
        if item is not None and lists:
            return self._of_item(paragraph, item, lists)
        if local_name(paragraph) != "h" or attribute(paragraph, "is-list-header") == "true":
            return ""
        depth = _number(attribute(paragraph, "outline-level"), 1)
        if depth not in self._outline or self._list_of(paragraph) == "":
            return ""
        start = _number(attribute(paragraph, "start-value"), self._outline[depth].start)
        if attribute(paragraph, "restart-numbering") == "true":
            self._counts_of_outline[depth] = start - 1
        _count(self._counts_of_outline, self._outline, depth)
        return _written(self._counts_of_outline, self._outline, depth)

    def _of_item(self, paragraph: _Element, item: _Element, lists: list[_Element]) -> str:
        first = next(item.iterchildren("{*}p", "{*}h"), None)
        named = (attribute(each, "style-name") for each in lists)
        name = next(filter(None, named), "") or self._list_of(paragraph) or ""
        levels, depth = self._lists.get(name, {}), len(lists)
        if local_name(item) == "list-header" or paragraph is not first or depth not in levels:
            return ""
        if lists[-1] is not self._list:
            self._begin(lists[-1], name)
        if start := attribute(item, "start-value"):
            self._counts[depth] = _number(start, 1) - 1
        _count(self._counts, levels, depth)
        return _written(self._counts, levels, depth)

    def _begin(self, outermost: _Element, name: str) -> None:
        """Begin to count a list, or go on counting an earlier one."""
        self._list = outermost
        self._counts = self._by_id.get(attribute(outermost, "continue-list"), {})
        if attribute(outermost, "continue-numbering") == "true":
            self._counts = self._last.get(name, {})
        self._last[name] = self._counts
        if named := attribute(outermost, "id"):
            self._by_id[named] = self._counts

    def _list_of(self, paragraph: _Element) -> str | None:
        """Return the list that the style of a paragraph names: '' if it must have none, None if it says
        nothing."""
        name = attribute(paragraph, "style-name")
        for _ in range(_DEEPEST):
            parent, named = self._styles.get(name, ("", None))
            if named is not None or not parent:
                return named
            name = parent
        return None

    def _add_style(self, element: _Element) -> None:
        name = attribute(element, "name")
        if local_name(element) == "style":
            named = [value for key, value in element.items() if key.endswith("}list-style-name")]
            self._styles[name] = attribute(element, "parent-style-name"), named[0] if named else None
            return
        levels = {
            _number(attribute(level, "level"), 1): _level(level)
            for level in element.iterchildren()
            if local_name(level) in _LEVELS
        }
        if local_name(element) == "outline-style":
            self._outline = levels
        else:
            self._lists[name] = levels


def _level(element: _Element) -> _Level:
    kind = attribute(element, "num-format")
    return _Level(
        kind=next(
            (_KINDS[begins] for begins in _KINDS if kind.startswith(begins)), "decimal" if kind else ""
        ),
        prefix=attribute(element, "num-prefix"),
        suffix=attribute(element, "num-suffix"),
        shown=_number(attribute(element, "display-levels"), 1),
        start=_number(attribute(element, "start-value"), 1),
        pattern=attribute(element, "num-list-format"),
    )


def _count(counts: dict[int, int], levels: dict[int, _Level], depth: int) -> None:
    counts[depth] = counts.get(depth, levels[depth].start - 1) + 1
    for other in levels:
        if other > depth:
            counts.pop(other, None)
        elif other < depth:  # a level that was passed over has its first number
            counts.setdefault(other, levels[other].start)


def _written(counts: dict[int, int], levels: dict[int, _Level], depth: int) -> str:
    """Return the number of a paragraph at this depth, with a space after it."""

    def number(other: int) -> str:
        kind = levels[other].kind if other in levels else ""
        return numeral(counts.get(other, levels[other].start), kind) if kind else ""

    level = levels[depth]
    if not level.kind:
        return ""
    if level.pattern:
        text = _PLACEHOLDER.sub(lambda match: number(int(match[1])), level.pattern)
    else:
        shown = range(max(1, depth - level.shown + 1), depth + 1)
        text = f"{level.prefix}{'.'.join(filter(None, map(number, shown)))}{level.suffix}"
    return f"{text.strip()} " if text.strip() else ""


def _above(element: _Element, *names: str) -> Iterator[_Element]:
    """Yield the elements with these names around an element, the innermost first, up to its text box or
    cell."""
    for above in element.iterancestors():
        name = local_name(above)
        if name in names:
            yield above
        elif name in ("text-box", "table-cell", "body"):
            return


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else otherwise
