"""Glob patterns: what they mean, and matching them one path segment at a time.

The rules, which the CLI, the UI and the documentation share:

- Patterns match the path below the root, with ``/`` between segments, ignoring case and Unicode form.
- ``*``, ``?`` and ``[a-z]`` stay inside a segment; ``**`` as a whole segment crosses folders, also none.
- ``{md,txt}`` lists alternatives. ``[*]``, ``[{]`` stand for the character itself.
- ``*.md`` is the top level only, ``**/*.md`` every level.
- A pattern that ends in a plain name (``notes``) or a slash (``proj*/``) means all below that folder, too.
- Wildcards do not match a leading dot in an include pattern; ``.notes/**`` names a hidden folder.

A walk carries a ``State``: the rests of patterns still to match below the current folder. An empty
state prunes the folder, and a file costs one test of its name, however deep it lies.
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from pathlib import Path

from rag_core.errors import InvalidInput
from rag_core.files.paths import current_folder

Rest = tuple[str, ...]
State = frozenset[Rest]
NameTest = Callable[[bytes], bool]

EVERYTHING = ("**/*",)
MAX_ALTERNATIVES = 1000

_WILD = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"(?<!\[)\{([^{}]*,[^{}]*)\}")
_SUFFIX = re.compile(r"\*([^*?\[\]]+)", re.ASCII)
_FS_ENCODING = sys.getfilesystemencoding()
_FS_ERRORS = sys.getfilesystemencodeerrors()
_DOT = 0x2E


class Globs:
    """Compiled patterns. ``dots`` lets wildcards match hidden names (for exclude patterns)."""

    def __init__(self, patterns: Sequence[str], *, dots: bool = False) -> None:
        self._patterns = validate_globs(patterns)
        rests = [rest for pattern in self._patterns for rest in _rests(pattern)]
        self.start: State = frozenset(rests)
        self.spelled = frozenset(os.fsencode(part.lower()) for rest in rests for part in rest)
        self._dots = dots
        self._tests: dict[State, NameTest] = {}

    def enter(self, state: State, name: bytes) -> State:
        """The state inside the folder ``name`` of a folder in ``state``; empty where nothing can match."""
        below: set[Rest] = set()
        for rest in state:
            below.update(self._enter(rest, name))
        return frozenset(below)

    def _enter(self, rest: Rest, name: bytes) -> Iterator[Rest]:
        while rest and rest[0] == "**":
            if self._dots or name[0] != _DOT:
                yield rest
            rest = rest[1:]
        if len(rest) > 1 and _segment_test((rest[0],), self._dots)(name):
            yield rest[1:]

    def accepts(self, state: State) -> NameTest:
        """The test for names directly inside a folder in ``state``."""
        test = self._tests.get(state)
        if test is None:
            last = sorted({segment for rest in state for segment in _last_segments(rest)})
            test = self._tests[state] = _segment_test(tuple(last), self._dots)
        return test

    def covers(self, state: State, name: bytes) -> bool:
        """Whether the folder ``name``, of a folder in ``state``, is matched itself or in whole."""
        return bool(state) and (self.accepts(state)(name) or ("**",) in self.enter(state, name))

    def which(self, path: bytes) -> str:
        """The first pattern that covers ``path`` or a folder on the way to it; empty if none does."""
        return next((each for each in self._patterns if path in Coverage((each,), dots=self._dots)), "")


class Coverage:
    """The paths that patterns cover, themselves or a folder on the way; a folder is looked at once."""

    def __init__(self, patterns: Sequence[str], *, dots: bool = False) -> None:
        self._globs = Globs(patterns, dots=dots)
        self._folders: dict[bytes, State | None] = {}

    def __contains__(self, path: bytes) -> bool:
        folder, _, name = path.rpartition(b"/")
        if folder not in self._folders:
            self._folders[folder] = self._state(folder)
        state = self._folders[folder]
        return state is None or (name != b"" and self._globs.covers(state, name))

    def _state(self, folder: bytes) -> State | None:
        """What is left to match in ``folder``; None where all of it is covered."""
        state = self._globs.start
        for name in filter(None, folder.split(b"/")):
            if self._globs.covers(state, name):
                return None
            state = self._globs.enter(state, name)
        return state


def validate_globs(patterns: Sequence[str]) -> tuple[str, ...]:
    """The patterns in tidy form (no ``./``, no doubled slash), without repetitions.

    An empty list stays empty; ``scan`` takes it for ``**/*``.

    Raises InvalidInput when a pattern is empty, absolute, leaves its folder or has too many alternatives.
    """
    listed = [patterns] if isinstance(patterns, str) else patterns
    return tuple(dict.fromkeys(_tidy(pattern) for pattern in listed))


def split_glob(pattern: str, base: Path | None = None) -> tuple[Path, str]:
    """Split what a person typed into a root folder and a pattern below it.

    ``~/notes/**/*.md`` gives (``/home/me/notes``, ``**/*.md``); an existing folder gives all below it,
    an existing file just itself. Relative patterns start at ``base`` (default: the current folder).
    The root is resolved.

    Raises InvalidInput when nothing by that name exists and it holds no wildcard, or the pattern is invalid.
    """
    typed = pattern.strip()
    if not typed or "\0" in typed:
        raise InvalidInput(f"The pattern {pattern!r} is empty or broken.", "Give a folder such as '~/notes'.")
    parts = _absolute(typed, base).parts
    root = Path(parts[0])
    for number, part in enumerate(parts[1:], start=1):
        if not os.path.isdir(root / part):  # noqa: PTH112  (Path.is_dir raises without permission)
            return root.resolve(), _below(root, parts[number:], typed)
        root /= part
    return root.resolve(), EVERYTHING[0]


def _absolute(typed: str, base: Path | None) -> Path:
    try:
        path = Path(typed).expanduser()
    except RuntimeError as error:  # no such user
        raise InvalidInput(f"The home folder in {typed!r} is unknown.", "Type the whole path.") from error
    return path if path.is_absolute() else (base or current_folder()).absolute() / path


def _below(root: Path, parts: Sequence[str], typed: str) -> str:
    if len(parts) == 1 and os.path.lexists(root / parts[0]):
        return _WILD.sub(r"[\g<0>]", parts[0])
    if not _WILD.search(parts[0]):
        raise InvalidInput(
            f"There is no file or folder {str(root / parts[0])!r}.",
            "Check the spelling, or use a pattern such as '~/notes/**/*.md'.",
        )
    return _tidy("/".join(parts) + ("/" if typed.endswith("/") else ""))


