"""The results of live checks, and how their sentences are written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rag_core.messages import Message

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings
    from rag_core.reports import ConnectionState


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a check, with fields as in `reports.Connection`. ``goes`` says where text is sent; it is
    '' if that is known without the check."""

    state: ConnectionState
    sentence: str
    next_step: str | Message = ""
    goes: str = ""
    embedders: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    unasked: bool = False


@dataclass(frozen=True, slots=True)
class Need:
    """The arguments of a live check of a provider."""

    settings: Settings
    options: Any  #: The options for opening the provider.
    name: str = ""  #: The name of the provider.
    stores: Sequence[str] = ()  #: The stores that use it.
    models: Sequence[str] = ()  #: Its models that stores use.
    ask_all: bool = False  #: Whether to ask services that no setting and no store names.
    opened: Callable[[str], Any] | None = None  #: Returns the shared embedder of a name.


class Unanswered(Exception):
    """Raised to end a check with ``result``."""

    def __init__(self, result: Found) -> None:
        super().__init__(result.sentence)
        self.found = result


def written(setting: str, example: str, config_file: Path | None) -> str:
    """Return the instruction to write a setting into the configuration, with a line to copy."""
    return f"Write `{setting}: {example}` into {config_file or 'config.yaml'}."


def printable(name: str) -> bool:
    """Whether a name is free of spaces and control characters."""
    return not any(char.isspace() or not char.isprintable() for char in name)


def package_version(package: str, module: str) -> str:
    """Return the version of an installed package; '' if ``module`` is not found, and words if it tells no
    version. The package is not imported."""
    from importlib.metadata import PackageNotFoundError, version  # only now: it is slow to import

    with suppress(PackageNotFoundError):
        return version(package) if find_spec(module) else ""
    return "(of unknown version)"
