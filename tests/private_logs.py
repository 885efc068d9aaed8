"""Holds all that the suite logs against what no log may hold: keys, and the text of notes and queries.

Looked at is every record of every logger in this process, at debug level for ours, and what children that a
test waits for, and servers that ``live`` starts, say on standard error. The notes are those that were
indexed, the queries those that were asked, in the same module of tests. The test during which such a thing
is logged fails.

Keys and credentials of the tests hold the word ``MARK``; a test sees to that.
"""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import Any

import pytest

from rag_core.config import logs
from rag_core.library.asking import Asking
from rag_core.library.searching import Searching
from rag_core.store import documents

MARK = "sesame"

_KEY = re.compile(rf"{MARK}|cpl_[\w-]{{20,}}", re.IGNORECASE)
_WORD = re.compile(r"\w+")
_RUN = 4  # so many words in a row are no chance
_QUOTED = 60


class Watch:
    """What is private in a module of tests, and where it was met in a log."""

    def __init__(self) -> None:
        self._module = ""
        self._notes: list[str] = []
        self._queries: list[str] = []
        self._logged: list[str] = []
        self._corpus = ""

    def begin(self, module: str) -> None:
        """The tests of another module have other notes."""
        if module != self._module:
            self._module, self._corpus = module, ""
            self._notes.clear()
            self._queries.clear()

    def note(self, text: str) -> None:
        """A note was indexed."""
        self._notes.append(text)

    def query(self, text: str) -> None:
        """Something was asked."""
        self._queries.append(text)

    def logged(self, text: str) -> None:
        """Something was logged; it is looked at by ``found``, for a note may be indexed after it was read."""
        self._logged.append(text)

    def found(self) -> list[str]:
        """What was logged since the last call and may not be, in words."""
        logged, self._logged = self._logged, []
        return [f"{what} in a log: {text!r}" for text in logged for what in self._private(text)]

    def _private(self, text: str) -> Iterator[str]:
        if _KEY.search(text):
            yield "A key or credential"
        line = _plain(text)
        if self._notes:
            self._corpus += "".join(map(_plain, self._notes))
            self._notes.clear()
        words = line.split()
        runs = (f" {' '.join(words[at : at + _RUN])} " for at in range(len(words) - _RUN + 1))
        if any(run in self._corpus for run in runs):
            yield "The text of a note"
        if any(len(asked.split()) > 1 and asked in line for asked in map(_plain, self._queries)):
            yield "The text of a query"


def _plain(text: str) -> str:
    """The words of ``text``, with a space around each."""
    return f" {' '.join(_WORD.findall(text.casefold()))} "


watch = Watch()
_FORMAT = logging.Formatter("%(name)s: %(message)s")
_undo: list[Callable[[], None]] = []


def _patch(owner: Any, name: str, made: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    really = getattr(owner, name)
    setattr(owner, name, wraps(really)(made(really)))
    _undo.append(lambda: setattr(owner, name, really))


def _after(seen: Callable[..., None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Has ``seen`` see the result and the arguments of a function."""

    def made(really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            result = really(*args, **kwargs)
            seen(result, *args, **kwargs)
            return result

        return call

    return made


def _before(seen: Callable[..., None]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Has ``seen`` see the arguments of a function."""

    def made(really: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            seen(*args, **kwargs)
            return really(*args, **kwargs)

        return call

    return made


def _said(result: tuple[str | bytes | None, str | bytes | None], *_: Any, **__: Any) -> None:
    """A child ended, and this is what it said."""
    error = result[1]
    if error:
        watch.logged(error if isinstance(error, str) else error.decode("utf-8", "replace"))


def pytest_configure() -> None:
    logging.setLogRecordFactory(logs._record)  # as the program has it from its start on
    _patch(logging.Logger, "handle", _before(lambda _, record: watch.logged(_FORMAT.format(record))))
    _patch(subprocess.Popen, "communicate", _after(_said))
    _patch(documents, "put", _before(lambda _, file, extracted, *rest: watch.note(extracted.text)))
    _patch(Searching, "search", _before(lambda _, viewer, text, *rest, **named: watch.query(text)))
    _patch(Asking, "ask", _before(lambda _, viewer, question, *rest, **named: watch.query(question)))


def pytest_unconfigure() -> None:
    while _undo:
        _undo.pop()()


def _check() -> None:
    if found := watch.found():
        pytest.fail("\n".join(found), pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None, object, object]:
    watch.begin(item.nodeid.partition("::")[0])
    for name in logs.OURS:
        logging.getLogger(name).setLevel(logging.DEBUG)
    result = yield
    _check()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    result = yield
    _check()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown() -> Generator[None, object, object]:
    result = yield
    _check()
    return result
