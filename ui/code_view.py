"""A file of code, highlighted by the browser, with its marked lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import streamlit as st

from ui.passages import marked_lines

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


def show_code(text: str, language: str, lines: tuple[int, int] | None) -> None:
    """``text`` as code with the numbers of its lines, those from ``lines`` (first, last, from 1) marked.

    All lines are equally high, so the mark is laid over them by their numbers, in an empty element as high as
    all of them: the browser scrolls to it before it has coloured the code.
    """
    left_out = len(text) - len(text.lstrip("\n"))  # as st.code does
    with st.container(key="code"):
        if lines:
            first, last = lines[0] - left_out, lines[1] - left_out
            st.html(marked_lines(first, last, text.count("\n") + 1))
        st.code(text, language=language, line_numbers=True)
