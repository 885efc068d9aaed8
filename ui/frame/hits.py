"""Hits as HTML, and how text comes into HTML at all: every module that builds HTML goes by it.

Threat. Whatever comes from a note, a file name or the address bar is untrusted. Markdown functions
(labels and messages too) would fetch images and turn text into links; raw HTML could restyle the
page. So such text leaves this module in two ways only: through `html.escape` into ``st.html``, or
through `label` into a Markdown function. The class names are those of hits.css.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import urlencode

from rag_core.search.snippet import pieces

MarkSpan = tuple[int, int]

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


def label(text: str) -> str:
    """Text for a Markdown function (a label, an error), shown as it stands, on one line.

    Nothing in it is read as Markdown, HTML, a directive, mathematics or an address.
    """
    return _escaped(in_one_line(text))


def spoken(text: str) -> str:
    """Sentences for a Markdown function, as `label`; text between backticks is shown as code. Nothing in it
    is interpreted as Markdown."""
    parts = _TYPED.split(in_one_line(text))
    return "".join(f"`{part}`" if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", _REWRITTEN.sub(_JOINER, text))


def in_one_line(text: str) -> str:
    """Text without line breaks, control characters and direction overrides."""
    if text.isprintable():  # which tells a list of 20,000 names apart at once
        return text.strip()
    return _CONTROL.sub(" ", text).strip()


def marked_html(
    text: str, spans: Iterable[MarkSpan], window: MarkSpan | None = None, hidden: Sequence[MarkSpan] = ()
) -> str:
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


def paragraphs(*texts: str, status: bool = False) -> str:
    """Quiet lines of plain text. ``status`` lets a screen reader announce them when they change."""
    role = ' role="status"' if status else ""
    said = "".join(f'<p class="cp-quiet">{html.escape(text)}</p>' for text in texts if text)
    return f'<div class="cp"{role}>{said}</div>'


def plain_sentences(*texts: str, status: bool = False) -> str:
    """Lines of plain text; text between backticks is shown as code."""
    role = ' role="status"' if status else ""
    said = "".join(f"<p>{_TYPED.sub(_AS_CODE, html.escape(text))}</p>" for text in texts if text)
    return f'<div class="cp"{role}>{said}</div>'


def name(text: str) -> str:
    """A person's name in bold. It can be copied as it is: Markdown would need joiners against links."""
    return f'<div class="cp"><p><strong>{html.escape(in_one_line(text))}</strong></p></div>'


def arrival(text: str, number: int) -> str:
    """A place that the browser scrolls to once for each ``number``, with words for a screen reader."""
    said = f'<span class="cp-hidden">{html.escape(text)}</span>'
    return f'<div class="cp-arrive" id="arrival-{number}" role="status">{said}</div>'


def scrolled_to_top(number: int) -> str:
    """An element that makes the browser scroll to the top of the page, once for each ``number``."""
    return f'<div class="cp-beginning" id="beginning-{number}"></div>'
