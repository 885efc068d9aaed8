"""Days as people name them: ``2025-03``, ``march 2025``, ``today``, ``last week``, ``3 months ago``."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, timedelta

from rag_core.text.numbers import MONTHS, month_number

DaySpan = tuple[str, str]
"""The first day and the day after the last, in ISO form."""

DAY_EXAMPLES = "2026, 2026-03, 2026-03-15, march 2026, today, last week or 3 months ago"

_UNIT = "(day|week|month|year)"
_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_RANGE = re.compile(r"([^.]+)\.\.([^.]+)")
_MONTH = re.compile(r"([^\W\d_]{3,10})\.?(?: (\d{4}))?")
_NEAR = re.compile(rf"(this|last|past) {_UNIT}")
_LAST = re.compile(rf"(?:last|past) (\d{{1,4}}) {_UNIT}s?")
_AGO = re.compile(rf"(\d{{1,4}}) {_UNIT}s? ago")
_DAYS_OF, _MONTHS_OF = {"day": 1, "week": 7}, {"month": 1, "year": 12}
_SINGLE = {"today": 0, "yesterday": 1}

WORDS = (
    rf"(?:(?:this|last|past)[ ]+(?:\d+[ ]+)?{_UNIT.replace('(', '(?:')}s?"
    rf"|\d+[ ]+{_UNIT.replace('(', '(?:')}s?[ ]+ago|(?:{'|'.join(sorted(MONTHS))})[ ]+\d{{4}})(?!\w)"
)
"""A pattern of days that are named by several words."""


def span(text: str, today: date | None = None) -> DaySpan | None:
    """Return the first day that ``text`` names and the day after the last, relative to ``today`` if needed;
    None if it names none.

    A week begins on Monday. A month without a year is the latest that has begun. ``last 7 days`` end today,
    and ``3 months ago`` is that whole month. ``2026-01..2026-03`` includes both months, in either order.
    """
    now = today or date.today()
    words = " ".join(re.sub(r"[\s_]+|(?<=[^\W\d])-|-(?=[^\W\d])", " ", text.casefold()).split())
    if match := _RANGE.fullmatch(text):
        first, last = span(match[1], now), span(match[2], now)
        if not (first and last):
            return None
        return (first[0], last[1]) if first[0] < last[1] else (last[0], first[1])
    with suppress(ValueError, OverflowError):
        found = _written(words, now) or _counted(words, now)
        return (found[0].isoformat(), found[1].isoformat()) if found else None
    return None


def _written(words: str, now: date) -> tuple[date, date] | None:
    """Return the first day and the day after the last of an ISO date, a year or a named month; None for other
    words."""
    if match := _ISO.fullmatch(words):
        year, month, day = (int(part) if part else 0 for part in match.groups())
        if day:
            return date(year, month, day), date(year, month, day) + timedelta(1)
        return _months(date(year, month or 1, 1), 1 if match[2] else 12)
    if (match := _MONTH.fullmatch(words)) and (number := month_number(match[1])):
        year = int(match[2]) if match[2] else now.year - (number > now.month)
        return _months(date(year, number, 1), 1)
    return None


def _counted(words: str, now: date) -> tuple[date, date] | None:
    """Return the first day and the day after the last of a time relative to ``now``, such as ``last week``;
    None for other words."""
    if words in _SINGLE:
        return _unit("day", now, _SINGLE[words])
    if match := _NEAR.fullmatch(words):
        return _unit(match[2], now, int(match[1] != "this"))
    if match := _AGO.fullmatch(words):
        return _unit(match[2], now, int(match[1]))
    if match := _LAST.fullmatch(words):
        number, tomorrow = int(match[1]), now + timedelta(1)
        if match[2] in _MONTHS_OF:
            return _back(now, number * _MONTHS_OF[match[2]]), tomorrow
        return tomorrow - timedelta(number * _DAYS_OF[match[2]]), tomorrow
    return None


def _unit(unit: str, now: date, back: int) -> tuple[date, date]:
    """Return the first day, and the day after the last, of the whole day, week, month or year ``back`` units
    before ``now``."""
    if unit == "day":
        return now - timedelta(back), now - timedelta(back - 1)
    if unit == "week":
        monday = now - timedelta(now.weekday() + 7 * back)
        return monday, monday + timedelta(7)
    if unit == "month":
        return _months(_moved(now.replace(day=1), -back), 1)
    return _months(date(now.year - back, 1, 1), 12)


def _back(now: date, months: int) -> date:
    """Return the same day ``months`` earlier, or the last day of that month if the month is shorter."""
    first = _moved(now.replace(day=1), -months)
    last = _moved(first, 1) - timedelta(1)
    return first.replace(day=min(now.day, last.day))


def _months(first: date, count: int) -> tuple[date, date]:
    return first, _moved(first, count)


def _moved(first: date, months: int) -> date:
    """Return the first day of the month ``months`` later."""
    year, month = divmod(first.year * 12 + first.month - 1 + months, 12)
    return date(year, month + 1, 1)
