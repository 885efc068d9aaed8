"""Markdown → sections, tags and links, in one pass over the lines.

This is a scanner, not a parser: it distinguishes real headings, tags and links of CommonMark and Obsidian
from text that only looks like them. It never backtracks, so it takes time linear in the text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from urllib.parse import unquote

from rag_core.extract import frontmatter, note_apps, note_names
from rag_core.extract.filetypes import title_of_name
from rag_core.extract.markup import Heading, sections
from rag_core.text import markup, tags
from rag_core.text.inline import DESTINATION, MOST_OF_A_DESTINATION, code_spans, shown_line, wikilink
from rag_core.text.numbers import Span
from rag_core.types import Extracted, Link, LinkType, Segment, TitleSource

HEADING_LIMIT = 200
"""Maximum number of characters of a heading. A longer Setext paragraph is no heading."""

_ATX = re.compile(r" {0,3}(#{1,6})[ \t]+(.*)")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*\r?$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*\r?$")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|\r?$)")
_INDENTED = re.compile(r" {0,3}\t| {4}")

_BLOCKS = {"<!--": "-->", "$$": "$$", "%%": "%%"} | {
    f"<{tag}": f"</{tag}>" for tag in ("pre", "script", "style", "textarea")
}
"""Beginning of a block without headings → its end."""
_BLOCK_START = r"^[ \t>]*(<!--|\$\$|%%|<(?:pre|script|style|textarea)(?=[\s>]))"
_BLOCK = re.compile(_BLOCK_START)
_BLOCK_OR_COMMENT = re.compile(_BLOCK_START + "|(<!--)")

_HTML_TAG = re.compile(r"<[A-Za-z/][^<>]*>")
_BRACKET = re.compile(r"\\.|[\[\]]", re.S)
_URL = re.compile(r"(?![A-Za-z]:[\\/])(?:[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\)")  # C:/notes is not a URL

# Obsidian's own exclusions (ASCII and general punctuation, spaces) and the full-width ones;
# the zero-width joiner U+200D stays, because emoji contain it.
_TAG = re.compile(
    r"(?:(?<=\s)|^)#([^\s\x00-\x1f!-,.:-@\[-^`{-~\u2000-\u200c\u200e-\u206f\u2e00-\u2e7f\u3000-\u303f"
    r"\uff00-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]+)"
)
_TAG_OF_WORDS = re.compile(r"(?<![^\s(])#\[\[([^\[\]\n]{1,100})\]\]")
"""A Logseq tag: ``#[[two words]]``."""
_NOT_A_NAME = re.compile(r"[\d/-]+")


def read(text: str, path: PurePosixPath, encoding: str, warning: str) -> Extracted:
    """Return a Markdown document. Its title comes from ``path`` if neither front matter nor a heading has
    one. ``encoding`` and ``warning`` tell how the text was decoded."""
    front = frontmatter.read_frontmatter(text)
    page = note_apps.page(text, front.body, of_notion=note_names.is_of_notion(path.name))
    text, values = page.text, {**page.values, **front.values}
    outline = _outline(text, page.body)
    segments = sections(outline.headings, page.body, len(text), marked=True)
    if not front.readable:
        segments = (Segment(0, front.body), *segments)
    title_from: TitleSource = "file name"
    if title := frontmatter.title(values):
        title_from = "front matter"
    elif outline.headings and (first := min(outline.headings, key=lambda heading: heading.level)).level < 3:
        title, title_from = first.text, "heading" if first.level == 1 else "section"
    tagged = [*frontmatter.tags_in(values), *page.tags, *note_names.tags_of_name(path.name), *outline.tags]
    kept, left_out = tags.bounded(frontmatter.unique(tagged))
    return Extracted(
        text=text,
        file_type="markdown",
        encoding=encoding,
        title=title or title_of_name(path),
        title_from=title_from,
        segments=segments,
        aliases=frontmatter.aliases_in(values),
        tags=kept,
        links=tuple(outline.links),
        date=frontmatter.dated(values)[1],
        private=front.private,
        metadata=values,
        warnings=tuple(filter(None, (warning, front.warning, front.unsure, left_out))),
    )


