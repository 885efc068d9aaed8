"""Glob patterns: their rules, and matching them one path segment at a time.

The CLI, the UI and the documentation share these rules:

- Patterns match the path below the root, with ``/`` between segments, ignoring case and Unicode form.
- ``*``, ``?`` and ``[a-z]`` match within a segment. ``**`` as a whole segment matches any number of folders.
- ``{md,txt}`` lists alternatives. ``[*]`` and ``[{]`` match the character itself.
- ``*.md`` matches at the top level only, ``**/*.md`` at every level.
- A pattern that ends in a plain name (``notes``) or a slash (``proj*/``) also matches all in that folder.
- In an include pattern, wildcards do not match a leading dot. ``.notes/**`` matches a hidden folder.

A walk carries a ``MatchState``: the remainders of the patterns that can still match in the current folder. If
the state is empty, the folder is skipped. Each file costs one test of its name, however deep it lies.
"""

from __future__ import annotations

import fnmatch
import os
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path, PurePosixPath

from rag_core.errors import InvalidInput
from rag_core.files.paths import current_folder
from rag_core.system import slashed_text

Rest = tuple[str, ...]
MatchState = frozenset[Rest]
NameTest = Callable[[bytes], bool]

EVERYTHING = ("**/*",)
_MAX_ALTERNATIVES = 1000

_WILD = re.compile(r"[*?\[{]")
_BRACES = re.compile(r"(?<!\[)\{([^{}]*,[^{}]*)\}")
_SUFFIX = re.compile(r"\*([^*?\[\]]+)", re.ASCII)
_DOT = 0x2E


class Globs:
    """Compiled patterns. With ``dots``, wildcards also match hidden names, as in exclude patterns."""

    def __init__(self, patterns: Sequence[str], *, dots: bool = False) -> None:
        self._patterns = validate_globs(patterns)
        self._dots = dots
        self._tests: dict[MatchState, NameTest] = {}
        rests: set[Rest] = set()
        for pattern in self._patterns:
            for plain in _alternatives(pattern):
                segments = PurePosixPath(plain).parts
                if segments[-2:] == ("**", "*"):
                    segments = segments[:-1]
                is_folder = plain.endswith("/")
                if not is_folder:
                    rests.add(segments)
                if is_folder or (segments and not _WILD.search(segments[-1])):
                    rests.add((*segments, "**"))
        self.start: MatchState = frozenset(rests)
        self.spelled = set(map(os.fsencode, map(str.lower, chain.from_iterable(rests))))

    def enter(self, state: MatchState, name: bytes) -> MatchState:
        """Return the state inside the folder ``name``, given the ``state`` of its parent. The result is empty
        if nothing inside can match."""
        below: set[Rest] = set()
        for rest in state:
            while rest and rest[0] == "**":
                if self._dots or name[0] != _DOT:
                    below.add(rest)
                rest = rest[1:]
            if len(rest) > 1 and _segment_test((rest[0],), self._dots)(name):
                below.add(rest[1:])
        return frozenset(below)

    def accepts(self, state: MatchState) -> NameTest:
        """Return a test for the names of files directly in a folder with ``state``."""
        if state not in self._tests:
            last: set[str] = set()
            for rest in state:
                while len(rest) > 1 and rest[0] == "**":
                    rest = rest[1:]
                if len(rest) == 1:
                    last.add("*" if rest[0] == "**" else rest[0])
            self._tests[state] = _segment_test(tuple(sorted(last)), self._dots)
        return self._tests[state]

    def covers(self, state: MatchState, name: bytes) -> bool:
        """Whether a pattern matches the folder ``name`` itself or everything in it. ``state`` is the state of
        its parent."""
        return bool(state) and (self.accepts(state)(name) or ("**",) in self.enter(state, name))

    def which(self, path: bytes) -> str:
        """Return the first pattern that matches ``path`` or a folder above it, or '' if there is none."""
        return next(
            (pattern for pattern in self._patterns if path in Coverage((pattern,), dots=self._dots)), ""
        )


class Coverage:
    """The set of paths that match a pattern or lie in a folder that does. Results are cached for each
    folder."""

    def __init__(self, patterns: Sequence[str], *, dots: bool = False) -> None:
        self._globs = Globs(patterns, dots=dots)
        self._folders: dict[bytes, MatchState | None] = {}  # by path; None if the whole folder is covered

    def __contains__(self, path: bytes) -> bool:
        folder, _, name = path.rpartition(b"/")
        if folder not in self._folders:
            state: MatchState | None = self._globs.start
            for part in filter(None, folder.split(b"/")):
                if state is not None:
                    state = None if self._globs.covers(state, part) else self._globs.enter(state, part)
            self._folders[folder] = state
        state = self._folders[folder]
        return state is None or (name != b"" and self._globs.covers(state, name))


