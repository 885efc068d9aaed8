"""Code as HTML: the types of files that are shown as code, and the kinds of their pieces.

Threat: notes are untrusted. Some lexers of Pygments take seconds for 20,000 hostile characters. Here one
regular expression reads every language, and each of its steps is bounded.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from ui.frame import hits

TYPES: Final = frozenset(
    "python typescript javascript kotlin scala groovy rust yaml json sql ini css c cpp csharp ruby php perl"
    " haskell elixir erlang clojure julia ocaml fsharp lisp powershell batch cobol solidity protobuf graphql"
    " latex diff makefile cmake dart go java lua nim nix r swift toml vue xml csv tsv svelte dockerfile zig"
    " shell terraform visualbasic bibtex subtitles".split()
)
"""The types of files that are shown as code."""

_COMMENTS: Final = {
    r"(?<!\S)\#[^\n]*": "bash cmake docker dockerfile elixir graphql hcl julia make makefile nim nix perl php"
    " powershell ps1 py python r rb ruby sh shell terraform toml yaml yml zsh",
    r"//[^\n]*|/\*.*?(?:\*/|\Z)": "c cpp cs csharp css dart fsharp go groovy java javascript js jsx"
    " kotlin protobuf rs rust scala solidity swift ts tsx typescript zig",
    r"(?!)": "json",
    r"--[^\n]*": "haskell lua sql",
    r"<!--.*?(?:-->|\Z)|</?[A-Za-z][\w-]*": "html svelte vue xml",
    r"(?<!\S);[^\n]*": "clojure ini lisp",
}
"""How comments (and tags of markup) begin → the languages with such comments, under all their names."""
_KINDS: Final = ("", "comment", "string", "number", "word")
"""The groups of `_PIECE` by their numbers."""
_PIECE: Final = r"""
    ({comment})
    |(\"{{3}}.*?(?:\"{{3}}|\Z)|"(?:\\.|[^"\\\n])*(?:"|(?=\n)|\Z)|'(?:\\.|[^'\\\n]){{0,200}}')
    |(\b\d\w*)
    |([^\W\d]\w*)
"""
_KEYWORDS: Final = frozenset(
    "and as async await begin break by case catch class const continue create def default delete do done elif"
    " else end enum except export extends false fi finally fn for foreach from func function group having if"
    " impl implements import in insert instanceof interface into is join lambda let limit local match mod mut"
    " namespace new nil none not null of on or order package pass private protected pub public raise return"
    " select self set static struct super switch table then this throw trait true try type typeof undefined"
    " unless until update use using values var void where while with yield".split()
)


def code_lines(code: str, language: str, spans: Sequence[hits.MarkSpan]) -> list[str]:
    """Return the lines of ``code`` as escaped HTML, coloured for ``language`` (a type of file or the name in
    a Markdown fence; any other text gives no colours). ``spans`` are sorted (start, end) offsets to mark."""
    starts, ends = [start for start, _ in spans], [end for _, end in spans]
    parts = []
    for start, end, name in code_kinds(code, language):
        near = spans[bisect_right(ends, start) : bisect_left(starts, end)]
        part = hits.marked_html(code, near, (start, end))
        if name:
            part = "\n".join(f'<span class="{name}">{row}</span>' for row in part.split("\n"))
        parts.append(part)
    return "".join(parts).split("\n")


def code_kinds(code: str, language: str) -> Iterator[tuple[int, int, str]]:
    """Yield the start, end and class in note.css of each piece of ``code``, in order, without gaps. The class
    is '' for plain text."""
    piece, at = _readers().get(language.lower()), 0
    for found in piece.finditer(code) if piece else ():
        kind = _KINDS[found.lastindex or 0]
        if kind == "word":
            is_called = code.startswith("(", found.end())
            kind = "keyword" if found[0].lower() in _KEYWORDS else "name" if is_called else ""
        if kind:
            yield at, found.start(), ""
            yield *found.span(), f"cp-{kind}"
            at = found.end()
    yield at, len(code), ""


@cache
def _readers() -> dict[str, re.Pattern[str]]:
    return {
        language: re.compile(_PIECE.format(comment=comment), re.S | re.X)
        for comment, languages in _COMMENTS.items()
        for language in languages.split()
    }
