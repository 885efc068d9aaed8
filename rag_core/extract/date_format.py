"""Turns a number of days and its format code, as spreadsheets store them, into the date, time or duration
that the cell shows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[(?P<elapsed>h+|m+|s+)\]'
    r"|\[\$[^\[\]-]*-(?P<locale>[^\[\],]*)(?:,[^\[\]]*)?\]|\[[^\[\]]*\]"
    r"|(?P<half>AM/PM|A/P)|(?P<date>y+|m+|d+|h+|s+|e+(?![+-])|b{2,4}|aaaa?)|(?P<parts>\.0+)|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)
_EPOCH, _EPOCH_1904 = datetime(1899, 12, 30), datetime(1904, 1, 1)
_DAY_S = 86_400
_LEAP_DAY = 60  # 29 February 1900, which spreadsheets count although it did not exist

_ENGLISH = (
    "January February March April May June July August September October November December",
    "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
)
_NAMES = {
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
        "Montag Dienstag Mittwoch Donnerstag Freitag Samstag Sonntag",
    ),
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "lundi mardi mercredi jeudi vendredi samedi dimanche",
    ),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "lunes martes miércoles jueves viernes sábado domingo",
    ),
    "it": (
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    ),
    "nl": (
        "januari februari maart april mei juni juli augustus september oktober november december",
        "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    ),
    "pt": (
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "segunda-feira terça-feira quarta-feira quinta-feira sexta-feira sábado domingo",
    ),
}
"""Language → names of months and days, for codes that set a language."""
_LANGUAGES = {0x07: "de", 0x0A: "es", 0x0C: "fr", 0x10: "it", 0x13: "nl", 0x16: "pt"}
"""Lowest bits of a Windows locale number → language."""
_JAPANESE_DAYS = "月火水木金土日"


@dataclass(frozen=True, slots=True)
class _Piece:
    #: ``text``, ``elapsed``, ``half``, ``parts``, one of the letters ``y m d h s e b a``, or ``i`` for
    #: minutes.
    kind: str
    text: str


def shows_date(code: str) -> bool:
    """Whether a section of a format code shows a date, a time or a duration."""
    return any(match["elapsed"] or match["date"] or match["half"] for match in _TOKEN.finditer(code))


def displayed_date(value: float, code: str, *, since_1904: bool = False) -> str:
    """Return ``value``, a number of days since 1900 or 1904, as a section of a format code shows it. Raises
    ValueError or OverflowError if no cell can show it, such as a negative number."""
    pieces, locale = _pieces(code)
    decimals = max((len(each.text) - 1 for each in pieces if each.kind == "parts"), default=0)
    has_seconds = any(each.kind in ("s", "parts") or each.text[0] in "sS" for each in pieces if each.text)
    seconds = round(value * _DAY_S, decimals if has_seconds else 0)
    if seconds < 0:
        raise ValueError("a cell shows no negative date")
    moment = _moment(seconds, since_1904=since_1904)
    is_half = any(each.kind == "half" for each in pieces)
    names = _NAMES.get(locale, _ENGLISH)
    shown = (_shown(each, moment, seconds, names, is_half=is_half) for each in pieces)
    return " ".join("".join(shown).split())


def _pieces(code: str) -> tuple[list[_Piece], str]:
    """Return the pieces of a section and its language, or '' if it has none."""
    pieces: list[_Piece] = []
    locale = ""
    for match in _TOKEN.finditer(code):
        if match["locale"] is not None:
            locale = _language(match["locale"])
        elif match["elapsed"]:
            pieces.append(_Piece("elapsed", match["elapsed"].lower()))
        elif match["half"] or match["parts"]:
            pieces.append(_Piece("half" if match["half"] else "parts", match[0]))
        elif match["date"]:
            pieces.append(_Piece(match[0][0].lower(), match[0].lower()))
        else:
            text = match["quoted"] or match["escaped"] or match["other"]
            pieces.append(_Piece("text", text or (" " if match[0][0] == "_" else "")))
    return _with_minutes(pieces), locale


def _with_minutes(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Distinguish minutes from months: minutes stand after hours or before seconds."""
    told: list[_Piece] = []
    parts = [each.text[0] if each.kind == "elapsed" else each.kind for each in pieces]
    for index, piece in enumerate(pieces):
        before = next((kind for kind in reversed(parts[:index]) if kind in "ymdhs"), "")
        after = next((kind for kind in parts[index + 1 :] if kind in "ymdhs"), "")
        is_minutes = piece.kind == "m" and len(piece.text) < 3 and (before == "h" or after == "s")
        told.append(_Piece("i", piece.text) if is_minutes else piece)
    return told


def _language(locale: str) -> str:
    """Return the language of a locale such as ``407`` or ``de-DE``, or '' for an unknown one."""
    if re.fullmatch(r"[0-9A-Fa-f]{1,8}", locale):
        return _LANGUAGES.get(int(locale, 16) & 0x3FF, "")
    return locale[:2].lower()


def _moment(seconds: float, *, since_1904: bool) -> datetime:
    """Return the day and time that is ``seconds`` after the start of the calendar."""
    if since_1904:
        return _EPOCH_1904 + timedelta(seconds=seconds)
    early = timedelta(days=1) if seconds < _LEAP_DAY * _DAY_S else timedelta()
    return _EPOCH + early + timedelta(seconds=seconds)


def _shown(piece: _Piece, moment: datetime, seconds: float, names: Sequence[str], *, is_half: bool) -> str:
    """Return one piece of a date as text."""
    size = len(piece.text)
    match piece.kind:
        case "text":
            return piece.text
        case "elapsed":
            unit = {"h": 3600, "m": 60, "s": 1}[piece.text[0]]
            return str(int(seconds // unit)).zfill(size)
        case "half":
            return ("AM" if moment.hour < 12 else "PM")[: 1 if size == 3 else 2]
        case "parts":
            return "." + f"{moment.microsecond:06}".ljust(size - 1, "0")[: size - 1]
        case "h" if is_half:
            return str((moment.hour + 11) % 12 + 1).zfill(min(size, 2))
        case "h" | "i" | "s":
            clock = {"h": moment.hour, "i": moment.minute, "s": moment.second}
            return str(clock[piece.kind]).zfill(min(size, 2))
    return _day(piece.kind, size, moment, names)


def _day(kind: str, size: int, moment: datetime, names: Sequence[str]) -> str:
    """Return the year, month or day of a date as text."""
    match kind:
        case "m":
            return _named(moment.month, names[0].split()[moment.month - 1], size)
        case "d":
            return _named(moment.day, names[1].split()[moment.weekday()], size)
        case "a":
            return _JAPANESE_DAYS[moment.weekday()] + ("曜日" if size == 4 else "")
        case "b":
            return str(moment.year + 543)
    return f"{moment.year % 100:02}" if kind == "y" and size < 3 else f"{moment.year:04}"


def _named(number: int, name: str, size: int) -> str:
    """Return a month or day in the length of its code: 3, 03, Mar, March, M."""
    if size < 3:
        return str(number).zfill(size)
    return name[:3] if size == 3 else name[:1] if size == 5 else name
