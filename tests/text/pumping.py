"""The patterns of the program, and texts that make a pattern take long: a piece of it, many times."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from functools import cache
from inspect import signature
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from typing import Any

from tests.house.test_architecture import ROOT, imports, tree
from tests.text.backtracking import SINGLE, UNLIMITED, accepts, tree_of

ROOMS = ("rag_core/text", "rag_core/search", "rag_core/extract", "rag_core/ask", "rag_core/store", "ui")
FIXED = (
    "a", "A", "0", " ", "\n", "_", "-", "a_", "a ", "a-", "a.", "1,", "é", "a\u0301", "价", "ا", "`", "*",
    "[", "[[", "](", "<", "<a ", "<!--", "&", '"', "'", "|", "a\n", " \n", "\r", "#", "![", "\\", "=", "://",
)  # fmt: skip
"""Units that are tried on every pattern, beside the pieces of the pattern itself."""

ANCHORED = {"match", "fullmatch"}  # tried at one place of a text; every other method at each
_SEARCHING = {"search", "finditer", "findall", "sub", "subn", "split"}
_CHARS = "a0 _-\n\tA.é\u0301价ا!\"#%&'()*+,/:;<=>?@[\\]^`{|}~\x01"


@cache
def patterns() -> dict[str, tuple[re.Pattern[Any], bool]]:
    """Every pattern by its place, and whether it is looked for everywhere in a text."""
    found: dict[str, tuple[re.Pattern[Any], bool]] = {}
    for room in ROOMS:
        for path in sorted((ROOT / room).rglob("*.py")):
            if ("re", 0) not in imports(path):
                continue
            module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
            for name, value in vars(importlib.import_module(module)).items():
                for number, pattern in enumerate(_patterns_in(value)):
                    key = f"{module}.{name}" + (f"[{number}]" if number else "")
                    found[key] = pattern, not _methods(path, name) <= ANCHORED
            found |= {f"{module}:{line}": each for line, each in _inline(path)}
    unique = {(pattern, everywhere): key for key, (pattern, everywhere) in found.items()}
    return {key: pattern for pattern, key in unique.items()}


def _patterns_in(value: Any) -> Iterator[re.Pattern[Any]]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(getattr(value, "__self__", None), re.Pattern):  # findall of one
        yield value.__self__
    elif hasattr(value, "cache_info") and "Pattern" in str(value.__annotations__.get("return")):
        count = len(signature(value).parameters)  # a pattern that is made of words
        yield from _patterns_in(value(*["a a", "b"][:count]))
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _patterns_in(each)
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _patterns_in(each)


@cache
def _uses(path: Path) -> dict[str, set[str]]:
    """The methods that a module calls on each name; '' where the name is handed on."""
    uses: dict[str, set[str]] = {}
    nodes = list(ast.walk(tree(path)))
    called = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            uses.setdefault(node.value.id, set()).add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            uses.setdefault(node.id, set()).add("")
    return uses


def _methods(path: Path, name: str) -> set[str]:
    if not name.startswith("_"):
        return {""}  # other modules use it, too
    return _uses(path).get(name, {""}) - {"pattern"}


def _inline(path: Path) -> Iterator[tuple[int, tuple[re.Pattern[Any], bool]]]:
    """The patterns that stand where they are used: ``re.sub(r"\\s+", …)``."""
    for node in ast.walk(tree(path)):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "re"
            and node.func.attr in _SEARCHING | ANCHORED
            and isinstance(node.args[0], ast.Constant)
        ):
            yield node.lineno, (re.compile(node.args[0].value), node.func.attr not in ANCHORED)


def pumps(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """What to repeat, each behind a text that stands once: every character that the pattern names, the body
    of each repetition, and each of its beginnings, which may look for its end again and again."""
    parsed = tree_of(pattern)
    found = [("", unit) for unit in FIXED]
    _collect(parsed, parsed.state.flags, "", found)
    if parsed.state.flags & re.MULTILINE:  # each in a line of its own, where ^ and $ are
        found += [(before, f"{unit}\n") for before, unit in found]
    return [(before, unit) for before, unit in dict.fromkeys(found) if 0 < len(unit) <= 60]


def _collect(nodes: Any, flags: int, before: str, found: list[tuple[str, str]]) -> None:
    for kind, value in nodes:
        if kind in SINGLE:
            chars = [char for char in _own(kind, value) + _CHARS if accepts(kind, value, char, flags)]
            found += [("", char) for char in chars[:3]]
        for body in _bodies(kind, value):
            _collect(body, flags, before, found)
            unit = sample(body, flags)
            found += [("", unit), (before, unit), (before, " ")]
        before += sample([(kind, value)], flags)
        found.append(("", before))


def _bodies(kind: Any, value: Any) -> list[Any]:
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        return [value[2]]
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.BRANCH:
        return list(value[1])
    if kind is op.ATOMIC_GROUP:
        return [value]
    return [value[1]] if kind in (op.ASSERT, op.ASSERT_NOT) else []


def _own(kind: Any, value: Any) -> str:
    """Characters that a node names."""
    if kind is op.LITERAL:
        return chr(value)
    if kind is not op.IN:
        return ""
    return "".join(
        chr(each[1] if each[0] is op.LITERAL else each[1][0])
        for each in value
        if each[0] in (op.LITERAL, op.RANGE)
    )


def sample(nodes: Any, flags: int) -> str:
    """A text that these nodes match, but for what they ask of their neighbours. A repetition counts once, or
    as often as it must."""
    text = ""
    for kind, value in nodes:
        if kind in SINGLE:
            text += next((c for c in _own(kind, value) + _CHARS if accepts(kind, value, c, flags)), "")
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            text += sample(value[2], flags) * min(max(1, value[0]), UNLIMITED)
        elif kind is op.BRANCH:
            text += sample(value[1][0], flags)
        elif kind not in (op.ASSERT, op.ASSERT_NOT):
            text += "".join(sample(body, flags) for body in _bodies(kind, value))
    return text
