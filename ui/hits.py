"""Hits as HTML, and how text comes into HTML at all: `ui.passages` and `ui.store_facts` go by it too.

Threat. Whatever comes from a note, a file name or the address bar is untrusted. Markdown functions
(labels and messages too) would fetch images and turn text into links; raw HTML could restyle the
page. So such text leaves this module in two ways only: through `html.escape` into ``st.html``, or
through `label` into a Markdown function. The class names are those of hits.css.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from rag_core.hits import facts
from rag_core.search.snippet import cut, excerpt, pieces
from rag_core.types import Hit, Neighbour
from rag_core.wording import on_disk, only_title, where
from rag_core.wording import place as passage_place
from ui.links import address

Span = tuple[int, int]

PROSE: Final = frozenset(
    "markdown text rst html org asciidoc pdf word slides sheet ebook mail picture archive".split()
)
"""File types whose line breaks and indentation mean nothing in a short extract."""

_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
# Even escaped, `->` would become an arrow and an address a link; an invisible joiner keeps them apart.
_REWRITTEN: Final = re.compile(r"(?<=[-<>=])(?=[-<>=])|(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_TYPED: Final = re.compile("`([^`]+)`")
_AS_CODE: Final = r"<code>\1</code>"
_JOINER: Final = "\u2060"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")

STYLE: Final = Path(__file__).with_name("hits.css")
"""The style sheet of this module's classes, for ``st.html``."""


def label(text: str) -> str:
    """Text for a Markdown function (a label, an error), shown as it stands, on one line.

    Nothing in it is read as Markdown, HTML, a directive, mathematics or an address.
    """
    return _escaped(one_line(text))


