"""Plug-ins from other installed packages, found by their entry points ``commonplace.KIND``. A package is
imported when its plug-in is first used. The module of a plug-in must state ``API_VERSION = 1``."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any, Literal

from rag_core.errors import RagError

API_VERSION = 1  # of the four contracts; raised when one changes so that older packages would fail
ExtensionKind = Literal["extractors", "chunkers", "embedders", "vector_indexes"]
REMEDY = "Update or uninstall the package; nothing else is affected."
_REMEDY_OF_FILE = "Open the file in its own program and save it again; no other file is affected."

_NAME = r"[a-z][a-z0-9-]{0,39}", "up to 40 small letters, digits and hyphens"
_SUFFIXED = rf"{_NAME[0]}\.[a-z0-9_+-]{{1,20}}", "TYPE.SUFFIX in small letters, like 'screenplay.fountain'"
_QUOTED = 200


@dataclass(frozen=True, slots=True)
class Extension:
    """An entry point of a package (``module:attribute``). ``trouble`` says why its name cannot be used; '' if
    the name is fine."""

    kind: ExtensionKind
    name: str
    package: str
    version: str
    target: str
    trouble: str = ""

    def __str__(self) -> str:
        return f"{self.package!r} {self.version}".strip()

    def problem(self, sentence: str, **values: object) -> str:
        """Return a sentence about this extension. ``{extension}`` in it is replaced by the extension, and
        other names in braces by their ``values``."""
        extension = f"The package {self}, which adds {self.name!r} to commonplace.{self.kind},"
        if not self.package:
            extension = f"The reader of {self.name.rpartition('.')[2].upper()} files"
        return sentence.format(extension=extension, **values)

    def failed(self, error: type[RagError], sentence: str, **values: object) -> RagError:
        """Return an ``error`` about this extension, with advice. The gaps in ``sentence`` are filled as
        `problem` does it."""
        return error(self.problem(sentence, **values), REMEDY if self.package else _REMEDY_OF_FILE)

    def load(self, error: type[RagError]) -> Any:
        """Import and return the object that the entry point names. Raises ``error`` if the package cannot be
        imported, or was made for another API_VERSION."""
        from importlib.metadata import EntryPoint

        if self.trouble:
            raise error(self.trouble, REMEDY)
        entry = EntryPoint(self.name, self.target, f"commonplace.{self.kind}")
        try:
            loaded = entry.load()
        except (Exception, SystemExit) as raised:  # somebody else's code
            problem = f"{type(raised).__name__}: {' '.join(str(raised).split())}"[:_QUOTED]
            failure = "{extension} cannot be loaded: {problem}."
            raise self.failed(error, failure, problem=problem.rstrip(":. ")) from None
        stated = getattr(sys.modules[entry.module], "API_VERSION", None)
        if self.package and stated != API_VERSION:
            other = "{extension} has API_VERSION {stated!r}, but Commonplace needs {needed}."
            none = "{extension} has no API_VERSION; Commonplace needs {needed}."
            raise self.failed(error, none if stated is None else other, stated=stated, needed=API_VERSION)
        return loaded

    @contextmanager
    def errors(self, error: type[RagError], doing: str) -> Iterator[None]:
        """Context manager: turn an exception of the package into ``error``, which names ``doing``, the work
        in the block. The exception's text is left out, because it may quote a note. A RagError is raised
        unchanged."""
        try:
            yield
        except RagError:
            raise
        except (Exception, SystemExit) as raised:  # somebody else's code
            failure = "{extension} failed in {doing} ({name})."
            raise self.failed(error, failure, doing=doing, name=type(raised).__name__) from None


class Guarded:
    """Wraps an object of a package. Every exception of its methods becomes an error that names the
    package."""

    def __init__(self, extension: Extension, target: Any, error: type[RagError]) -> None:
        self._extension, self._target, self._error = extension, target, error

    def __getattr__(self, name: str) -> Any:
        with self._extension.errors(self._error, name):
            attribute = getattr(self._target, name)
        return partial(self._call, attribute, name) if callable(attribute) else attribute

    def _call(self, method: Any, name: str, *args: Any, **options: Any) -> Any:
        with self._extension.errors(self._error, name):
            result = method(*args, **options)
        return self._each(result, name) if isinstance(result, Iterator) else result

    def _each(self, items: Iterator[Any], name: str) -> Iterator[Any]:
        with self._extension.errors(self._error, name):
            yield from items


def catalogue(kind: ExtensionKind, built_in: Collection[str]) -> dict[str, Extension]:
    """Return the installed extensions of a kind by name; extractors by suffix (``.fountain``). No package is
    imported.

    ``trouble`` is set if a name is malformed, in ``built_in``, or claimed by two packages.
    """
    from importlib.metadata import entry_points  # only now: it is slow to import

    shape, rule = _SUFFIXED if kind == "extractors" else _NAME
    extensions: dict[str, Extension] = {}
    for entry in sorted(entry_points(group=f"commonplace.{kind}"), key=attrgetter("name", "dist.name")):
        assert entry.dist is not None  # noqa: S101 - it is of an installed package
        extension = Extension(kind, entry.name, entry.dist.name, entry.dist.version, entry.value)
        is_name = re.fullmatch(shape, extension.name) is not None
        first, dot, suffix = extension.name.partition(".") if is_name else (extension.name, "", "")
        key = dot + suffix or first
        taken = [name for name in (key, first) if name in built_in]
        trouble = ""
        if not is_name:
            trouble = extension.problem(
                "{extension} cannot be used: the name that it adds must be {rule}.", rule=rule
            )
        elif taken:
            trouble = extension.problem("{extension} cannot be used: {name!r} is built in.", name=taken[0])
        elif key in extensions:
            trouble = (
                f"The packages {extensions[key]} and {extension} both add {key!r} to commonplace.{kind}."
            )
        extensions[key] = replace(extension, trouble=trouble)
    return extensions
