"""Turns a number and its format code, as spreadsheets store them, into the text that the cell shows.

ECMA-376, part 1, 18.8.31 defines the codes. They have up to four sections for positive numbers, negative
numbers, zero and text, such as ``#,##0.00 "EUR";[Red]-#,##0.00 "EUR"``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache

from rag_core.extract import date_format

GENERAL = "General"
_LONGEST_CODE = 500
_MOST_DECIMALS = 30
_EXACT = Context(prec=400)
"""Has enough digits for the largest number with all its decimals."""

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.'
    r"|\[\$(?P<currency>[^\[\]-]*)(?:-[^\[\]]*)?\]|\[(?P<condition>[<>=]+-?[\d.]+)\]|\[[^\[\]]*\]"
    r"|(?P<general>General)|(?P<exponent>E[+-])|(?P<sign>[0#?.,%/@])|(?P<other>.)",
    re.DOTALL | re.IGNORECASE,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)(-?\d+\.?\d*)")
_TESTS = {
    "<": float.__lt__,
    ">": float.__gt__,
    "<=": float.__le__,
    ">=": float.__ge__,
    "=": float.__eq__,
    "<>": float.__ne__,
}
_DIGITS = frozenset("0#?")
_PLAIN_SHAPE = re.compile(r"(?P<before>T*)(?:0|(?P<by>#,##)0)(?P<decimals>\.0+)?(?P<after>T*)")

BUILT_IN = {
    0: GENERAL,
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: '"$"#,##0_);("$"#,##0)',
    6: '"$"#,##0_);("$"#,##0)',
    7: '"$"#,##0.00_);("$"#,##0.00)',
    8: '"$"#,##0.00_);("$"#,##0.00)',
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "yyyy-mm-dd",  # the order of day and month depends on the reader's country
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "yyyy-mm-dd hh:mm",
    **dict.fromkeys((*range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd"),
    **dict.fromkeys((32, 33), "h:mm:ss"),
    **dict.fromkeys((34, 35), "h:mm"),
    37: "#,##0_);(#,##0)",
    38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);(#,##0.00)",
    41: '#,##0_);(#,##0);"-"',
    42: '"$"#,##0_);("$"#,##0);"-"',
    43: '#,##0.00_);(#,##0.00);"-"',
    44: '"$"#,##0.00_);("$"#,##0.00);"-"',
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    49: "@",
}
"""The codes that files refer to by number only."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  #: ``text``, ``digit``, ``general``, ``exponent``, or the sign itself: one of ``. , % / @``.
    text: str


@dataclass(frozen=True)
class _Section:
    """One section of a format code."""

    code: str
    tokens: tuple[_Token, ...]
    condition: tuple[str, float] | None

    @cached_property
    def kinds(self) -> frozenset[str]:
        return frozenset(token.kind for token in self.tokens)

    @cached_property
    def is_date(self) -> bool:
        return "general" not in self.kinds and date_format.shows_date(self.code)

    @cached_property
    def plain_shape(self) -> re.Match[str] | None:
        """The match of its signs if they are common ones, such as ``#,##0.00``; otherwise None."""
        signs = "".join("T" if each.kind in ("text", "%") else each.text for each in self.tokens)
        return _PLAIN_SHAPE.fullmatch(signs)

    def holds(self, value: float) -> bool:
        """Whether ``value`` meets its condition. True if it has none."""
        return self.condition is None or _TESTS[self.condition[0]](float(value), self.condition[1])


def displayed_number(value: float, code: str, *, since_1904: bool = False) -> str:
    """Return ``value`` as a cell with this format code shows it. If the code is invalid, the plain number is
    returned."""
    sections = _sections(code)
    section, number = _chosen(value, sections)
    try:
        if section.is_date:
            return date_format.displayed_date(number, section.code, since_1904=since_1904)
        return " ".join(_number(number, section).split())
    except (ValueError, OverflowError, ArithmeticError):
        return plain_number(value)


def displayed_text(text: str, code: str) -> str:
    """Return ``text`` as a cell with this format code shows it: it replaces the ``@``."""
    section = _sections(code)[-1]
    if "@" not in section.kinds or section.code == "@":
        return text
    return "".join(text if each.kind == "@" else each.text for each in section.tokens if each.kind in "@text")


def format_shows_date(code: str) -> bool:
    """Whether a format code shows positive numbers as dates, times or durations."""
    return _sections(code)[0].is_date


def plain_number(value: float) -> str:
    """Return a number without a format, as a person types it. A whole number has all its digits."""
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.15g}"


# --- the code ---------------------------------------------------------------------------


