"""Numbers and dates in a text, each as one thing however it is written.

An amount, a telephone number and a date have signs or spaces between their digits. Of a number its digits
together are what is compared, of a date those of the ISO form: ``2026-12-11``, ``11.12.2026``,
``11 December 2026`` and ``Dec 11, 2026`` are all 20261211. Months are read by their English names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

MONTHS = ("january february march april may june july august september october november december").split()

_DIGITS_AND_SIGNS = re.compile("\\d[\\d.,'\u2019\u00a0\u202f /-]*\\d")
_NUMBER = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?P<by>[,.'\u2019\u00a0\u202f ])\d{3}(?:(?P=by)\d{3})*(?:[.,]\d{1,2})?"
    r"|\d{4,}[.,]\d{2}"
    r"|\d+(?P<sign>[-/.])\d+(?:(?P=sign)\d+)+"
    r"|(?:(?<=\+)\d|0)\d*(?:[ /-]\d+)+)(?![\d]|[.,]\d)"
)
_DIGITS = re.compile(r"\d+")
_LEAST_DIGITS, _MOST_DIGITS = 6, 16  # 1.5 is not 15; longer ones are rows of a table

_MONTH = "|".join(f"{name[:3]}(?:{name[3:]})?" for name in MONTHS).replace("sep(?", "sept?(?")
_YEAR = re.compile(r"[12]\d{3}(?!\w)")
_BEFORE_YEAR = re.compile(
    rf"(?<![\w.,-])(?:(?P<first>\d{{1,2}}(?:st|nd|rd|th)?)\.?\s(?:of\s)?)?"
    rf"(?P<month>{_MONTH})\.?(?:\s(?P<second>\d{{1,2}}(?:st|nd|rd|th)?))?,?\s\Z",
    re.IGNORECASE,
)
_LONGEST_BEFORE = len("30th of september, ")
_MONTH_OF_YEAR = re.compile(r"[12]\d{3}-(0[1-9]|1[0-2])(?<![\d-].{7})(?![\d-]*\d)", re.DOTALL)

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Number:
    """A number or date of several parts (words and digits, lower case) at ``span`` of a text; ``whole`` are
    the digits that all its spellings share, ``month`` is the name of a date's month."""

    whole: str
    span: Span
    parts: tuple[str, ...]
    month: str = ""


def numbers(text: str) -> Iterator[Number]:
    """The numbers and dates of ``text`` that signs, spaces or words part."""
    for run in _DIGITS_AND_SIGNS.finditer(text):
        for match in _NUMBER.finditer(text, *run.span()) if not run[0].isdecimal() else ():
            parts = tuple(_DIGITS.findall(match[0]))
            whole = "".join(parts)
            if (0 if match["by"] else _LEAST_DIGITS) <= len(whole) <= _MOST_DIGITS:
                day = _day(match["sign"], parts)
                yield _date(day, match.span(), parts) if day else Number(whole, match.span(), parts)
    for year in _YEAR.finditer(text):
        if found := _written(text, year.span()):
            yield found


def months(text: str) -> Iterator[str]:
    """The names of the months that ``text`` writes as ``2026-12``."""
    return (MONTHS[int(match[1]) - 1] for match in _MONTH_OF_YEAR.finditer(text))


def _day(sign: str | None, parts: tuple[str, ...]) -> date | None:
    """The date of digits with ``sign`` between: ``2026-12-11``, ``2026/12/11`` or ``11.12.2026``."""
    order = tuple(map(len, parts))
    with suppress(ValueError):
        if order == (4, 2, 2):
            return date(*map(int, parts))
        if sign == "." and len(order) == 3 and order[2] == 4:
            return date(*map(int, reversed(parts)))
    return None


def _written(text: str, year: Span) -> Number | None:
    """The date whose year is at ``year`` and whose month is written out before it."""
    start = max(0, year[0] - _LONGEST_BEFORE)
    found = _BEFORE_YEAR.search(text, start, year[0])
    if not found or (found["first"] is None) == (found["second"] is None):
        return None
    written = found["first"] or found["second"]
    month = next(n for n, name in enumerate(MONTHS, 1) if name[:3] == found["month"][:3].lower())
    with suppress(ValueError):
        day = date(int(text[slice(*year)]), month, int(written.rstrip("sthndrSTHNDR")))
        parts = [found[name] for name in ("first", "month", "second") if found[name]]
        return _date(day, (found.start(), year[1]), (*map(str.lower, parts), text[slice(*year)]))
    return None


def _date(day: date, span: Span, parts: tuple[str, ...]) -> Number:
    return Number(f"{day:%Y%m%d}", span, parts, MONTHS[day.month - 1])
