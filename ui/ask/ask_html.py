"""An answer and its passages as HTML.

The rules of `ui.frame.hits` hold. A model's output is as untrusted as a note, so all of it is escaped by
`html.escape`. The only links are our own, from a number to its passage and from a passage to its document.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from typing import Literal

from rag_core.replies import Draft, Reference, Statement, fault, lacks
from rag_core.search.shown import clean
from rag_core.wording import where
from ui.frame.blocks import blocks_html
from ui.frame.hits import in_one_line

AnswerState = Literal["coming", "answered", "unanswered"]
"""The answer to the question whose passages are shown: being written, complete, or not written by a model."""

_ITEM = re.compile(r"^( *)[-*](?= )", re.M)
_BOLD = re.compile(r"\*\*(?=\S)([^*\n]+)(?<=\S)\*\*")
_NUMBERS = re.compile(r"\[(\d+(?:\s*[,;–-]\s*\d+)*)\]")


def question(text: str, number: int) -> str:
    """Return HTML for the question of turn ``number`` of the conversation, counted from 1. It is a
    heading."""
    return f'<div class="cp cp-asked"><h2 id="{_anchor(number)}">{html.escape(in_one_line(text))}</h2></div>'


def answer_html(statements: Sequence[Statement], number: int, rest: str = "") -> str:
    """Return HTML for the statements of turn ``number``, then for the text ``rest``, which is not checked
    yet. Quotes that are not in their passage, and statements without a source, are marked."""
    leads = (_ITEM.sub(r"\1•", html.escape(statement.lead)) for statement in statements)
    body = "".join(
        lead + _statement(statement, number) for lead, statement in zip(leads, statements, strict=True)
    )
    body = body.lstrip()
    more = f'<span class="cp-unchecked">{html.escape(rest)}</span>' if rest.strip() else ""
    return f'<div class="cp cp-answer">{body}{more}</div>'


def quotes_html(statements: Sequence[Statement], number: int) -> str:
    """Return HTML for sentences quoted from passages as the answer of turn ``number``. Each paragraph has one
    sentence."""
    body = "".join(f"<p>{_statement(statement, number)}</p>" for statement in statements)
    return f'<div class="cp cp-quotes">{body}</div>'


def _statement(statement: Statement, number: int) -> str:
    body, position = "", 0
    for quote in statement.quotes:
        text = _numbered(statement.text[quote.start : quote.end], statement, number)
        body += _numbered(statement.text[position : quote.start], statement, number)
        body += f'<span class="cp-{"true" if quote.holds else "false"}">{text}</span>'
        body += "" if quote.holds else f'<span class="cp-flag">{html.escape(fault(quote))}</span>'
        position = quote.end
    body += _numbered(statement.text[position:], statement, number)
    lack = html.escape(lacks(statement))
    if lack and statement.support == "none":
        return f'<span class="cp-unsourced">{body}<span class="cp-flag">{lack}</span></span>'
    return body + (f'<span class="cp-quiet"> ({lack})</span>' if lack else "")


def _numbered(text: str, statement: Statement, number: int) -> str:
    """Return the escaped text, with links from the numbers of passages to these passages."""

    def link(match: re.Match[str]) -> str:
        cited = [int(part) for part in re.findall(r"\d+", match[1]) if len(part) < 4]
        if not cited or not set(cited) <= set(statement.numbers):
            return match[0]
        links = (f'<a href="#{_anchor(number, one)}" aria-label="Passage {one}">{one}</a>' for one in cited)
        return f'<span class="cp-number">[{", ".join(links)}]</span>'

    return _NUMBERS.sub(link, _BOLD.sub(r"<strong>\1</strong>", html.escape(text)))


def sources(references: Sequence[Reference], number: int, state: AnswerState, *, opened: bool = True) -> str:
    """Return HTML for the passages of turn ``number`` with their quotes marked.

    If ``state`` is *unanswered*, all passages are unfolded. Otherwise at most one is: at first the first
    cited passage if ``opened``, else none.
    """
    cited = next((reference.number for reference in references if reference.cited), 0) if opened else 0
    cards = "".join(
        _source(reference, number, state, is_open=reference.number == cited) for reference in references
    )
    return f'<div class="cp cp-sources"><h3>Passages</h3>{cards}</div>'


def _source(reference: Reference, number: int, state: AnswerState, *, is_open: bool) -> str:
    known = [
        in_one_line(where(reference)),
        f"{reference.score:.0%}" if reference.score else "",
        "private" if reference.private else "",
        f"{len(reference.spans)} quoted" if reference.spans else "",
        "not cited" if state == "answered" and not reference.cited else "",
    ]
    quiet = html.escape(" · ".join(filter(None, known)))
    trail = html.escape(in_one_line(" › ".join(reference.rel_path.split("/"))))
    fold = " open" if state == "unanswered" else f' name="turn-{number}"{" open" * is_open}'
    return (
        f'<details class="cp-source" id="{_anchor(number, reference.number)}"{fold}>'
        f'<summary><span class="cp-number">[{reference.number}]</span> '
        f"<strong>{html.escape(in_one_line(reference.title) or in_one_line(reference.rel_path))}</strong>"
        f'<span class="cp-quiet"> {quiet}</span></summary>'
        f'<p><a href="{html.escape(reference.address)}">Open note</a>'
        f'<span class="cp-quiet"> · {trail}</span></p>'
        f'<div class="cp-passage">{_passage(reference)}</div></details>'
    )


def _passage(reference: Reference) -> str:
    """Return the clean text of a passage as HTML, with the quoted parts marked."""
    blocks = clean(reference.content, reference.file_type, reference.spans)
    if not blocks:
        return "There is only the title."
    if len(blocks) > 1 and blocks[0].kind == "heading" and blocks[0].text == reference.title:
        blocks = blocks[1:]
    return blocks_html(blocks)


def progress_html(draft: Draft) -> str:
    """Return HTML for one line about the progress of an answer. Screen readers announce it."""
    writes = draft.statements or draft.rest.strip()
    progress = "Looking for passages …" if draft.looking else "The model reads the passages …"
    progress = "The model is writing. Each sentence is checked." if writes else progress
    return f'<div class="cp" role="status"><p class="cp-quiet">{progress}</p></div>'


def _anchor(number: int, passage: int = 0) -> str:
    return f"turn-{number}-{passage}" if passage else f"turn-{number}"