def _tidy(pattern: str) -> str:
    typed = pattern.strip()
    if os.name == "nt":
        typed = typed.replace("\\", "/")
    segments = [segment for segment in typed.split("/") if segment not in ("", ".")]
    _check(pattern, typed)
    if not segments:
        return EVERYTHING[0]
    return "/".join(segments) + ("/" if typed.endswith("/") else "")


def _check(pattern: str, typed: str) -> None:
    if not typed or "\0" in typed:
        raise InvalidInput(f"The pattern {pattern!r} is empty or broken.", "Use a pattern such as '**/*.md'.")
    for plain in _alternatives(typed):
        if plain.startswith(("/", "~/")) or plain == "~" or Path(plain).drive:
            raise InvalidInput(
                f"The pattern {pattern!r} is absolute.",
                "Patterns start below the folder: choose that one, and a pattern like '**/*.md'.",
            )
        if ".." in plain.split("/"):
            raise InvalidInput(
                f"The pattern {pattern!r} leaves its folder.", "Add the other folder to the store, too."
            )


def _alternatives(pattern: str) -> list[str]:
    """Expand braces as a shell does, innermost first; ``{one}`` is not a list and stays."""
    patterns = [pattern]
    while any(_BRACES.search(each) for each in patterns):
        patterns = list(dict.fromkeys(plain for each in patterns for plain in _expand_once(each)))
        if len(patterns) > MAX_ALTERNATIVES:
            raise InvalidInput(
                f"The pattern {pattern!r} stands for more than {MAX_ALTERNATIVES} patterns.",
                "Use fewer braces, or a wildcard.",
            )
    return patterns


def _expand_once(pattern: str) -> Iterator[str]:
    group = _BRACES.search(pattern)
    if group is None:
        yield pattern
        return
    for choice in group[1].split(","):
        yield pattern[: group.start()] + choice + pattern[group.end() :]


def _rests(pattern: str) -> Iterator[Rest]:
    for plain in _alternatives(pattern):
        segments = tuple(part for part in plain.split("/") if part not in ("", "."))
        if segments[-2:] == ("**", "*"):
            segments = segments[:-1]
        is_folder = plain.endswith("/")
        if not is_folder:
            yield segments
        if is_folder or (segments and not _WILD.search(segments[-1])):
            yield (*segments, "**")


def _last_segments(rest: Rest) -> Iterator[str]:
    while len(rest) > 1 and rest[0] == "**":
        rest = rest[1:]
    if len(rest) == 1:
        yield "*" if rest[0] == "**" else rest[0]


@lru_cache(maxsize=4096)
def _segment_test(segments: tuple[str, ...], dots: bool) -> NameTest:
    """A test for "the name matches one of ``segments``", cheap for ``*`` and ``*.md``."""
    suffixes = tuple(found[1].lower().encode() for s in segments if (found := _plain_suffix(s)))
    others = [_regex(s, dots) for s in segments if s != "*" and not _plain_suffix(s)]
    pattern = re.compile("|".join(others), re.IGNORECASE) if others else None
    if "*" in segments:
        suffixes = (b"",)

    def by_suffix(name: bytes) -> bool:
        return name.lower().endswith(suffixes) and (dots or name[0] != _DOT)

    def by_regex(name: bytes) -> bool:
        return by_suffix(name) or (pattern is not None and pattern.match(plain_text(name)) is not None)

    return by_regex if pattern else by_suffix


@cache
def _plain_suffix(segment: str) -> re.Match[str] | None:
    return _SUFFIX.fullmatch(segment) if segment.isascii() else None


def _regex(segment: str, dots: bool) -> str:
    guard = "" if dots or segment[0] not in "*?[" else r"(?!\.)"
    return guard + fnmatch.translate(unicodedata.normalize("NFC", segment).replace("[^", "[!"))


def plain_text(name: bytes) -> str:
    """A name as text to compare: NFC, undecodable bytes as surrogates."""
    text = name.decode(_FS_ENCODING, _FS_ERRORS)
    return text if name.isascii() else unicodedata.normalize("NFC", text)