def _outline(text: str, body: int) -> _Scanner:
    """Return the headings, tags and links of a document whose text begins at ``body``."""
    outline = _Scanner(text)
    position = 0
    if "[[" in text[:body]:  # links in properties count, too
        for line in text[:body].split("\n"):
            outline.links += _links(line, line, position)[0]
            position += len(line) + 1
    newline = "\n" if "\n" in text or "\r" not in text else "\r"
    position = body
    for line in text[position:].split(newline):
        outline.line(line, position)
        position += len(line) + 1
    return outline


def _plain(heading: str) -> str:
    """Return the text of a heading without inline markup and without tags at its end."""
    words = heading[: 5 * HEADING_LIMIT].replace("\0", "").split()
    while len(words) > 1 and words[-1].startswith("#") and _tags(words[-1]) == [words[-1][1:]]:
        words.pop()
    heading = " ".join(words)
    return " ".join(shown_line(heading).split())[:HEADING_LIMIT].rstrip()


@dataclass(slots=True)
class _Scanner:
    """The outline so far, and the constructs that are open between two lines: a fence, a block, a paragraph,
    a list."""

    text: str
    headings: list[Heading] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    _fence: str = ""
    _fence_quoted: bool = False
    _skip_to: int = -1
    _never_closed: set[str] = field(default_factory=set)
    _paragraph: int = -1
    _after_blank: bool = True
    _in_list: bool = False

    def line(self, line: str, start: int) -> None:
        """Read the line at the offset ``start``."""
        if self._fence and self._still_fenced(line):
            return
        if start < self._skip_to:
            tail = self._skip_to - start
            if tail < len(line):
                self._inline(line[tail:], self._skip_to)
            return
        if not line or line.isspace():
            self._paragraph, self._after_blank = -1, True
            return
        first = line[0]
        if first in " \t" and self._after_blank and not self._in_list and _INDENTED.match(line):
            return  # code
        fence = markup.fence(line) if "```" in line or "~~~" in line else None
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence, self._fence_quoted = fence[1], line.lstrip().startswith(">")
            self._paragraph, self._after_blank = -1, True
            return
        if first in " \t>$%<" or "<!--" in line:
            line = self._hide_blocks(line, start)
        if not (first in " #=-" and self._is_heading(line, start)):
            self._follow_paragraph(line, start)
        self._after_blank = False
        if "[" in line or "#" in line:
            self._inline(line, start)

    def _still_fenced(self, line: str) -> bool:
        """Close the fence at its closing line, or where its quotation ends. Returns whether it is still
        open."""
        content = line.strip()
        if self._fence_quoted:
            if not content.startswith(">"):
                self._fence = ""
                return False
            content = content.lstrip("> \t")
        if content.startswith(self._fence) and not content.strip(self._fence[0]):
            self._fence = ""
        return True

    def _hide_blocks(self, line: str, start: int) -> str:
        """Return the line with comments, formulas and raw HTML blanked out. If a block continues on the next
        line, the line is cut there."""
        parts, at = [], 0
        pattern = _BLOCK if "`" in line else _BLOCK_OR_COMMENT
        while match := pattern.search(line, at):
            opener = match[match.lastindex or 0]
            begin, closer = match.start(match.lastindex or 0), _BLOCKS[opener]
            parts.append(line[at:begin])
            at = begin + len(opener)
            end = -1 if closer in self._never_closed else self.text.find(closer, start + at)
            if end < 0:  # a block that is never closed hides only its mark
                self._never_closed.add(closer)
            else:
                self._skip_to = end + len(closer)
                at = self._skip_to - start
            if at > len(line):
                self._paragraph = -1
                return "".join(parts)
            parts.append("\0" * (at - begin))
        return "".join(parts) + line[at:]

    def _is_heading(self, line: str, start: int) -> bool:
        """Whether a line is a heading or the underline of one. The heading is then added."""
        if atx := _ATX.match(line):
            level, name = len(atx[1]), _CLOSING_HASHES.sub("", atx[2][: 5 * HEADING_LIMIT])
        elif self._paragraph < 0 or not _SETEXT.match(line) or start - self._paragraph > 2 * HEADING_LIMIT:
            return False
        else:
            level, name = 1 if "=" in line else 2, self.text[self._paragraph : start]
            start = self._paragraph
        name = _plain(name)
        if atx and not name:
            return False
        self.headings.append(Heading(start, level, name))
        self._in_list, self._paragraph = False, -1
        return True

    def _follow_paragraph(self, line: str, start: int) -> None:
        """Track lists, and the paragraph that a Setext underline would turn into a heading."""
        if _LIST_ITEM.match(line) and not _RULE.match(line):
            self._in_list, self._paragraph = True, -1
            return
        if self._after_blank and line[:1] not in {"", " ", "\t"}:
            self._in_list = False
        if self._in_list or line[:1] in {"", ">", "|", "\0"} or _RULE.match(line):
            self._paragraph = -1
        elif self._paragraph < 0:
            self._paragraph = start

    def _inline(self, line: str, start: int) -> None:
        hidden = _hide_code(line) if "`" in line else line
        if "#[[" in hidden:
            self.tags += [match[1].strip() for match in _TAG_OF_WORDS.finditer(hidden)]
        if "[" in hidden:
            found, hidden = _links(line, hidden, start)
            self.links += found
        if "#" in hidden:
            self.tags += _tags(hidden)