@lru_cache(maxsize=1000)
def _sections(code: str) -> tuple[_Section, ...]:
    """Return the sections of a code, at least one."""
    parts: list[list[_Token]] = [[]]
    written = [""]
    conditions: list[tuple[str, float] | None] = [None]
    for match in _TOKEN.finditer(code[:_LONGEST_CODE]):
        if match["other"] == ";":
            parts.append([])
            written.append("")
            conditions.append(None)
            continue
        written[-1] += match[0]
        if condition := _CONDITION.fullmatch(match["condition"] or ""):
            conditions[-1] = condition[1], float(condition[2])
        if token := _token(match):
            parts[-1].append(token)
    return tuple(
        _Section(text, tuple(tokens), condition)
        for text, tokens, condition in zip(written, parts, conditions, strict=True)
    )


def _token(match: re.Match[str]) -> _Token | None:
    """Return the token of one match, or None for colours, widths and the like, which have no text."""
    if match["general"]:
        return _Token("general", "")
    if match["exponent"]:
        return _Token("exponent", match["exponent"])
    if sign := match["sign"]:
        return _Token("digit" if sign in _DIGITS else sign, sign)
    for name in ("quoted", "escaped", "currency", "other"):
        if match[name]:
            return _Token("text", match[name])
    return _Token("text", " ") if match[0][0] == "_" else None


def _chosen(value: float, sections: Sequence[_Section]) -> tuple[_Section, float]:
    """Return the section that shows ``value``, then the number that it shows. A section for negative numbers
    contains its own sign."""
    numeric = [each for each in sections[:3] if "@" not in each.kinds] or list(sections[:1])
    if any(each.condition for each in numeric):
        section = next((each for each in numeric if each.holds(value)), numeric[-1])
        is_last = section is numeric[-1] and section.condition is None and len(numeric) > 1
        return section, abs(value) if is_last and value < 0 and len(numeric) == 2 else value
    if value < 0 and len(numeric) > 1:
        return numeric[1], -value
    if value == 0 and len(numeric) > 2:
        return numeric[2], value
    return numeric[0], value


# --- numbers ----------------------------------------------------------------------------


def _number(value: float, section: _Section) -> str:
    """Return a number in its section, without a date."""
    tokens = section.tokens
    if "general" in section.kinds or "@" in section.kinds or not tokens:
        shown = _general(abs(value)) if tokens or section.code else ""
        shown = shown if "general" in section.kinds or "@" in section.kinds else ""
        text = "".join(shown if each.kind in ("general", "@") else each.text for each in tokens)
        return f"-{text}" if value < 0 else text
    if "digit" not in section.kinds:
        text = "".join(each.text for each in tokens if each.kind in ("text", "%", "/", ","))
        return f"-{text}" if value < 0 and text else text
    scaled = Decimal(repr(abs(value)))
    if "%" in section.kinds:
        scaled *= 100 ** sum(each.kind == "%" for each in tokens)
    if shape := section.plain_shape:
        text = _common(scaled, tokens, shape)
    elif "exponent" in section.kinds:
        text = _scientific(scaled, tokens)
    elif "/" in section.kinds and "." not in section.kinds:
        text = _fraction(scaled, tokens)
    else:
        text = _fixed(scaled, tokens)
    return f"-{text}" if value < 0 else text


def _general(value: float) -> str:
    """Return a number as a cell without a format shows it. If it is no whole number, it has at most 11
    characters."""
    if value == int(value) and value < 1e15:
        return str(int(value))
    if value < 1e-4 or value >= 1e15:
        return f"{value:.5E}".replace(".00000E", "E")
    whole = len(str(int(value)))
    return f"{value:.{max(0, 10 - whole)}f}".rstrip("0").rstrip(".")


def _common(value: Decimal, tokens: Sequence[_Token], shape: re.Match[str]) -> str:
    """Return a number whose digits are contiguous."""
    unit = Decimal(1).scaleb(-min(len(shape["decimals"] or ".") - 1, _MOST_DECIMALS))
    rounded = value.quantize(unit, ROUND_HALF_UP, _EXACT)
    before = "".join(each.text for each in tokens[: shape.end("before")])
    after = "".join(each.text for each in tokens[shape.start("after") :])
    return f"{before}{rounded:{',' if shape['by'] else ''}f}{after}"


