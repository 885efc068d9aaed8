"""Finds the hidden signs of markup in Org, reStructuredText, AsciiDoc, LaTeX, BibTeX, XML and plain text.

Each language is described by one pattern of its signs. Each sign has one of a few roles. One stack pairs the
signs in a single pass. Markdown has more detailed rules and modules of its own: `rag_core.text.markup` and
`rag_core.text.inline`.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rag_core.text.inline import INLINE_TAGS, REFERENCE, Mark

_GAP = r"(?P<gap>\n[ \t]*(?=\n))"
_ADDRESS = r"(?<![^\s\[\]<>(*])(?:link:|xref:|mailto:|(?:https?|ftp)://)[^\s\[\]<>(*]{1,2000}+\["
# and the quotes and links of a wiki
_PLAIN = (
    r"(?P<pair>\*\*?(?!\*)|__?(?!_)|~~(?!~)|(?<!:)//(?!/))"
    r"|(?P<alone>'{2,5}(?=[\w\[])|(?<=[\w.,!?)\]])'{2,5}"
    r"|\[\[(?:[^\[\]|\n]{1,200}\|)?(?=\w)|(?<=[\w.!?)])\]\])"
)
_ORG = r"(?P<alone>\[fn:[\w-]{1,40}\])|(?P<open>[_^]\{)|(?P<close>\})|(?P<pair>[*/_+])|(?P<code>[=~])"
_RST = (
    r"(?P<escape>\\[*`|_])|(?P<alone>\\[ \n]|\[(?:\d{1,9}|[#*][\w-]{0,40}|[A-Za-z][\w.-]{0,40})\]_(?!\w))"
    r"|(?P<code>``)|(?P<open>:[\w.-]{1,40}:(?:[\w.-]{1,40}:)?`)|(?P<close>\s<[^<>`]{0,2000}>`_{0,2}"
    r"|(?<=\S)`_{1,2}(?!\w))"
    r"|(?P<pair>\*\*?(?!\*)|`)|(?P<name>(?<=\w)__?(?!\w))"
)
_ASCIIDOC = (
    rf"(?P<open>{_ADDRESS}|<<[^<>,\n]{{1,200}}+,[ ]?)|(?P<close>(?:\^|,\w{{1,20}}=[^\[\]\n]{{0,200}})?\]|>>)"
    r"|(?P<alone>\[\.?[\w-]{1,40}\](?=[#*_`]))|(?P<free>\*\*|__|``|\#\#|\^|~)|(?P<pair>[*_`\#])"
)
_SHAPES = (
    "emph text[a-z]{2,12} underline uline uwave sout mbox enquote title author caption"
    " (?:sub)*section chapter part (?:sub)?paragraph"
).replace(" ", "|")
_SWITCHES = (
    "bf it em tt rm sf sl sc bfseries itshape scshape ttfamily sffamily rmfamily upshape normalfont noindent"
    " tiny small footnotesize normalsize large Large LARGE huge item par centering newline"
).replace(" ", "|")
_UNSEEN = "label index begin end vspace hspace cite[a-z]{0,8} Cite[a-z]{0,8} (?:page|eq)?ref".replace(
    " ", "|"
)
_TEX = (
    r"(?P<escape>\\[%&_\#${}])"
    r"|(?P<alone>\\[-,;:!/ \\]|~|``|''|---?|\\(?:La)?TeX(?![A-Za-z])(?:\{\})?|\\l?dots(?![A-Za-z])(?:\{\})?"
    rf"|\\(?:{_SWITCHES})(?![A-Za-z])[ \t]{{0,9}}"
    rf"|\\(?:{_UNSEEN})\*?(?:\[[^\[\]\n]{{0,200}}\])?\{{[^{{}}\n]{{0,200}}\}})"
    rf"|(?P<open>\\(?:(?:{_SHAPES})\*?|href\{{[^{{}}\n]{{0,2000}}\}})[ ]?\{{)"
    rf"|(?P<keep>\\[A-Za-z]{{1,40}}\*?(?:\[[^\[\]\n]{{0,200}}\])?\{{)"
    r"|(?P<brace>\{)|(?P<close>\})"
)
_SHOWN_OF_TEX = {
    **dict.fromkeys((r"\,", r"\;", r"\:", "\\ ", "~", "\\\\"), " "),
    "``": "“",
    "''": "”",
    "--": "–",
    "---": "—",
    r"\TeX": "TeX",
    r"\LaTeX": "LaTeX",
    r"\ldots": "…",
    r"\dots": "…",
}
_CLOSED_BY = {"[": "]", "{": "}", ",": ">", "`": "`"}
"""Last sign of an opening of a link or command → last sign of its closing."""


class _Language(NamedTuple):
    signs: re.Pattern[str]  # each named group is a role, see `_Reader`
    shown: Mapping[str, str] = MappingProxyType({})


def _language(roles: str, shown: Mapping[str, str] = MappingProxyType({})) -> _Language:
    return _Language(re.compile(f"{_GAP}|{roles}"), shown)


_TEX_LANGUAGE = _language(_TEX, _SHOWN_OF_TEX)
_PLAIN_LANGUAGE = _language(_PLAIN)
_LANGUAGES = {
    "org": _language(_ORG),
    "rst": _language(_RST),
    "asciidoc": _language(_ASCIIDOC),
    "latex": _TEX_LANGUAGE,
    "bibtex": _TEX_LANGUAGE,
    "text": _PLAIN_LANGUAGE,
    "mail": _PLAIN_LANGUAGE,
}
MARKED_UP = frozenset({"org", "rst", "asciidoc"})
"""The types whose signs no program ever shows to a reader."""

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
    """Return the marks of a text in one of these languages, in order and disjoint. Other types have none."""
    if file_type == "xml":
        return [*_of_xml(text)]
    language = _LANGUAGES.get(file_type)
    return _Reader(text, language).marks() if language else []


class _Opener(NamedTuple):
    key: str
    start: int
    end: int
    is_shown: bool = False  # shown as written, because it is a command of the program


class _Reader:
    """One pass over the signs of a text. A sign has one of these roles:

    - ``gap`` ends a paragraph, and everything that is open in it.
    - ``pair`` opens and closes at the edge of a word.
    - ``code`` does so, too, and contains no markup.
    - ``free`` opens and closes anywhere.
    - ``open``, ``keep`` and ``brace`` are closed by ``close``.
    - ``alone`` is hidden by itself.
    - ``name`` follows a word.
    - ``escape`` is shown without its first character.
    """

    def __init__(self, text: str, language: _Language) -> None:
        self._text, self._language = text, language
        self._open: list[_Opener] = []
        self._count = Counter[str]()  # number of open signs by key
        self._marks: list[Mark] = []

    def marks(self) -> list[Mark]:
        """Return all marks in order."""
        for match in self._language.signs.finditer(self._text):
            self._read(match.lastgroup or "", match[0], *match.span())
        return sorted(self._marks)

    def _read(self, role: str, sign: str, start: int, end: int) -> None:
        if role == "gap":
            self._open.clear()
            self._count.clear()
        elif role in ("alone", "name"):
            shown = self._language.shown.get(sign, self._language.shown.get(sign.removesuffix("{}"), ""))
            self._marks.append(Mark(start, end, shown))
        elif role == "escape":
            self._marks.append(Mark(start, start + 1))
        elif role in ("open", "keep", "brace"):
            is_argument = role == "brace" and start > 0 and self._text[start - 1] in "}]^_"
            self._begin(_CLOSED_BY[sign.rstrip()[-1]], start, end, is_shown=role == "keep" or is_argument)
        elif role == "close":
            self._close(sign.rstrip("_")[-1], start, end)
        else:
            self._signs(role, sign, start, end)

    def _signs(self, role: str, sign: str, start: int, end: int) -> None:
        """Handle signs that may open or close."""
        before, behind = self._text[start - 1 : start], self._text[end : end + 1]
        closes = bool(before) and not before.isspace() and (role == "free" or not behind.isalnum())
        opens = bool(behind) and not behind.isspace() and (role == "free" or not before.isalnum())
        if not (closes and self._close(sign, start, end, is_code=role == "code")) and opens:
            self._begin(sign, start, end)

    def _begin(self, key: str, start: int, end: int, *, is_shown: bool = False) -> None:
        self._open.append(_Opener(key, start, end, is_shown))
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
        if not opener.is_shown:
            self._marks.append(Mark(opener.start, opener.end))
            self._marks.append(Mark(start, end, opener=opener.start))
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