# --- inside one line: every step is linear in its length ---------------------------------


def _hide_code(line: str) -> str:
    """Return ``line`` with its code spans blanked out, in the same length. Code that continues on the next
    line is not recognized."""
    return _blank(line, [(start, end) for start, end, _ in code_spans(line)])


def _links(line: str, hidden: str, start: int) -> tuple[list[Link], str]:
    """Return the links of a line at the offset ``start``, then the line with them blanked out. ``hidden`` is
    the line without its code."""
    wikilinks, hidden = _wikilinks(line, hidden, start)
    inline, hidden = _inline_links(line, hidden, start) if "](" in hidden else ([], hidden)
    return sorted([*wikilinks, *inline], key=lambda link: link.start), hidden


def _wikilinks(line: str, hidden: str, start: int) -> tuple[list[Link], str]:
    """Return the links ``[[note#heading|label]]``, as `_links` does."""
    links: list[Link] = []
    spans: list[Span] = []
    end = 0
    while (close := hidden.find("]]", end)) >= 0:
        begin = hidden.rfind("[[", end, close)
        end = close + 2
        if begin >= 0:
            spans.append((begin, end))
            target, heading, label = wikilink(line[begin + 2 : close])
            links.append(_link("wikilink", line, begin, start, target, heading, label))
    return links, _blank(hidden, spans)


def _inline_links(line: str, hidden: str, start: int) -> tuple[list[Link], str]:
    """Return the links ``[label](path#heading)``, as `_links` does."""
    links: list[Link] = []
    spans: list[Span] = []
    opened: list[int] = []
    end = 0
    while match := _BRACKET.search(hidden, end):
        end = match.end()
        if match[0] == "[":
            opened.append(match.start())
        elif match[0] == "]" and opened:
            begin = opened.pop()
            if inside := DESTINATION.match(hidden, end, end + MOST_OF_A_DESTINATION):
                label, end = line[begin + 1 : match.start()], inside.end()
                spans.append((begin, end))
                destination = inside[1] or inside[2]
                if destination and not _URL.match(destination):
                    path, _, heading = map(unquote, destination.partition("#"))
                    links.append(_link("markdown", line, begin, start, path, heading, label))
    return links, _blank(hidden, sorted(spans))


def _link(kind: LinkType, line: str, begin: int, start: int, target: str, heading: str, label: str) -> Link:
    is_embed = begin > 0 and line[begin - 1] == "!"
    return Link("embed" if is_embed else kind, target, heading, label.strip(), start + begin - is_embed)


def _tags(hidden: str) -> list[str]:
    """Return the ``#tags`` of a line, without ``#``. Code and links must be blanked out."""
    if "<" in hidden:
        hidden = _HTML_TAG.sub(lambda match: "\0" * len(match[0]), hidden)
    found: list[str] = []
    for each in _TAG.findall(hidden):
        tag = each.strip("/")
        if tag and not _NOT_A_NAME.fullmatch(tag):
            found.append(tag)
    return found


def _blank(line: str, spans: list[Span]) -> str:
    """Return the line with ``spans`` replaced by zero bytes, which are neither space nor word. Spans may nest
    (an image inside a link)."""
    parts, at = [], 0
    for begin, end in spans:
        if end > at:
            begin = max(begin, at)
            parts += [line[at:begin], "\0" * (end - begin)]
            at = end
    return "".join(parts) + line[at:]