def validate_globs(patterns: Sequence[str]) -> tuple[str, ...]:
    """Return the patterns without ``./``, doubled slashes and repetitions. An empty list stays empty;
    ``scan`` treats it as ``**/*``. Raises InvalidInput for a pattern that is empty or absolute, leaves its
    folder, or has too many alternatives."""
    return tuple(dict.fromkeys(map(_tidy, [patterns] if isinstance(patterns, str) else patterns)))


def split_glob(pattern: str) -> tuple[Path, str]:
    """Split a typed path or pattern into a resolved root folder and a pattern in it.

    ``~/notes/**/*.md`` gives (``/home/me/notes``, ``**/*.md``). An existing folder gives a pattern for
    everything in it, an existing file a pattern for this file. Relative patterns start at the current folder.

    Raises:
        InvalidInput: The pattern is invalid, or it has no wildcard and nothing of that name exists.

    """
    typed = pattern.strip()
    if not typed or "\0" in typed:
        raise InvalidInput(f"{pattern!r} is neither a folder nor a file.", "Give a folder such as '~/notes'.")
    try:
        path = Path(typed).expanduser()
    except RuntimeError as error:  # the user is unknown
        raise InvalidInput(f"The home folder in {typed!r} is unknown.", "Type the whole path.") from error
    if not path.is_absolute():
        path = current_folder() / path
    root, *rest = map(Path, path.parts)
    while rest and os.path.isdir(root / rest[0]):  # noqa: PTH112  (Path.is_dir raises without permission)
        root /= rest.pop(0)
    if not rest:
        return root.resolve(), EVERYTHING[0]
    first = str(rest[0])
    if len(rest) == 1 and os.path.lexists(root / first):
        return root.resolve(), _WILD.sub(r"[\g<0>]", first)
    if not _WILD.search(first):
        message = f"There is no file or folder {str(root / first)!r}."
        raise InvalidInput(message, "Check the spelling, or use a pattern such as '~/notes/**/*.md'.")
    return root.resolve(), _tidy("/".join(map(str, rest)) + "/" * typed.endswith("/"))


def _tidy(pattern: str) -> str:
    typed = pattern.strip()
    typed = slashed_text(typed)
    if not typed or "\0" in typed:
        raise InvalidInput(f"The pattern {pattern!r} is empty or broken.", "Use a pattern such as '**/*.md'.")
    for plain in _alternatives(typed):
        if plain.startswith(("/", "~/")) or plain == "~" or Path(plain).drive:
            advice = "Patterns start below the folder: choose that one, and a pattern like '**/*.md'."
            raise InvalidInput(f"The pattern {pattern!r} is absolute.", advice)
        if ".." in plain.split("/"):
            advice = "Add the other folder to the store, too."
            raise InvalidInput(f"The pattern {pattern!r} leads out of its folder with '..'.", advice)
    tidy = "/".join(PurePosixPath(typed).parts)
    return tidy + "/" * typed.endswith("/") if tidy else EVERYTHING[0]


def _alternatives(pattern: str) -> list[str]:
    """Expand braces as a shell does, innermost first. ``{one}`` is not a list and stays as it is."""
    done: set[str] = set()
    patterns = {pattern}
    while patterns:
        expanded: set[str] = set()
        for written in patterns:
            if group := _BRACES.search(written):
                before, after = written[: group.start()], written[group.end() :]
                expanded.update([before + choice + after for choice in group[1].split(",")])
            else:
                done.add(written)
        patterns = expanded
        if len(done) + len(patterns) > _MAX_ALTERNATIVES:
            message = f"The pattern {pattern!r} expands to more than {_MAX_ALTERNATIVES} patterns."
            raise InvalidInput(message, "Use fewer braces, or a wildcard.")
    return sorted(done)


@lru_cache(maxsize=4096)
def _segment_test(segments: tuple[str, ...], dots: bool) -> NameTest:
    """Return a test whether a name matches one of ``segments``. The test is fast for ``*`` and ``*.md``."""
    suffixes: tuple[bytes, ...] = ()
    others: list[str] = []
    for segment in segments:
        if segment == "*":
            suffixes += (b"",)
        elif segment.isascii() and (plain := _SUFFIX.fullmatch(segment)):
            suffixes += (plain[1].lower().encode(),)
        else:
            guard = "" if dots or segment[0] not in "*?[" else r"(?!\.)"
            regex = fnmatch.translate(unicodedata.normalize("NFC", segment).replace("[^", "[!"))
            others.append(guard + regex)
    pattern = re.compile("|".join(others), re.IGNORECASE) if others else None

    def matches(name: bytes) -> bool:
        if name.lower().endswith(suffixes) and (dots or name[0] != _DOT):
            return True
        return pattern is not None and pattern.match(plain_text(name)) is not None

    return matches


def plain_text(name: bytes) -> str:
    """Return a name as text for comparison: in NFC, with undecodable bytes as surrogates."""
    text = os.fsdecode(name)
    return text if name.isascii() else unicodedata.normalize("NFC", text)
