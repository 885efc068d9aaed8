"""Finds the parts of a Markdown paragraph that a reader does not see: signs of emphasis, links, code and
HTML.

The rules are those of CommonMark 0.31. Wikilinks, highlights, footnotes and block ids follow Obsidian. One
pass over the signs classifies each of them, so a hostile note takes no longer than any other note of its
length.
"""

from __future__ import annotations

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

MarkKind = Literal["sign", "tag", "reference", "comment", "line", "aside"]


class Mark(NamedTuple):
    """A span of the source that is shown differently from how it is written."""

    start: int
    end: int
    shown: str = ""  #: The text that is shown instead.
    kind: MarkKind = "sign"
    opener: int = -1  #: For a sign that closes an emphasis, the offset of the sign that opens it.


INLINE_TAGS = (
    "a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q s samp small span strike strong"
    " sub sup time tt u var wbr"
).replace(" ", "|")
_BLOCK_TAGS = (
    "address article aside blockquote br caption center col colgroup dd details div dl dt figcaption figure"
    " footer h1 h2 h3 h4 h5 h6 header hr img li main nav ol p picture pre section source summary table tbody"
    " td tfoot th thead tr ul video"
).replace(" ", "|")
_VALUE = r"""[^<>"']|"[^"<]*"|'[^'<]*'"""
TAG = re.compile(rf"</?(?:({INLINE_TAGS})|{_BLOCK_TAGS})(?:\s(?:{_VALUE})*)?/?>", re.I)
"""An HTML tag. For an inline element, the first group is its name."""
REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
WIKILINK = re.compile(r"(!?)\[\[([^\[\]\n]+)\]\]")
FOOTNOTE = re.compile(r"\[\^([^\[\]\s]+)\](?!:)")
"""A reference to a footnote."""
BLOCK_ID = re.compile(r"[ \t]\^[\w-]+$")
DESTINATION = re.compile(
    r"\(\s*+(?:<([^<>\n]*)>|([^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*))"
    r"(?:\s++(?:\"[^\"]*\"|'[^']*'))?\s*+\)"
)
"""The destination of a link, in brackets after its text."""
MOST_OF_A_DESTINATION = 2_000
PICTURE_NAME = re.compile(r"\.(?:png|jpe?g|gif|webp)$", re.I)

_HAS_MARKUP = re.compile(r"[\[\]*_~=`\\<&^]")
_SIGN = re.compile(r"\\[!-/:-@\[-`{-~\n]|`+|\*+|_+|~+|=+|!?\[|\]|<|&")
_AUTOLINK = re.compile(
    r"<(?:(?:https?|ftp|mailto|file|obsidian):[^<>\s]*|[\w.+-]{1,64}@[\w.-]{1,255})>", re.I
)
_LABEL = re.compile(r"\[[^\[\]\n]*\]")
_RUNS = re.compile("`+")


def inline_marks(text: str, start: int, end: int, *, pictures: bool = False) -> list[Mark]:
    """Return the marks of the paragraph ``text[start:end]``, in order and disjoint. With ``pictures``,
    pictures are shown as their alternative texts."""
    if not _HAS_MARKUP.search(text, start, end):
        return []
    scanner = _Scanner(text, start, end, pictures)
    scanner.scan()
    return scanner.in_order()


def code_spans(text: str, start: int = 0, end: int | None = None) -> list[tuple[int, int, int]]:
    """Return (start, end, number of backticks on each side) of each code span of a paragraph."""
    runs = [match.span() for match in _RUNS.finditer(text, start, len(text) if end is None else end)]
    by_length: dict[int, list[int]] = {}
    for index in range(len(runs) - 1, -1, -1):
        by_length.setdefault(runs[index][1] - runs[index][0], []).append(index)
    spans: list[tuple[int, int, int]] = []
    index = 0
    while index < len(runs):
        begin, stop = runs[index]
        same = by_length[stop - begin]
        while same and same[-1] <= index:
            same.pop()
        if same and not (begin > start and text[begin - 1] == "\\"):
            index = same[-1]
            spans.append((begin, runs[index][1], stop - begin))
        index += 1
    return spans


def wikilink(written: str) -> tuple[str, str, str]:
    """Return the target, the heading and the label of a wikilink, each '' if missing, given the text in its
    brackets: ``target#heading|label``."""
    target, _, label = written.partition("|")
    target, _, heading = target.removesuffix("\\").partition("#")  # in tables it is written [[a\|b]]
    return target.strip(), heading.strip(), label.strip()


def label_of(written: str) -> str:
    """Return the text that is shown for a wikilink, given the text in its brackets: its label, or without one
    ``target › heading``."""
    target, heading, label = wikilink(written)
    return label or " › ".join([name for name in (target, heading) if name])


@dataclass(slots=True)
class _Run:
    """A run of equal signs that may open or close an emphasis."""

    start: int
    length: int  #: Number of unused signs. Opening signs are used from the end, closing signs from the start.
    sign: str
    opens: bool
    closes: bool
    total: int