def spoken(text: str) -> str:
    """Sentences for a Markdown function, as `label`; what stands between backticks is shown as what can be
    typed. Nothing in a span of code is read as anything else."""
    parts = _TYPED.split(one_line(text))
    return "".join(f"`{part}`" if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", _REWRITTEN.sub(_JOINER, text))


def one_line(text: str) -> str:
    """Text without line breaks, control characters and direction overrides."""
    if text.isprintable():  # which tells a list of 20,000 names apart at once
        return text.strip()
    return _CONTROL.sub(" ", text).strip()


def marked(text: str, spans: Iterable[Span], window: Span | None = None, hidden: Sequence[Span] = ()) -> str:
    """Escaped text with ``spans`` inside ``<mark>``, cut to ``window``, without what is ``hidden``; all are
    offsets in ``text``."""
    return "".join(
        f"<mark>{html.escape(piece)}</mark>" if is_marked else html.escape(piece)
        for piece, is_marked in pieces(text, spans, window, hidden)
    )


def anchor(parameters: Mapping[str, str], text: str, *, named: str = "") -> str:
    """A link to a document's page with these parameters; no other place is linked to."""
    aria = f' aria-label="{html.escape(named)}"' if named else ""
    return f'<a href="files?{html.escape(urlencode(parameters))}"{aria}>{html.escape(text)}</a>'


def place(hit: Hit) -> str:
    """Where a hit is, as plain text: ``notes/tea.md:12-30``, or with its page."""
    return one_line(passage_place(hit.document.path, hit))


def extract(hit: Hit) -> str:
    """The snippet of a hit as plain text on one line."""
    return excerpt(hit) or one_line(only_title(hit))


def card(hit: Hit, *, with_store: bool, search: str = "") -> str:
    """The closed card: title, place, score, passage with the words found, why it is here, and what has
    become of its file. The title leads to the passage in its document, and that back to the ``search``."""
    doc = hit.document
    where = " · ".join(([hit.store] if with_store else []) + [place(hit)])
    title = anchor(address(hit.store, doc.path, hit.key, search=search), one_line(doc.title) or place(hit))
    body = html.escape(one_line(only_title(hit)))
    if hit.content.strip():
        before, after = cut(hit)
        body = f"{before}{marked(hit.content, hit.spans, hit.snippet, hit.hidden)}{after}"
    brief = " · ".join(f"{label}: {one_line(text)}" for label, text in facts(hit, "brief").items() if text)
    said = (("cp-quiet", " · ".join(hit.reasons)), ("cp-quiet", brief), ("cp-stale", on_disk(doc.state)))
    below = "".join(f'<p class="{kind}">{html.escape(text)}</p>' for kind, text in said if text)
    width = round(max(0.0, min(1.0, hit.score)) * 100)
    return (
        f'<article class="cp{"" if hit.relevant else " cp-near"}"><div class="cp-top"><h2>{title}</h2>'
        f'<span class="cp-score" title="Relevance from 0 to 1"><span class="cp-meter" aria-hidden="true">'
        f'<i style="width:{width}%"></i></span><span class="cp-hidden">Score </span>'
        f"{hit.score:.2f}</span></div>"
        f'<p class="cp-quiet" title="{html.escape(one_line(doc.absolute_path))}">{html.escape(where)}</p>'
        f'<p class="cp-extract{_mono(hit)}">{body}</p>{below}</article>'
    )


def _mono(hit: Hit) -> str:
    return "" if hit.document.file_type in PROSE else " cp-mono"


def details(hit: Hit, beside: Sequence[Neighbour]) -> str:
    """The opened card: the whole passage between its neighbours, and all that is known of it.

    ``beside`` holds the hit too, in reading order; without it the hit stands alone.
    """
    passages = [
        _passage(hit, here.content[slice(*here.shown)], where(here), is_hit=here.is_hit) for here in beside
    ] or [_passage(hit, hit.content, where(hit), is_hit=True)]
    trail = html.escape(" › ".join(map(one_line, hit.heading_path)))
    heading = f'<p class="cp-quiet">{trail}</p>' if trail else ""
    doc = hit.document
    known = {"File": doc.absolute_path or doc.path, **facts(hit)}
    rows = (f"<dt>{name}</dt><dd>{html.escape(one_line(text))}</dd>" for name, text in known.items() if text)
    return f'<div class="cp">{heading}{"".join(passages)}<dl>{"".join(rows)}</dl></div>'


def _passage(hit: Hit, text: str, at: str, *, is_hit: bool) -> str:
    if not is_hit and not text.strip():
        return ""
    kind = "cp-here" if is_hit else "cp-beside"
    body = marked(text, hit.spans) if is_hit else html.escape(text)
    body = body if text.strip() else html.escape(one_line(only_title(hit)))
    lines = f'<span class="cp-lines">{html.escape(at[:1].upper() + at[1:])}</span>'
    return f'<div class="cp-passage {kind}{_mono(hit)}">{lines}{body}</div>'


def paragraphs(*texts: str, status: bool = False) -> str:
    """Quiet lines of plain text. ``status`` lets a screen reader announce them when they change."""
    role = ' role="status"' if status else ""
    said = "".join(f'<p class="cp-quiet">{html.escape(text)}</p>' for text in texts if text)
    return f'<div class="cp"{role}>{said}</div>'


def sentences(*texts: str, status: bool = False) -> str:
    """Lines of plain text; what stands between backticks is shown as what can be typed."""
    role = ' role="status"' if status else ""
    said = "".join(f"<p>{_TYPED.sub(_AS_CODE, html.escape(text))}</p>" for text in texts if text)
    return f'<div class="cp"{role}>{said}</div>'


def name(text: str) -> str:
    """A person's name in bold. It can be copied as it is: Markdown would need joiners against links."""
    return f'<div class="cp"><p><strong>{html.escape(one_line(text))}</strong></p></div>'


def examples(rows: Sequence[tuple[str, str]]) -> str:
    """What can be typed, as (query, what it does) rows."""
    cells = (
        f'<code>{html.escape(query)}</code><span class="cp-quiet">{html.escape(what)}</span>'
        for query, what in rows
    )
    return f'<div class="cp"><h2>What you can type</h2><div class="cp-examples">{"".join(cells)}</div></div>'


def arrival(text: str, number: int) -> str:
    """A place that the browser scrolls to once for each ``number``, with words for a screen reader."""
    said = f'<span class="cp-hidden">{html.escape(text)}</span>'
    return f'<div class="cp-arrive" id="arrival-{number}" role="status">{said}</div>'


def beginning(number: int) -> str:
    """What has the browser scroll to the top of the page once for each ``number``."""
    return f'<div class="cp-beginning" id="beginning-{number}"></div>'


def divider(text: str) -> str:
    """A line with a few plain words on it."""
    return f'<div class="cp cp-divider"><h2>{html.escape(text)}</h2></div>'


def hidden_title(text: str) -> str:
    """A heading for those who cannot see which page it is."""
    return f'<h1 class="cp-hidden">{html.escape(text)}</h1>'
