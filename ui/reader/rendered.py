"""A note's Markdown as HTML.

Threat: notes are untrusted. They may contain HTML, links and pictures that run, load or restyle something. So
no HTML of a note is passed on. Only line breaks and a few tags without attributes are rebuilt, and the rest
is left out.

A link leads to http(s), mailto, a heading of the note or a document's page. A picture comes from our own
route, which decides what it shows. Everything else is escaped text. The class names are those of note.css.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import unquote, urlencode

from markdown_it import MarkdownIt
from markdown_it.token import Token

from rag_core.search.snippet import highlight
from rag_core.text.inline import PICTURE_NAME
from rag_core.types import Query
from ui.frame import hits
from ui.frame.links import PICTURES, document_parameters
from ui.reader.code_view import code_lines
from ui.reader.note_parser import make_parser, tidy

MARK: Final = "marked"
"""The id of the marked passage."""

_CODE: Final = ("fence", "code_block")
_ARTICLE: Final = '<article class="cp cp-note">{}</article>'
_EXTERNAL: Final = re.compile(r"(?:https?://|mailto:)", re.I)
_SCHEME: Final = re.compile(r"(?![A-Za-z]:[\\/])(?:[A-Za-z][A-Za-z0-9+.-]*:|//|\\\\)")
_BARE_URL: Final = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,:;!?)\]}*_]", re.I)
_KEPT_TAG: Final = re.compile(r"</?(?:sub|sup|kbd)>|<br ?/?>", re.I)
_TAG: Final = re.compile(
    r"<!--.*?(?:-->|$)|<(script|style)\b.*?(?:</\1\s*>|$)|</?[a-z][\w-]*(?:\s[^<>]*)?/?>", re.I | re.S
)


@dataclass(frozen=True, slots=True)
class NotePlace:
    """The place of a note, and the parts of it to mark."""

    store: str
    path: str
    begins: int = 1  #: The number of its first line below the front matter.
    #: The targets of its links: target as written → path in the store.
    leads: Mapping[str, str] = field(default_factory=dict)
    search: str = ""  #: The search that led to the note, as a query string.
    query: Query | None = None  #: The query of that search.
    lines: tuple[int, int] | None = None  #: The lines of a passage (first, last, from 1) to mark.
    heading: str = ""  #: The heading to mark.


@dataclass(frozen=True, slots=True)
class NoteHeading:
    """A heading of a note: its level and line, both counted from 1, its text, and the id of its element."""

    level: int
    text: str
    id: str
    line: int


@dataclass(frozen=True, slots=True)
class Rendered:
    """A note as HTML, with its headings in order."""

    html: str
    headings: tuple[NoteHeading, ...]


def note_html(text: str, place: NotePlace, title: str = "") -> Rendered:
    """Render the Markdown in ``text`` as HTML that is safe to show. The marked passage gets the id `MARK`. A
    first heading equal to ``title`` is left out, because the page shows the title above."""
    front, rest = _at_line(text, place.begins)
    tokens = _PARSER.parse("\n" * front.count("\n") + rest)
    if [each.type for each in tokens[:2]] == ["heading_open", "inline"] and tokens[1].content == title:
        del tokens[:3]
    headings = tuple(_number(tokens))
    named = {_key(each.text): each for each in reversed(headings)}
    tidy(tokens)
    lines = place.lines
    if not lines and (goal := named.get(_key(place.heading))):
        lines = goal.line, goal.line
    if lines:
        tokens = _marked(tokens, *_with_blank_lines(text, *lines))
    env = {"place": place, "named": named, "open": []}
    return Rendered(_ARTICLE.format(_PARSER.renderer.render(tokens, _PARSER.options, env)), headings)


def _at_line(text: str, number: int) -> tuple[str, str]:
    """Return the text before line ``number``, and the text from this line on."""
    rows = text.split("\n", number - 1)
    return text[: len(text) - len(rows[-1])], rows[-1]


def written_note(text: str, place: NotePlace, most: int) -> str:
    """Return at most ``most`` characters of a note's source as escaped HTML, from the marked passage on, or
    from the beginning of its text. They are shown while the note is rendered."""
    shown = _at_line(text, place.lines[0] if place.lines else place.begins)[1][:most]
    return _ARTICLE.format(f'<p class="cp-written">{html.escape(shown)}</p>')


def render_code(text: str, language: str, place: NotePlace) -> str:
    """Return HTML that shows ``text`` as code in ``language`` with line numbers. The lines that ``place``
    marks and the words of its search are highlighted."""
    spans = _searched(text, {"place": place})
    rows = [f'<span class="cp-line">{row}\n</span>' for row in code_lines(text.rstrip("\n"), language, spans)]
    if place.lines:
        rows = _with_mark(rows, place.lines[0] - 1, place.lines[1], MARK)
    return f'<div class="cp cp-note cp-code"><pre><code>{"".join(rows)}</code></pre></div>'


def _number(tokens: Sequence[Token]) -> Iterator[NoteHeading]:
    """Give each heading an id and raise its level by one, because the page's title is above them. Yield the
    headings."""
    for number, token in enumerate(tokens):
        if token.type == "heading_open":
            level = int(token.tag[1])
            text = _plain(tokens[number + 1])
            token.attrs["id"] = f"heading-{number}"
            token.tag = tokens[number + 2].tag = f"h{min(6, level + 1)}"
            if text:
                yield NoteHeading(level, text, f"heading-{number}", (token.map or [0])[0] + 1)


def _plain(inline: Token) -> str:
    words = (
        each.content for each in inline.children or () if each.type in ("text", "code_inline", "wikilink")
    )
    return hits.in_one_line("".join(words))


def _key(heading: str) -> str:
    return re.sub(r"[\W_]+", " ", heading).strip().casefold()


# --- the marked passage -----------------------------------------------------------------


def _with_blank_lines(text: str, first: int, last: int) -> tuple[int, int]:
    """Convert lines ``first`` to ``last``, from 1, to a half-open range from 0. Blank lines after them are
    included, because blocks also end after blank lines."""
    rows = text.split("\n")
    while last < len(rows) and not rows[last].strip():
        last += 1
    return first - 1, last


def _marked(tokens: list[Token], first: int, last: int) -> list[Token]:
    """Return the tokens, with all blocks between two lines inside a marked element. Parts of lists, tables
    and quotes get a class instead."""
    out: list[Token] = []
    opened = found = False
    at = 0
    while at < len(tokens):
        stop = _end(tokens, at)
        touches, covered = _overlap(tokens[at], first, last)
        is_code = tokens[at].type in _CODE
        is_whole = touches and (covered or (stop - at < 4 and not is_code))
        if is_whole != opened:
            out.append(_section(MARK if is_whole and not found else "", 1 if is_whole else -1))
            opened, found = is_whole, found or is_whole
        if touches and not is_whole:
            if is_code:
                tokens[at].meta["here"], found = (first, last, "" if found else MARK), True
            else:
                found = _mark_parts(tokens[at + 1 : stop - 1], first, last, found)
        out += tokens[at:stop]
        at = stop
    return [*out, _section("", -1)] if opened else out


def _mark_parts(tokens: Sequence[Token], first: int, last: int, found: bool) -> bool:
    """Mark the smallest blocks that touch the lines. Return True if a block was marked, else ``found``."""
    at = 0
    while at < len(tokens):
        stop = _end(tokens, at)
        touches, covered = _overlap(tokens[at], first, last)
        own_words = stop - at < 4 or (tokens[at + 1].hidden and _overlap(tokens[at + 1], first, last)[0])
        if touches and not covered and not own_words:
            found = _mark_parts(tokens[at + 1 : stop - 1], first, last, found)
        elif touches:
            tokens[at].attrJoin("class", "cp-here")
            if not found:
                tokens[at].attrs["id"] = MARK
            found = True
        at = stop
    return found


def _end(tokens: Sequence[Token], at: int) -> int:
    """Return the index after the block that begins at ``at``."""
    depth = 0
    for number in range(at, len(tokens)):
        depth += tokens[number].nesting
        if depth <= 0:
            return number + 1
    return len(tokens)


def _overlap(token: Token, first: int, last: int) -> tuple[bool, bool]:
    """Return whether a block touches the lines, and whether it is within them."""
    if token.map is None:
        return False, False
    start, end = token.map
    return start < last and first < end, first <= start and end <= last


def _with_mark(rows: Sequence[str], first: int, last: int, name: str) -> list[str]:
    """Return rows of code as HTML, with those from ``first`` to ``last`` (exclusive) marked."""
    named = f' id="{name}"' if name else ""
    return [*rows[:first], f'<span class="cp-here"{named}>', *rows[first:last], "</span>", *rows[last:]]


def _section(name: str, nesting: Any) -> Token:
    attrs: dict[str, str | int | float] = {"class": "cp-here"} if nesting == 1 else {}
    if name:
        attrs["id"] = name
    return Token("section", "div", nesting, attrs, block=True)


# --- rules of the renderer ----------------------------------------------------------------


def _link_open(token: Token, env: Any) -> str:
    begun, ended = _link(str(token.attrs.get("href", "")), env)
    env["open"].append(ended)
    return begun


def _link_close(_: Token, env: Any) -> str:
    return str(env["open"].pop())


def _image(token: Token, env: Any) -> str:
    source = str(token.attrs.get("src", ""))
    return _picture(unquote(source.partition("#")[0]), token.content, env)


def _wikilink(token: Token, env: Any) -> str:
    target, label = token.meta["target"], token.content
    if token.meta["embeds"] and PICTURE_NAME.search(target):
        return _picture(target, "" if label.isdecimal() else label, env)
    begun, ended = _own_link(target, token.meta["heading"], env)
    return f"{begun}{_words(label, env)}{ended}"


def _footnote(token: Token, _: Any) -> str:
    return f"<sup>{html.escape(token.content)}</sup>{' ' if token.meta['begins'] else ''}"


def _code(token: Token, env: Any) -> str:
    kind, code = html.escape(str(token.attrs.get("class", ""))), token.content
    [language] = (token.info.split() or [""])[:1]
    rows = [f"{row}\n" for row in code_lines(code.rstrip("\n"), language, _searched(code, env))]
    if here := token.meta.get("here"):
        first, last, name = here
        begins = (token.map or [0])[0] + (token.type == "fence")
        rows = _with_mark(rows, max(0, first - begins), max(0, last - begins), name)
    return f'<pre class="{kind}"><code>{"".join(rows)}</code></pre>\n'


def _html_inline(token: Token, _: Any) -> str:
    return token.content.lower() if _KEPT_TAG.fullmatch(token.content) else ""


def _html_block(token: Token, env: Any) -> str:
    words = html.unescape(_TAG.sub("", token.content)).strip()
    return f"<p>{_linked(words, env)}</p>\n" if words else ""


_RULES: Final[Mapping[str, Callable[[Token, Any], str]]] = {
    "text": lambda token, env: _linked(token.content, env),
    "code_inline": lambda token, env: f"<code>{_words(token.content, env)}</code>",
    "link_open": _link_open,
    "link_close": _link_close,
    "image": _image,
    "wikilink": _wikilink,
    "footnote": _footnote,
    "fence": _code,
    "code_block": _code,
    "html_inline": _html_inline,
    "html_block": _html_block,
    "table_open": lambda *_: '<div class="cp-table"><table>',
    "table_close": lambda *_: "</table></div>\n",
}
"""How tokens are written. markdown-it writes the other tokens, which contain no attribute of a note."""


def _words(text: str, env: Any) -> str:
    """Return escaped text with the words of the search highlighted."""
    return hits.marked_html(text, _searched(text, env))


def _searched(text: str, env: Any) -> Sequence[hits.MarkSpan]:
    query = env["place"].query
    return highlight(text, query.terms.loose, query.phrases) if query else ()


def _linked(text: str, env: Any) -> str:
    """Return escaped text as `_words` does. Addresses become links, unless the text is inside a link."""
    if env["open"]:
        return _words(text, env)
    parts, at = [], 0
    for found in _BARE_URL.finditer(text):
        shown = html.escape(found[0])
        parts += [_words(text[at : found.start()], env), f'<a href="{shown}">{shown}</a>']
        at = found.end()
    return "".join([*parts, _words(text[at:], env)])


def _link(href: str, env: Any) -> tuple[str, str]:
    """Return the opening and closing tag for the text of a Markdown link."""
    if env["open"]:
        return "", ""
    if _EXTERNAL.match(href):
        return f'<a href="{html.escape(href)}">', "</a>"
    if _SCHEME.match(href):
        return "<span>", "</span>"
    path, _, heading = map(unquote, href.partition("#"))
    return _own_link(path, heading, env)


def _own_link(target: str, heading: str, env: Any) -> tuple[str, str]:
    """Return the opening and closing tag for a link within the store."""
    place: NotePlace = env["place"]
    if not target and (goal := env["named"].get(_key(heading.rpartition("#")[2]))):
        return f'<a href="#{goal.id}">', "</a>"
    if path := place.leads.get(target):
        leads = urlencode(document_parameters(place.store, path, heading=heading, search=place.search))
        return f'<a href="files?{html.escape(leads)}">', "</a>"
    return '<span class="cp-nowhere" title="Not in this store">', "</span>"


def _picture(target: str, named: str, env: Any) -> str:
    """Return an image from our own route for a picture in the store, or only the name of any other
    picture."""
    shown = html.escape(hits.in_one_line(named))
    if _SCHEME.match(target) or not PICTURE_NAME.search(target):
        return f'<span class="cp-quiet">{shown}</span>' if shown else ""
    place: NotePlace = env["place"]
    asked = urlencode({"store": place.store, "path": place.path, "target": target})
    return f'<img src="{PICTURES}?{html.escape(asked)}" alt="{shown}" loading="lazy">'


def _parser() -> MarkdownIt:
    parser = make_parser()
    for name, rule in _RULES.items():
        parser.add_render_rule(
            name, lambda _self, tokens, at, _options, env, rule=rule: rule(tokens[at], env)
        )
    return parser


_PARSER: Final = _parser()