@dataclass(slots=True)
class _Bracket:
    """A bracket that may begin a link."""

    start: int
    end: int
    runs: int  #: Number of runs that were open before the bracket.


@dataclass(slots=True)
class _Scanner:
    text: str
    start: int
    end: int
    pictures: bool
    marks: list[Mark] = field(default_factory=list)
    _runs: list[_Run] = field(default_factory=list)
    _brackets: list[_Bracket] = field(default_factory=list)
    _after_link: int = 0  #: Brackets below this index contain a link, and so cannot be links themselves.

    def scan(self) -> None:
        """Find all marks."""
        code = code_spans(self.text, self.start, self.end) if "`" in self.text else []
        starts = [span[0] for span in code]
        place = self.start
        while match := _SIGN.search(self.text, place, self.end):
            begin, place = match.span()
            sign = match[0]
            if sign[0] == "`":
                number = bisect_right(starts, begin) - 1
                if number >= 0 and starts[number] == begin:
                    place = self._code(code[number])
            elif sign[0] == "\\":
                self.marks.append(Mark(begin, begin + 1))
            elif sign[0] in "*_~=":
                self._runs += self._run(begin, sign)
            elif sign == "<":
                place = self._tag(begin)
            elif sign == "&":
                place = self._reference(begin)
            elif sign == "]":
                place = self._close(begin)
            else:
                place = self._open(begin, place)
        self._pair(0)
        if block_id := BLOCK_ID.search(self.text, max(self.start, self.end - 100), self.end):
            self.marks.append(Mark(*block_id.span()))

    def in_order(self) -> list[Mark]:
        """Return the marks in order. If one mark is inside another, only the outer one is returned."""
        ordered: list[Mark] = []
        for mark in sorted(self.marks, key=lambda mark: (mark.start, -mark.end)):
            if not ordered or mark.start >= ordered[-1].end:
                ordered.append(mark)
        return ordered

    def _code(self, span: tuple[int, int, int]) -> int:
        start, end, width = span
        first, last = start + width, end - width
        inside = self.text[first:last]
        if inside.strip() and inside[0] == " " == inside[-1]:
            first, last = first + 1, last - 1
        self.marks += Mark(start, first), Mark(last, end)
        return end

    def _tag(self, start: int) -> int:
        """Mark a tag, or the brackets of an address. Returns the offset after it."""
        if match := TAG.match(self.text, start, self.end):
            self.marks.append(Mark(*match.span(), instead(match[0]), "tag"))
        elif match := _AUTOLINK.match(self.text, start, self.end):
            self.marks += Mark(start, start + 1), Mark(match.end() - 1, match.end())
        return match.end() if match else start + 1

    def _reference(self, start: int) -> int:
        match = REFERENCE.match(self.text, start, self.end)
        if match is None:
            return start + 1
        if (shown := html.unescape(match[0])) != match[0]:
            self.marks.append(Mark(*match.span(), shown, "reference"))
        return match.end()

    # --- links ---------------------------------------------------------------------------

    def _open(self, start: int, end: int) -> int:
        """Record an opening bracket, or mark a wikilink or footnote. Returns the offset after it."""
        if match := WIKILINK.match(self.text, start, self.end):
            self._wikilink(match)
            self._after_link = max(self._after_link, 0 if match[1] else len(self._brackets))
            return match.end()
        bracket = end - 1
        if match := FOOTNOTE.match(self.text, bracket, self.end):
            self.marks.append(Mark(bracket, match.end()))
            return match.end()
        self._brackets.append(_Bracket(start, end, len(self._runs)))
        return end

    def _wikilink(self, match: re.Match[str]) -> None:
        target, heading, label = wikilink(match[2])
        if match[1] and PICTURE_NAME.search(target):
            self.marks.append(Mark(*match.span()))
        elif label:
            first = self.text.rindex(label, *match.span(2))
            self.marks += Mark(match.start(), first), Mark(first + len(label), match.end())
        elif not heading:
            first = self.text.index(target, *match.span(2)) if target else match.end(2)
            self.marks += Mark(match.start(), first), Mark(first + len(target), match.end())
        else:
            self._to_heading(match, target, heading)

    def _to_heading(self, match: re.Match[str], target: str, heading: str) -> None:
        """Mark a link to a heading, which is shown as ``note › heading``."""
        hash_sign = self.text.index("#", *match.span(2))
        second = self.text.index(heading, hash_sign + 1)
        if target:
            first = self.text.index(target, match.start(2))
            self.marks += Mark(match.start(), first), Mark(first + len(target), second, " › ")
        else:
            self.marks.append(Mark(match.start(), second))
        self.marks.append(Mark(second + len(heading), match.end()))

    def _close(self, start: int) -> int:
        """Mark the link that a closing bracket ends, if it ends one. Returns the offset after it."""
        if not self._brackets:
            return start + 1
        opened = self._brackets.pop()
        is_picture = self.text[opened.start] == "!"
        holds_link = len(self._brackets) < self._after_link
        self._after_link = min(self._after_link, len(self._brackets))
        if holds_link and not is_picture:
            return start + 1
        end = self._end_of_link(opened, start)
        if end is None:
            return start + 1
        self._pair(opened.runs)
        if is_picture and not self.pictures:
            self.marks.append(Mark(opened.start, end))
        else:
            self.marks += Mark(opened.start, opened.end), Mark(start, end)
        if not is_picture:
            self._after_link = len(self._brackets)
        return end

    def _end_of_link(self, opened: _Bracket, start: int) -> int | None:
        """Return the end of the link whose text ends at ``start``, or None if it is not a link."""
        limit = min(self.end, start + 1 + MOST_OF_A_DESTINATION)
        if match := DESTINATION.match(self.text, start + 1, limit):
            return match.end()
        before = self.text[opened.start - 1 : opened.start] if opened.start > self.start else ""
        is_index = before.isalnum() or before in (")", "]", "_")  # matrix[i][j]
        if start > opened.end and not is_index and (match := _LABEL.match(self.text, start + 1, limit)):
            return match.end()
        return None

    # --- emphasis ------------------------------------------------------------------------

    def _run(self, start: int, signs: str) -> list[_Run]:
        """Return ``signs`` as a run, or [] if they can neither open nor close an emphasis."""
        if (signs[0] == "=" and len(signs) != 2) or (signs[0] == "~" and len(signs) % 2):
            return []
        before = self.text[start - 1] if start > self.start else " "
        behind = self.text[start + len(signs)] if start + len(signs) < self.end else " "
        opens, closes = _flanks(before, behind, is_double=len(signs) > 1 and signs[0] != "_")
        if signs[0] == "_":
            opens, closes = (
                opens and (not closes or _is_sign(before)),
                closes and (not opens or _is_sign(behind)),
            )
        return [_Run(start, len(signs), signs[0], opens, closes, len(signs))] if opens or closes else []

    def _pair(self, first: int) -> None:
        """Mark the pairs among the runs from index ``first`` on, then drop these runs."""
        opened: list[_Run] = []
        least: dict[tuple[str, bool, int], int] = {}  # runs below this index cannot open such a run
        for run in self._runs[first:]:
            while run.closes and run.length:
                key = run.sign, run.opens, run.total % 3
                bottom = min(least.get(key, 0), len(opened))
                index = len(opened) - 1
                while index >= bottom and not _fit(opened[index], run):
                    index -= 1
                if index < bottom:
                    least[key] = len(opened)
                    break
                self._mark_pair(opened[index], run)
                del opened[index + (opened[index].length > 0) :]
                least = {known: min(height, len(opened)) for known, height in least.items()}
            if run.opens and run.length:
                opened.append(run)
        del self._runs[first:]

    def _mark_pair(self, opener: _Run, closer: _Run) -> None:
        used = 2 if min(opener.length, closer.length) > 1 else 1
        end = opener.start + opener.length
        self.marks.append(Mark(end - used, end))
        self.marks.append(Mark(closer.start, closer.start + used, opener=end - used))
        opener.length -= used
        closer.length -= used
        closer.start += used


