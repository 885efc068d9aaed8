"""Hits as HTML, and the rules for text in HTML. Every module that creates HTML follows them.

Threat: text from a note, a file name or the address bar is untrusted. Markdown functions (including labels
and messages) would fetch images and turn text into links, and raw HTML could restyle the page. So such text
leaves this module in two ways only: through `html.escape` into ``st.html``, or through `label` into a
Markdown function. The class names are those of hits.css.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlencode

from rag_core.search.snippet import pieces
from rag_core.text.markup_languages import LIGHT_MARKUP

MarkSpan = tuple[int, int]

PROSE: Final = LIGHT_MARKUP.union(
    "markdown text html pdf word slides sheet ebook mail calendar contacts picture archive".split()
)
"""File types whose line breaks and indentation have no meaning in a short extract."""

_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
# Even if escaped, `->` would become an arrow, and an address a link. An invisible joiner keeps the characters
# apart.
_REWRITTEN: Final = re.compile(r"(?<=[-<>=])(?=[-<>=])|(?<=:)(?=//)|(?<=www)(?=\.)|(?=@)", re.IGNORECASE)
_TYPED: Final = re.compile("`([^`]+)`")
_AS_CODE: Final = r"<code>\1</code>"
_JOINER: Final = "\u2060"
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]+")


def label(text: str) -> str:
    """Escape text for a Markdown function (a label, an error), so that it is shown literally, on one line.

    Nothing in it is read as Markdown, HTML, a directive, mathematics or an address.
    """
    return _escaped(in_one_line(text))


def spoken(text: str) -> str:
    """Escape sentences for a Markdown function, as `label` does. Text between backticks is shown as code."""
    parts = _TYPED.split(in_one_line(text))
    return "".join(f"`{part}`" if number % 2 else _escaped(part) for number, part in enumerate(parts))


def _escaped(text: str) -> str:
    return _PUNCTUATION.sub(r"\\\1", _REWRITTEN.sub(_JOINER, text))


def in_one_line(text: str) -> str:
    """Return text without line breaks, control characters and direction overrides."""
    if text.isprintable():  # this is a fast check for most of 20,000 names
        return text.strip()
    return _CONTROL.sub(" ", text).strip()


def marked_html(text: str, spans: Iterable[MarkSpan], window: MarkSpan | None = None) -> str:
    """Return ``text`` as escaped HTML with ``spans`` inside ``<mark>``. ``window`` is the part to return;
    None returns all. Spans and window are (start, end) offsets in ``text``."""
    return "".join(
        f"<mark>{html.escape(piece)}</mark>" if is_marked else html.escape(piece)
        for piece, is_marked in pieces(text, spans, window)
    )


def anchor(parameters: Mapping[str, str], text: str, *, named: str = "") -> str:
    """Return an HTML link to the Files page with these parameters, showing ``text``. It cannot lead anywhere
    else. Screen readers say ``named`` instead of the text, if it is not ''. Both are escaped."""
    aria = f' aria-label="{html.escape(named)}"' if named else ""
    return f'<a href="files?{html.escape(urlencode(parameters))}"{aria}>{html.escape(text)}</a>'


def paragraphs(*texts: str, status: bool = False) -> str:
    """Return HTML for lines of plain text in a quiet colour. Each is escaped, and empty ones are left out.
    With ``status`` a screen reader announces changes."""
    role = ' role="status"' if status else ""
    body = "".join(f'<p class="cp-quiet">{html.escape(text)}</p>' for text in texts if text)
    return f'<div class="cp"{role}>{body}</div>'


def plain_sentences(*texts: str, status: bool = False) -> str:
    """Return HTML for lines of plain text, which is escaped. Text between backticks is shown as code. With
    ``status`` a screen reader announces changes."""
    role = ' role="status"' if status else ""
    body = "".join(f"<p>{_TYPED.sub(_AS_CODE, html.escape(text))}</p>" for text in texts if text)
    return f'<div class="cp"{role}>{body}</div>'


def name(text: str) -> str:
    """Return a person's name, escaped and in bold, as HTML. Markdown would need invisible characters in a
    mail address, so that it is no link; they would be copied with the name."""
    return f'<div class="cp"><p><strong>{html.escape(in_one_line(text))}</strong></p></div>'


def arrival(text: str, number: int) -> str:
    """Return an HTML element that the browser scrolls to once for each new ``number``. Screen readers say its
    ``text``."""
    body = f'<span class="cp-hidden">{html.escape(text)}</span>'
    return f'<div class="cp-arrive" id="arrival-{number}" role="status">{body}</div>'


def scrolled_to_top(number: int) -> str:
    """Return an HTML element that makes the browser scroll to the top of the page. It scrolls again only for
    another ``number``."""
    return f'<div class="cp-beginning" id="beginning-{number}"></div>'
