"""How the numbers of headings and lists are written: digits, letters, Roman and Chinese numerals."""

from __future__ import annotations

_ROMAN = {
    1000: "M",
    900: "CM",
    500: "D",
    400: "CD",
    100: "C",
    90: "XC",
    50: "L",
    40: "XL",
    10: "X",
    9: "IX",
    5: "V",
    4: "IV",
    1: "I",
}
_HAN = "〇一二三四五六七八九"
_LONGEST = 10
"""Letters in a number: the 27th is `aa`, the 53rd `aaa`."""


def numeral(number: int, kind: str) -> str:
    """Return ``number`` as lists of this ``kind`` show it. Kinds have their names in Word: ``upperRoman``. An
    unknown kind, and a number that a kind does not have, are written in digits."""
    match kind:
        case "lowerLetter" | "upperLetter" if 0 < number <= 26 * _LONGEST:
            letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
            return letters if kind == "lowerLetter" else letters.upper()
        case "lowerRoman" | "upperRoman" if 0 < number < 4000:
            return _roman(number).lower() if kind == "lowerRoman" else _roman(number)
        case "decimalZero":
            return f"{number:02}"
        case "decimalEnclosedCircle" | "decimalEnclosedCircleChinese" if 0 < number <= 20:
            return chr(ord("①") + number - 1)
        case (
            "chineseCounting" | "chineseCountingThousand" | "japaneseCounting" | "taiwaneseCountingThousand"
        ) if 0 < number < 100:
            tens, ones = divmod(number, 10)
            return (_HAN[tens] if tens > 1 else "") + ("十" if tens else "") + (_HAN[ones] if ones else "")
    return str(number)


def _roman(number: int) -> str:
    letters = ""
    for value, sign in _ROMAN.items():
        letters += sign * (number // value)
        number %= value
    return letters
