"""Python source → one segment for each function, class or method, and for the statements between them.

Line ranges come from ``ast``. A file that is too large or does not parse (half edited, a template, Python 2)
is read by its indentation instead, so that a missing bracket does not change every passage.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass, replace
from itertools import islice, pairwise

from rag_core.types import Segment

_MAX_SOURCE = 2_000_000
_MAX_TOKENS = 100_000
"""Maximum number of words, signs and line ends of source that `ast` parses. Its tree takes up to 1 kB for
each."""
_TOKEN = re.compile(r"\w+|[^\w ]")
_LINE_END = re.compile(r"\r\n|\n|\r")
_DEFINITION = re.compile(r"(class|(?:async[ \t]+)?def)[ \t]+(\w+)")
_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class _Mark:
    """A line of code where another definition begins."""

    line: int  #: Line number, from 0.
    #: Names of the definition and of the enclosing ones, outermost first; () outside definitions.
    path: tuple[str, ...]


def segments(text: str) -> tuple[Segment, ...]:
    """Split Python source into its functions and classes, methods apart, and the text between them, in order
    and without gaps. Source that Python cannot parse is split where lines begin with ``def`` or ``class``."""
    if not text:
        return ()
    starts = [0, *(match.end() for match in _LINE_END.finditer(text))]
    lines = [text[begin:end] for begin, end in pairwise([*starts, len(text)])]
    tree = _parsed(text)
    return _between(text, starts, _marks(tree, lines) if tree else _marks_by_indentation(lines))


def _parsed(text: str) -> ast.Module | None:
    if len(text) > _MAX_SOURCE or any(islice(_TOKEN.finditer(text), _MAX_TOKENS, None)):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _marks(tree: ast.Module, lines: list[str]) -> list[_Mark]:
    """Return the lines where another definition begins, in order. Nested classes are walked without
    recursion."""
    marks = [_Mark(0, ())]
    todo: list[tuple[ast.stmt | _Mark, tuple[str, ...]]] = [(node, ()) for node in reversed(tree.body)]
    while todo:
        node, path = todo.pop()
        if isinstance(node, _Mark):
            marks.append(node)
        elif isinstance(node, _Definition):
            inner = (*path, node.name)
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
            marks.append(_Mark(_above(first, lines, marks[-1].line), inner))
            todo.append((_Mark(node.end_lineno or node.lineno, path), path))
            if isinstance(node, ast.ClassDef):
                todo += [(child, inner) for child in reversed(node.body)]
    return marks


def _marks_by_indentation(lines: list[str]) -> list[_Mark]:
    """Like ``_marks``, as far as single lines show it. Nested functions are not found."""
    marks = [_Mark(0, ())]
    owners: list[tuple[int, tuple[str, ...], bool]] = []  # indentation, path, whether it is a class
    for number, line in enumerate(lines):
        body = line.strip()
        if not body or body[0] in "#@)]}":
            continue
        indentation = len(line) - len(line.lstrip())
        depth = len(owners)
        while owners and owners[-1][0] >= indentation:
            owners.pop()
        path = owners[-1][1] if owners else ()
        match = _DEFINITION.match(body)
        if match and (owners[-1][2] if owners else indentation == 0):
            path = (*path, match[2])
            owners.append((indentation, path, match[1] == "class"))
            marks.append(_Mark(_above(number, lines, marks[-1].line), path))
        elif len(owners) < depth:
            marks.append(_Mark(number, path))
    return marks


def _above(first: int, lines: list[str], floor: int) -> int:
    """Return the first of the comments and decorators directly above a line, but not before line
    ``floor``."""
    while first > floor and lines[first - 1].lstrip().startswith(("#", "@")):
        first -= 1
    return first


def _between(text: str, starts: list[int], marks: list[_Mark]) -> tuple[Segment, ...]:
    """Return the segments from mark to mark. A span of white space belongs to the previous segment."""
    found: list[Segment] = []
    for mark, following in pairwise([*marks, _Mark(len(starts), ())]):
        begin, end = (
            starts[each.line] if each.line < len(starts) else len(text) for each in (mark, following)
        )
        if found and not text[begin:end].strip():
            found[-1] = replace(found[-1], end=end)
        elif begin < end:
            anchor = "definition" if mark.path else "text"
            found.append(Segment(begin, end, mark.path, anchor, ".".join(mark.path)))
    return tuple(found)
