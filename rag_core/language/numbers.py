"""Numbers and dates in a text, each as one thing however it is written.

An amount, a telephone number and a date have signs or spaces between their digits. Of a number its digits
together are what is compared, of a date those of the ISO form: ``2026-12-11``, ``11.12.2026``, ``11.12.26``,
``11 December 2026``, ``Dec 11, 2026`` and ``11 de diciembre de 2026`` are all 20261211. ``11/12/2026`` may be
either of two days and is only a number; ``31/12/2026`` is a date.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

# In English first; then in German, French, Spanish, Italian, Dutch, Portuguese and Swedish where they differ,
# without accents, and what they are cut to.
_NAMES = [
    names.split()
    for names in (
        "january jan januar januari janner jaenner janvier janv enero ene gennaio gen janeiro",
        "february feb februar februari fevrier fevr fev febrero febbraio fevereiro",
        "march mar marz maerz mrz maart mrt mars marzo marco",
        "april apr avril avr abril abr aprile",
        "may mai mei mayo maggio mag maio maj",
        "june jun juni juin junio giugno giu junho",
        "july jul juli juillet juil julio luglio lug julho",
        "august aug augustus augusti aout agosto ago",
        "september sep sept septembre septiembre settembre set setembro",
        "october oct oktober okt octobre octubre ottobre ott outubro out",
        "november nov novembre noviembre novembro",
        "december dec dezember dez decembre diciembre dic dicembre dezembro",
    )
]
_MONTH_OF = {name: month for month, names in enumerate(_NAMES, 1) for name in names}
_SHORT_YEARS = range(15, 40)  # 2015 to 2039; a version such as 3.11.4 is no date

_DIGITS_AND_SIGNS = re.compile("\\d[\\d.,'\u2019\u00a0\u202f /-]*\\d")
_NUMBER = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?P<by>[,.'\u2019\u00a0\u202f ])\d{3}(?:(?P=by)\d{3})*(?:[.,]\d{1,2})?"
    r"|\d{4,}[.,]\d{2}"
    r"|\d+(?P<sign>[-/.])\d+(?:(?P=sign)\d+)+"
    r"|(?:(?<=\+)\d|0)\d*(?:[ /-]\d+)+)(?![\d]|[.,]\d)"
)
_DIGITS = re.compile(r"\d+")
_WORD = re.compile(r"[^\W_]+")
_LEAST_DIGITS, _MOST_DIGITS = 6, 16  # 1.5 is not 15; longer ones are rows of a table

_YEAR = re.compile(r"[12]\d{3}(?!\w)")
_ORDINAL = "(?:st|nd|rd|th|er|º|\\.)?"
_BEFORE_YEAR = re.compile(
    rf"(?<![\w.,-])(?:(?P<first>\d{{1,2}}){_ORDINAL}\s(?:of\s|de\s|di\s|d['’])?)?"
    rf"(?P<month>[^\W\d_]{{3,10}})\.?(?:\s(?P<second>\d{{1,2}}){_ORDINAL})?(?:,|\sdel?)?\s\Z",
    re.IGNORECASE,
)
_LONGEST_BEFORE = len("30th de septiembre del ")
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
            if day := _day(match["sign"], parts):
                yield _date(day, match.span(), parts)
            elif (0 if match["by"] else _LEAST_DIGITS) <= len(whole) <= _MOST_DIGITS:
                yield Number(whole, match.span(), parts)
    for year in _YEAR.finditer(text):
        if found := _written(text, year.span()):
            yield found


def months(text: str) -> Iterator[str]:
    """The names of the months that ``text`` writes as ``2026-12``."""
    return (_NAMES[int(match[1]) - 1][0] for match in _MONTH_OF_YEAR.finditer(text))


def _day(sign: str | None, parts: tuple[str, ...]) -> date | None:
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
            case (1 | 2, 1 | 2, 2) if sign == "." and third in _SHORT_YEARS:
                return date(2000 + third, second, first)
    return None


def _written(text: str, year: Span) -> Number | None:
    """The date whose year is at ``year`` and whose month is written out before it."""
    found = _BEFORE_YEAR.search(text, max(0, year[0] - _LONGEST_BEFORE), year[0])
    if not found or (found["first"] is None) == (found["second"] is None):
        return None
    month = _MONTH_OF.get(_plain(found["month"]))
    span = found.start(), year[1]
    with suppress(ValueError):
        if month:
            day = date(int(text[slice(*year)]), month, int(found["first"] or found["second"]))
            words = _WORD.findall(_plain(text[slice(*span)]))
            return _date(day, span, tuple(word for word in words if word != "of"))
    return None


def _plain(text: str) -> str:
    """``text`` without case and accents."""
    return "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))


def _date(day: date, span: Span, parts: tuple[str, ...]) -> Number:
    return Number(f"{day:%Y%m%d}", span, parts, _NAMES[day.month - 1][0])
