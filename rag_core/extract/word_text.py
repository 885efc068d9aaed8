"""The visible text of paragraphs in Word documents: insertions, results of fields, symbols, equations and the
base of ruby. Deleted and hidden text and codes are left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from typing import Any

from lxml.etree import _Element

from rag_core.extract import equations
from rag_core.extract.building import one_line
from rag_core.extract.office import local_name
from rag_core.extract.ruby import Readings
from rag_core.extract.word_numbers import Numbering, attribute, value

_CHARACTERS = {"tab": "\t", "ptab": "\t", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_UNSEEN = frozenset({"del", "moveFrom", "instrText", "delText", "delInstrText", "rPr", "pPr", "sdtPr", "rt"})
_OFF = frozenset({"0", "false", "off"})
_LINK_FIELD = re.compile(r'\bHYPERLINK\s+(?:\\l\s+)?"([^"]+)"', re.IGNORECASE)
_ALTERNATIVES = ("descr", "title", "alt")
_GENERATED = re.compile(r"(?:picture|image|grafik|bild|text box|textfeld) ?\d*", re.IGNORECASE)

_GREEK = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ",
        strict=True,
    )
)
_SYMBOL = dict(zip(b"\xa3\xa5\xae\xb0\xb1\xb3\xb4\xb7\xb9", "≤∞→°±≥×•≠", strict=True)) | {
    ord(latin): greek for latin, greek in _GREEK.items()
}
_WINGDINGS = dict(zip(b"\x4a\x6f\xa7\xa8\xe0\xfb\xfc\xfd\xfe", "☺☐▪◻→✗✓☒☑", strict=True))
_WINGDINGS_2 = dict(zip(b"\x4f\x50\x51\x52\x53\x54\xa3", "✗✓☒☑☒☒☐", strict=True))
_FONTS = {"symbol": _SYMBOL, "wingdings": _WINGDINGS, "wingdings 2": _WINGDINGS_2}
"""The characters of fonts that have others in the places of letters."""


class WordText:
    """Returns the text of elements. Meanwhile it collects addresses of links, alternative texts of pictures,
    and readings of words."""

    def __init__(self, related: Mapping[str, Any], numbering: Numbering, hidden: Set[str]) -> None:
        """``hidden``: the ids of styles that hide their text."""
        self.readings = Readings()
        self._numbering = numbering
        self._related = related
        self._hidden = hidden
        self._links: dict[str, None] = {}
        self._alternatives: dict[str, None] = {}

    @property
    def links(self) -> list[str]:
        """Return a line for each link whose text is not its address."""
        return list(self._links)

    @property
    def alternatives(self) -> list[str]:
        """Return the alternative texts of pictures and charts."""
        return list(self._alternatives)

    def follow(self, related: Mapping[str, Any]) -> None:
        """Continue with another part of the document, such as its footnotes. ``related`` maps ids of
        references in that part to the parts that they mean."""
        self._related = related

    def of(self, element: _Element) -> str:
        """Return the text of an element, text boxes included, a line for each paragraph."""
        number = self._numbering.of(element) if local_name(element) == "p" else ""
        text = "".join(self._characters(element)).strip()
        return number + text if text else ""

    def _characters(self, element: _Element) -> Iterator[str]:
        for child in element.iterchildren():
            name = local_name(child)
            if name == "t":
                yield self._plain(child.text or "")
            elif name in _CHARACTERS:
                yield self._plain(_CHARACTERS[name])
            elif name == "sym":
                yield self._plain(_symbol(child))
            elif name in ("oMath", "oMathPara"):
                yield f" {equations.linear(child)} "
            elif name == "ruby":
                yield self._ruby(child)
            elif name == "ffData":
                yield self._plain(_chosen(child))
            else:
                yield from self._inside(child, name)

    def _inside(self, child: _Element, name: str) -> Iterator[str]:
        """Yield the text of an element that contains other elements."""
        if name == "instrText":
            for address in _LINK_FIELD.findall(child.text or ""):
                self._add_link("", address)
        elif name in ("docPr", "cNvPr", "shape", "imagedata"):
            self._add_alternative(child)
        is_hidden = name == "r" and self._is_hidden(child)
        is_twice = name == "Fallback" and local_name(child.getprevious()) == "Choice"
        if name in _UNSEEN or is_twice or is_hidden:
            return
        number = self._numbering.of(child) if name == "p" else ""
        text = "".join(self._characters(child))
        if name == "hyperlink":
            self._add_link(text, self._address(child))
        elif name == "fldSimple":
            for address in _LINK_FIELD.findall(attribute(child, "instr")):
                self._add_link(text, address)
        yield number + text if text.strip() else text
        if name == "p":
            self.readings.end()
            yield "\n"

    def _is_hidden(self, run: _Element) -> bool:
        """Whether a run is hidden by its own format or, if that does not say, by its styles. Two styles that
        hide cancel each other out (ECMA-376, 17.7.3)."""
        own = vanishes(run)
        if own is not None or not self._hidden:
            return bool(own)
        paragraph = next(run.iterancestors("{*}p"), None)
        of_paragraph = None if paragraph is None else paragraph.find("{*}pPr/{*}pStyle")
        styles = run.find("{*}rPr/{*}rStyle"), of_paragraph
        hiding = [style for style in styles if style is not None and attribute(style, "val") in self._hidden]
        return len(hiding) == 1

    def _plain(self, text: str) -> str:
        if text:
            self.readings.end(text)
        return text

    def _ruby(self, ruby: _Element) -> str:
        """Return the base of a ruby, and collect its reading."""
        base = "".join(each.text or "" for part in ruby.iter("{*}rubyBase") for each in part.iter("{*}t"))
        reading = "".join(each.text or "" for part in ruby.iter("{*}rt") for each in part.iter("{*}t"))
        self.readings.add(base, reading)
        return base

    def _address(self, link: _Element) -> str:
        """Return the address of a link; '' for a place in the document."""
        relation = self._related.get(attribute(link, "id"))
        return relation.target_ref if relation is not None and relation.is_external else ""

    def _add_link(self, text: str, address: str) -> None:
        text = one_line(text)
        if address and address.removeprefix("mailto:").rstrip("/") not in text:
            self._links[f"{text}: {address}" if text else address] = None

    def _add_alternative(self, picture: _Element) -> None:
        for name in _ALTERNATIVES:
            text = one_line(picture.get(name, ""), 2000)
            if text and not _GENERATED.fullmatch(text):
                self._alternatives[text] = None


def vanishes(element: _Element) -> bool | None:
    """Return whether the format of a run or style hides its text, or None if it does not say."""
    vanish = element.find("{*}rPr/{*}vanish")
    return None if vanish is None else attribute(vanish, "val") not in _OFF


def _chosen(field: _Element) -> str:
    """Return what a field of an older form shows: its check box, or the entry chosen from its list."""
    box, entries = field.find("{*}checkBox"), field.findall("{*}ddList/{*}listEntry")
    if box is not None:
        checked = box.find("{*}checked")
        checked = box.find("{*}default") if checked is None else checked
        return "☐" if checked is None or attribute(checked, "val") in _OFF else "☒"
    number = value(field, "ddList/result") or value(field, "ddList/default") or "0"
    place = int(number) if number.isdecimal() and len(number) < 4 else 0
    return attribute(entries[place], "val") if place < len(entries) else ""


def _symbol(symbol: _Element) -> str:
    """Return the character of a symbol. Characters of known fonts are converted to Unicode."""
    try:
        code = int(attribute(symbol, "char"), 16)
    except ValueError:
        return ""
    code -= 0xF000 if 0xF000 <= code <= 0xF0FF else 0
    font = _FONTS.get(attribute(symbol, "font").lower(), {})
    return font.get(code, chr(code) if 0x20 <= code < 0xD800 else "")
