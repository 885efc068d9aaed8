"""Our components: scripts in ``assets/``, which Streamlit serves as files, as the content policy requires."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

PROJECT: Final = "pages"
_NAMES: Final = ("search", "filters", "reader", "focus", "news", "hit")


def draw(
    name: str,
    key: str,
    data: object = None,
    on_asked: Callable[[], None] | None = None,
) -> None:
    """Draw the component with the script ``assets/NAME.js``, which gets ``data`` (values of JSON).

    When the script sends a request, ``on_asked`` is called without arguments. It reads the request with
    `from_script`, under the same ``key``.
    """
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(f"{PROJECT}.{name}") is None:  # Streamlit looks in packages only
        manifest = ComponentManifest(
            PROJECT, "1", [ComponentConfig(component_name, "assets") for component_name in _NAMES]
        )
        manager.register_from_manifest(manifest, Path(__file__).parents[1])
    component = st.components.v2.component(f"{PROJECT}.{name}", js=f"{name}.js", isolate_styles=False)
    callbacks: dict[str, Any] = {"on_asked_change": on_asked} if on_asked else {}
    component(key=key, data=data, **callbacks)


def from_script(key: str) -> dict[str, Any]:
    """Return the last request of the component's script, as the script wrote it; {} if there was none."""
    request: Any = st.session_state[key].get("asked") if key in st.session_state else None
    return request if isinstance(request, dict) else {}
