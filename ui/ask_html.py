"""An answer and its passages as HTML.

The rules of `ui.hits` hold. A model's words are as untrusted as a note: all go through `html.escape`, and the
only links are our own, from a number to its passage and from a passage to its document.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import Final, Literal

from rag_core.ask.markdown import where
from rag_core.replies import Draft, Reference, Statement, fault, lacks
from rag_core.search.shown import Block, Kind, clean
from ui.hits import one_line

State = Literal["coming", "answered", "unanswered"]
"""Whether there is an answer to the question above some passages."""

_NUMBERS = re.compile(r"\[(\d+(?:\s*[,;–-]\s*\d+)*)\]")


def question(text: str, number: int) -> str:
    """A question above its answer."""
    return f'<div class="cp cp-asked"><h2 id="{_anchor(number)}">{html.escape(one_line(text))}</h2></div>'


def answer(statements: Sequence[Statement], number: int, rest: str = "") -> str:
    """The statements of turn ``number`` with their marks, then the ``rest`` that is not checked yet."""
    said = "".join(html.escape(each.lead) + _statement(each, number) for each in statements).lstrip()
    more = f'<span class="cp-unchecked">{html.escape(rest)}</span>' if rest.strip() else ""
    return f'<div class="cp cp-answer">{said}{more}</div>'


def _statement(each: Statement, number: int) -> str:
    body, at = "", 0
    for quote in each.quotes:
        text = _numbered(each.text[quote.start : quote.end], each, number)
        body += _numbered(each.text[at : quote.start], each, number)
        body += f'<span class="cp-{"true" if quote.holds else "false"}">{text}</span>'
        body += "" if quote.holds else f'<span class="cp-flag">{html.escape(fault(quote))}</span>'
        at = quote.end
    body += _numbered(each.text[at:], each, number)
    lack = html.escape(lacks(each))
    if lack and each.support == "none":
        return f'<span class="cp-unsourced">{body}<span class="cp-flag">{lack}</span></span>'
    return body + (f'<span class="cp-quiet"> ({lack})</span>' if lack else "")


def _numbered(text: str, each: Statement, number: int) -> str:
    """Escaped text in which the numbers of passages lead to them."""

    def link(match: re.Match[str]) -> str:
        found = [int(part) for part in re.findall(r"\d+", match[1]) if len(part) < 4]
        if not found or not set(found) <= set(each.numbers):
            return match[0]
        links = (f'<a href="#{_anchor(number, one)}" aria-label="Passage {one}">{one}</a>' for one in found)
        return f'<span class="cp-number">[{", ".join(links)}]</span>'

    return _NUMBERS.sub(link, html.escape(text))


def sources(references: Sequence[Reference], number: int, state: State, *, opened: bool = True) -> str:
    """The passages of turn ``number`` with their quotes marked. ``opened`` unfolds the cited ones; without an
    answer, all."""
    cards = "".join(_source(each, number, state, opened=opened) for each in references)
    return f'<div class="cp cp-sources"><h3>Passages</h3>{cards}</div>' if cards else ""


def _source(each: Reference, number: int, state: State, *, opened: bool) -> str:
    title = html.escape(one_line(each.title) or one_line(each.rel_path))
    link = f'<a href="{html.escape(each.address)}">{title}</a>'
    private = '<span class="cp-quiet"> · private</span>' if each.private else ""
    quoted = f" · {len(each.spans)} quoted" if each.spans else ""
    missed = " · not cited" if state == "answered" and not each.cited else ""
    here = " cp-here" if each.cited else ""
    return (
        f'<section class="cp-source" id="{_anchor(number, each.number)}">'
        f'<p><span class="cp-number">[{each.number}]</span> {link}{private}</p>'
        f"<details{' open' if opened and (each.cited or state == 'unanswered') else ''}>"
        f"<summary>{html.escape(one_line(where(each)))}{quoted}{missed}</summary>"
        f'<div class="cp-passage{here}">{_passage(each)}</div></details></section>'
    )


_TAGS: Final[dict[Kind, str]] = {
    "heading": "strong",
    "item": "li",
    "quote": "blockquote",
    "code": "pre",
    "text": "p",
}


def _passage(each: Reference) -> str:
    """The clean text of a passage, with what is quoted of it marked."""
    blocks = clean(each.content, each.file_type, each.spans)
    if not blocks:
        return "There is only the title."
    if len(blocks) > 1 and blocks[0].kind == "heading" and blocks[0].text == each.title:
        blocks = blocks[1:]
    said = ""
    for kind, found in groupby(blocks, key=attrgetter("kind")):
        tag = _TAGS[kind]
        items = "".join(f"<{tag}>{_pieces(block)}</{tag}>" for block in found)
        said += f"<ul>{items}</ul>" if kind == "item" else items
    return said


def _pieces(block: Block) -> str:
    return "".join(
        f"<mark>{html.escape(piece)}</mark>" if is_marked else html.escape(piece)
        for piece, is_marked in block.pieces
    )


def waiting(draft: Draft) -> str:
    """How far an answer is, in a line that a screen reader announces."""
    writes = draft.statements or draft.rest.strip()
    said = "Looking for passages …" if draft.looking else "The model reads the passages …"
    said = "The model is writing. Each sentence is checked." if writes else said
    return f'<div class="cp" role="status"><p class="cp-quiet">{said}</p></div>'


def _anchor(number: int, passage: int = 0) -> str:
    return f"turn-{number}-{passage}" if passage else f"turn-{number}"
