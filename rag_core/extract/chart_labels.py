"""The numbers that a chart of Open XML shows: its data labels, its table of data, and numbers that name
categories."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from lxml.etree import _Element

from rag_core.extract.number_format import GENERAL, displayed_number

_PERCENT = "0%"
_Points = dict[int, tuple[float, str]]
"""Index of a point → its number and its format."""


def shown_numbers(chart: _Element) -> Iterator[str]:
    """Yield the numbers that a chart shows. For each series these are its categories, if they are numbers
    (each a line, such as ``2019``), and then one line with its labels: ``Sales: North 4.3, South 2.5``."""
    has_table = next(chart.iter("{*}dTable"), None) is not None
    for series in chart.iter("{*}ser"):
        categories = {index: displayed_number(*point) for index, point in _numbers(series, "cat").items()}
        yield from categories.values()
        names = _texts(series, "cat") | categories
        shown = (
            " ".join(filter(None, (names.get(index, ""), label)))
            for index, label in _labels(series, has_table=has_table)
        )
        said = ", ".join(shown)
        name = " ".join(_texts(series, "tx").values())
        yield f"{name}: {said}" if name and said else said


def _labels(series: _Element, *, has_table: bool) -> Iterator[tuple[int, str]]:
    """Yield the index and the label of each point of a series that has one."""
    plot = series.getparent()
    labels = series.find("{*}dLbls")
    labels = plot.find("{*}dLbls") if labels is None and plot is not None else labels
    own = {_whole(_value(each, "idx")): each for each in series.iterfind("{*}dLbls/{*}dLbl")}
    points = _numbers(series, "val") or _numbers(series, "yVal")
    total = sum(abs(number) for number, _ in points.values())
    for index, (number, code) in points.items():
        label = own.get(index, labels)
        code = _code(label) or _code(labels) or code
        shown = []
        if has_table or _shows(label, "showVal"):
            shown.append(displayed_number(number, code))
        if _shows(label, "showPercent") and total:
            shown.append(displayed_number(abs(number) / total, code if "%" in code else _PERCENT))
        if shown:
            yield index, " ".join(shown)


def _shows(label: _Element | None, name: str) -> bool:
    return _value(label, name) in ("1", "true") and _value(label, "delete") not in ("1", "true")


def _code(label: _Element | None) -> str:
    """Return the format of a label, or '' if its numbers are shown as in the sheet."""
    written = None if label is None else label.find("{*}numFmt")
    is_own = written is not None and written.get("sourceLinked") not in ("1", "true")
    return written.get("formatCode", "") if written is not None and is_own else ""


def _numbers(series: _Element, name: str) -> _Points:
    """Return the numbers of a series under ``name`` that the chart keeps."""
    points: _Points = {}
    for cache in series.iterfind(f"{{*}}{name}//{{*}}numCache"):
        code = cache.findtext("{*}formatCode") or GENERAL
        for point in cache.iterfind("{*}pt"):
            try:
                number = float(point.findtext("{*}v") or "")
            except ValueError:
                continue
            if isfinite(number):  # programs write NaN for a gap
                points[_whole(point.get("idx", ""))] = number, point.get("formatCode") or code
    return points


def _texts(series: _Element, name: str) -> dict[int, str]:
    """Return the texts of a series under ``name``; of several levels of categories, joined."""
    texts: dict[int, str] = {}
    for point in series.iterfind(f"{{*}}{name}//{{*}}pt"):
        if point.getparent() is not None and not str(point.getparent().tag).endswith("}numCache"):
            index = _whole(point.get("idx", ""))
            texts[index] = " ".join(filter(None, (texts.get(index), point.findtext("{*}v"))))
    return texts


def _value(label: _Element | None, name: str) -> str:
    found = None if label is None else label.find(f"{{*}}{name}")
    return "" if found is None else found.get("val", "")


def _whole(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 7 else 0
