"""Finding the app that belongs to this package and running it.

The app imports the package, never the other way round, so it is found by its place: beside
``rag_core`` in a checkout, in ``rag_core/_app`` in an installed wheel.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from rag_core.errors import RagError


def app_dir() -> Path:
    """The folder that holds app.py, ui and pages."""
    here = Path(__file__).resolve().parents[1]  # rag_core
    for folder in (here / "_app", here.parent):
        if (folder / "app.py").is_file() and (folder / "ui").is_dir():
            return folder
    raise RagError(
        "The app is not installed beside the package.",
        "Install it again from its wheel: pipx install --force FILE.whl",
    )


def serve_app(port: int, open_browser: bool) -> None:
    """Run the app on 127.0.0.1 until it is stopped."""
    sys.path.insert(0, str(app_dir()))
    importlib.import_module("ui.serve").serve("127.0.0.1", port, open_browser)
