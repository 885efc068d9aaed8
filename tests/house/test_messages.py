"""Messages by code: every one that is said has a sentence, and its data."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import pytest

from rag_core import errors
from rag_core.errors import NotFound
from rag_core.messages import TEXTS, say
from rag_core.types import Notice
from ui.frame import messages as pages

ROOT = Path(__file__).parents[2]
MAKERS: dict[str, set[str]] = {"say": set(), "_about": {"stores"}}
"""The functions that make messages from a code, and the data that they add."""


def said() -> Iterator[tuple[str, str, set[str]]]:
    """(place, code, names of the data) of every message that is made with ``say`` or ``_about``."""
    for path in sorted((ROOT / "rag_core").rglob("*.py")):
        text = path.read_text("utf-8")
        if "from rag_core.messages import" not in text:
            continue  # the command line has another ``say``
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in MAKERS:
                names = {keyword.arg or "" for keyword in node.keywords} | MAKERS[node.func.id]
                for code in (each for arg in node.args for each in ast.walk(arg)):
                    if isinstance(code, ast.Constant) and isinstance(code.value, str):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", code.value, names


def data_of(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_message_has_a_sentence_and_its_data() -> None:
    found = list(said())
    assert {code for _, code, _ in found} <= set(TEXTS)
    assert [(place, code) for place, code, names in found if not data_of(TEXTS[code]) <= names] == []


def test_pages_replace_only_what_there_is() -> None:
    assert set(pages._TEXTS) == set(TEXTS)
    assert [code for code in TEXTS if not data_of(pages._TEXTS[code]) <= data_of(TEXTS[code])] == []
    assert set(TEXTS) >= pages.ON_INDEX_PAGE


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"count": 1}, "1 passage can be found by meaning."),
        ({"count": 2000}, "2,000 passages can be found by meaning."),
    ],
)
def test_a_noun_follows_its_number(data: dict[str, int], sentence: str) -> None:
    assert str(say("by_meaning", **data)) == sentence


def test_an_error_is_a_message_that_pages_say_their_own_way() -> None:
    error = NotFound("There is no store yet.", say("make_store"))
    assert error.suggestion == "Create a store on the Index page, or with `commonplace init FOLDER`."
    notice = Notice.of(error.as_message(), "s")
    assert notice.message == str(error)
    assert pages.sentence(notice) == "There is no store yet. Create a store on the Index page."


ERRORS = {
    name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
}


def raised() -> Iterator[tuple[str, str]]:
    """(place, text) of every literal that becomes an error's sentence; its gaps are ``{}``."""
    for path in sorted([*(ROOT / "rag_core").rglob("*.py"), *(ROOT / "ui").rglob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ERRORS:
                for sentence in node.args[:2]:
                    parts = sentence.values if isinstance(sentence, ast.JoinedStr) else [sentence]
                    if isinstance(parts[0], ast.Constant | ast.FormattedValue):
                        text = "".join(
                            str(part.value) if isinstance(part, ast.Constant) else "{}" for part in parts
                        )
                        yield f"{path.relative_to(ROOT)}:{sentence.lineno}", text


def test_an_error_is_a_whole_sentence_where_it_is_raised() -> None:
    texts = [(place, text) for place, text in raised() if text]
    assert len(texts) > 200
    assert [place for place, text in texts if not text.endswith((".", "?", "!", "{}"))] == [], (
        "without its end"
    )
    glued = [place for place, text in texts if not re.search(r"[a-z]{2}|^[{}:\s]+$", text)]
    assert glued == [], "put together from parts"
