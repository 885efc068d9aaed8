"""The automatic numbers of headings and lists in Word documents as they are shown, such as `1.1` and `a)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from lxml.etree import _Element

from rag_core.extract.numerals import numeral
from rag_core.extract.office import local_name

_PLACEHOLDER = re.compile(r"%([1-9])")
_WITHOUT = frozenset({"bullet", "none"})


@dataclass(frozen=True, slots=True)
class _Level:
    start: int
    numerals: str  #: How it is written, such as ``lowerRoman``.
    text: str  #: Such as ``%1.%2)``, with the numbers of the levels.
    gap: str  #: What stands between the number and the paragraph.
    restart: int  #: It begins again after a paragraph of a level up to this one, from 1.
    is_legal: bool  #: The numbers of all levels are written in digits.


@dataclass(frozen=True, slots=True)
class _List:
    shared: str  #: The lists with the same value go on counting from each other.
    levels: dict[int, _Level]
    starts: dict[int, int]  #: With what this list itself begins, by level.


class Numbering:
    """Counts the numbered paragraphs of a document. Call `of` for each paragraph, in their order."""

    def __init__(self, numbering: _Element | None, styles: Mapping[str, _Element]) -> None:
        """``numbering``: the part with the lists; ``styles``: the styles by their ids."""
        self._styles = styles
        parts = [*numbering] if numbering is not None else []
        models = {
            attribute(each, "abstractNumId"): each for each in parts if local_name(each) == "abstractNum"
        }
        nums = {attribute(each, "numId"): each for each in parts if local_name(each) == "num"}
        self._lists = _lists(models, nums, self._styles)
        self._levels_of_styles = _levels_of_styles(models, nums)
        self._counts: dict[str, dict[int, int]] = {}
        self._begun: set[tuple[str, int]] = set()

    def of(self, paragraph: _Element) -> str:
        """Count a paragraph. Return its number and the gap after it, or '' if it has a bullet or no
        number."""
        name, depth = self._place(paragraph)
        numbered = self._lists.get(name)
        if numbered is None or depth not in numbered.levels:
            return ""
        counts = self._counts.setdefault(numbered.shared, {})
        level = numbered.levels[depth]
        begins = depth in numbered.starts and (name, depth) not in self._begun
        self._begun.add((name, depth))
        counts[depth] = numbered.starts[depth] if begins else counts.get(depth, level.start - 1) + 1
        for other in numbered.levels:
            if depth < min(other, numbered.levels[other].restart):
                counts.pop(other, None)
            elif other < depth:  # a level that was passed over has its first number
                counts.setdefault(other, numbered.levels[other].start)
        return "" if level.numerals == "bullet" else _written(numbered, level, counts)

    def _place(self, paragraph: _Element) -> tuple[str, int]:
        """The list of a paragraph and the level in it, by its own format or else by that of its style."""
        name, depth = value(paragraph, "pPr/numPr/numId"), value(paragraph, "pPr/numPr/ilvl")
        at, chain = value(paragraph, "pPr/pStyle"), list[str]()
        while not name and at in self._styles and at not in chain:
            chain.append(at)
            style = self._styles[at]
            name, depth = value(style, "pPr/numPr/numId"), depth or value(style, "pPr/numPr/ilvl")
            at = value(style, "basedOn")
        named = (self._levels_of_styles.get((name, each), "") for each in chain)
        return name, _number(depth or next(filter(None, named), ""), 0)


def _levels_of_styles(
    models: Mapping[str, _Element], nums: Mapping[str, _Element]
) -> dict[tuple[str, str], str]:
    """The level of each style that a list names, by the list and the style."""
    return {
        (name, value(level, "pStyle")): attribute(level, "ilvl")
        for name, num in nums.items()
        if (model := models.get(value(num, "abstractNumId"))) is not None
        for level in model.iterchildren("{*}lvl")
    }


def _lists(
    models: Mapping[str, _Element], nums: Mapping[str, _Element], styles: Mapping[str, _Element]
) -> dict[str, _List]:
    """The lists of a document by their ids. Several lists may have the same model."""
    lists = {}
    for name, num in nums.items():
        shared = value(num, "abstractNumId")
        link = value(models.get(shared), "numStyleLink")
        if link in styles:  # a style of lists says where the levels are
            shared = value(nums.get(value(styles[link], "pPr/numPr/numId")), "abstractNumId")
        if shared in models:
            lists[name] = _list(num, shared, models[shared])
    return lists


def _list(num: _Element, shared: str, model: _Element) -> _List:
    levels: dict[int, _Level] = {}
    starts: dict[int, int] = {}
    overrides = [*num.iterchildren("{*}lvlOverride")]
    for level in (level for above in (model, *overrides) for level in above.iterchildren("{*}lvl")):
        depth = _number(attribute(level, "ilvl"), 0)
        levels[depth] = _level(level, depth)
    for override in overrides:
        if start := value(override, "startOverride"):
            starts[_number(attribute(override, "ilvl"), 0)] = _number(start, 1)
    return _List(shared, levels, starts)


def _level(level: _Element, depth: int) -> _Level:
    return _Level(
        start=_number(value(level, "start"), 0),
        numerals=value(level, "numFmt") or "decimal",
        text=value(level, "lvlText"),
        gap="" if value(level, "suff") == "nothing" else " ",
        restart=_number(value(level, "lvlRestart"), depth),
        is_legal=level.find("{*}isLgl") is not None,
    )


def _written(numbered: _List, level: _Level, counts: dict[int, int]) -> str:
    def number(match: re.Match[str]) -> str:
        depth = int(match[1]) - 1
        other = numbered.levels.get(depth)
        if other is None or other.numerals in _WITHOUT:
            return ""
        return numeral(counts.get(depth, other.start), "decimal" if level.is_legal else other.numerals)

    text = _PLACEHOLDER.sub(number, level.text).strip()
    return text + level.gap if text else ""


def value(element: _Element | None, path: str) -> str:
    """Return the attribute ``val`` of the element at ``path`` below ``element``, such as ``pPr/numPr/numId``,
    in any namespace; '' if there is none."""
    found = None if element is None else element.find("/".join(f"{{*}}{name}" for name in path.split("/")))
    return "" if found is None else attribute(found, "val")


def attribute(element: _Element, name: str) -> str:
    """Return the attribute called ``name`` in any namespace; '' if there is none."""
    return next((text for key, text in element.items() if key.rpartition("}")[2] == name), "")


def _number(text: str, otherwise: int) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else otherwise
