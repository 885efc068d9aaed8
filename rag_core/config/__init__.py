"""The owner's settings: the pydantic model `Settings`, and the origin of each value.

pydantic takes about a tenth of a second to import, so it is imported where settings are first read or
created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.lazy import lazily

if TYPE_CHECKING:
    from rag_core.config.settings import SettingRow, Settings
    from rag_core.config.sources import load
    from rag_core.config.tables import DeclaredFolder, DeclaredStore

__all__ = ["DeclaredFolder", "DeclaredStore", "SettingRow", "Settings", "load"]

__getattr__ = lazily(
    __name__,
    {"settings": "SettingRow Settings", "sources": "load", "tables": "DeclaredFolder DeclaredStore"},
)
