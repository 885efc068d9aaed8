"""Counts the steps that a pattern takes on a text, as Python's `re` takes them: by backtracking.

The engine of `re` is C and counts nothing. This one runs the tree of `re._parser` and counts every character
and every choice that it tries. Its matches are compared with those of `re`, so that the count can be trusted.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Match = Callable[[int], int]
"""Matches from a position on: where the match ends, or -1."""

CATEGORIES: dict[Any, Callable[[str], bool]] = {
    op.CATEGORY_DIGIT: str.isdecimal,
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_WORD: lambda char: char.isalnum() or char == "_",
}
OPPOSITES = {
    op.CATEGORY_NOT_DIGIT: op.CATEGORY_DIGIT,
    op.CATEGORY_NOT_SPACE: op.CATEGORY_SPACE,
    op.CATEGORY_NOT_WORD: op.CATEGORY_WORD,
}
SINGLE = {op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN}
UNLIMITED = 2**31


def tree_of(pattern: re.Pattern[Any]) -> Any:
    """The parsed pattern; one of bytes as if it were of characters."""
    source = pattern.pattern
    if isinstance(source, bytes):
        return parser.parse(source.decode("latin-1"), pattern.flags & ~re.UNICODE | re.ASCII)
    return parser.parse(source, pattern.flags & ~re.DEBUG)


def accepts(kind: Any, value: Any, char: str, flags: int) -> bool:
    """Whether a node for one character takes ``char``."""
    if kind is op.ANY:
        return bool(flags & re.DOTALL) or char != "\n"
    spellings = {char}
    if flags & re.IGNORECASE:
        spellings |= {each for each in (char.lower(), char.upper()) if len(each) == 1}
    if kind in (op.LITERAL, op.NOT_LITERAL):
        return (chr(value) in spellings) == (kind is op.LITERAL)
    is_negated = value[0][0] is op.NEGATE
    members = value[1:] if is_negated else value
    return any(_is_member(each, spelling, flags) for each in members for spelling in spellings) != is_negated


def _is_member(member: tuple[Any, Any], char: str, flags: int) -> bool:
    kind, value = member
    if kind is op.LITERAL:
        return ord(char) == value
    if kind is op.RANGE:
        return bool(value[0] <= ord(char) <= value[1])
    if value in OPPOSITES:
        return not _is_member((kind, OPPOSITES[value]), char, flags)
    return CATEGORIES[value](char) and (char.isascii() or not flags & re.ASCII)


class TooManySteps(Exception):
    """Raised at a counter's limit."""


