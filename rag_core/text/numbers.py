"""Recognizes numbers, dates and codes in a text, however they are written.

Amounts, telephone numbers and dates have signs or spaces between their digits. Numbers are compared by their
digits, and dates by the digits of their ISO form. So ``2026-12-11``, ``11.12.2026``, ``11 December 2026``,
``Dec 11, 2026`` and ``11 de diciembre de 2026`` are all 20261211.

``11/12/2026`` may be either of two days and is only a number; ``31/12/2026`` is a date.

Numbers of bank accounts and cards and addresses of devices are written in groups, such as ``DE89 3704 0044
0532 0130 00`` and ``00:1A:2B:3C:4D:5E``. They are compared by all their letters and digits. A telephone
number with a country code (ITU-T E.164) also matches the number that is dialled inside the country.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import date
from itertools import filterfalse

from rag_core.types import Number

# English names first; then German, French, Spanish, Italian, Dutch, Portuguese and Swedish ones that differ,
# without accents. Abbreviations that are English words (set, out, ago) are left out.
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

_DIGITS_AND_SIGNS = re.compile("\\d[\\d.,'\u2019\u00a0\u202f /-]*\\d")
_NUMBER = re.compile(
    r"(?<![\d.,])(?:\d{1,3}(?P<by>[,.'\u2019\u00a0\u202f ])\d{3}(?:(?P=by)\d{3})*(?:[.,]\d{1,2})?"
    r"|\d{4,}[.,]\d{2}"
    r"|\d+(?P<sign>[-/.])\d+(?:(?P=sign)\d+)+"
    r"|(?:(?<=\+)\d|0)\d*(?:(?:[ /-]| [/-] )\d+)+)(?![\d]|[.,]\d)"
)
_DIGITS = re.compile(r"\d+")
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"[^\W_]+")
_DIGITS_OF_A_DAY = 8  # 20261211
_LEAST_DIGITS, _MOST_DIGITS = 6, 16  # fewer: 1.5 is not 15; more: a row of a table

_DAY = re.compile(r"(\d(?<![\w.,:/-]\d)\d?)(?:st|nd|rd|th|er|[ºoª]|\.)?(?![\w:/]|[.,]\d)", re.IGNORECASE)
_MONTH_BEHIND = re.compile(r"[\s-](?:of\s|de\s|di\s|d['’])?([^\W\d_]{3,10})\.?(?!\w)", re.IGNORECASE)
_MONTH_BEFORE = re.compile(r"(?<!\w)([^\W\d_]{3,10})\.?\s\Z")
_YEAR_BEHIND = re.compile(r"(?:,|\sdel?)?[\s-]{1,2}((?:1[89]|2[01])\d{2})(?!\w)", re.IGNORECASE)
_LONGEST_BEFORE = len(" septiembre. ")
MONTH_OF_YEAR = re.compile(r"(?:1[89]|2[01])\d{2}-(0[1-9]|1[0-2])(?<![\d./-].{7})(?![\d.:-]*\d)", re.DOTALL)
"""A month written as ``2026-12``. Its group is the number of the month."""

MONTH_NAMES = {f"{at:02}": name for at, name in enumerate(_NAMES, 1)}

_CODE = re.compile(r"(?<![\w/-])[^\W_]{1,24}(?:[-/][^\W_]{1,12}){0,8}(?![\w/-])")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_MIXED = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]|[A-Za-z][0-9]|[0-9][A-Za-z]")
_HASH = re.compile("(?:[0-9a-f]{8,}|[0-9A-F]{8,})")
_LETTER = re.compile(r"[^\W\d_]")
_ONE_KIND = re.compile(r"(?<=\d)[-/](?=\d)|(?<=[^\W\d_])[-/](?=[^\W\d_])")

_MOST_OF_A_GROUPED = 34  # letters and digits; the longest IBAN (ISO 13616)
_DIGITS_OF_AN_ARTICLE = 13  # EAN, ISBN
_GROUPED = re.compile(
    r"(?<![\w.,:+-])(?:"
    r"[0-9A-Fa-f]{2}(?P<by>[:-])[0-9A-Fa-f]{2}(?:(?P=by)[0-9A-Fa-f]{2}){4}(?:(?:(?P=by)[0-9A-Fa-f]{2}){2})?"
    r"|[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}\.[0-9A-Fa-f]{4}"
    r"|(?P<account>[A-Za-z]{2}\d{2}(?P<gap>[ -])[A-Za-z\d]{4}(?:(?P=gap)[A-Za-z\d]{4}){1,6}"
    r"(?:(?P=gap)[A-Za-z\d]{1,4})?)"
    r"|(?P<serial>(?=[\d.]{0,40}[A-Za-z])[A-Za-z\d]{2,8}(?:\.[A-Za-z\d]{2,8}){2,7})"
    r"|(?P<article>\d[ \u00a0]\d{6}[ \u00a0]\d{6}|97[89](?:[ \u00a0-]\d{1,7}){3}[ \u00a0-]\d)"
    r"|[A-Z]{2}(?:[ ]\d{2,3}){3,4}|[12](?:[ ]\d\d){3}(?:[ ]\d{3}){2}(?:[ ]\d\d)?|1Z(?:[ ][A-Z\d]{2,4}){5}"
    r"|(?P<digits>\d{2,12}(?:[ \u00a0\u202f-]\d{2,12}){2,12})"
    r")(?!\w|[.,:-]\d)"
)
_TELEPHONE = re.compile(
    r"(?<![\w.,:+-])(?:(?P<abroad>\+|00(?=[1-9]))(?P<country>[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]"
    r"|[2-9]\d\d)(?P<rest>[ \u00a0./-]?(?:\(0\)[ \u00a0]?)?\(?\d{1,12}\)?"
    r"(?:(?:[ \u00a0./-]|[ \u00a0][/-][ \u00a0])\(?\d{1,12}\)?){0,5})"
    r"|\(0?\d{2,5}\)[ \u00a0./-]?\d{2,12}(?:[ \u00a0./-]\d{2,12}){0,3}(?:-\d)?)(?!\w)"
)
_TRUNK = re.compile(r"\(0\)")  # the zero that is dialled only inside the country
_LEAST_OF_A_TELEPHONE, _LEAST_OF_GROUPS = 7, 8  # minimum number of digits
_DATED = re.compile(r"(?:19|20)\d\d\.\d\d?(?:\.|\Z)")
_YEAR = re.compile(r"(?:1[89]|2[01])\d\d")

Span = tuple[int, int]


def numbers(text: str) -> Iterator[Number]:
    """Yield the numbers and dates in ``text`` that are written with signs, spaces or words. ``text`` must be
    in NFC."""
    if not _DIGIT.search(text):
        return
    yield from longest([*_telephones(text), *_grouped(text), *_signed(text)])
    yield from _written_out(text)


def longest(figures: Iterable[Number]) -> list[Number]:
    """Return the numbers in order of position. Of overlapping numbers the longest is kept."""
    kept: list[Number] = []
    for figure in sorted(figures, key=lambda figure: figure.span[0]):
        (start, end), (last_start, last_end) = figure.span, kept[-1].span if kept else (0, 0)
        if start >= last_end:
            kept.append(figure)
        elif end - start > last_end - last_start:
            kept[-1] = figure
    return kept


def _signed(text: str) -> Iterator[Number]:
    """Yield the dates and numbers in ``text`` that have signs or spaces between their digits."""
    for run in _DIGITS_AND_SIGNS.finditer(text):
        for match in _NUMBER.finditer(text, *run.span()) if not run[0].isdecimal() else ():
            parts = tuple(_DIGITS.findall(match[0]))
            whole = "".join(parts)
            if day := day_of_parts(match["sign"], parts):
                yield _date(match.span(), parts, day)
            elif (0 if match["by"] else _LEAST_DIGITS) <= len(whole) <= _MOST_DIGITS:
                yield Number(match.span(), parts, (whole,))


def _telephones(text: str) -> Iterator[Number]:
    """Yield the telephone numbers in ``text`` that have a country code, or an area code in brackets."""
    for match in _TELEPHONE.finditer(text):
        parts = tuple(_DIGITS.findall(_TRUNK.sub("", match[0])))
        whole = "".join(parts)
        if not _LEAST_OF_A_TELEPHONE <= len(whole) <= _MOST_DIGITS:
            continue
        if not match["country"]:
            yield Number(match.span(), parts, (whole,))
            continue
        inside = "".join(_DIGITS.findall(_TRUNK.sub("", match["rest"]))).removeprefix("0")
        dialled = match["country"] + inside, f"0{inside}", inside
        # ``001122334455`` may also be the address of a device
        yield Number(match.span(), parts, (*dialled, whole) if match["abroad"] == "00" else dialled)


def _grouped(text: str) -> Iterator[Number]:
    """Yield the numbers of accounts, cards and devices in ``text`` that are written in groups."""
    for match in _GROUPED.finditer(text):
        parts = tuple(_WORD.findall(match[0].lower()))
        whole = "".join(parts)
        digits = sum(map(str.isdecimal, whole))
        if len(whole) > _MOST_OF_A_GROUPED or (match["account"] and digits * 2 < len(whole)):
            continue
        if match["serial"] and not _is_serial(match[0], parts):
            continue
        if match["article"] and len(whole) != _DIGITS_OF_AN_ARTICLE:
            continue
        if match["digits"] and (len(whole) < _LEAST_OF_GROUPS or _are_dates(match[0], parts)):
            continue
        yield Number(match.span(), parts, (whole,))


def _is_serial(written: str, parts: tuple[str, ...]) -> bool:
    """Whether groups of letters and digits between dots are a serial number, and not the name of a computer
    or of a file with a date in it."""
    digits = sum(map(str.isdecimal, "".join(parts)))
    is_number = digits * 2 >= sum(map(len, parts)) and not any(map(str.isalpha, parts))
    return is_number and not _DATED.search(written)


def _are_dates(written: str, parts: tuple[str, ...]) -> bool:
    """Whether groups of digits are a date such as ``2026-12-11``, or only years."""
    are_years = all(_YEAR.fullmatch(part) for part in parts)
    return are_years or ("-" in written and day_of_parts("-", parts) is not None)


def codes(text: str) -> Iterator[Number]:
    """Yield the codes in ``text``, such as ``INV-2024-019``, ``utf-8`` and ``E1102``. They consist of letters
    and digits, perhaps with hyphens or slashes between them. Hashes do not count."""
    for match in _CODE.finditer(text):
        parts = tuple(_WORD.findall(_plain(match[0])))
        if len(parts) == 1:
            parts = tuple(word_parts(match[0]))
        whole = "".join(parts)
        if len(parts) > 1 and not whole.isdecimal() and any(map(str.isdecimal, whole)):
            yield Number(match.span(), parts, (whole,))


def word_parts(word: str) -> list[str]:
    """Return the parts of a word such as ``getUserName`` or ``E1102``, in lower case, or [] if it has no
    parts. A hash such as ``e929cafe102a`` alternates digits and letters and has no parts."""
    parts = [part.lower() for part in _PART.findall(word)] if word.isascii() and _MIXED.search(word) else []
    return parts if len(parts) > 1 and not (len(parts) > 2 and _HASH.fullmatch(word)) else []


def joined_codes(text: str) -> Iterator[str]:
    """Yield the codes in ``text`` without their hyphens, if a hyphen joins digits with digits or letters with
    letters. Such a code has other parts when it is written as one word."""
    for written in text.split():
        if "-" not in written and "/" not in written:
            continue
        for match in _CODE.finditer(written):
            if _ONE_KIND.search(match[0]) and _DIGIT.search(match[0]) and _LETTER.search(match[0]):
                yield "".join(_WORD.findall(_plain(match[0])))


def in_a_row(number: Number, text: str, *, in_one_piece: bool = False) -> bool:
    """Whether ``text`` (folded) has the parts of a number in a row, with at most one sign between two parts.
    With ``in_one_piece``, that sign must not be white space."""
    between = r"(?:[^\w\s]|_)?" if in_one_piece else r"[\W_]?"
    return re.search(r"(?<!\w)" + between.join(number.parts) + r"(?!\w)", text) is not None


def held_whole(numbers: Iterable[Number], texts: Collection[str]) -> list[Number]:
    """Return the codes among ``numbers`` that one of the folded ``texts`` contains in one piece: ``E1102`` or
    ``E-1102``, but not ``E 1102``."""
    codes = [number for number in numbers if not number.month and not "".join(number.parts).isdecimal()]
    return [code for code in codes if any(in_a_row(code, text, in_one_piece=True) for text in texts)]


def first_day(text: str, *, whole: bool = False) -> date | None:
    """Return the first day with a year that ``text`` names, or None if there is none. With ``whole``, the
    whole text must be the date."""
    for number in numbers(text):
        is_day = number.day and len(number.wholes[0]) == _DIGITS_OF_A_DAY and number.wholes[0].isdecimal()
        if is_day and (not whole or number.span == (0, len(text))):
            return date.fromisoformat(number.wholes[0])
    return None


def day_of_parts(sign: str | None, parts: tuple[str, ...]) -> date | None:
    """Return the date that three numbers with ``sign`` between them mean, or None if it is ambiguous or no
    date."""
    if len(parts) != 3 or max(map(len, parts)) > 4:
        return None
    first, second, third = map(int, parts)
    with suppress(ValueError):
        match tuple(map(len, parts)):
            case (4, 1 | 2, 1 | 2):
                return date(first, second, third)
            case (1 | 2, 1 | 2, 4) if sign == "." or first > 12 >= second or first == second:
                return date(third, second, first)
            case (1 | 2, 1 | 2, 4) if second > 12:
                return date(third, first, second)
    return None


def _written_out(text: str) -> Iterator[Number]:
    """Yield the dates in ``text`` whose month is a word, even without a year: *6 December*, *Dec 6th*."""
    for found in _DAY.finditer(text):
        start, end = found.span()
        if (behind := _MONTH_BEHIND.match(text, end)) and (month := _MONTHS.get(_plain(behind[1]))):
            end = behind.end()
        elif before := _MONTH_BEFORE.search(text, max(0, start - _LONGEST_BEFORE), start):
            start, month = before.start(), _IN_ENGLISH.get(_plain(before[1]))
        else:
            continue
        year = _YEAR_BEHIND.match(text, end)
        end = year.end() if year else end
        with suppress(ValueError):
            if month and year:
                yield _date((start, end), _words(text[start:end]), date(int(year[1]), month, int(found[1])))
            elif month and date(2000, month, int(found[1])):
                name = _NAMES[month - 1]
                yield Number((start, end), _words(text[start:end]), (f"{name}{int(found[1])}",), name)


def _words(written: str) -> tuple[str, ...]:
    """Split a written date into the words that a query may contain: *11th* also gives *11* and *th*. Words
    such as *of* are left out."""
    words = _WORD.findall(_plain(written))
    cut = [part for word in words for part in re.findall(r"\d+|\D+", word) if part != word]
    return tuple(dict.fromkeys(word for word in (*words, *cut) if word not in ("of", "to", "and", "a")))


def month_number(name: str) -> int | None:
    """Return the number, from 1, of a month by its name in one of the supported languages, or None for any
    other word."""
    return _MONTHS.get(_plain(name))


def _plain(text: str) -> str:
    """Return ``text`` without case and accents."""
    return "".join(filterfalse(unicodedata.combining, unicodedata.normalize("NFKD", text.lower())))


def _date(span: Span, parts: tuple[str, ...], day: date) -> Number:
    name = _NAMES[day.month - 1]
    return Number(span, parts, (f"{day:%Y%m%d}",), name, f"{name}{day.day}")
