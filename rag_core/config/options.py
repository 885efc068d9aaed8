"""What of the settings a provider is opened with: each field of its options names its setting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, fields
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from rag_core.config.settings import Settings

_Options = TypeVar("_Options")


def setting(
    name: str, default: Any, read: Callable[[Any], Any] | None = None, *, secret: bool = False
) -> Any:
    """A field of a dataclass that is made from settings.

    Args:
        name: the attribute of `Settings`.
        default: holds where the setting has no value.
        read: makes the field's value of the setting's.
        secret: keeps the value out of the repr.

    """
    return field(default=default, repr=not secret, metadata={"setting": name, "read": read})


def options_from(settings: Settings, kind: type[_Options]) -> _Options:
    """The options of this dataclass; fields without a setting keep their defaults."""
    values = {}
    for each in fields(kind):  # type: ignore[arg-type]  # a dataclass
        value = getattr(settings, each.metadata["setting"]) if each.metadata else None
        if value is not None:
            read = each.metadata["read"]
            values[each.name] = read(value) if read else value
    return kind(**values)
