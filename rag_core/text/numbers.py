"""Numbers and dates in a text, each as one thing however it is written.

An amount, a telephone number and a date have signs or spaces between their digits. Of a number its digits
together are what is compared, of a date those of the ISO form: ``2026-12-11``, ``11.12.2026``, ``11.12.26``,
``11 December 2026``, ``Dec 11, 2026`` and ``11 de diciembre de 2026`` are all 20261211, and ``11-13 December
2026`` is three days. ``11/12/2026`` may be either of two days and is only a number; ``31/12/2026`` is a date.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from itertools import chain, filterfalse

from rag_core.types import Number

# In English first; then in German, French, Spanish, Italian, Dutch, Portuguese and Swedish where they differ,
# without accents. Of what they are cut to, what is an English word is left out (set, out, ago).
_ENGLISH = (
    "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sep sept"
    "|october oct|november nov|december dec"
)
_OTHERS = (
    "januar januari janner jaenner janvier janv enero ene gennaio janeiro"
    "|februar februari fevrier fevr fev febrero febbraio fevereiro"
    "|marz maerz mrz maart mrt mars marzo marco"
    "|avril avr abril abr aprile"
    "|mai mei mayo maggio maio maj"
    "|juni juin junio giugno giu junho"
    "|juli juillet juil julio luglio lug julho"
    "|augustus augusti aout agosto"
    "|septembre septiembre settembre setembro"
    "|oktober okt octobre octubre ottobre ott outubro"
    "|novembre noviembre novembro"
    "|dezember dez decembre diciembre dic dicembre dezembro"
)
_IN_ENGLISH = {name: at for at, names in enumerate(_ENGLISH.split("|"), 1) for name in names.split()}
_MONTHS = _IN_ENGLISH | {name: at for at, names in enumerate(_OTHERS.split("|"), 1) for name in names.split()}
MONTHS = frozenset(_MONTHS)
"""The names of months, folded."""

_NAMES = [names.split()[0] for names in _ENGLISH.split("|")]
_SHORT_YEARS = range(15, 40)  # 2015 to 2039: most other numbers behind two points are of versions

_DIGITS_AND_SIGNS = re.compile("\\d[\\d.,'\u2019\u00a0\u202f /-]*\\d")
_NUMBER = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?P<by>[,.'\u2019\u00a0\u202f ])\d{3}(?:(?P=by)\d{3})*(?:[.,]\d{1,2})?"
    r"|\d{4,}[.,]\d{2}"
    r"|\d+(?P<sign>[-/.])\d+(?:(?P=sign)\d+)+"
    r"|(?:(?<=\+)\d|0)\d*(?:[ /-]\d+)+)(?![\d]|[.,]\d)"
)
_DIGITS = re.compile(r"\d+")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")
_LEAST_DIGITS, _MOST_DIGITS = 6, 16  # 1.5 is not 15; longer ones are rows of a table

_YEAR = re.compile(r"(?:1[89]|2[01])\d{2}(?!\w)")
_ORDINAL = "(?:st|nd|rd|th|er|[ºoª]|\\.)?"
_TO = "(?:\\s?(?:[-–—&/]|to|and|bis|und|et|au|al?|y|e)\\s?|-)"
_BEFORE_YEAR = re.compile(
    rf"(?<![\w.,-])(?:(?P<first>\d{{1,2}}){_ORDINAL}(?:{_TO}(?P<last>\d{{1,2}}){_ORDINAL})?"
    r"(?:\s{1,2}|-)(?:of\s|de\s|di\s|d['’])?)?"
    rf"(?P<month>[^\W\d_]{{3,10}})\.?(?:\s(?P<first_behind>\d{{1,2}}){_ORDINAL}"
    rf"(?:{_TO}(?P<last_behind>\d{{1,2}}){_ORDINAL})?)?(?:,|\sdel?)?(?:\s{{1,2}}|-)\Z",
    re.IGNORECASE,
)
_DAY_AND_MONTH = re.compile(r"(?<![\w.,-])(\d{1,2})\. ?(\d{1,2})\. \Z")
_A_DAY = re.compile(r"\d{1,2}(?!\d)")
_LONGEST_WORD = len(" septiembre.  ")
_LONGEST_BEFORE = len("29th and 30th de septiembre del  ")
_DAY_FIRST = re.compile(
    rf"(?P<day>\d(?<![\w.,:/]\d)\d?){_ORDINAL}(?:\s|-)(?:of\s|de\s)?(?P<month>[^\W\d_]{{3,10}})(?!\w)",
    re.IGNORECASE,
)
_DAY_LAST = re.compile(r"(?P<day>\d(?<=\s\d)\d?)(?:st|nd|rd|th)?(?!\w|[.,:/-]\d)", re.IGNORECASE)
_MONTH_BEFORE = re.compile(r"(?<!\w)(?P<month>[^\W\d_]{3,10})\.?\s\Z")
_YEAR_BEHIND = re.compile(r"(?:st|nd|rd|th)?\.?(?:,|\sdel?)?[\s-]{1,2}(?:1[89]|2[01])\d{2}(?!\w)")
MONTH_OF_YEAR = re.compile(r"(?:1[89]|2[01])\d{2}-(0[1-9]|1[0-2])(?<![\d./-].{7})(?![\d.:-]*\d)", re.DOTALL)
"""A month written as ``2026-12``; its group is the number."""

MONTH_NAMES = {f"{at:02}": name for at, name in enumerate(_NAMES, 1)}
_CODE = re.compile(r"(?<![\w/-])[^\W\d_]{1,12}(?:[-/][^\W_]{1,12})+(?![\w/-])")

Span = tuple[int, int]


def numbers(text: str) -> Iterator[Number]:
    """The numbers and dates of ``text`` (in NFC) that contain signs, spaces or words."""
    if not _DIGIT.search(text):
        return
    for run in _DIGITS_AND_SIGNS.finditer(text):
        for match in _NUMBER.finditer(text, *run.span()) if not run[0].isdecimal() else ():
            parts = tuple(_DIGITS.findall(match[0]))
            whole = "".join(parts)
            if day := _day(match["sign"], parts, behind_letter=text[: match.start()][-1:].isalpha()):
                yield _date(match.span(), parts, day)
            elif (0 if match["by"] else _LEAST_DIGITS) <= len(whole) <= _MOST_DIGITS:
                yield Number(match.span(), parts, (whole,))
    for year in _YEAR.finditer(text):
        # The last word before most years is neither a month nor a day.
        words = text[max(0, year.start() - _LONGEST_WORD) : year.start()].replace("-", " ").split()
        last = words[-1].strip(".,") if words else ""
        is_date = _A_DAY.match(last) or last in ("de", "del") or _plain(last) in _MONTHS
        if is_date and (found := _written(text, year.span())):
            yield found
    yield from _without_year(text)


def codes(text: str) -> Iterator[Number]:
    """The codes of ``text``, such as ``INV-2024-019`` and ``utf-8``: letters first, a digit somewhere, and
    signs between. They have no digits that all spellings share."""
    for match in _CODE.finditer(text):
        if any(map(str.isdecimal, match[0])):
            yield Number(match.span(), tuple(_WORD.findall(_plain(match[0]))))


def _day(sign: str | None, parts: tuple[str, ...], *, behind_letter: bool) -> date | None:
    """The date of digits with ``sign`` between, if it is one and can be only one."""
    if len(parts) != 3 or max(map(len, parts)) > 4:
        return None
    first, second, third = map(int, parts)
    with suppress(ValueError):
        match tuple(map(len, parts)):
            case (4, 1 | 2, 1 | 2):
                return date(first, second, third)
            case (1 | 2, 1 | 2, 4) if sign == "." or first > 12 >= second:
                return date(third, second, first)
            case (1 | 2, 1 | 2, 4) if second > 12:
                return date(third, first, second)
            case (1 | 2, 1 | 2, 2) if sign == "." and third in _SHORT_YEARS and not behind_letter:
                return date(2000 + third, second, first)
    return None


def _written(text: str, year: Span) -> Number | None:
    """The date or dates whose year is at ``year``, the month before it written out, or *11. 12. 2026*."""
    begin = max(0, year[0] - _LONGEST_BEFORE)
    found = _BEFORE_YEAR.search(text, begin, year[0])
    if found and (found["first"] is None) != (found["first_behind"] is None):
        known = _MONTHS if found["first"] else _IN_ENGLISH
        month = known.get(_plain(found["month"]), 0)
        first, last = found["first"] or found["first_behind"], found["last"] or found["last_behind"]
    elif found := _DAY_AND_MONTH.search(text, begin, year[0]):
        first, last, month = found[1], None, int(found[2])
    else:
        return None
    span = found.start(), year[1]
    with suppress(ValueError):  # 0 is no month
        ends = [date(int(text[slice(*year)]), month, int(day)) for day in (first, last or first)]
        return _date(span, _words(text[slice(*span)]), *ends)
    return None


def _without_year(text: str) -> Iterator[Number]:
    """The days of ``text`` whose month is written out and whose year is not: *6 December*, *Dec 6th*."""
    for found in chain(_DAY_FIRST.finditer(text), _DAY_LAST.finditer(text)):
        start, end = found.span()
        if found.re is _DAY_FIRST:
            month = _MONTHS.get(_plain(found["month"]))
        elif before := _MONTH_BEFORE.search(text, max(0, start - _LONGEST_WORD), start):
            start, month = before.start(), _IN_ENGLISH.get(before["month"].casefold())
        else:
            continue
        if month and 1 <= int(found["day"]) <= 31 and not _YEAR_BEHIND.match(text, end):
            name = _NAMES[month - 1]
            yield Number((start, end), _words(text[start:end]), (f"{name}{int(found['day'])}",), name)


def _words(written: str) -> tuple[str, ...]:
    """The words of a date as a query has them: *11th* is also *11* and *th*, and *of* asks nothing."""
    words = _WORD.findall(_plain(written))
    cut = [part for word in words for part in re.findall(r"\d+|\D+", word) if part != word]
    return tuple(dict.fromkeys(word for word in (*words, *cut) if word not in ("of", "to", "and", "a")))


def month_number(name: str) -> int | None:
    """The number of a month, from 1, by its name in one of the languages known here; None for no month."""
    return _MONTHS.get(_plain(name))


def _plain(text: str) -> str:
    """``text`` without case and accents."""
    return "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", text.lower())))


def _date(span: Span, parts: tuple[str, ...], first: date, last: date | None = None) -> Number:
    days = range(first.toordinal(), (last or first).toordinal() + 1)
    wholes = tuple(f"{date.fromordinal(day):%Y%m%d}" for day in days)
    name = _NAMES[first.month - 1]
    return Number(span, parts, wholes, name, tuple(f"{name}{date.fromordinal(day).day}" for day in days))
