"""Finds the hidden signs of markup in XML, and in all languages of `rag_core.text.markup_languages`.

Each of these is described by one pattern of its signs. Each sign has one of a few roles. One stack pairs the
signs in a single pass. Markdown has more detailed rules and modules of its own: `rag_core.text.markup` and
`rag_core.text.inline`.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from rag_core.text.inline import INLINE_TAGS, REFERENCE, Mark, MarkKind
from rag_core.text.markup_languages import MARKUP_LANGUAGES, Language

_NAME = re.compile("[a-zA-Z]+")
_BETWEEN_ARGUMENTS = re.compile(r"(?<!\\)[ \t]+|\"")
_CLOSED_BY = {"[": "]", "{": "}", ",": ">", "`": "`"}
"""Last sign of an opening of a link or command → last sign of its closing."""


_NAMES_OF_INLINE = frozenset(
    INLINE_TAGS.split("|")
    + "emphasis literal command filename link ulink xref phrase quote subscript superscript tspan italic bold"
    " monospace hi ref term foreignphrase citetitle replaceable option varname function classname"
    " styled-content named-content xref-alt fn ext-link uri sc guilabel keycap userinput constant parameter"
    " computeroutput classname firstterm email".split()
)
_CELLS = frozenset(("td", "th", "entry"))
_BEHIND_WORDS = tuple(".,;:!?)]’”»")
_OF_XML = re.compile(
    r"<!--(?s:.*?)(?:-->|\Z)|<!\[CDATA\[|\]\]>|<(?P<end>/?)(?:[\w.-]{1,40}:)?(?P<name>[A-Za-z_][\w.-]{0,60})"
    r"(?:\s(?:[^<>\"']|\"[^\"<]*+\"|'[^'<]*+')*+)?>|" + REFERENCE.pattern
)


def marks_of_language(text: str, file_type: str) -> list[Mark]:
    """Return the spans that are shown differently from how they are written, in order and disjoint, for XML
    and the types in `MARKUP_LANGUAGES`. For other types, returns []."""
    if file_type == "xml":
        return [*_of_xml(text)]
    language = MARKUP_LANGUAGES.get(file_type)
    return _Reader(text, language).marks() if language else []


class _Opener(NamedTuple):
    key: str
    start: int
    end: int
    is_shown: bool = False  # shown as written, because it is a command of the program
    kind: MarkKind = "sign"
    is_macro: bool = False  # a command that the program does not know


class _Reader:
    """One pass over the signs of a text. A sign has one of these roles:

    - ``gap`` ends a paragraph, and everything that is open in it.
    - ``pair`` opens and closes at the edge of a word.
    - ``code`` does so, too, and contains no markup.
    - ``free`` opens and closes anywhere.
    - ``open``, ``keep`` and ``brace`` are closed by ``close``, and so is ``aside``, such as a footnote.
    - ``macro`` is closed so, too. A second argument shows that it needs both, so it is shown as written.
    - ``tag`` opens or closes, as its own text says.
    - ``joined`` is a macro whose arguments are shown without spaces.
    - ``alone`` is hidden by itself.
    - ``name`` follows a word.
    - ``escape`` is shown without its first character.
    """

    def __init__(self, text: str, language: Language) -> None:
        self._text, self._language = text, language
        self._open: list[_Opener] = []
        self._count = Counter[str]()  # number of open signs by key
        self._marks: list[Mark] = []

    def marks(self) -> list[Mark]:
        """Return all marks in order."""
        for match in self._language.signs.finditer(self._text):
            self._read(match.lastgroup or "", match[0], *match.span())
        return sorted(self._marks)

    def _read(self, group: str, sign: str, start: int, end: int) -> None:
        role, _, key = group.partition("_")
        if role == "gap":
            self._open.clear()
            self._count.clear()
        elif role in ("alone", "name", "joined"):
            shown = self._language.shown.get(sign, self._language.shown.get(sign.removesuffix("{}"), ""))
            self._marks.append(Mark(start, end, shown))
            if role == "joined":
                self._join_arguments(end)
        elif role == "escape":
            self._marks.append(Mark(start, start + 1))
        elif role == "tag":
            self._tag(sign, start, end)
        elif role in ("open", "keep", "macro", "brace", "aside"):
            is_argument = role == "brace" and start > 0 and self._text[start - 1] in "}]^_"
            key = key or _CLOSED_BY[sign.rstrip()[-1]]
            kind: MarkKind = "aside" if role == "aside" else "sign"
            is_shown = role == "keep" or is_argument
            self._begin(key, start, end, is_shown=is_shown, kind=kind, is_macro=role == "macro")
        elif role == "close":
            self._close(key or sign.rstrip("_")[-1], start, end)
        else:
            self._signs(role, sign, start, end)

    def _tag(self, sign: str, start: int, end: int) -> None:
        """Open or close a tag, such as ``[b]`` or ``<ref name="a">``."""
        name = _NAME.search(sign)
        key = f"<{name[0].lower()}" if name else sign
        if sign[1] == "/":
            self._close(key, start, end)
        else:
            self._begin(key, start, end, kind="aside" if key == "<ref" else "sign")

    def _join_arguments(self, start: int) -> None:
        """Mark the spaces between the arguments of a macro, which are shown as one word."""
        end = self._text.find("\n", start)
        quoted = False
        for match in _BETWEEN_ARGUMENTS.finditer(self._text, start, len(self._text) if end < 0 else end):
            quoted ^= match[0] == '"'
            if match[0] == '"' or not quoted:
                self._marks.append(Mark(*match.span()))

    def _signs(self, role: str, sign: str, start: int, end: int) -> None:
        """Handle signs that may open or close."""
        before, behind = self._text[start - 1 : start], self._text[end : end + 1]
        closes = bool(before) and not before.isspace() and (role == "free" or not behind.isalnum())
        opens = bool(behind) and not behind.isspace() and (role == "free" or not before.isalnum())
        if not (closes and self._close(sign, start, end, is_code=role == "code")) and opens:
            self._begin(sign, start, end)

    def _begin(
        self,
        key: str,
        start: int,
        end: int,
        *,
        is_shown: bool = False,
        kind: MarkKind = "sign",
        is_macro: bool = False,
    ) -> None:
        self._open.append(_Opener(key, start, end, is_shown, kind, is_macro))
        self._count[key] += 1

    def _close(self, key: str, start: int, end: int, *, is_code: bool = False) -> bool:
        """Mark a pair, and drop everything that was opened inside it. Returns False if this sign closes
        nothing."""
        if not self._count[key]:
            return False
        number = len(self._open) - 1
        while self._open[number].key != key:
            number -= 1
        if self._open[number].end == start:
            return False
        opener = self._open[number]
        self._count.subtract([inner.key for inner in self._open[number:]])
        del self._open[number:]
        if is_code:
            while self._marks and self._marks[-1].start > opener.start:
                self._marks.pop()
        if not (opener.is_shown or (opener.is_macro and self._text.startswith("{", end))):
            around = (" (", ")") if opener.kind == "aside" else ("", "")
            self._marks.append(Mark(opener.start, opener.end, around[0], opener.kind))
            self._marks.append(Mark(start, end, around[1], opener.kind, opener.start))
        return True


def _of_xml(text: str) -> Iterator[Mark]:
    """Yield the tags, comments and references of XML. A tag between two words is shown as a space, unless it
    is an inline tag."""
    opened: dict[str, int] = {}
    for match in _OF_XML.finditer(text):
        start, end = match.span()
        name = match["name"]
        if match[0][0] == "&":
            yield Mark(start, end, html.unescape(match[0]), "reference")
        elif name is None:
            yield Mark(start, end, "", "comment")
        elif name.lower() not in _NAMES_OF_INLINE:
            is_end_of_cell = match["end"] and name.lower() in _CELLS
            gap = "" if text[end : end + 1] in _BEHIND_WORDS else " "
            yield Mark(start, end, " | " if is_end_of_cell else gap, "tag")
        elif match["end"]:
            yield Mark(start, end, "", "tag", opener=opened.pop(name, -1))
        else:
            opened[name] = start
            yield Mark(start, end, "", "tag")