def _fit(opener: _Run, closer: _Run) -> bool:
    """Whether two runs of signs can form a pair."""
    if opener.sign != closer.sign:
        return False
    if (opener.closes or closer.opens) and (opener.total + closer.total) % 3 == 0 and closer.sign in "*_":
        return opener.total % 3 == 0 and closer.total % 3 == 0
    return True


def _flanks(before: str, behind: str, *, is_double: bool) -> tuple[bool, bool]:
    """Return whether signs between two characters may open, and whether they may close. Double signs only
    need to touch the text: CommonMark requires a space or punctuation, and so misses ``**价格：**很高``."""
    opens, closes = not behind.isspace(), not before.isspace()
    if is_double:
        return opens, closes
    opens = opens and (not _is_sign(behind) or before.isspace() or _is_sign(before))
    return opens, closes and (not _is_sign(before) or behind.isspace() or _is_sign(behind))


def _is_sign(character: str) -> bool:
    return unicodedata.category(character)[0] in "PS"


def without_marks(text: str, marks: Sequence[Mark]) -> str:
    """Return ``text`` as it is shown, with each of the ``marks`` replaced. The marks must be in order and
    disjoint."""
    parts: list[str] = []
    place = 0
    for mark in marks:
        parts += text[place : mark.start], mark.shown
        place = mark.end
    return "".join([*parts, text[place:]])


def shown_line(text: str) -> str:
    """Return one line of Markdown, such as a heading, as it is shown. Pictures are replaced by their
    alternative texts."""
    return without_marks(text, inline_marks(text, 0, len(text), pictures=True))


def instead(written: str) -> str:
    """Return the text that is shown for an HTML tag, comment or character reference: a bar for the end of a
    table cell, a space for the tag of a block, the character for a reference, and otherwise ''."""
    if written.startswith("&"):
        return html.unescape(written)
    if written[:4].lower() in ("</td", "</th"):
        return " | "
    tag = TAG.match(written)
    return " " if tag and not tag[1] else ""
