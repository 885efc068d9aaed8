"""docs/configuration.md is what the table says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from rag_core.config.settings import KEYS

ROOT = Path(__file__).resolve().parents[2]
MAKER = runpy.run_path(str(ROOT / "docs" / "make_configuration.py"))


def test_the_page_about_configuration_is_made_from_the_table() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    assert page == MAKER["page"](), "run python docs/make_configuration.py"


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_every_setting_is_documented_with_its_variable(key: Any) -> None:
    page = (ROOT / "docs" / "configuration.md").read_text("utf-8")
    row = re.findall(rf"^\| `{key.name}` \|.*", page, re.MULTILINE)[0]
    assert key.about in row
    assert f"`{key.variable}`" in row or not key.variable
