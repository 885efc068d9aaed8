"""Text is read and written in an encoding that the code names: that of the system is cp1252 on Windows."""

from __future__ import annotations

import ast

import pytest

from tests.docs.doc_pages import ROOT

PLACES = [
    "app.py",
    *(f"{room}/**/*.py" for room in (".ci", "benchmarks", "docs", "pages", "rag_core", "tests", "ui")),
]
_TEXT_MODES = set("rwax+t")


def _takes_what_the_system_has(call: ast.Call) -> bool:
    """Whether a call reads or writes text, and names no encoding."""
    function, given = call.func, {keyword.arg for keyword in call.keywords}
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if "encoding" in given:
        return False
    match name:
        case "read_text":
            return not call.args
        case "write_text":
            return len(call.args) == 1
        case "run" | "Popen" | "check_output":
            return "text" in given
        case "open" if isinstance(function, ast.Attribute):  # of a path
            return bool(call.args) and _is_text(call.args[:1])
        case "open" | "fdopen":
            return len(call.args) + ("mode" in given) < 2 or _is_text([*call.args[1:], *_modes(call)])
    return False


def _modes(call: ast.Call) -> list[ast.expr]:
    return [keyword.value for keyword in call.keywords if keyword.arg == "mode"]


def _is_text(arguments: list[ast.expr]) -> bool:
    """Whether one of the arguments is a mode of opening a file as text."""
    values = [argument.value for argument in arguments if isinstance(argument, ast.Constant)]
    return any(isinstance(value, str) and set(value) <= _TEXT_MODES for value in values)


def unnamed(source: str) -> list[int]:
    """The lines of calls that read or write text and name no encoding."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return [call.lineno for call in calls if _takes_what_the_system_has(call)]


@pytest.mark.parametrize("pattern", PLACES)
def test_every_text_has_its_encoding(pattern: str) -> None:
    paths = list(ROOT.glob(pattern))
    assert paths
    lines = {str(path.relative_to(ROOT)): unnamed(path.read_text("utf-8")) for path in paths}
    assert {path: found for path, found in lines.items() if found} == {}


@pytest.mark.parametrize(
    ("source", "is_unnamed"),
    [
        ("path.read_text()", True),
        ("path.read_text('utf-8')", False),
        ("path.write_text(text)", True),
        ("path.write_text(text, encoding='utf-8')", False),
        ("open(path)", True),
        ("open(path, 'rb')", False),
        ("path.open('w')", True),
        ("path.open('ab')", False),
        ("archive.open('store.db', 'w')", False),
        ("Library.open()", False),
        ("os.fdopen(handle, 'w')", True),
        ("subprocess.run(words, text=True)", True),
        ("subprocess.run(words, encoding='utf-8')", False),
    ],
)
def test_a_call_without_one_is_found(source: str, is_unnamed: bool) -> None:
    assert bool(unnamed(source)) is is_unnamed
