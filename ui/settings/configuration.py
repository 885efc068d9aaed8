"""The present configuration on the Settings page: each value and its origin."""

from __future__ import annotations

from typing import Any, Final

import pandas as pd
import streamlit as st

from ui.frame import hits
from ui.frame.deps import library
from ui.frame.messages import show_warning
from ui.index.folders import path_text

_text = st.column_config.TextColumn
_COLUMNS: Final[dict[str, Any]] = {
    "Setting": _text(width=160),
    "Value": _text(width=220),
    "From": _text(width=320),
    "Meaning": _text(width=420),
    "Group": _text(width=110),
}


def show_configuration() -> None:
    """Draw every setting with its present value. For secrets, draw only whether they are set."""
    settings = library().settings
    st.header(
        "Configuration",
        anchor=False,
        help="The first that has a value wins: an option, an environment variable, .env, config.yaml."
        " Changes to these files apply as soon as you save them.",
    )
    for warning in settings.warnings:
        show_warning(warning)
    rows = [
        (row.key.name, row.said, str(row.origin), row.key.about, row.key.group) for row in settings.rows()
    ]
    with st.container(key="settings_configuration"):
        st.dataframe(
            pd.DataFrame(rows, columns=list(_COLUMNS)),
            hide_index=True,
            column_config=_COLUMNS,
            alt="Every setting, its value and where it is from.",
        )
    places = (("config.yaml", settings.config_file), (".env", settings.env_file), ("Data", settings.data_dir))
    there = ((name, path, "" if path.exists() else " (not there)") for name, path in places if path)
    st.html(hits.paragraphs(*(f"{name}: {path_text(path)}{absent}" for name, path, absent in there)))