@contextmanager
def _deep_recursion() -> Iterator[None]:
    """Lets a repetition match some thousand times: each is a call inside the one before."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(100_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Counter:
    """A pattern that counts its ``steps`` and raises TooManySteps above its ``limit``."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.steps = 0
        self.limit = UNLIMITED
        self.text = ""
        self._start = 0
        self._must_advance = False
        self._groups: dict[int, tuple[int, int]] = {}
        self._taken: dict[tuple[int, str], bool] = {}
        self._tree = tree_of(pattern)
        self._match = self._sequence(self._tree, self._tree.state.flags, self._end)

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Where `finditer` matches in ``text``."""
        with _deep_recursion():
            return list(self._spans(text))

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        self.text, self._must_advance = text, False
        at = 0
        while at <= len(text):
            self.steps += 1
            self._start = at
            self._groups.clear()
            end = self._match(at)
            if end >= 0:
                yield at, end
                self._must_advance = end == at
                at = end
            else:
                self._must_advance = False
                at += 1

    def match(self, text: str) -> int:
        """Where `match` ends in ``text``, or -1."""
        self.text, self._start, self._must_advance = text, 0, False
        self._groups.clear()
        with _deep_recursion():
            return self._match(0)

    def _end(self, at: int) -> int:
        return -1 if self._must_advance and at == self._start else at

    def _sequence(self, nodes: Any, flags: int, then: Match) -> Match:
        for kind, value in reversed(list(nodes)):
            then = self._node(kind, value, flags, then)
        return then

    def _node(self, kind: Any, value: Any, flags: int, then: Match) -> Match:
        if kind in SINGLE:
            return self._single(kind, value, flags, then)
        if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
            return self._repeat(kind, value, flags, then)
        if kind is op.SUBPATTERN:
            group, added, removed, body = value
            return self._group(group, body, flags & ~removed | added, then)
        if kind is op.BRANCH:
            return self._branch([self._sequence(each, flags, then) for each in value[1]])
        if kind in (op.ASSERT, op.ASSERT_NOT):
            return self._assertion(kind, value, flags, then)
        if kind is op.ATOMIC_GROUP:
            return self._atomic(self._sequence(value, flags, lambda at: at), then)
        if kind is op.GROUPREF:
            return self._reference(value, then)
        assert kind is op.AT, f"{kind} is not known here"
        return self._place(value, flags, then)

    def _taker(self, kind: Any, value: Any, flags: int) -> Callable[[int], bool]:
        taken: dict[str, bool] = {}

        def takes(at: int) -> bool:
            self.steps += 1
            if self.steps > self.limit:
                raise TooManySteps
            if at >= len(self.text):
                return False
            char = self.text[at]
            if char not in taken:
                taken[char] = accepts(kind, value, char, flags)
            return taken[char]

        return takes

    def _single(self, kind: Any, value: Any, flags: int, then: Match) -> Match:
        takes = self._taker(kind, value, flags)
        return lambda at: then(at + 1) if takes(at) else -1

    def _repeat(self, kind: Any, value: Any, flags: int, then: Match) -> Match:
        least, most, body = value
        most = UNLIMITED if most is op.MAXREPEAT else most
        if len(body) == 1 and body[0][0] in SINGLE:
            return self._run(kind, least, most, self._taker(*body[0], flags), then)
        if kind is op.POSSESSIVE_REPEAT:
            return self._atomic(self._loop(op.MAX_REPEAT, least, most, body, flags, lambda at: at), then)
        return self._loop(kind, least, most, body, flags, then)

    def _run(self, kind: Any, least: int, most: int, takes: Callable[[int], bool], then: Match) -> Match:
        """A repeated character, which `re` counts in one loop."""

        def lazy(at: int) -> int:
            length = 0
            while True:
                if length >= least and (end := self._try(then, at + length)) >= 0:
                    return end
                if length >= most or not takes(at + length):
                    return -1
                length += 1

        def greedy(at: int) -> int:
            length = 0
            while length < most and takes(at + length):
                length += 1
            while length >= least:
                if (end := self._try(then, at + length)) >= 0 or kind is op.POSSESSIVE_REPEAT:
                    return end
                length -= 1
            return -1

        return lazy if kind is op.MIN_REPEAT else greedy

    def _try(self, then: Match, at: int) -> int:
        self.steps += 1
        return then(at)

    def _loop(self, kind: Any, least: int, most: int, body: Any, flags: int, then: Match) -> Match:
        state = (0, -1)  # how often the body has matched, and where it began last

        def again(at: int) -> int:
            nonlocal state
            count, began = before = state
            if count >= most or (at == began and count >= least):
                return -1
            state = (count + 1, at)
            end = inside(at)
            state = before
            return end

        def leave(at: int) -> int:
            nonlocal state
            before = state
            end = then(at) if before[0] >= least else -1
            state = before
            return end

        def loop(at: int) -> int:
            self.steps += 1
            if self.steps > self.limit:
                raise TooManySteps
            first, second = (leave, again) if kind is op.MIN_REPEAT else (again, leave)
            end = first(at)
            return end if end >= 0 else second(at)

        def enter(at: int) -> int:
            nonlocal state
            before, state = state, (0, -1)
            end = loop(at)
            state = before
            return end

        inside = self._sequence(body, flags, loop)
        return enter

    def _group(self, group: int | None, body: Any, flags: int, then: Match) -> Match:
        if group is None:
            return self._sequence(body, flags, then)
        starts: list[int] = []

        def close(at: int) -> int:
            before = self._groups.get(group)
            start = starts.pop()
            self._groups[group] = (start, at)
            end = then(at)
            starts.append(start)
            if end < 0 and before is not None:
                self._groups[group] = before
            elif end < 0:
                del self._groups[group]
            return end

        inside = self._sequence(body, flags, close)

        def enter(at: int) -> int:
            starts.append(at)
            end = inside(at)
            starts.pop()
            return end

        return enter

    def _branch(self, branches: Sequence[Match]) -> Match:
        def choose(at: int) -> int:
            for branch in branches:
                if (end := self._try(branch, at)) >= 0:
                    return end
            return -1

        return choose

    def _assertion(self, kind: Any, value: Any, flags: int, then: Match) -> Match:
        direction, body = value
        width = body.getwidth()[0] if direction < 0 else 0
        inside = self._sequence(body, flags, lambda at: at)

        def check(at: int) -> int:
            holds = at >= width and inside(at - width) >= 0
            return then(at) if holds == (kind is op.ASSERT) else -1

        return check

    def _atomic(self, inside: Match, then: Match) -> Match:
        def check(at: int) -> int:
            end = inside(at)
            return then(end) if end >= 0 else -1

        return check

    def _reference(self, group: int, then: Match) -> Match:
        def check(at: int) -> int:
            if group not in self._groups:
                return -1
            start, end = self._groups[group]
            said = self.text[start:end]
            self.steps += 1 + len(said)
            return then(at + len(said)) if self.text.startswith(said, at) else -1

        return check

    def _place(self, value: Any, flags: int, then: Match) -> Match:
        def is_word(at: int) -> bool:
            return 0 <= at < len(self.text) and _is_member(
                (op.CATEGORY, op.CATEGORY_WORD), self.text[at], flags
            )

        def is_there(at: int) -> bool:
            text = self.text
            if value in (op.AT_BOUNDARY, op.AT_NON_BOUNDARY):
                return (is_word(at - 1) != is_word(at)) == (value is op.AT_BOUNDARY)
            is_multiline = flags & re.MULTILINE
            if value in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
                is_line = is_multiline and value is op.AT_BEGINNING and text[at - 1 : at] == "\n"
                return at == 0 or bool(is_line)
            if value is op.AT_END_STRING:
                return at == len(text)
            return at == len(text) or (text[at] == "\n" and (bool(is_multiline) or at == len(text) - 1))

        return lambda at: then(at) if is_there(at) else -1
