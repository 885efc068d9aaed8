"""Finds days as people write them in a query (``2025-03``, ``march 2025``, ``2025-W45``, ``3 months ago``)
and in file names."""

from __future__ import annotations

import re
import unicodedata
from contextlib import suppress
from datetime import date, timedelta

from rag_core.text.numbers import MONTHS, day_of_parts, first_day, month_number

DaySpan = tuple[str, str]
"""The first day, and the day after the last, in ISO form."""

DAY_EXAMPLES = "2026, 2026-03, 2026-W11, 2026-03-15, march 2026, today, last week or 3 months ago"

_UNIT = "(day|week|month|year)"
_ISO = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")
_DIGIT = re.compile(r"\d")
_RANGE = re.compile(r"([^.]+)\.\.([^.]+)")
_MONTH = re.compile(r"([^\W\d_]{3,10})\.?(?: (\d{4}))?")
_NEAR = re.compile(rf"(this|last|past) {_UNIT}")
_LAST = re.compile(rf"(?:last|past) (\d{{1,4}}) {_UNIT}s?")
_AGO = re.compile(rf"(\d{{1,4}}) {_UNIT}s? ago")
_WEEK = re.compile(
    r"(\d{4}) ?(?:w|kw|cw|week|woche) ?(\d\d?)(?:[- ]([1-7]))?|(?:kw|cw|week) ?(\d\d?)[ /-](\d{4})"
)
_QUARTER = re.compile(r"(\d{4})[ -]?q ?([1-4])|q ?([1-4])[ /-]?(\d{4})")
_DAYS_OF, _MONTHS_OF = {"day": 1, "week": 7}, {"month": 1, "year": 12}
_SINGLE = {"today": 0, "yesterday": 1}

WORDS = (
    rf"(?:(?:this|last|past)[ ]+(?:\d+[ ]+)?{_UNIT.replace('(', '(?:')}s?"
    rf"|\d+[ ]+{_UNIT.replace('(', '(?:')}s?[ ]+ago|(?:{'|'.join(sorted(MONTHS))})[ ]+\d{{4}})(?!\w)"
)
"""A pattern for days that are written in several words."""


def span(text: str, today: date | None = None) -> DaySpan | None:
    """Return the first day that ``text`` names and the day after the last, relative to ``today`` if needed.
    Returns None if it names no days.

    A week begins on Monday. A month without a year is the latest one that has begun. ``last 7 days`` ends
    today, and ``3 months ago`` is the whole month. ``2026-01..2026-03`` includes both months, and their order
    does not matter.
    """
    now = today or date.today()
    words = " ".join(re.sub(r"[\s_]+|(?<=[^\W\d])-|-(?=[^\W\d])", " ", text.casefold()).split())
    if match := _RANGE.fullmatch(text):
        first, last = span(match[1], now), span(match[2], now)
        if not (first and last):
            return None
        return (first[0], last[1]) if first[0] < last[1] else (last[0], first[1])
    with suppress(ValueError, OverflowError):
        found = _written(words, now) or _week_or_quarter(words) or _counted(words, now)
        return (found[0].isoformat(), found[1].isoformat()) if found else None
    return None


def _written(words: str, now: date) -> tuple[date, date] | None:
    """Return the first day and the day after the last of an ISO date, a year or a named month. Returns None
    for other words."""
    if match := _ISO.fullmatch(words):
        year, month, day = (int(part) if part else 0 for part in match.groups())
        if day:
            return date(year, month, day), date(year, month, day) + timedelta(1)
        return _months(date(year, month or 1, 1), 1 if match[2] else 12)
    if (match := _MONTH.fullmatch(words)) and (number := month_number(match[1])):
        year = int(match[2]) if match[2] else now.year - (number > now.month)
        return _months(date(year, number, 1), 1)
    named = first_day(words, whole=True)
    return (named, named + timedelta(1)) if named else None


def _week_or_quarter(words: str) -> tuple[date, date] | None:
    """Return the first day and the day after the last of an ISO week, a day of such a week or a quarter.
    Returns None for other words. Raises ValueError for a week that the year does not have."""
    if match := _WEEK.fullmatch(words):
        year, week = int(match[1] or match[5]), int(match[2] or match[4])
        first = date.fromisocalendar(year, week, int(match[3] or 1))
        return first, first + timedelta(1 if match[3] else 7)
    if match := _QUARTER.fullmatch(words):
        year, quarter = int(match[1] or match[4]), int(match[2] or match[3])
        return _months(date(year, 3 * quarter - 2, 1), 3)
    return None


def _counted(words: str, now: date) -> tuple[date, date] | None:
    """Return the first day and the day after the last of a time relative to ``now``, such as ``last week``.
    Returns None for other words."""
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
    """Return the first day and the day after the last of a whole day, week, month or year, which lies
    ``back`` units before ``now``."""
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


