"""The programs for vectors that work on a server or in this process, and what is said when they will not do
what they are asked."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rag_core.errors import InvalidInput, VectorError
from rag_core.extensions import install_line
from rag_core.vectors.attempts import Refused, quoted


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of program: the extra that installs the ``package`` which talks to it, and the settings that say
    where its server or folder is."""

    name: str
    extra: str
    package: str
    module: str
    url_setting: str
    path_setting: str
    example: str

    def imported(self, module: str = "") -> Any:
        """The package, or a module of it, imported when first needed. Raises VectorError without it."""
        try:
            return importlib.import_module(module or self.module)
        except ImportError:
            raise VectorError(
                f"The package {self.package!r} is not installed.",
                f"Run {install_line(self.extra)}.",
            ) from None


QDRANT = Kind(
    "Qdrant", "qdrant", "qdrant-client", "qdrant_client", "qdrant_url", "qdrant_path", "http://127.0.0.1:6333"
)
CHROMA = Kind(
    "Chroma", "chroma", "chromadb", "chromadb", "chroma_url", "chroma_path", "http://127.0.0.1:8000"
)


@dataclass(frozen=True, slots=True)
class Program:
    """A program of a kind, as it is configured: its ``server`` (``HOST:PORT``), or where that is '' the
    ``folder`` that it works in. Raises InvalidInput without either."""

    kind: Kind
    server: str
    folder: Path | None

    def __post_init__(self) -> None:
        if not self.server and self.folder is None:
            raise InvalidInput(
                f"The vector index {self.kind.extra!r} needs a server or a folder.",
                f"Set `{self.kind.url_setting}`, such as {self.kind.example}, or `{self.kind.path_setting}`.",
            )

    @property
    def called(self) -> str:
        """Its name at the beginning of a sentence."""
        where = f"at {self.server}" if self.server else f"in {str(self.folder)!r}"
        return f"{self.kind.name} {where}"

    def refusal(self, status: int, reason: str) -> Refused:
        """It understood what it was asked, and will not do it."""
        return Refused(
            f"{self.called} refuses: {reason}.",
            "Check the collection and the address in the configuration.",
            status,
            reason,
        )

    def elsewhere(self, status: int) -> VectorError:
        """The server sends us to another one, where nobody wanted to send texts."""
        return VectorError(
            f"{self.called} sends us elsewhere (status {status}).",
            f"Set `{self.kind.url_setting}` to where it is.",
        )

    def mistaken(self) -> VectorError:
        """The server is another program's."""
        return VectorError(
            f"What answers at {self.server} is not {self.kind.name}.",
            f"Set `{self.kind.url_setting}` to where it is.",
        )

    def damage(self, error: Exception) -> VectorError:
        """The engine in this process fails at its files."""
        return VectorError(
            f"{self.called} cannot be read or written: {quoted(str(error))}.",
            "Check the disk; if the folder is damaged, remove it and send everything again.",
        )
