"""The options of providers (such as embedders), made from the settings. A provider has a dataclass of its
options, and each field names its setting."""

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
    """Return a dataclass field that `options_from` fills from a setting.

    Args:
        name: the attribute of `Settings`.
        default: the field's value if the setting is None.
        read: converts the setting's value to the field's value; None keeps it as it is.
        secret: whether to leave the value out of the repr.

    """
    return field(default=default, repr=not secret, metadata={"setting": name, "read": read})


def options_from(settings: Settings, kind: type[_Options]) -> _Options:
    """Create an instance of the dataclass ``kind`` from the settings. Fields without a `setting`, or whose
    setting is None, have their defaults."""
    values = {}
    for option in fields(kind):  # type: ignore[arg-type]  # a dataclass
        value = getattr(settings, option.metadata["setting"]) if option.metadata else None
        if value is not None:
            read = option.metadata["read"]
            values[option.name] = read(value) if read else value
    return kind(**values)
