"""Equations of Office (OMML), OpenDocument and web pages (MathML) → one line as a person would type it:
``Fgrav=G m/r2``. Indices and powers follow their base directly, as in H2O."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence

from lxml.etree import _Element

from rag_core.extract.office import local_name

_MATHEMATICAL = range(0x1D400, 0x1D800)
"""Letters in mathematical styles, such as 𝑥."""
_MOST_DEPTH = 60
_UNSEEN = frozenset({"annotation", "annotation-xml"})


def linear(equation: _Element) -> str:
    """Return an equation in one line."""
    return " ".join(_linear(equation, 0).split())


def _linear(element: _Element, depth: int) -> str:
    name = local_name(element)
    if depth > _MOST_DEPTH or name in _UNSEEN or name.endswith("Pr"):
        return ""
    if name in ("t", "mi", "mn", "mo", "mtext", "ms"):
        return _plain("".join(element.itertext()))
    parts = [(local_name(child), _linear(child, depth + 1)) for child in element.iterchildren()]
    written = _WRITERS.get(name)
    return written(element, parts) if written else _joined([text for _, text in parts])


def _plain(text: str) -> str:
    """Return a text with plain letters in place of mathematical ones."""
    return "".join(
        unicodedata.normalize("NFKC", letter) if ord(letter) in _MATHEMATICAL else letter for letter in text
    )


def _joined(texts: Sequence[str]) -> str:
    """Join adjacent texts, with a space between a word and a fraction or root."""
    line = ""
    for text in texts:
        is_apart = ("/" in text or "√" in text) and line[-1:].isalnum() and len(text) > 1
        is_apart = is_apart or ("/" in line and line[-1:].isalnum() and text[:1].isalnum())
        line += f" {text}" if is_apart else text
    return line


Parts = Sequence[tuple[str, str]]
"""(element name, text) of each child of an element."""


def _of(parts: Parts, name: str) -> str:
    return next((text for each, text in parts if each == name), "")


def _nth(parts: Parts, index: int) -> str:
    return parts[index][1] if index < len(parts) else ""


def _value(element: _Element, name: str, default: str) -> str:
    """Return a property of an OMML element."""
    for each in element.iterchildren():
        if local_name(each).endswith("Pr"):
            for found in each.iter(f"{{*}}{name}"):
                return next(iter(found.values()), "")
    return default


def _in_brackets(text: str) -> str:
    """Return an operand, in brackets if it is more than one word."""
    inner = text.strip()
    is_word = inner.replace("_", "").replace(".", "").isalnum() or (inner[:1] == "(" and inner[-1:] == ")")
    return inner if is_word or not inner else f"({inner})"


def _fraction(_: _Element, parts: Parts) -> str:
    over = _of(parts, "num") or _nth(parts, 0)
    under = _of(parts, "den") or _nth(parts, len(parts) - 1)
    return f"{_in_brackets(over)}/{_in_brackets(under)}"


def _script(_: _Element, parts: Parts) -> str:
    """Return a base with its index and power."""
    named = {name: text for name, text in parts if name in ("e", "sub", "sup", "lim")}
    texts = [named.get(name, "") for name in ("e", "sub", "sup", "lim")] if named else [t for _, t in parts]
    base, *scripts = [text.strip() for text in texts]
    return base + "".join(each if each.isalnum() else _in_brackets(each) for each in scripts)


def _limit(_: _Element, parts: Parts) -> str:
    """Return a word with the text below or above it, such as ``lim x→0``."""
    return f" {_nth([each for each in parts if each[1]], 0)} {parts[-1][1]} " if parts else ""


def _root(element: _Element, parts: Parts) -> str:
    if local_name(element) == "mroot":
        degree, inner = _nth(parts, 1), _nth(parts, 0)
    else:
        degree = _of(parts, "deg")
        inner = _of(parts, "e") or _joined([text for name, text in parts if name != "deg"])
    return f"{degree}√{_in_brackets(inner)}"


def _sum(element: _Element, parts: Parts) -> str:
    sign = _value(element, "chr", "∫")
    bounds = "".join(f" {_of(parts, name)}" for name in ("sub", "sup") if _of(parts, name))
    return f" {sign}{bounds} {_of(parts, 'e')}"


def _brackets(element: _Element, parts: Parts) -> str:
    between = _value(element, "sepChr", "|").join(text for name, text in parts if name == "e")
    return f"{_value(element, 'begChr', '(')}{between}{_value(element, 'endChr', ')')}"


def _function(_: _Element, parts: Parts) -> str:
    return f" {_of(parts, 'fName').strip()} {_of(parts, 'e').strip()}"


def _lines(_: _Element, parts: Parts) -> str:
    return "; ".join(text for _, text in parts if text)


def _cells(_: _Element, parts: Parts) -> str:
    return " ".join(text for _, text in parts if text)


def _accent(_: _Element, parts: Parts) -> str:
    """Return the base of an accent."""
    return _of(parts, "e") or _nth(parts, 0)


_WRITERS: dict[str, Callable[[_Element, Parts], str]] = {
    **dict.fromkeys(("f", "mfrac"), _fraction),
    **dict.fromkeys(("sSub", "sSup", "sSubSup", "sPre", "msub", "msup", "msubsup"), _script),
    **dict.fromkeys(("limLow", "limUpp", "munder", "mover", "munderover"), _limit),
    **dict.fromkeys(("rad", "msqrt", "mroot"), _root),
    "nary": _sum,
    "d": _brackets,
    "func": _function,
    **dict.fromkeys(("eqArr", "m", "mtable"), _lines),
    **dict.fromkeys(("mr", "mtr"), _cells),
    "acc": _accent,
}
"""Element name → function that writes it. The parts of all other elements are joined."""