def _fixed(value: Decimal, tokens: Sequence[_Token]) -> str:
    """Return a number with a fixed number of decimals."""
    places = [index for index, token in enumerate(tokens) if token.kind == "digit"]
    point = next((index for index, token in enumerate(tokens) if token.kind == "."), len(tokens))
    before = [index for index in places if index < point]
    after = [index for index in places if index > point]
    scale = sum(_commas_after(tokens, end) for end in {max(before, default=point), places[-1]})
    value = _EXACT.scaleb(value, -3 * scale)
    whole, _, decimals = _rounded(value, len(after)).partition(".")
    is_grouped = bool(before) and any(each.kind == "," for each in tokens[before[0] : before[-1]])
    return _whole(whole, tokens[:point], is_grouped=is_grouped) + _decimals(decimals, tokens[point:])


def _commas_after(tokens: Sequence[_Token], end: int) -> int:
    """Return the number of commas after the offset ``end``. Each divides by a thousand."""
    count = 0
    while end + 1 + count < len(tokens) and tokens[end + 1 + count].kind == ",":
        count += 1
    return count


def _rounded(value: Decimal, decimals: int) -> str:
    unit = Decimal(1).scaleb(-min(decimals, _MOST_DECIMALS))
    return f"{value.quantize(unit, ROUND_HALF_UP, _EXACT):f}"


def _whole(digits: str, tokens: Sequence[_Token], *, is_grouped: bool) -> str:
    """Return the part before the decimal point. Digits fill the places from the right, and the first place
    takes all remaining digits."""
    rest = digits.lstrip("0")
    first = next((index for index, token in enumerate(tokens) if token.kind == "digit"), 0)
    shown: list[str] = []
    count = 0
    for index in range(len(tokens) - 1, -1, -1):
        token = tokens[index]
        if token.kind != "digit":
            shown.append(token.text if token.kind in ("text", "%") else "")
            continue
        for _ in range(max(1, len(rest)) if index == first else 1):
            digit = rest[-1:] or {"0": "0", "?": " "}.get(token.text, "")
            rest = rest[:-1]
            shown.append("," if is_grouped and count and count % 3 == 0 and digit.strip() else "")
            shown.append(digit)
            count += bool(digit)
    return "".join(reversed(shown))


def _decimals(digits: str, tokens: Sequence[_Token]) -> str:
    """Return the decimal point and the digits after it."""
    shown: list[str] = []
    rest = digits
    for token in tokens:
        if token.kind == "digit":
            is_left_out = token.text != "0" and not rest.strip("0")
            shown.append("" if is_left_out else rest[:1] or "0")
            rest = rest[1:]
        elif token.kind in ("text", "%", "."):
            shown.append(token.text)
    return "".join(shown)


def _scientific(value: Decimal, tokens: Sequence[_Token]) -> str:
    """Return a number with an exponent. The exponent is a multiple of the number of digits before the
    point."""
    at = next(index for index, token in enumerate(tokens) if token.kind == "exponent")
    mantissa = tokens[:at]
    point = next((index for index, token in enumerate(mantissa) if token.kind == "."), at)
    step = max(1, sum(token.kind == "digit" for token in mantissa[:point]))
    exponent = value.adjusted() // step * step if value else 0
    places = sum(token.kind == "digit" for token in mantissa[point:])
    if value and Decimal(_rounded(_EXACT.scaleb(value, -exponent), places)) >= 10**step:
        exponent += step
    shown = _fixed(_EXACT.scaleb(value, -exponent), mantissa)
    sign = "-" if exponent < 0 else "+" if tokens[at].text.endswith("+") else ""
    digits = [token for token in tokens[at + 1 :] if token.kind == "digit"]
    behind = "".join(token.text for token in tokens[at + 1 :] if token.kind in ("text", "%"))
    return f"{shown}E{sign}{str(abs(exponent)).zfill(len(digits))}{behind}"


def _fraction(value: Decimal, tokens: Sequence[_Token]) -> str:
    """Return a number as a fraction such as ``1 1/2``."""
    at = next(index for index, token in enumerate(tokens) if token.kind == "/")
    below = "".join(token.text for token in tokens[at + 1 :])
    fixed = re.match(r"\s*(\d*[1-9]\d*)", below)
    top = at
    while top and tokens[top - 1].kind == "digit":
        top -= 1
    has_whole = any(token.kind == "digit" for token in tokens[:top])
    whole = int(value) if has_whole else 0
    rest = Fraction(value) - whole
    if fixed:
        under = int(fixed[1])
        over = round(rest * under)
    else:
        near = rest.limit_denominator(10 ** max(1, min(7, sum(c in _DIGITS for c in below))) - 1)
        over, under = near.numerator, near.denominator
    if has_whole and over == under:
        whole, over = whole + 1, 0
    if over == 0:
        return str(whole)
    return f"{whole} {over}/{under}" if whole else f"{over}/{under}"
