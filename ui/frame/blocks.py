"""Clean blocks of a passage as HTML, with the words of a search or the quoted parts marked."""

from __future__ import annotations

import html
from collections.abc import Sequence
from itertools import groupby
from typing import Final

from rag_core.search.shown import Block, BlockKind

_TAGS: Final[dict[BlockKind, str]] = {
    "heading": "strong",
    "item": "li",
    "row": "tr",
    "quote": "blockquote",
    "code": "pre",
    "text": "p",
}
_AROUND: Final[dict[BlockKind, str]] = {
    "item": "<ul>{}</ul>",
    "row": '<div class="cp-table"><table>{}</table></div>',
}
"""The element around neighbouring blocks of a kind."""


def blocks_html(blocks: Sequence[Block]) -> str:
    """Return ``blocks`` as HTML. List items and table rows that follow each other become one list or
    table."""
    return "".join(
        _AROUND.get(kind, "{}").format("".join(map(_block, group)))
        for kind, group in groupby(blocks, key=lambda block: block.kind)
    )


def _block(block: Block) -> str:
    tag, body = _TAGS[block.kind], ""
    for piece, is_marked in block.pieces:
        cells = map(html.escape, piece.split("\t") if block.kind == "row" else [piece])
        body += "</td><td>".join([f"<mark>{cell}</mark>" if is_marked and cell else cell for cell in cells])
    return f"<{tag}><td>{body}</td></{tag}>" if block.kind == "row" else f"<{tag}>{body}</{tag}>"
