"""What follows links between documents without loading the app again: a component that shows nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import streamlit as st
from streamlit.components.v2.get_bidi_component_manager import get_bidi_component_manager
from streamlit.components.v2.manifest_scanner import ComponentConfig, ComponentManifest

_PROJECT: Final = "app"
_COMPONENT: Final = "reader"
NAME: Final = f"{_PROJECT}.{_COMPONENT}"


def follow_links() -> None:
    """Put the component on the page."""
    manager = get_bidi_component_manager()
    if manager.get_component_asset_root(NAME) is None:  # a manifest needs an installed package
        manifest = ComponentManifest(_PROJECT, "1", [ComponentConfig(_COMPONENT, _COMPONENT)])
        manager.register_from_manifest(manifest, Path(__file__).parent)
    st.components.v2.component(NAME, js="reader.js")(key=_COMPONENT)
