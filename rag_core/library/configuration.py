"""The settings in effect, and changing one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rag_core.library.service import Service
from rag_core.types import Viewer

if TYPE_CHECKING:
    from rag_core.config import Settings  # brings pydantic, which commands need only for settings


class Configuration(Service):
    """The settings that the owner can change while Commonplace runs."""

    def change(self, viewer: Viewer, name: str, value: str | float | bool | None) -> Settings:
        """Write a setting into config.yaml (None: back to its default) and return what holds now. This
        library keeps its own settings; a new one has the new ones. Raises InvalidInput, InvalidSettings."""
        from rag_core.config.change import change

        return change(name, value)
