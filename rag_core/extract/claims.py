"""Who reads a file, by its suffix: this program, or an installed package that claims the suffix.

A package claims one with an entry point ``TYPE.SUFFIX`` in ``commonplace.extractors``, such as
``screenplay.fountain``. Nothing of the package is imported here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Protocol

from rag_core.extensions import Catalogue, Extension, catalogue
from rag_core.extract.filetypes import TYPE_BY_NAME, TYPE_BY_SUFFIX
from rag_core.types import Extracted

EXTRACTOR_VERSION = 7
"""Raised whenever the same bytes would be read differently; documents read by an older one are read again."""

_PACKAGES = 2**32
"""Numbers from here on stand for packages and their versions, the ones below are EXTRACTOR_VERSION's."""

_NAME = re.compile(r"([a-z][a-z0-9-]{0,39})\.([a-z0-9_+-]{1,20})")
_BUILT_IN_TYPES = frozenset({"text", *TYPE_BY_SUFFIX.values(), *TYPE_BY_NAME.values()})


class Extractor(Protocol):
    """What an entry point in ``commonplace.extractors`` names: a function of a file's bytes and its name.

    It works in a process of its own, one file after another, and has a minute and 2 GB of memory for each.
    Its input is whatever lies in a folder, so it may be damaged or hostile.
    """

    def __call__(self, data: bytes, path: PurePosixPath, /) -> Extracted:
        """The document that ``data`` is; of ``path`` only the name tells something.

        All offsets count characters of ``text``. ``segments`` are in order, do not overlap and lie inside
        the text; what none covers cannot be found, and no segments at all stand for one that covers all.
        ``file_type`` is that of the entry point, whatever is given; ``title`` may be empty and is then the
        file's name. ``private=True`` hides the document from everyone but the owner.

        Raises ExtractError with two sentences for a file that cannot be read, NotText for one that holds
        nothing to read; anything else that it raises fails the file as well.
        """


@dataclass(frozen=True, slots=True)
class Claim:
    """A suffix that a package reads, and the file type that its files get. ``number`` stands for the
    package and its version."""

    suffix: str
    file_type: str
    extension: Extension
    number: int


@cache
def packages() -> Catalogue:
    """The extractors of installed packages, by suffix."""
    return catalogue("extractors", _objection, _suffix)


@cache
def claims() -> Mapping[str, Claim]:
    """Suffix → the package that reads it."""
    return {
        suffix: Claim(suffix, extension.name.partition(".")[0], extension, _number(extension))
        for suffix, extension in packages().by_key.items()
    }


def claim_of(path: PurePosixPath) -> Claim | None:
    """The package that reads the file at ``path``, None where this program does."""
    suffix = path.suffix.lower()
    if suffix in TYPE_BY_SUFFIX or path.name.lower() in TYPE_BY_NAME:
        return None
    return claims().get(suffix)


def type_of_suffix(suffix: str) -> str | None:
    """The file type of a lower-case suffix, such as ``.md``; None where nobody claims it."""
    if known := TYPE_BY_SUFFIX.get(suffix):
        return known
    claim = claims().get(suffix)
    return claim.file_type if claim else None


def extractor_number(path: PurePosixPath) -> int:
    """What the store notes of a document: who reads it, and in which version."""
    claim = claim_of(path)
    return claim.number if claim else EXTRACTOR_VERSION


def is_current(number: int, path: PurePosixPath) -> bool:
    """Whether a document with this ``extractor_number`` would be read the same way today."""
    claim = claim_of(path)
    return number == claim.number if claim else EXTRACTOR_VERSION <= number < _PACKAGES


def current_sql() -> tuple[str, tuple[str | int, ...]]:
    """``is_current`` as SQL over a row of ``documents``, and what to bind."""
    ours = "extractor BETWEEN ? AND ?"
    bound = EXTRACTOR_VERSION, _PACKAGES - 1
    theirs = claims().values()
    if not theirs:
        return ours, bound
    cases = "WHEN lower(CAST(substr(path, ?) AS TEXT)) = ? THEN extractor = ? " * len(theirs)
    values = [value for each in theirs for value in (-len(each.suffix), each.suffix, each.number)]
    return f"CASE {cases} ELSE {ours} END", (*values, *bound)


def reader_of(path: PurePosixPath) -> str:
    """Who reads the file at ``path``, in words."""
    claim = claim_of(path)
    return f"the package {claim.extension}" if claim else "Commonplace itself"


def _objection(name: str) -> str:
    match = _NAME.fullmatch(name)
    if not match:
        return "has a name that is not TYPE.SUFFIX, like 'screenplay.fountain', in small letters"
    if f".{match[2]}" in TYPE_BY_SUFFIX:
        return f"does not read these files: Commonplace reads '.{match[2]}' itself"
    if match[1] in _BUILT_IN_TYPES:
        return f"is not used for that: the file type {match[1]!r} is built in"
    return ""


def _suffix(name: str) -> str:
    return f".{name.partition('.')[2]}"


def _number(extension: Extension) -> int:
    said = "\0".join((extension.package, extension.version, extension.name, extension.trouble))
    return _PACKAGES + int.from_bytes(hashlib.sha256(said.encode()).digest()[:7], "big")
