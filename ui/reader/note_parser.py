"""Markdown in Obsidian's dialect: CommonMark with tables, wikilinks, callouts, tasks, comments and block ids,
parsed into markdown-it's tokens.

HTML tags are parsed as tags, so that they can be left out: `ui.reader.rendered` passes none of them on.
"""

from __future__ import annotations

from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from typing_extensions import override

from rag_core.text.inline import BLOCK_ID, FOOTNOTE, WIKILINK, label_of, wikilink
from rag_core.text.markup import CALLOUT, COMMENT, FOOTNOTE_TEXT, TASK


class _Parser(MarkdownIt):
    @override
    def validateLink(self, url: str) -> bool:
        """Accept every address. The code that creates the link decides what to do with it."""
        return True


def make_parser() -> MarkdownIt:
    """Return a Markdown parser for notes."""
    parser = _Parser("commonmark", {"html": True})
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "wikilink", _read_wikilink)
    parser.inline.ruler.before("link", "footnote", _read_footnote)
    parser.inline.ruler.before("emphasis", "highlight", _read_highlight)
    parser.inline.ruler.before("emphasis", "comment", _skip_comment)
    parser.block.ruler.before("fence", "comment", _skip_comment_block, {"alt": ["paragraph", "list"]})
    parser.block.ruler.before("reference", "footnote", _read_footnote_text, {"alt": ["paragraph"]})
    return parser


def tidy(tokens: Sequence[Token]) -> None:
    """Change the tokens so that tasks, callouts and block ids look as in Obsidian."""
    for at, inline in enumerate(tokens):
        children = inline.children
        if inline.type != "inline" or not children:
            continue
        if children[-1].type == "text":
            children[-1].content = BLOCK_ID.sub("", children[-1].content)
        before, opening, first = tokens[at - 2], tokens[at - 1], children[0]
        if before.type == "list_item_open" and (task := TASK.match(first.content)):
            before.attrs["class"] = "cp-task"
            first.content = ("☐ " if task[1] == " " else "☑ ") + first.content[task.end() :]
        elif before.type == "blockquote_open" and (callout := CALLOUT.match(first.content)):
            opening.attrs["class"] = "cp-callout"
            first.content = first.content[callout.end() :] or callout[1].capitalize()
            end = next((at for at, each in enumerate(children) if each.type == "softbreak"), len(children))
            children[end : end + 1] = [Token("strong_close", "strong", -1), Token("hardbreak", "br", 0)]
            children.insert(0, Token("strong_open", "strong", 1))


def _read_wikilink(state: StateInline, silent: bool) -> bool:
    found = WIKILINK.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        target, heading, _ = wikilink(found[2])
        token = state.push("wikilink", "", 0)
        token.content = label_of(found[2])
        token.meta = {"target": target, "heading": heading, "embeds": bool(found[1])}
    state.pos = found.end()
    return True


def _read_footnote(state: StateInline, silent: bool) -> bool:
    """Read the number of a footnote, in a sentence or before the footnote's text."""
    begins = FOOTNOTE_TEXT.match(state.src, state.pos) if state.pos == 0 else None
    found = begins or FOOTNOTE.match(state.src, state.pos)
    if not found:
        return False
    if not silent:
        token = state.push("footnote", "", 0)
        token.content, token.meta = found[1], {"begins": begins is not None}
    state.pos = found.end()
    return True


def _read_footnote_text(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    """Read the text of a footnote as a paragraph. CommonMark would read a single word as the address of a
    link."""
    if not FOOTNOTE_TEXT.match(state.src, state.bMarks[first] + state.tShift[first]):
        return False
    if silent:
        return True
    end = first + 1
    while end < last and not state.isEmpty(end):
        if FOOTNOTE_TEXT.match(state.src, state.bMarks[end] + state.tShift[end]):
            break
        end += 1
    state.push("paragraph_open", "p", 1).map = [first, end]
    inline = state.push("inline", "", 0)
    inline.content, inline.map, inline.children = (
        state.getLines(first, end, state.blkIndent, False).strip(),
        [first, end],
        [],
    )
    state.push("paragraph_close", "p", -1)
    state.line = end
    return True


def _read_highlight(state: StateInline, silent: bool) -> bool:
    """Read ``==text==``, which may contain other markup."""
    start, last = state.pos + 2, state.posMax
    end = state.src.find("==", start + 1, last) if state.src.startswith("==", state.pos) else -1
    if end < 0 or state.src[start].isspace() or state.src[end - 1].isspace():
        return False
    if "=" in (state.src[start], state.src[end + 2 : end + 3]):
        return False
    if not silent:
        state.push("em_open", "em", 1)
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.posMax = last
        state.push("em_close", "em", -1)
    state.pos = end + 2
    return True


def _skip_comment(state: StateInline, _: bool) -> bool:
    found = COMMENT.match(state.src, state.pos)
    if not found:
        return False
    state.pos = found.end()
    return True


def _skip_comment_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    start = state.bMarks[first] + state.tShift[first]
    if not state.src.startswith("%%", start):
        return False
    for line in range(first, last):
        begin = start + 2 if line == first else state.bMarks[line]
        if state.src.find("%%", begin, state.eMarks[line]) >= 0:
            if not silent:
                state.line = line + 1
            return True
    return False