# --- in the name of a file --------------------------------------------------------------

_YEAR = r"((?:19|20)\d\d)"
_CLOCK = r"(?:[01]\d|2[0-3])[0-5]\d(?:[0-5]\d)?"
_NAME_ISO = re.compile(
    rf"(?<!\d){_YEAR}(?:(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])(?=\D|\Z|{_CLOCK}(?!\d))"
    r"|([-_. ])(0?[1-9]|1[0-2])\4(0?[1-9]|[12]\d|3[01])(?!\d)"
    r"|年(0?[1-9]|1[0-2])月(0?[1-9]|[12]\d|3[01])日)"
)
_NAME_DAY_FIRST = re.compile(rf"(?<![\d.])(\d\d?)([-_. ])(\d\d?)\2{_YEAR}(?!\d|\.\d)")
_NAME_PERIOD = re.compile(
    rf"(?<![^\W_]){_YEAR}[ _-]?(?:(?:kw|cw|w|week)[ _-]?\d\d?(?:-[1-7])?|q[1-4])(?![^\W_])"
    rf"|(?<![^\W_])(?:(?:kw|cw|week)[ _-]?\d\d?|q[1-4])[ _-]?{_YEAR}(?!\d)",
    re.I,
)
_NAME_MONTH = re.compile(
    rf"(?<!\d){_YEAR}[-_.](0[1-9]|1[0-2])(?![-_.]?\d)|(?<!\d){_YEAR}年(0?[1-9]|1[0-2])月"
)
_NAME_MONTH_WORD = re.compile(
    rf"(?<![^\W\d])([^\W\d_]{{3,10}})\.? ?{_YEAR}(?!\d)|(?<!\d){_YEAR} ?([^\W\d_]{{3,10}})(?![^\W\d])"
)
_NAME_YEAR_FIRST = re.compile(rf"(?<!\d){_YEAR} ([^\W\d_]{{3,10}}) (\d\d?)(?!\d)")
_WITH_LETTERS = re.compile(r"_|(?<=[^\W\d_])-|-(?=[^\W\d_])")
_DAY_AT_MONTH = re.compile(r"(?<=\d)(?=[^\W\d_]{3})|(?<=[^\W\d_]{3})(?=\d{4})")


def first_in_name(name: str) -> str | None:
    """Return the day in a file's name, in ISO form. For a month, week or quarter its first day is returned.
    Returns None if there is no date in the name.

    ``08-11-2025`` may be either of two days and does not count. Nor does ``2010-11``, which may be a season
    or a school year.
    """
    name = unicodedata.normalize("NFC", name)
    if not _DIGIT.search(name):
        return None
    found = _iso_day(name) or _day_first(name) or _written_day(name) or _period(name) or _month(name)
    return found.isoformat() if found else None


def _iso_day(name: str) -> date | None:
    for match in _NAME_ISO.finditer(name):
        with suppress(ValueError):
            return date(*[int(part) for part in match.groups() if part and part.isdecimal()])
    return None


def _day_first(name: str) -> date | None:
    for match in _NAME_DAY_FIRST.finditer(name):
        sign = "." if match[2] == "." else "-"
        if day := day_of_parts(sign, (match[1], match[3], match[4])):
            return day
    return None


def _written_day(name: str) -> date | None:
    """Return the first date in a name whose month is a word: ``8 November 2025``, ``Nov-8-2025``,
    ``2025-Nov-08``."""
    words = _WITH_LETTERS.sub(" ", name)
    for match in _NAME_YEAR_FIRST.finditer(words):
        if month := month_number(match[2]):
            with suppress(ValueError):
                return date(int(match[1]), month, int(match[3]))
    return first_day(words) or first_day(_DAY_AT_MONTH.sub(" ", words))


def _period(name: str) -> date | None:
    """Return the first day of a week or quarter in a name."""
    for match in _NAME_PERIOD.finditer(name):
        words = re.sub(r"[\s_]+|(?<=[^\W\d])-|-(?=[^\W\d])", " ", match[0].casefold())
        with suppress(ValueError):
            if found := _week_or_quarter(words):
                return found[0]
    return None


def _month(name: str) -> date | None:
    """Return the first day of a month in a name."""
    for match in _NAME_MONTH.finditer(name):
        year, month = int(match[1] or match[3]), int(match[2] or match[4])
        is_season = bool(match[2]) and month == (year + 1) % 100
        if not is_season:
            return date(year, month, 1)
    for match in _NAME_MONTH_WORD.finditer(_WITH_LETTERS.sub(" ", name)):
        if number := month_number(match[1] or match[4]):
            return date(int(match[2] or match[3]), number, 1)
    return None
