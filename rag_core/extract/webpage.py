"""HTML → the visible text under its headings. Nothing is fetched, and no script is run."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rag_core.extract.building import Builder, one_line
from rag_core.extract.ruby import Readings

if TYPE_CHECKING:
    from lxml.etree import _Element

_UNSEEN = frozenset(
    "head math script style noscript template iframe object canvas nav datalist audio video meter progress"
    " noframes noembed defs desc title symbol metadata".split()
)
_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption"
    " figure footer form header hr html legend li main ol p pre section select summary table tbody tfoot"
    " thead tr ul".split()
)
_IN_ROWS = frozenset(("td", "th", "option"))
_OF_DRAWINGS = frozenset(("text", "foreignobject"))
_UNSHOWN_INPUTS = frozenset("hidden password checkbox radio file range color image".split())
_NUMBER_OF_NOTE = re.compile(r"\s*[\[(]?(?:\d{1,3}|[a-z]|[*†‡§]{1,3})[\])]?\s*")
_KIND_OF_NOTE = re.compile(r"\b(?:noteref|doc-noteref|footnote-ref)\b")
_QUOTES = ("“”", "‘’")
_DEEPEST_FRAME = 3
_HEADING = re.compile(r"h[1-6]")
_BREAK = "\u2028"  # replaces <br> until white space is normalized
_LONG_TAG = re.compile(r"<[A-Za-z][^<>]{10000,}>?")
_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s{0,9}>|\Z)|<(?P<end>/?)(?P<name>[A-Za-z][\w:-]*+)[^<>]*>",
    re.I | re.S,
)
_WITHOUT_END = frozenset("area base br col embed frame hr img input link meta param source track wbr".split())
_ENDS_ITSELF = frozenset("p li dt dd option".split())
"""Elements that end where the next one of their kind begins."""
_DEEPEST = 500
"""Depth of elements from which on their tags are left out of a page that is deeper than libxml2 reads."""
_MOST_ATTRIBUTES = 1000
"""Words of a tag that libxml2 is given: it compares each attribute with all before it."""
_MOST_CHOICES = 12
"""Choices of a list that are read where none is selected."""
_MAY_HIDE = re.compile(r"\b(?:hidden|none)\b", re.I)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)


@dataclass(frozen=True, slots=True)
class Page:
    """A web page."""

    title: str  #: Its title; '' if it has none.
    blocks: list[tuple[int, str]]  #: (level of the heading, 0 for other text; text) of each block.
    readings: list[str] = field(
        default_factory=list
    )  #: A line for each word with ruby: the word, its reading.

    @property
    def first_heading(self) -> str:
        """Its first heading in one line, or '' if it has none."""
        return one_line(next((text for level, text in self.blocks if level), ""))

    def add_to(self, builder: Builder) -> None:
        """Add its blocks to a document."""
        for level, text in self.blocks:
            if level:
                builder.heading(level, text)
            else:
                builder.add(text)


def visible_page(markup: str, depth: int = 0) -> Page:
    """Return the visible part of a web page. ``depth`` is the number of frames around it, 0 for a page that
    is in no frame."""
    from lxml import etree  # only now: it is slow to import

    root = page_tree(markup)
    if root is None:
        return Page("", [])
    _hide_choices(root)
    blocks = _Blocks(depth)
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "start":
            blocks.begin(element, tag)
        else:
            blocks.end(element, tag)
    blocks.end_block()
    title = one_line(root.findtext(".//title") or "")
    return Page(title, blocks.found, blocks.readings.lines())


def page_tree(markup: str) -> _Element | None:
    """Return the root element of a web page, or None if the page is empty."""
    markup = _LONG_TAG.sub(_without_crowd, markup)
    if not markup.strip():
        return None
    root, is_cut = _parsed(markup)
    return _parsed(_flattened(markup))[0] if is_cut else root


def _parsed(markup: str) -> tuple[_Element | None, bool]:
    """Return the elements of a web page, and whether they are too deep for libxml2, which leaves out the
    rest of the page then."""
    from lxml import etree  # only now: it is slow to import

    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, no_network=True, huge_tree=True
    )
    root = etree.fromstring(markup.encode("utf-8", "replace"), parser)
    return root, any("depth" in error.message for error in parser.error_log)


def _flattened(markup: str) -> str:
    """Return a web page without the tags of its deepest elements. Blocks among them begin in a new line."""
    above: list[tuple[str, bool]] = []  # name of each open element, and whether its tags are kept
    counts = Counter[str]()

    def flat(match: re.Match[str]) -> str:
        name = (match["name"] or "").lower()
        if not name or name in _WITHOUT_END or match[0].endswith("/>"):
            return match[0]
        instead = "<br>" if name in _BLOCKS else ""
        if match["end"]:
            is_kept = not counts[name]
            while counts[name] and (last := above.pop()):
                counts[last[0]] -= 1
                is_kept = last[1]
                if last[0] == name:
                    break
            return match[0] if is_kept else instead
        if name in _ENDS_ITSELF and above and above[-1][0] == name:
            counts[above.pop()[0]] -= 1
        is_kept = len(above) < _DEEPEST or name in _UNSEEN or bool(_MAY_HIDE.search(match[0]))
        above.append((name, is_kept))
        counts[name] += 1
        return match[0] if is_kept else instead

    return _TAG.sub(flat, markup)


def _without_crowd(tag: re.Match[str]) -> str:
    """Return the tag, or '' if it has too many attributes."""
    return tag[0] if len(tag[0].split(None, _MOST_ATTRIBUTES)) <= _MOST_ATTRIBUTES else ""


class _Blocks:
    """Collects the blocks of a page while its elements begin and end."""

    def __init__(self, depth: int) -> None:
        self.found: list[tuple[int, str]] = []
        self.readings = Readings()
        self._depth = depth
        self._quotes = 0  # elements for quotes that are open
        self._ruby: _Ruby | None = None
        self._words: list[str] = []
        self._level = self._hidden = self._preformatted = 0
        self._cell: _Element | None = None  # a cell with a single text, whose inner blocks do not count

    def begin(self, element: _Element, tag: str) -> None:
        if tag == "math" and not self._hidden:
            from rag_core.extract import equations  # only now: few pages have one

            self._words.append(f" {equations.linear(element)} ")
        if tag == "iframe" and not self._hidden:
            self._frame(element)
        self._hidden += _is_unseen(element, tag)
        if tag in ("td", "th") and self._cell is None and _is_one_text(element):
            self._cell = element
        is_heading = bool(_HEADING.fullmatch(tag))
        if is_heading or self._is_block(tag):
            self.end_block()
            self._level = int(tag[1]) if is_heading else 0
            self._preformatted += tag == "pre"
        if tag == "ruby" and not self._hidden:
            self._ruby = _Ruby()
        if self._ruby:
            self._words.append(self._ruby.begin(tag, element.text or ""))
        elif not self._hidden:
            if tag == "q":
                self._words.append(_QUOTES[self._quotes % 2][0])
                self._quotes += 1
            self._words += [_BREAK if tag == "br" else element.text or "", _shown_value(element, tag)]

    def end(self, element: _Element, tag: str) -> None:
        if _HEADING.fullmatch(tag) or self._is_block(tag):
            self.end_block()
            self._level = 0
            self._preformatted -= tag == "pre"
        elif tag in _IN_ROWS and not self._hidden:
            self._words.append(" | ")
        elif tag == "q" and self._quotes and not self._hidden:
            self._quotes -= 1
            self._words.append(_QUOTES[self._quotes % 2][1])
        elif tag == "tspan" and ("x" in element.attrib or "dy" in element.attrib):
            self._words.append(" ")
        if element is self._cell:
            self._cell = None
        self._hidden -= _is_unseen(element, tag)
        if tag == "ruby" and self._ruby:
            self.readings.add(self._ruby.base, self._ruby.reading)
            self._ruby = None
        if self._ruby:
            self._words.append(self._ruby.end(tag, element.tail or ""))
        elif not self._hidden and element.tail:
            self.readings.end(element.tail)
            self._words.append(element.tail)

    def _frame(self, element: _Element) -> None:
        """Add the page that is written in an attribute of a frame."""
        markup = element.get("srcdoc", "")
        if markup and not _is_hidden(element) and self._depth < _DEEPEST_FRAME:
            self.end_block()
            self.found += visible_page(markup, self._depth + 1).blocks

    def _is_block(self, tag: str) -> bool:
        return (tag in _BLOCKS and self._cell is None) or tag in _OF_DRAWINGS

    def end_block(self) -> None:
        self.readings.end()
        text = "".join(self._words)
        self._words.clear()
        if self._preformatted:
            text = text.replace(_BREAK, "\n")
        else:  # collapse white space as a browser does
            text = "\n".join(" ".join(line.split()) for line in text.split(_BREAK)).strip(" |\n")
        if text.strip():
            self.found.append((self._level, text))


class _Ruby:
    """A word with its reading. Text in ``rt`` is the reading, text in ``rp`` is not shown, and all other text
    is the word. An end tag may be missing."""

    def __init__(self) -> None:
        self.base = self.reading = ""
        self._part = ""

    def begin(self, tag: str, text: str) -> str:
        """Begin an element with this text. Returns the text that is shown."""
        if tag in ("rt", "rtc", "rp", "rb"):
            self._part = tag
        return self._shown(text)

    def end(self, tag: str, text: str) -> str:
        """End an element with the text after it. Returns the text that is shown."""
        if tag in ("rt", "rtc", "rp", "rb"):
            self._part = ""
        return self._shown(text)

    def _shown(self, text: str) -> str:
        if self._part in ("rt", "rtc"):
            self.reading += text
        if self._part not in ("", "rb"):
            return ""
        text = "" if text.isspace() else text
        self.base += text
        return text.strip() if not text.isascii() else text


def _is_one_text(cell: _Element) -> bool:
    """Whether a cell contains at most one paragraph, with nothing before or after it."""
    from lxml import etree  # only now: it is slow to import

    texts, goes_on = 0, False
    for event, element in etree.iterwalk(cell, events=("start", "end", "comment")):
        tag = str(element.tag)
        if tag in _BLOCKS or _HEADING.fullmatch(tag):
            goes_on = False
        text = element.text if event == "start" else None if element is cell else element.tail
        if text and text.strip():
            texts += not goes_on
            goes_on = True
        if texts > 1:
            return False
    return True


def _hide_choices(root: _Element) -> None:
    """Hide the choices of each list that are not selected; of a long list without a selection, all."""
    lists: list[list[_Element]] = [[]]
    for element in root.iter("select", "datalist", "option"):
        if element.tag == "option":
            lists[-1].append(element)
        else:
            lists.append([])
    for choices in lists:
        is_selected = ["selected" in choice.attrib for choice in choices]
        if not any(is_selected) and len(choices) <= _MOST_CHOICES:
            continue
        for choice, stays in zip(choices, is_selected, strict=True):
            if not stays:
                choice.set("hidden", "")


def _shown_value(element: _Element, tag: str) -> str:
    """Return what an attribute has a browser show: the words of a picture, or what stands in a field."""
    value = element.get("alt", "") if tag == "img" else ""
    if tag == "input" and element.get("type", "").lower() not in _UNSHOWN_INPUTS:
        value = element.get("value", "") or element.get("placeholder", "")
    elif tag == "textarea" and not (element.text or "").strip():
        value = element.get("placeholder", "")
    return f" {value} " if value else ""


def _is_hidden(element: _Element) -> bool:
    return "hidden" in element.attrib or bool(_HIDDEN.search(element.get("style", "")))


def _is_unseen(element: _Element, tag: str) -> bool:
    is_closed = tag == "dialog" and "open" not in element.attrib
    return tag in _UNSEEN or is_closed or _is_hidden(element) or _is_number_of_note(element, tag)


def _is_number_of_note(element: _Element, tag: str) -> bool:
    """Whether an element is only a raised number that leads to a note, which would become part of the word
    before it."""
    inner = element[0] if tag in ("a", "sup") and len(element) == 1 else None
    link = element if tag == "a" else inner
    if link is None or "#" not in link.get("href", ""):
        return False
    kinds = f"{link.get('role')} {link.get('epub:type')} {link.get('class')}"
    is_raised = inner is not None and {tag, inner.tag} == {"a", "sup"}
    is_number = is_raised or bool(_KIND_OF_NOTE.search(kinds))
    return is_number and bool(_NUMBER_OF_NOTE.fullmatch("".join(element.itertext())))
