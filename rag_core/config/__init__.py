"""What the owner configured: a table of settings, and where each value is from."""

from __future__ import annotations

from rag_core.config.reading import load
from rag_core.config.settings import DeclaredFolder, DeclaredStore, SettingRow, Settings

__all__ = ["DeclaredFolder", "DeclaredStore", "SettingRow", "Settings", "load"]
