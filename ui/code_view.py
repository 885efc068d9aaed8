"""A file of code: highlighted by the browser, its marked lines between the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from rag_core.wording import lines as lines_in_words
from ui.rendered import MARK

_LIKE_THEIR_TYPE: Final = (
    "python typescript javascript kotlin scala groovy rust yaml json sql ini css c cpp csharp ruby php perl"
    " haskell elixir erlang clojure julia ocaml fsharp lisp powershell batch cobol solidity protobuf graphql"
    " latex diff makefile cmake dart go java lua nim nix r swift toml vue xml csv tsv svelte dockerfile zig"
)
LANGUAGES: Final[Mapping[str, str]] = {name: name for name in _LIKE_THEIR_TYPE.split()} | {
    "shell": "bash",
    "terraform": "hcl",
    "visualbasic": "vbnet",
    "csv": "text",
    "tsv": "text",
    "bibtex": "latex",
    "calendar": "text",
    "contacts": "text",
    "subtitles": "text",
}
"""File type → what the browser's highlighter calls it: the types that are read as code."""

_BEFORE: Final = 12
"""Lines before the marked ones that are shown without being asked for."""


def show_code(text: str, language: str, lines: tuple[int, int] | None) -> None:
    """``text`` in a block of code; with ``lines`` (first, last, from 1) in three, the middle one marked."""
    rows = text.split("\n")
    first, last = lines or (1, 0)
    before, here, behind = rows[: first - 1], rows[first - 1 : last], rows[last:]
    with st.container(gap=None, key="code"):
        if any(before):
            # Folded, what was found is in view at once: the browser colours long code some time later.
            folds = len(before) > _BEFORE and bool(here)
            with st.expander(f"{len(before):,} lines before") if folds else st.container():
                st.code("\n".join(before), language=language)
        if here:
            with st.container(gap=None, key="code_marked"):
                st.html(
                    f'<div class="cp cp-quiet cp-here" id="{MARK}">Lines {lines_in_words(first, last)}</div>'
                )
                st.code("\n".join(here), language=language)
        if any(behind):
            st.code("\n".join(behind), language=language)
