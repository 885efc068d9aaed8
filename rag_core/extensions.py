"""What other installed packages add, found by their entry points.

    commonplace.extractors       reads files of another suffix
    commonplace.embedders        turns text into vectors
    commonplace.vector_indexes   keeps and searches vectors

The entry points of all packages are read once, when somebody first asks, and a package is imported when
what it adds is needed. What is wrong with one is said of that one, and costs nothing but its own names.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from rag_core.errors import RagError

if TYPE_CHECKING:
    from importlib.metadata import Distribution

Kind = Literal["extractors", "embedders", "vector_indexes"]
KINDS: tuple[Kind, ...] = get_args(Kind)

REMEDY = "Update or uninstall the package; nothing else is affected."

_Error = TypeVar("_Error", bound=RagError)
_PREFIX = "commonplace."
_QUOTED = 200


@dataclass(frozen=True, slots=True)
class Extension:
    """One entry point of a package. ``target`` is what it names (``module:attribute``); ``trouble`` says in
    a sentence why it is not used, '' when it is."""

    kind: Kind
    name: str
    package: str
    version: str
    target: str
    trouble: str = ""

    @property
    def group(self) -> str:
        """The group of entry points that it is in."""
        return _PREFIX + self.kind

    def __str__(self) -> str:
        return f"{self.package!r} {self.version}".strip()

    def problem(self, what: str) -> str:
        """A sentence about this extension: ``what`` is its end."""
        return f"The package {self}, which adds {self.name!r} to {self.group}, {what}."

    def load(self, error: type[RagError]) -> Any:
        """What the entry point names; the package is imported once. Raises ``error``."""
        if self.trouble:
            raise error(self.trouble, REMEDY)
        found, wrong = _imported(self)
        if wrong:
            raise self.failed(error, f"cannot be loaded: {wrong}")
        return found

    def failed(self, error: type[_Error], what: str) -> _Error:
        """An ``error`` about this extension: ``what`` is the end of its sentence."""
        return error(self.problem(what), REMEDY)

    @contextmanager
    def explained(self, error: type[RagError], doing: str, *own: type[RagError]) -> Iterator[None]:
        """Let whatever the package raises become an ``error``, without the texts that it may quote. What is
        one already stays as it is, and so does what is one of ``own``."""
        try:
            yield
        except (error, *own):
            raise
        except (Exception, SystemExit) as raised:  # somebody else's code
            raise self.failed(error, f"failed at {doing} ({type(raised).__name__})") from None


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The extensions of one kind. ``by_key`` holds those that may be asked for; one that two packages
    claim is there with its trouble. ``all`` holds every one, refused ones too."""

    by_key: Mapping[str, Extension]
    all: tuple[Extension, ...]


def catalogue(kind: Kind, objection: Callable[[str], str], key: Callable[[str], str] = str) -> Catalogue:
    """The installed extensions of a kind. Imports none of them.

    ``objection`` tells what is wrong with a name, as the end of a sentence, '' if nothing is; two packages
    must not have the same ``key`` of a name.
    """
    judged = [
        replace(each, trouble=each.problem(wrong))
        if not each.trouble and (wrong := objection(each.name))
        else each
        for each in installed()[kind]
    ]
    wanted: dict[str, list[Extension]] = {}
    for each in judged:
        if not each.trouble:
            wanted.setdefault(key(each.name), []).append(each)
    twins = {name: _twins(claimed) for name, claimed in wanted.items() if len(claimed) > 1}
    settled = [
        replace(each, trouble=twins[key(each.name)]) if not each.trouble and key(each.name) in twins else each
        for each in judged
    ]
    by_key = {key(each.name): each for each in settled if each.trouble in ("", *twins.values())}
    return Catalogue(MappingProxyType(by_key), tuple(settled))


def _twins(claimed: list[Extension]) -> str:
    who = " and ".join(dict.fromkeys(map(str, claimed)))
    what = " and ".join(dict.fromkeys(repr(each.name) for each in claimed))
    return f"The packages {who} claim the same ({what} in {claimed[0].group}), so none of them is used."


def plain_name(taken: frozenset[str]) -> Callable[[str], str]:
    """What is wrong with a name of small letters, digits and hyphens that must not be one of ``taken``."""

    def objection(name: str) -> str:
        if name in taken:
            return "is not used for that: the name is built in"
        if not re.fullmatch(r"[a-z][a-z0-9-]{0,39}", name):
            return "has a name that cannot be used: it takes up to 40 small letters, digits and hyphens"
        return ""

    return objection


# --- entry points -----------------------------------------------------------------------


@cache
def installed() -> Mapping[Kind, tuple[Extension, ...]]:
    """Every extension of every package by its kind, sorted by name; read once in a process."""
    from importlib.metadata import distributions  # only now: it is slow to import

    packages: dict[str, list[Extension]] = {}
    for distribution in distributions():
        written = _read(distribution)
        if f"[{_PREFIX}" in written:
            package, version = _called(distribution)
            if package.lower() not in packages:  # else it is a second copy, further down the path
                packages[package.lower()] = list(_extensions(distribution, written, package, version))
    every = sorted((each for found in packages.values() for each in found), key=lambda e: (e.name, e.package))
    return {kind: tuple(each for each in every if each.kind == kind) for kind in KINDS}


def _extensions(distribution: Distribution, written: str, package: str, version: str) -> Iterator[Extension]:
    kinds = {_PREFIX + kind: kind for kind in KINDS}
    try:
        entries = list(distribution.entry_points)
    except (TypeError, ValueError):  # a line that is none
        for group in kinds.keys() & set(re.findall(r"\[(.+?)\]", written)):
            nameless = Extension(kinds[group], "?", package, version, "")
            yield replace(nameless, trouble=nameless.problem("has entry points that cannot be read"))
        return
    for entry in entries:
        if entry.group in kinds:
            yield Extension(kinds[entry.group], entry.name, package, version, entry.value)


def install_line(extra: str) -> str:
    """The command that installs an optional part of this program where it is."""
    return f"`{shlex.quote(sys.executable)} -m pip install 'commonplace[{extra}]'`"


def _read(distribution: Distribution) -> str:
    try:
        return distribution.read_text("entry_points.txt") or ""
    except (OSError, ValueError):  # not ours to complain about
        return ""


def _called(distribution: Distribution) -> tuple[str, str]:
    """A package's name and version."""
    about = distribution.metadata
    return about["Name"] or "(no name)", about["Version"] or ""


@cache
def _imported(extension: Extension) -> tuple[Any, str]:
    """(what it names, '') or (None, what went wrong); a broken package is not imported again and again."""
    from importlib.metadata import EntryPoint

    try:
        return EntryPoint(extension.name, extension.target, extension.group).load(), ""
    except (Exception, SystemExit) as error:  # somebody else's code, which may raise anything
        return None, told(error)


def told(error: BaseException) -> str:
    """What was raised, in one short line without its full stop."""
    line = f"{type(error).__name__}: {' '.join(str(error).split())}".removesuffix(": ").rstrip(".")
    return line if len(line) <= _QUOTED else f"{line[:_QUOTED]}…"
