"""The script that renews the README's pictures, and makes those of every state of the pages."""

from __future__ import annotations

import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.doc_pages import README, ROOT

pytestmark = [pytest.mark.browser, pytest.mark.thorough]


def run_script(*options: object) -> None:
    command = [sys.executable, "docs/make_pictures.py", *map(str, options)]
    subprocess.run(command, cwd=ROOT, check=True)


def size(picture: Path) -> tuple[int, int]:
    """Width and height of a PNG."""
    header = picture.read_bytes()[:24]
    assert header.startswith(b"\x89PNG")
    width, height = struct.unpack(">II", header[16:])
    return width, height


def test_the_pictures_of_the_readme_can_be_made_anew(
    tmp_path: Path, model_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_MODELS", str(model_dir))
    run_script("--into", tmp_path)
    pages = README.read_text("utf-8") + (ROOT / "docs" / "tour.md").read_text("utf-8")
    shown = re.findall(r"images/([\w-]+\.png)", pages)
    assert {path.name for path in tmp_path.iterdir()} == set(shown) != set()
    assert {path.name: size(path) for path in tmp_path.iterdir()} == {
        name: size(ROOT / "docs" / "images" / name) for name in shown
    }
